//! Pseudo-terminals: what makes a command believe that it talks to the user's own terminal.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::process::{getpgrp, ioctl_tiocsctty, setsid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, isatty, tcgetattr, tcgetpgrp, tcgetwinsize,
    tcsetattr, tcsetwinsize,
};

/// Both ends of a new pseudo-terminal.
pub(super) struct Pty {
    /// Our end.
    pub(super) master: OwnedFd,
    /// The command's end.
    pub(super) slave: OwnedFd,
}

impl Pty {
    /// Opens one with the window size and the settings (erase key, echo, …) of `like`.
    pub(super) fn open(like: impl AsFd) -> io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        #[cfg(target_os = "linux")]
        let flags = flags | OpenptFlags::CLOEXEC;
        let master = openpt(flags)?;
        rustix::io::fcntl_setfd(&master, rustix::io::FdFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?;
        let slave = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
        if let Ok(settings) = tcgetattr(&like) {
            tcsetattr(&slave, OptionalActions::Now, &settings)?;
        }
        let pty = Self { master, slave };
        copy_size(&like, &pty.master);
        // Reads and writes of ours must never block: the loop has other things to watch.
        let flags = rustix::fs::fcntl_getfl(&pty.master)?;
        rustix::fs::fcntl_setfl(&pty.master, flags | OFlags::NONBLOCK)?;
        Ok(pty)
    }
}

/// Gives `to` the window size of `from`, where both have one.
pub(super) fn copy_size(from: impl AsFd, to: impl AsFd) {
    if let Ok(size) = tcgetwinsize(from) {
        let _ = tcsetwinsize(to, size);
    }
}

/// Makes the terminal at stdout the controlling terminal of this process, as a session of its own.
///
/// Called in the child between fork and exec: system calls only.
pub(super) fn take_as_controlling() -> io::Result<()> {
    setsid()?;
    ioctl_tiocsctty(rustix::stdio::stdout())?;
    Ok(())
}

/// Whether we may read from and change this terminal: job control stops background processes that
/// try. A terminal that is not our controlling one has no job control for us.
pub(super) fn in_foreground(terminal: impl AsFd) -> bool {
    isatty(&terminal) && tcgetpgrp(terminal).map_or(true, |group| group == getpgrp())
}

/// Whether `bytes` typed into the terminal behind `master` hold a key that it turns into SIGINT.
pub(super) fn types_interrupt(master: impl AsFd, bytes: &[u8]) -> bool {
    tcgetattr(master).is_ok_and(|settings| {
        settings.local_modes.contains(LocalModes::ISIG)
            && bytes.contains(&settings.special_codes[SpecialCodeIndex::VINTR])
    })
}

/// The user's terminal in raw mode, until this is dropped (a panic included).
///
/// Raw, because the pseudo-terminal behind us does the echoing, the line editing and the making of
/// signals; two terminals doing it would do it twice.
pub(super) struct RawMode {
    terminal: OwnedFd,
    saved: Termios,
}

impl RawMode {
    /// Switches `terminal` to raw mode.
    pub(super) fn enter(terminal: impl AsFd) -> io::Result<Self> {
        let terminal = terminal.as_fd().try_clone_to_owned()?;
        let saved = tcgetattr(&terminal)?;
        let mut raw = saved.clone();
        raw.make_raw();
        tcsetattr(&terminal, OptionalActions::Now, &raw)?;
        Ok(Self { terminal, saved })
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        // `Now`, as waiting for a stopped terminal to drain could wait for ever.
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.saved);
    }
}

/// Takes out the carriage return that a terminal puts before each newline, so that the recorded
/// bytes are those the command wrote.
#[derive(Default)]
pub(super) struct Unreturn {
    held: bool,
}

impl Unreturn {
    /// The command's bytes for these terminal bytes; a final carriage return is held back.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len() + 1);
        for &byte in bytes {
            if self.held && byte != b'\n' {
                out.push(b'\r');
            }
            self.held = byte == b'\r';
            if !self.held {
                out.push(byte);
            }
        }
        out
    }

    /// What is still held back at the end.
    pub(super) fn finish(&mut self) -> &'static [u8] {
        if std::mem::take(&mut self.held) { b"\r" } else { b"" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn raw_mode_ends_with_its_guard_even_in_a_panic() {
        let outer = Pty::open(std::fs::File::open("/dev/null").unwrap()).unwrap();
        let echo = |pty: &Pty| tcgetattr(&pty.slave).unwrap().local_modes.contains(LocalModes::ECHO);
        assert!(echo(&outer));
        let result = std::panic::catch_unwind(|| {
            let _raw = RawMode::enter(&outer.slave).unwrap();
            assert!(!echo(&outer));
            panic!("on purpose");
        });
        assert!(result.is_err());
        assert!(echo(&outer));
    }

    #[test]
    fn interrupt_key_counts_only_where_the_terminal_makes_signals() {
        let pty = Pty::open(std::fs::File::open("/dev/null").unwrap()).unwrap();
        assert!(types_interrupt(&pty.master, b"ab\x03"));
        assert!(!types_interrupt(&pty.master, b"ab"));
        let _raw = RawMode::enter(&pty.slave).unwrap();
        assert!(!types_interrupt(&pty.master, b"\x03"));
    }

    proptest! {
        #[test]
        fn unreturn_inverts_the_terminal(text in "[ab\r\n]{0,30}", cut in 0_usize..60) {
            let through = text.replace('\n', "\r\n").into_bytes();
            let (first, second) = through.split_at(cut.min(through.len()));
            let mut unreturn = Unreturn::default();
            let mut back = unreturn.feed(first);
            back.extend(unreturn.feed(second));
            back.extend(unreturn.finish());
            prop_assert_eq!(back, text.into_bytes());
        }
    }
}
