//! The life of one run: start, watch, end.

use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::pty::copy_size;
use super::pump::{Pump, Turn};
use super::record::Record;
use super::signals::Signals;
use super::spawn::{Started, Streams, start};
use super::tree::{Adopting, Tree};
use super::{Capture, Command, End, Failure, HangKind, Outcome, Stream, capture, check};
use crate::model::Error;

/// Two interruptions within this time mean "at once". Farther apart they are two requests: a
/// debugger or an interpreter under us is interrupted many times in its life.
const INSISTING: Duration = Duration::from_secs(2);

/// After the command's end, output of what it left in the background is awaited this long…
const SILENCE: Duration = Duration::from_millis(300);

/// …and listened to this long if it never falls silent.
const CHATTER: Duration = Duration::from_secs(3);

/// How many lines [`Stream::Stderr`] shows.
const LAST_LINES: usize = 40;

/// How often the processes are counted while they may end by themselves. Counting walks /proc.
const COUNTING: Duration = Duration::from_millis(25);

/// How often dead orphans are looked for, at most.
const REAPING: Duration = Duration::from_millis(250);

/// The terminal's mode, signals and orphans belong to the process, so runs take turns.
static TURNS: Mutex<()> = Mutex::new(());

/// Runs `command` with these streams as ours.
pub(super) fn run_on(command: &Command, streams: &Streams<'_>) -> Result<Outcome, Failure> {
    check(command)?;
    let _turn = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
    let record = Record::create(&command.output, command.max_output).map_err(|error| {
        Error::refused(format!("cannot write {}", command.output.display())).because(error)
    })?;
    let signals = Signals::install()?;
    let adopting = Adopting::start();
    let mark = mark();
    let began = Instant::now();
    let mut started = start(command, streams, &mark)?;
    let root = i32::try_from(started.child.id()).ok().and_then(Pid::from_raw);
    let root = root.ok_or_else(|| Error::bug("a child without a process number"))?;
    let pump = Pump::new(&mut started, streams, record);
    let run = Run {
        root,
        tree: Tree::new(root, &mark, &adopting),
        started,
        pump,
        signals,
        outer: *streams,
        began,
        ended: false,
        last_interrupt: None,
        forced: false,
        last_reaped: Instant::now(),
    };
    run.conclude(command)
}

/// A text that no other run has.
fn mark() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("{}.{}.{}", std::process::id(), now.as_nanos(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A command that runs.
pub(super) struct Run<'a> {
    root: Pid,
    tree: Tree,
    started: Started,
    pump: Pump<'a>,
    signals: Signals,
    outer: Streams<'a>,
    began: Instant,
    ended: bool,
    last_interrupt: Option<Instant>,
    forced: bool,
    last_reaped: Instant,
}

/// Why watching stopped.
enum Stop {
    Ended(ExitStatus),
    Hang(HangKind),
    Forced,
}

impl Run<'_> {
    /// The command's own process.
    pub(super) fn root(&self) -> Pid {
        self.root
    }

    /// Whether the user insists on an end at once.
    pub(super) fn forced(&self) -> bool {
        self.forced
    }

    /// Moves bytes once and passes on the signals that arrived.
    pub(super) fn turn(&mut self, extra: Option<BorrowedFd<'_>>, wait: Option<Duration>) -> io::Result<Turn> {
        let turn = self.pump.turn(&self.signals, extra, wait)?;
        if turn.interrupt_typed {
            self.interrupted();
        }
        let arrived = self.signals.take();
        if arrived.resized
            && let Some(terminal) = &self.started.terminal
        {
            copy_size(self.outer.stdout, terminal);
        }
        if arrived.child_ended && self.last_reaped.elapsed() >= REAPING {
            // A build may orphan thousands of processes; each keeps its number until it is reaped.
            self.tree.reap();
            self.last_reaped = Instant::now();
        }
        for signal in arrived.forward {
            if !self.ended {
                self.tree.signal_group(signal);
            }
            if signal == Signal::INT || signal == Signal::TERM {
                self.interrupted();
            }
        }
        Ok(turn)
    }

    fn interrupted(&mut self) {
        let now = Instant::now();
        self.forced |= self.last_interrupt.is_some_and(|last| now.duration_since(last) <= INSISTING);
        self.last_interrupt = Some(now);
    }

    /// Watches, ends if need be, and tidies up.
    fn conclude(mut self, command: &Command) -> Result<Outcome, Failure> {
        let mut captures = Vec::new();
        let mut left_over = Vec::new();
        let watched = self.watch(command);
        let end = match watched {
            Ok(Stop::Ended(status)) => self.end_of(status),
            Ok(Stop::Hang(kind)) => {
                captures = self.look(command);
                left_over = self.end_everything(command.grace);
                End::Hang(kind)
            }
            Ok(Stop::Forced) => {
                left_over = self.end_everything(Duration::ZERO);
                End::Interrupted
            }
            Err(error) => {
                // Watching failed, so nobody would ever end it.
                self.end_everything(Duration::ZERO);
                return Err(error.into());
            }
        };
        self.ended = true;
        let duration = self.began.elapsed();
        if self.started.terminal.is_none() {
            // What is typed from now on is for whoever comes after the command.
            self.pump.stop_typing();
        }
        self.drain()?;
        self.tree.reap();
        if command.stream == Stream::Stderr {
            self.pump.show_last_lines(LAST_LINES);
        }
        self.deliver()?;
        // From here on the user's terminal is as it was.
        self.started.raw = None;
        let recorded = self.pump.finish();
        Ok(Outcome {
            end,
            duration,
            output_bytes: recorded.total,
            dropped_bytes: recorded.dropped,
            output_error: recorded.error,
            terminal: self.started.terminal.is_some(),
            captures,
            left_over,
        })
    }

    /// Watches the command until it ends, hangs or is to be ended.
    fn watch(&mut self, command: &Command) -> io::Result<Stop> {
        loop {
            if let Some(status) = self.started.child.try_wait()? {
                return Ok(Stop::Ended(status));
            }
            if self.forced {
                return Ok(Stop::Forced);
            }
            let mut wait: Option<Duration> = None;
            for (kind, limit, since) in [
                (HangKind::Timeout, command.timeout, self.began),
                (HangKind::Idle, command.idle, self.pump.last_output()),
            ] {
                if let Some(limit) = limit {
                    let left = limit.saturating_sub(since.elapsed());
                    if left.is_zero() {
                        return Ok(Stop::Hang(kind));
                    }
                    wait = Some(wait.map_or(left, |wait| wait.min(left)));
                }
            }
            self.turn(None, wait)?;
        }
    }

    fn end_of(&self, status: ExitStatus) -> End {
        match (status.code(), status.signal()) {
            (None, Some(number)) if number == Signal::INT.as_raw() && self.last_interrupt.is_some() => {
                End::Interrupted
            }
            (None, Some(number)) => End::Signalled(number),
            (code, _) => End::Exited(code.unwrap_or(255)),
        }
    }

    fn look(&mut self, command: &Command) -> Vec<Capture> {
        let mut captures = Vec::new();
        for template in &command.on_hang {
            if self.forced {
                break;
            }
            captures.push(capture::run(template, command, self));
        }
        captures
    }

    /// Ends the command and everything it started; returns what would not die.
    ///
    /// The command itself is waited for last: until then nobody else gets its number.
    fn end_everything(&mut self, grace: Duration) -> Vec<i32> {
        let patience = Instant::now() + grace;
        if !grace.is_zero() {
            self.tree.signal_group(Signal::TERM);
            // A stopped process would keep the signal pending.
            self.tree.signal_group(Signal::CONT);
        }
        while !self.forced && Instant::now() < patience && !self.tree.alive().is_empty() {
            let pause = COUNTING.min(patience.saturating_duration_since(Instant::now()));
            let until = Instant::now() + pause;
            // Output wakes us early; counting again each time would cost more than it tells.
            loop {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() || self.turn(None, Some(left)).is_err() {
                    break;
                }
            }
        }
        let left_over = self.tree.kill();
        if left_over.contains(&self.root.as_raw_nonzero().get()) {
            let _ = self.started.child.try_wait();
        } else {
            let _ = self.started.child.wait();
        }
        left_over
    }

    /// Reads what is left, without waiting for background processes that keep the streams open.
    fn drain(&mut self) -> io::Result<()> {
        let mut since = Instant::now();
        let mut silent_since = since;
        while self.pump.open() && !self.forced {
            let before = self.pump.last_output();
            let left =
                SILENCE.saturating_sub(silent_since.elapsed()).min(CHATTER.saturating_sub(since.elapsed()));
            if left.is_zero() {
                break;
            }
            self.turn(None, Some(left))?;
            if self.pump.last_output() != before {
                silent_since = Instant::now();
            }
            if self.pump.congested() {
                since = Instant::now();
            }
        }
        Ok(())
    }

    /// Waits until the user has received everything, unless interrupted.
    fn deliver(&mut self) -> io::Result<()> {
        let before = self.last_interrupt;
        while self.pump.undelivered() && !self.forced && self.last_interrupt == before {
            self.turn(None, None)?;
        }
        Ok(())
    }
}
