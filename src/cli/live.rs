//! What a person sees while gates run: which one, how long already, what remains.
//!
//! On a terminal it is one line that is written over each second; elsewhere (CI, agents, a background log) a line
//! every half minute, so that silence never means that nothing happens. A progress-bar library would bring the first
//! and not the second, and its lines would not go through the cleaning that all our text goes through.

use std::io::IsTerminal;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use unicode_width::UnicodeWidthChar;

use super::ui::{self, Style, Text};
use crate::hook::{Line, Tone, table};
use crate::model::time::human_duration;
use crate::session::validate::Progress;

/// How often the line on a terminal is written anew.
const TICK: Duration = Duration::from_secs(1);

/// How often a line is added where there is no terminal.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// What runs at the moment.
#[derive(Debug, Clone)]
struct Running {
    gate: String,
    detail: String,
    since: Instant,
    expected: Option<Duration>,
    rest: usize,
}

#[derive(Debug, Default)]
struct State {
    running: Option<Running>,
    /// Whether a line stands on the terminal that has no end yet.
    shown: bool,
    over: bool,
}

type Shared = Arc<(Mutex<State>, Condvar)>;

/// Shows progress until it is dropped.
pub struct Live {
    shared: Shared,
    thread: Option<JoinHandle<()>>,
    print: fn(&Line),
}

impl Live {
    /// Shows on stderr; whole lines go through `print`.
    pub fn new(print: fn(&Line)) -> Self {
        Self { shared: Shared::default(), thread: None, print }
    }

    /// Shows one step.
    pub fn show(&mut self, progress: &Progress<'_>) {
        let line = table::progress(progress);
        let mut state = lock(&self.shared);
        match progress {
            Progress::Started(job, place) => {
                wipe(&mut state);
                state.running = Some(Running {
                    gate: job.gate.id.clone(),
                    detail: String::new(),
                    since: Instant::now(),
                    expected: place.expected,
                    rest: place.of.saturating_sub(place.number),
                });
            }
            Progress::Run(_, number, wanted) if *wanted > 1 => {
                if let Some(running) = &mut state.running {
                    running.detail = format!(", run {number} of {wanted}");
                }
            }
            Progress::Ended(_) => {
                wipe(&mut state);
                state.running = None;
            }
            Progress::Waiting | Progress::WaitingForGpu(..) | Progress::Run(..) => {}
        }
        // On a terminal the line that changes says which run it is; elsewhere each run has a line.
        if let Some(line) = line
            && !(matches!(progress, Progress::Run(..)) && std::io::stderr().is_terminal())
        {
            wipe(&mut state);
            (self.print)(&line);
        }
        drop(state);
        if matches!(progress, Progress::Started(..)) {
            self.go();
        }
        self.shared.1.notify_all();
    }

    /// Another process runs the gates; this is what it said last.
    pub fn waiting(&mut self, last: &str) {
        let mut state = lock(&self.shared);
        let since = state.running.as_ref().map_or_else(Instant::now, |running| running.since);
        if state.running.is_none() {
            (self.print)(&Line::new(Tone::Quiet, "waiting for the validation in the background …"));
        }
        state.running = Some(Running {
            gate: if last.is_empty() {
                "in the background".into()
            } else {
                format!("in the background: {last}")
            },
            detail: String::new(),
            since,
            expected: None,
            rest: 0,
        });
        drop(state);
        self.go();
    }

    fn go(&mut self) {
        if self.thread.is_none() {
            let shared = Arc::clone(&self.shared);
            self.thread =
                std::thread::Builder::new().name("progress".into()).spawn(move || tick(&shared)).ok();
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let mut state = lock(&self.shared);
        wipe(&mut state);
        state.over = true;
        drop(state);
        self.shared.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has shown what it could; progress decides nothing.
            let _ = thread.join();
        }
    }
}

fn lock(shared: &Shared) -> MutexGuard<'_, State> {
    shared.0.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the unfinished line off the terminal.
fn wipe(state: &mut State) {
    if state.shown {
        ui::write_all(&mut std::io::stderr(), b"\r\x1b[K");
        state.shown = false;
    }
}

fn tick(shared: &Shared) {
    let terminal = std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|t| t != "dumb");
    let every = if terminal { TICK } else { HEARTBEAT };
    let mut state = lock(shared);
    let mut next = Instant::now() + every;
    while !state.over {
        let wait = next.saturating_duration_since(Instant::now());
        (state, _) = shared.1.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner);
        if state.over || Instant::now() < next {
            continue;
        }
        next = Instant::now() + every;
        let Some(running) = &state.running else { continue };
        let text = sentence(running, running.since.elapsed());
        if terminal {
            let size = rustix::termios::tcgetwinsize(std::io::stderr());
            // Some terminals do not know how wide they are, and say 0.
            let width = size.map_or(80, |w| if w.ws_col == 0 { 80 } else { usize::from(w.ws_col) });
            let line = format!("\r\x1b[K{}", cut(&ui::clean(&text), width.saturating_sub(1)));
            ui::write_all(&mut std::io::stderr(), line.as_bytes());
            state.shown = true;
        } else {
            ui::say(&Text::new().styled(Style::Dim, "git incident: ").line(text));
        }
    }
}

/// `softmax: 42 s of about 2 min, run 3 of 14; 2 more gates`.
fn sentence(running: &Running, elapsed: Duration) -> String {
    let seconds = |duration: Duration| human_duration(duration.as_secs().max(1) * 1000);
    let mut text = format!("{}: {}", running.gate, seconds(elapsed));
    if let Some(expected) = running.expected.filter(|expected| *expected > Duration::from_secs(1)) {
        text.extend([" of about ", &seconds(expected)]);
    }
    text.push_str(&running.detail);
    match running.rest {
        0 => {}
        1 => text.push_str("; 1 more gate"),
        rest => text.push_str(&format!("; {rest} more gates")),
    }
    text
}

/// As much of a text as fits into so many columns.
fn cut(text: &str, columns: usize) -> String {
    let mut used = 0;
    text.chars()
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= columns
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_which_gate_how_long_and_what_remains() {
        let mut running = Running {
            gate: "softmax".into(),
            detail: String::new(),
            since: Instant::now(),
            expected: None,
            rest: 0,
        };
        assert_eq!(sentence(&running, Duration::from_secs(42)), "softmax: 42 s");
        running.detail = ", run 3 of 14".into();
        running.expected = Some(Duration::from_mins(2));
        running.rest = 2;
        let text = sentence(&running, Duration::from_secs(42));
        assert!(text.starts_with("softmax: 42 s of about 2"), "{text}");
        assert!(text.ends_with(", run 3 of 14; 2 more gates"), "{text}");
    }

    #[test]
    fn a_line_never_wraps() {
        assert_eq!(cut("abc", 2), "ab");
        assert_eq!(cut("日本語", 5), "日本");
        assert_eq!(cut("", 0), "");
    }
}
