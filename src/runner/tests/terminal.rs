//! A user at a terminal that is a pseudo-terminal of ours.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use super::super::drive::run_on;
use super::super::pty::Pty;
use super::super::spawn::Streams;
use super::super::{Command, End, HangKind, Outcome, Stream};
use super::{Scratch, ignored_here};

/// What the user waits to see, and does then.
type Step = (&'static str, Box<dyn FnOnce(&User)>);

/// A user at a terminal: what they see, and what they do when they see something.
struct User {
    screen: Vec<u8>,
    terminal: Pty,
}

impl User {
    fn new(rows: u16, columns: u16) -> Self {
        let terminal = Pty::open(File::open("/dev/null").unwrap()).unwrap();
        let user = Self { screen: Vec::new(), terminal };
        user.resize(rows, columns);
        user
    }

    fn resize(&self, rows: u16, columns: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.terminal.master, size).unwrap();
    }

    /// Runs the command at this terminal and calls `then` once `seen` is on the screen.
    fn at(&mut self, command: &Command, steps: Vec<Step>) -> Outcome {
        let slave = self.terminal.slave.try_clone().unwrap();
        let mut command = command.clone();
        command.stream = Stream::Terminal;
        let run = std::thread::spawn(move || {
            let ours = slave.as_fd();
            run_on(&command, &Streams { stdin: ours, stdout: ours, stderr: ours }).unwrap()
        });
        let mut steps = steps.into_iter().peekable();
        while !run.is_finished() {
            self.look();
            while let Some((_, step)) = steps.next_if(|(seen, _)| self.sees(seen)) {
                step(self);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.look();
        run.join().unwrap()
    }

    fn look(&mut self) {
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = rustix::io::read(&self.terminal.master, &mut buffer) {
            self.screen.extend_from_slice(&buffer[..read]);
        }
    }

    fn sees(&self, text: &str) -> bool {
        self.screen.windows(text.len()).any(|window| window == text.as_bytes())
    }

    fn types(&self, text: &str) {
        let mut file = File::from(self.terminal.master.try_clone().unwrap());
        file.write_all(text.as_bytes()).unwrap();
    }
}

fn step(seen: &'static str, act: impl FnOnce(&User) + 'static) -> Step {
    (seen, Box::new(act))
}

#[test]
fn at_a_terminal_the_command_has_a_terminal() {
    let scratch = Scratch::new();
    let mut user = User::new(33, 101);
    let script = "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && : < /dev/tty && echo all; stty size
                  printf '\\033[31mred\\033[0m\\n'; echo error >&2
                  echo name?; read name; echo hello $name";
    let outcome = user.at(&scratch.sh(script), vec![step("name?", |user| user.types("you\r"))]);
    assert_eq!(outcome.end, End::Exited(0));
    assert!(outcome.terminal);
    // "you" once: echoed by the command's terminal, not by the user's own as well.
    let want = "all\n33 101\n\u{1b}[31mred\u{1b}[0m\nerror\nname?\nyou\nhello you\n";
    assert_eq!(scratch.output(), want);
    assert_eq!(String::from_utf8(user.screen.clone()).unwrap(), want.replace('\n', "\r\n"));
    let settings = tcgetattr(&user.terminal.slave).unwrap();
    assert!(settings.local_modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG));
}

#[test]
fn control_c_at_a_terminal_is_a_real_signal() {
    if ignored_here(2) {
        return;
    }
    let scratch = Scratch::new();
    let mut user = User::new(24, 80);
    let script = "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.02; done";
    let outcome = user.at(&scratch.sh(script), vec![step("ready", |user| user.types("\x03"))]);
    assert_eq!(outcome.end, End::Exited(9));
    assert!(scratch.output().ends_with("caught\n"));

    let mut user = User::new(24, 80);
    let command = scratch.sh("echo ready; while :; do sleep 0.02; done");
    let outcome = user.at(&command, vec![step("ready", |user| user.types("\x03"))]);
    assert_eq!(outcome.end, End::Interrupted);

    let mut user = User::new(24, 80);
    let command = scratch.sh("trap '' INT; echo ready; while :; do sleep 0.02; done");
    let twice = vec![step("ready", |user| user.types("\x03")), step("^C", |user| user.types("\x03"))];
    assert_eq!(user.at(&command, twice).end, End::Interrupted);
}

#[test]
fn a_resized_window_is_followed() {
    let scratch = Scratch::new();
    let mut user = User::new(24, 80);
    let script = "trap 'stty size; exit 0' WINCH; stty size; echo ready; while :; do sleep 0.02; done";
    let resize = step("ready", |user| {
        user.resize(50, 132);
        kill_process(getpid(), Signal::WINCH).unwrap();
    });
    let outcome = user.at(&scratch.sh(script), vec![resize]);
    assert_eq!(outcome.end, End::Exited(0));
    assert_eq!(scratch.output(), "24 80\nready\n50 132\n");
}

#[test]
fn a_hang_at_a_terminal_gives_the_terminal_back() {
    let scratch = Scratch::new();
    let mut user = User::new(24, 80);
    let mut command = scratch.sh("trap '' TERM HUP; stty raw -echo; echo stuck; sleep 1000");
    command.idle = Some(Duration::from_secs(1));
    assert_eq!(user.at(&command, Vec::new()).end, End::Hang(HangKind::Idle));
    assert!(user.sees("stuck"));
    assert!(tcgetattr(&user.terminal.slave).unwrap().local_modes.contains(LocalModes::ECHO));
}

#[test]
fn typed_input_passes_through_to_a_pipe() {
    // The user types, but the output goes to a file: the command must not be stopped by job control.
    let scratch = Scratch::new();
    let user = User::new(24, 80);
    user.types("first\rsecond\r\x04");
    let mut command = scratch.sh("[ -t 0 ] || echo no terminal; cat");
    command.stream = Stream::Terminal;
    let out = File::create(scratch.path("1")).unwrap();
    let streams = Streams { stdin: user.terminal.slave.as_fd(), stdout: out.as_fd(), stderr: out.as_fd() };
    assert_eq!(run_on(&command, &streams).unwrap().end, End::Exited(0));
    assert_eq!(scratch.output(), "no terminal\nfirst\nsecond\n");
}
