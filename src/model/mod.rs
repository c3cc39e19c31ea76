//! The words everything else is written in: errors, ids, times, outcomes, rates.

pub mod error;
pub mod outcome;
pub mod status;

pub use error::{Error, Kind, Result};
