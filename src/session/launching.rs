//! What our own process of a `kernel` gate does: the one that launches somebody's code.
//!
//! It opens no repository: a request says what to do, a folder takes what it saw.

use std::io::Read as _;
use std::path::Path;

use crate::device::kernel::{self, Place, Process};
use crate::model::{Error, Result};
use crate::validate::kernel::Request;

/// The largest request that is read, in bytes.
const LARGEST: u64 = 64 << 20;

/// What of a gate is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Writing the inputs for a command that computes the reference.
    Inputs,
    /// The first process.
    First,
    /// The second process.
    Second,
}

/// Does it, in the current folder, which is the worktree. Says the exit status: 0, 4 with findings, 5 with trouble.
///
/// # Errors
/// The request is none; files cannot be written.
pub fn launch(part: Part, request: &Path, out: &Path) -> Result<i32> {
    let mut bytes = Vec::new();
    std::fs::File::open(request)?.take(LARGEST).read_to_end(&mut bytes)?;
    let request = Request::read(&bytes)
        .map_err(|why| Error::usage("this is no request of a kernel gate").because(why))?;
    let worktree = std::env::current_dir()?;
    let place = Place { worktree: &worktree, out };
    match part {
        Part::Inputs => kernel::write_inputs(&request, place).map(|()| 0),
        Part::First => kernel::run(&request, place, Process::First),
        Part::Second => kernel::run(&request, place, Process::Second),
    }
}
