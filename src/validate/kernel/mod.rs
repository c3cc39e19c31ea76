//! Launching somebody's kernel and judging what it did. Pure: the device is in `crate::device::kernel`.
//!
//! | file | what it knows |
//! |---|---|
//! | `request` | what is to be launched, with every size worked out: what our own process gets |
//! | `encode` | numbers as elements of every type |
//! | `fill` | seeded inputs, the same on every machine |
//! | `guard` | a buffer with its margins and its poison, and what they say afterwards |
//! | `report` | what our own process says it saw: what comes back |
//! | `judge` | what that means for the gate |

mod encode;
mod fill;
mod guard;
mod judge;
mod report;
mod request;

pub use encode::{encode, encode_whole};
pub use fill::{Fill, fill};
pub use guard::{ALIGN, Layout, Phase, Strays, differing, margin, poison, unwritten};
pub use judge::{Left, judge, not_prepared};
pub use report::{
    DeviceSeen, Finding, FindingKind, Loose, Output, Progress, Report, Stage, Trouble, TroubleKind,
};
pub use request::{Argument, Content, Judging, Launch, Reference, Request, Role, Run, What};
