//! The words everything else is written in: errors, ids, times, outcomes, and the state of an incident.

pub mod annotation;
pub mod canonical;
pub mod change;
pub mod command_line;
pub mod describe;
pub mod dtype;
pub mod error;
pub mod id;
pub mod incident;
pub mod lint;
pub mod markdown;
pub mod moment;
mod object;
pub mod outcome;
pub mod patch;
pub mod rate;
pub mod register;
pub mod reverts;
pub mod status;
pub mod time;

pub use error::{Error, Kind, Result};
pub use id::{EventId, Oid};
pub use time::Timestamp;
