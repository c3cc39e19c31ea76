//! Moving bytes: from the command to the user and the file, from the user to the command.
//!
//! One loop watches everything, so that limits and signals are noticed whatever blocks. Bytes for a
//! slow reader wait in a queue; when it is long the command's output is left in its pipe, which
//! slows the command down exactly as the reader itself would have done.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::pty::{Unreturn, types_interrupt};
use super::record::{Record, Recorded};
use super::signals::Signals;
use super::spawn::{Mirror, Started, Streams};

/// A longer queue makes us stop reading.
const LONG: usize = 256 * 1024;

/// A pipe that is ready takes this much without blocking (`PIPE_BUF`).
const PORTION: usize = 4096;

/// How much is read at a time.
const CHUNK: usize = 64 * 1024;

/// Bytes on their way to somewhere.
struct Queue<T> {
    to: Option<T>,
    waiting: Vec<u8>,
}

impl<T: AsFd> Queue<T> {
    fn new(to: Option<T>) -> Self {
        Self { to, waiting: Vec::new() }
    }

    /// The destination, while something waits for it.
    fn wanting(&self) -> Option<BorrowedFd<'_>> {
        self.to.as_ref().filter(|_| !self.waiting.is_empty()).map(AsFd::as_fd)
    }

    fn push(&mut self, bytes: &[u8]) {
        if self.to.is_some() {
            self.waiting.extend_from_slice(bytes);
        }
    }

    /// Hands over one portion. A reader that has gone away is forgotten, as the recording goes on.
    fn write(&mut self) {
        let Some(to) = &self.to else { return };
        match rustix::io::write(to, &self.waiting[..self.waiting.len().min(PORTION)]) {
            Ok(written) => {
                self.waiting.drain(..written);
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => {
                self.to = None;
                self.waiting = Vec::new();
            }
        }
    }
}

struct Source {
    from: Option<OwnedFd>,
    mirror: Mirror,
}

/// What one turn of the loop brought.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    /// The interrupt key was typed into the command's terminal.
    pub(super) interrupt_typed: bool,
    /// The extra descriptor has something, or has ended.
    pub(super) extra_ready: bool,
}

/// What one turn waits for.
struct Watched<'f>(Vec<PollFd<'f>>);

impl<'f> Watched<'f> {
    /// Adds a descriptor, if there is one, and says where its answer will be.
    fn add(&mut self, fd: Option<BorrowedFd<'f>>, flags: PollFlags) -> Option<usize> {
        self.0.push(PollFd::from_borrowed_fd(fd?, flags));
        Some(self.0.len() - 1)
    }
}

/// The streams of a running command.
pub(super) struct Pump<'a> {
    sources: Vec<Source>,
    stdout: Queue<BorrowedFd<'a>>,
    stderr: Queue<BorrowedFd<'a>>,
    stdin: Option<BorrowedFd<'a>>,
    input: Queue<OwnedFd>,
    unreturn: Option<Unreturn>,
    record: Record,
    last_output: Instant,
}

impl<'a> Pump<'a> {
    /// Takes over the streams of `started`.
    pub(super) fn new(started: &mut Started, streams: &Streams<'a>, record: Record) -> Self {
        let sources = std::mem::take(&mut started.sources);
        let input = started.input.take();
        Self {
            sources: sources.into_iter().map(|(from, mirror)| Source { from: Some(from), mirror }).collect(),
            stdout: Queue::new(Some(streams.stdout)),
            stderr: Queue::new(Some(streams.stderr)),
            stdin: input.as_ref().map(|_| streams.stdin),
            input: Queue::new(input),
            unreturn: started.terminal.is_some().then(Unreturn::default),
            record,
            last_output: Instant::now(),
        }
    }

    /// Whether the command may still write something.
    pub(super) fn open(&self) -> bool {
        self.sources.iter().any(|source| source.from.is_some())
    }

    /// Whether the user still has to receive something.
    pub(super) fn undelivered(&self) -> bool {
        self.stdout.wanting().is_some() || self.stderr.wanting().is_some()
    }

    /// When the command last wrote something, or could have but for a slow reader of ours.
    pub(super) fn last_output(&self) -> Instant {
        self.last_output
    }

    /// Whether a slow reader of ours keeps us from reading the command.
    pub(super) fn congested(&self) -> bool {
        self.stdout.waiting.len() >= LONG || self.stderr.waiting.len() >= LONG
    }

    /// Waits until something can be moved, a signal arrives or `wait` is over, and moves it.
    pub(super) fn turn(
        &mut self,
        signals: &Signals,
        extra: Option<BorrowedFd<'_>>,
        wait: Option<Duration>,
    ) -> io::Result<Turn> {
        let congested = self.congested();
        let mut watched = Watched(vec![PollFd::new(signals, PollFlags::IN)]);
        let at_stdout = watched.add(self.stdout.wanting(), PollFlags::OUT);
        let at_stderr = watched.add(self.stderr.wanting(), PollFlags::OUT);
        let at_input = watched.add(self.input.wanting(), PollFlags::OUT);
        let typed = self.stdin.filter(|_| self.input.waiting.is_empty() && self.input.to.is_some());
        let at_stdin = watched.add(typed, PollFlags::IN);
        let at_extra = watched.add(extra, PollFlags::IN);
        let mut at_sources = Vec::new();
        for source in &self.sources {
            let from = source.from.as_ref().filter(|_| !congested).map(AsFd::as_fd);
            at_sources.push(watched.add(from, PollFlags::IN));
        }
        let limit = match wait {
            Some(wait) => Some(rustix::time::Timespec::try_from(wait).map_err(io::Error::other)?),
            None => None,
        };
        match poll(&mut watched.0, limit.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Turn::default()),
            Err(error) => return Err(error.into()),
        }
        let ready = |at: Option<usize>| at.is_some_and(|at| !watched.0[at].revents().is_empty());
        let [stdout, stderr, input, stdin, extra_ready] =
            [at_stdout, at_stderr, at_input, at_stdin, at_extra].map(ready);
        let sources: Vec<bool> = at_sources.into_iter().map(ready).collect();
        drop(watched);

        if stdout {
            self.stdout.write();
        }
        if stderr {
            self.stderr.write();
        }
        if input {
            self.input.write();
        }
        let interrupt_typed = stdin && self.read_typed();
        for at in sources.iter().enumerate().filter_map(|(at, ready)| ready.then_some(at)) {
            self.read_source(at);
        }
        if congested {
            self.last_output = Instant::now();
        }
        Ok(Turn { interrupt_typed, extra_ready })
    }

    /// Leaves what is typed alone from now on.
    pub(super) fn stop_typing(&mut self) {
        self.stdin = None;
    }

    /// Passes on what the user typed; says whether it holds the interrupt key.
    fn read_typed(&mut self) -> bool {
        let (Some(stdin), Some(to)) = (self.stdin, &self.input.to) else {
            return false;
        };
        let mut buffer = [0; PORTION];
        match rustix::io::read(stdin, &mut buffer) {
            Err(Errno::INTR | Errno::AGAIN) => false,
            Ok(0) | Err(_) => {
                self.stdin = None;
                // On a pipe this is how the command learns of the end; a terminal stays open.
                self.input.to = None;
                false
            }
            Ok(read) => {
                let interrupt = self.unreturn.is_some() && types_interrupt(to, &buffer[..read]);
                self.input.push(&buffer[..read]);
                interrupt
            }
        }
    }

    fn read_source(&mut self, at: usize) {
        let source = &mut self.sources[at];
        let Some(from) = &source.from else { return };
        let mut buffer = vec![0; CHUNK];
        let read = match rustix::io::read(from, &mut buffer) {
            Err(Errno::INTR | Errno::AGAIN) => return,
            // A terminal without a command at the other end fails instead of ending.
            Ok(0) | Err(_) => {
                source.from = None;
                return;
            }
            Ok(read) => &buffer[..read],
        };
        match source.mirror {
            Mirror::Stdout => self.stdout.push(read),
            Mirror::Stderr => self.stderr.push(read),
            Mirror::Nowhere => {}
        }
        match &mut self.unreturn {
            Some(unreturn) => self.record.write(&unreturn.feed(read)),
            None => self.record.write(read),
        }
        self.last_output = Instant::now();
    }

    /// Queues the last lines of the output for our stderr.
    pub(super) fn show_last_lines(&mut self, count: usize) {
        let mut lines = self.record.last_lines(count).to_vec();
        if lines.last().is_some_and(|last| *last != b'\n') {
            lines.push(b'\n');
        }
        self.stderr.push(&lines);
    }

    /// Closes everything and completes the file.
    pub(super) fn finish(mut self) -> Recorded {
        if let Some(unreturn) = &mut self.unreturn {
            self.record.write(unreturn.finish());
        }
        self.record.finish()
    }
}
