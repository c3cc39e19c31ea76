//! Signals that reach us while a command runs.
//!
//! They are meant for the command: the terminal, a supervisor or the user sends them to us because
//! we are what was started. They are noted here and passed on, so that we live to record the end.

use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use rustix::process::Signal;
use signal_hook::SigId;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};

/// What is passed on.
const FORWARDED: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

/// Whether no run is active. Once a handler is installed the system's own reaction is gone for
/// good, so between runs it is imitated: Ctrl-C must still end us then.
static NOT_RUNNING: AtomicBool = AtomicBool::new(true);

/// Signals noted since [`Signals::install`], until it is dropped.
pub(super) struct Signals {
    wake: UnixStream,
    noted: Vec<(i32, Arc<AtomicBool>)>,
    registered: Vec<SigId>,
}

/// What arrived.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Arrived {
    /// To be passed on, in the order of [`FORWARDED`].
    pub(super) forward: Vec<Signal>,
    /// The window may have another size.
    pub(super) resized: bool,
    /// A child of ours ended.
    pub(super) child_ended: bool,
}

impl Signals {
    /// Starts noting. Signals that were ignored when we were started (by `nohup`, or in the
    /// background of a script) stay ignored, for us and so for the command.
    pub(super) fn install() -> io::Result<Self> {
        static IMITATED: OnceLock<()> = OnceLock::new();
        let ignored = ignored(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
        let wanted: Vec<i32> = FORWARDED.into_iter().filter(|number| !is_ignored(ignored, *number)).collect();
        if IMITATED.set(()).is_ok() {
            for number in &wanted {
                signal_hook::flag::register_conditional_default(*number, &NOT_RUNNING)?;
            }
        }
        let (wake, alarm) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let mut signals = Self { wake, noted: Vec::new(), registered: Vec::new() };
        for number in wanted.into_iter().chain([SIGWINCH, SIGCHLD]) {
            let flag = Arc::new(AtomicBool::new(false));
            // The flag comes first: whoever wakes up must find it set.
            signals.registered.push(signal_hook::flag::register(number, Arc::clone(&flag))?);
            signals.registered.push(signal_hook::low_level::pipe::register(number, alarm.try_clone()?)?);
            signals.noted.push((number, flag));
        }
        NOT_RUNNING.store(false, Ordering::SeqCst);
        Ok(signals)
    }

    /// What arrived since the last call.
    pub(super) fn take(&self) -> Arrived {
        let mut buffer = [0; 64];
        while (&self.wake).read(&mut buffer).is_ok_and(|read| read > 0) {}
        let mut arrived = Arrived::default();
        for (number, flag) in &self.noted {
            if !flag.swap(false, Ordering::SeqCst) {
                continue;
            }
            match *number {
                SIGWINCH => arrived.resized = true,
                SIGCHLD => arrived.child_ended = true,
                number => arrived.forward.extend(Signal::from_named_raw(number)),
            }
        }
        arrived
    }
}

impl AsFd for Signals {
    /// Becomes readable when something arrived, the end of a child included.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        NOT_RUNNING.store(true, Ordering::SeqCst);
        for id in self.registered.drain(..) {
            signal_hook::low_level::unregister(id);
        }
    }
}

/// The mask of ignored signals in `/proc/self/status`; none where there is no such file.
pub(super) fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Whether the mask of [`ignored`] holds a signal.
pub(super) fn is_ignored(mask: u64, number: i32) -> bool {
    (1..=64).contains(&number) && mask >> (number - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_a_process_under_nohup() {
        let mask = ignored("Name:\tx\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n");
        assert!(is_ignored(mask, SIGHUP));
        assert!(!is_ignored(mask, SIGINT) && !is_ignored(mask, 0) && !is_ignored(mask, 65));
        assert_eq!(ignored("SigIgn: what\n"), 0);
        assert_eq!(ignored(""), 0);
    }
}
