//! Comparing two tensors: the reference and the candidate that wants its place.
//!
//! The arithmetic is specified (docs/GATES.md, "Arithmetic"), so that every device gives identical counts, positions
//! and worst elements.

mod device;
mod outcome;

pub use device::{Device, DeviceError, Pair};
pub use outcome::{Axis, Details, Special, Summary, Tolerance, Worst};
