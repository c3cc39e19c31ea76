//! Everything a command started, found and ended.
//!
//! Killing a process group is not enough for trees such as torchrun's, whose workers live in
//! sessions of their own and ignore SIGTERM. So while a command runs we are the "subreaper": an
//! orphan below us becomes our child instead of init's, and no descendant can leave. What belongs
//! to the command is then known by its ancestors, its session or group, or by a variable that it
//! was started with. Elsewhere than on Linux only the process group is ended.

use rustix::process::{Pid, Signal, kill_process_group};

/// The processes of one run.
pub(super) struct Tree {
    root: Pid,
    #[cfg(target_os = "linux")]
    linux: linux::Tree,
}

impl Tree {
    /// The tree below `root`, our child and leader of its own group; `mark` is the value of
    /// [`super::RUN_VARIABLE`] that it was started with, `adopting` began before it was.
    #[cfg_attr(not(target_os = "linux"), expect(unused_variables, reason = "the group is all we know there"))]
    pub(super) fn new(root: Pid, mark: &str, adopting: &Adopting) -> Self {
        Self {
            root,
            #[cfg(target_os = "linux")]
            linux: linux::Tree::new(root, mark, adopting.earlier.clone()),
        }
    }

    /// Sends a signal to the root's process group, as a terminal would.
    ///
    /// Only while the root was not waited for: its number is not given to anybody else until then.
    pub(super) fn signal_group(&self, signal: Signal) {
        let _ = kill_process_group(self.root, signal);
    }
}

#[cfg(target_os = "linux")]
impl Tree {
    /// The processes that still run, zombies not counted. The root must not have been waited for.
    pub(super) fn alive(&mut self) -> Vec<i32> {
        self.linux.alive()
    }

    /// Ends all of them with SIGKILL and reaps those that became our children, the root excepted.
    /// Returns those that did not die within five seconds.
    pub(super) fn kill(&mut self) -> Vec<i32> {
        self.linux.kill()
    }

    /// Reaps dead orphans of the command; runs on after the root was waited for.
    pub(super) fn reap(&mut self) {
        self.linux.reap();
    }
}

#[cfg(not(target_os = "linux"))]
impl Tree {
    pub(super) fn alive(&mut self) -> Vec<i32> {
        vec![self.root.as_raw_nonzero().get()]
    }

    pub(super) fn kill(&mut self) -> Vec<i32> {
        self.signal_group(Signal::KILL);
        Vec::new()
    }

    pub(super) fn reap(&mut self) {}
}

/// Makes us the parent of orphaned descendants, until dropped.
pub(super) struct Adopting {
    #[cfg(target_os = "linux")]
    before: Option<Pid>,
    /// Children we had before, which therefore are nobody's orphans.
    #[cfg(target_os = "linux")]
    earlier: std::collections::HashSet<i32>,
}

impl Adopting {
    /// Starts adopting. A kernel that refuses leaves us with ancestors and groups.
    pub(super) fn start() -> Self {
        #[cfg(target_os = "linux")]
        {
            let own = rustix::process::getpid();
            let before = rustix::process::child_subreaper().ok().flatten();
            let _ = rustix::process::set_child_subreaper(Some(own));
            Self { before, earlier: linux::children(own.as_raw_nonzero().get()).into_iter().collect() }
        }
        #[cfg(not(target_os = "linux"))]
        Self {}
    }
}

impl Drop for Adopting {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        let _ = rustix::process::set_child_subreaper(self.before);
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::{HashMap, HashSet};
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, waitpid};

    /// How long killed processes may take to disappear.
    const DEATH: Duration = Duration::from_secs(5);

    /// How often newly found processes are stopped before the killing begins. Each round stops
    /// every parent it sees, so a tree that outlives a few rounds is a fork bomb.
    const ROUNDS: usize = 100;

    /// One line of `/proc/<pid>/stat`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) struct Entry {
        pub(super) pid: i32,
        pub(super) state: u8,
        pub(super) parent: i32,
        pub(super) group: i32,
        pub(super) session: i32,
        /// Clock ticks since boot; with the pid it names a process for good.
        pub(super) started: u64,
    }

    impl Entry {
        fn lives(&self) -> bool {
            !matches!(self.state, b'Z' | b'X' | b'x')
        }
    }

    /// Reads one stat line. The name in it is chosen by the process and may hold anything, so the
    /// fields are counted from its last parenthesis.
    pub(super) fn parse(stat: &str) -> Option<Entry> {
        let pid = stat.split_once(' ')?.0.parse().ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<i32>().ok();
        Some(Entry {
            pid,
            state: *fields.first()?.as_bytes().first()?,
            parent: number(1)?,
            group: number(2)?,
            session: number(3)?,
            started: fields.get(19)?.parse().ok()?,
        })
    }

    fn entry(pid: i32) -> Option<Entry> {
        let bytes = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        parse(&String::from_utf8_lossy(&bytes))
    }

    fn everything() -> Vec<Entry> {
        let Ok(folder) = std::fs::read_dir("/proc") else {
            return Vec::new();
        };
        folder.filter_map(|file| entry(file.ok()?.file_name().to_str()?.parse().ok()?)).collect()
    }

    pub(super) struct Tree {
        root: i32,
        started: u64,
        marked: Vec<u8>,
        own: i32,
        /// 0 where our session's leader is outside our PID namespace, as in most containers; the
        /// kernel says so in `/proc` too, while rustix's `getsid` takes it for impossible.
        own_session: i32,
        /// Whether `/proc` numbers processes as we do: a namespace may have been given another's.
        visible: bool,
        earlier: HashSet<i32>,
        /// Members once seen: pid and start. They stay members when their parents die.
        known: HashMap<i32, u64>,
    }

    impl Tree {
        pub(super) fn new(root: Pid, mark: &str, earlier: HashSet<i32>) -> Self {
            let root = root.as_raw_nonzero().get();
            let own = getpid().as_raw_nonzero().get();
            Self {
                root,
                started: entry(root).map_or(0, |entry| entry.started),
                marked: format!("{}={mark}", super::super::RUN_VARIABLE).into_bytes(),
                own,
                own_session: entry(own).map_or(0, |entry| entry.session),
                visible: std::fs::read_link("/proc/self")
                    .is_ok_and(|us| us.as_os_str() == own.to_string().as_str()),
                earlier,
                known: HashMap::new(),
            }
        }

        /// All members among `all`, zombies included, and remembers them.
        fn members(&mut self, all: &[Entry]) -> Vec<Entry> {
            let mut found: HashSet<i32> = HashSet::new();
            let mut members = Vec::new();
            loop {
                let before = members.len();
                for entry in all {
                    if !found.contains(&entry.pid) && self.belongs(entry, &found) {
                        found.insert(entry.pid);
                        members.push(*entry);
                    }
                }
                if members.len() == before {
                    break;
                }
            }
            self.known.extend(members.iter().map(|entry| (entry.pid, entry.started)));
            members
        }

        fn belongs(&self, entry: &Entry, found: &HashSet<i32>) -> bool {
            if entry.pid == self.own || entry.started < self.started {
                return false;
            }
            entry.pid == self.root
                || self.known.get(&entry.pid) == Some(&entry.started)
                || found.contains(&entry.parent)
                || found.contains(&entry.group)
                || found.contains(&entry.session)
                || (entry.parent == self.own && self.is_orphan(entry))
        }

        /// Whether this child of ours was adopted from the command rather than started by us.
        fn is_orphan(&self, entry: &Entry) -> bool {
            if self.earlier.contains(&entry.pid) {
                return false;
            }
            // What we start ourselves stays in our session and has no mark.
            entry.session != self.own_session
                || std::fs::read(format!("/proc/{}/environ", entry.pid))
                    .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|pair| pair == self.marked))
        }

        fn living(&mut self) -> Vec<Entry> {
            if !self.visible {
                return Vec::new();
            }
            let mut members = self.members(&everything());
            members.retain(Entry::lives);
            members
        }

        pub(super) fn alive(&mut self) -> Vec<i32> {
            if !self.visible {
                return vec![self.root];
            }
            self.living().iter().map(|entry| entry.pid).collect()
        }

        pub(super) fn kill(&mut self) -> Vec<i32> {
            if !self.visible {
                let _ = Pid::from_raw(self.root).map(|root| kill_process_group(root, Signal::KILL));
                return Vec::new();
            }
            // Stopped processes start no others behind our back.
            let mut stopped = HashSet::new();
            for _ in 0..ROUNDS {
                let fresh: Vec<Entry> = self
                    .living()
                    .into_iter()
                    .filter(|entry| stopped.insert((entry.pid, entry.started)))
                    .collect();
                if fresh.is_empty() {
                    break;
                }
                for entry in &fresh {
                    send(entry, Signal::STOP);
                }
            }
            let deadline = Instant::now() + DEATH;
            loop {
                let living = self.living();
                for entry in &living {
                    send(entry, Signal::KILL);
                }
                self.reap();
                if living.is_empty() || Instant::now() >= deadline {
                    return living.iter().map(|entry| entry.pid).collect();
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }

        pub(super) fn reap(&mut self) {
            if !self.visible {
                return;
            }
            for pid in children(self.own) {
                let Some(entry) = entry(pid).filter(|entry| !entry.lives() && entry.parent == self.own)
                else {
                    continue;
                };
                let ours = self.known.get(&pid) == Some(&entry.started)
                    || entry.group == self.root
                    || (entry.session != self.own_session && entry.started >= self.started);
                if ours && pid != self.root && !self.earlier.contains(&pid) {
                    let _ = Pid::from_raw(pid).map(|pid| waitpid(Some(pid), WaitOptions::NOHANG));
                }
            }
        }
    }

    /// Signals a process unless its number already belongs to another one.
    fn send(member: &Entry, signal: Signal) {
        if entry(member.pid).is_some_and(|now| now.started == member.started)
            && let Some(pid) = Pid::from_raw(member.pid)
        {
            let _ = kill_process(pid, signal);
        }
    }

    /// The children of a process, zombies included.
    pub(super) fn children(of: i32) -> Vec<i32> {
        // The kernel's own lists (one for each thread) spare the walk over all of /proc; not every
        // kernel is built with them.
        if let Ok(threads) = std::fs::read_dir(format!("/proc/{of}/task")) {
            let lists: Option<Vec<String>> = threads
                .map(|thread| std::fs::read_to_string(thread.ok()?.path().join("children")).ok())
                .collect();
            if let Some(lists) = lists {
                return lists
                    .iter()
                    .flat_map(|list| list.split_ascii_whitespace())
                    .filter_map(|pid| pid.parse().ok())
                    .collect();
            }
        }
        everything().iter().filter(|entry| entry.parent == of).map(|entry| entry.pid).collect()
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use proptest::prelude::*;

        #[test]
        fn a_name_full_of_parentheses() {
            let line = "77 (a) R (b) S 5 6 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987 1000 10 1\n";
            let want = Entry { pid: 77, state: b'S', parent: 5, group: 6, session: 7, started: 987 };
            assert_eq!(parse(line), Some(want));
        }

        #[test]
        fn ourselves_and_our_child() {
            let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
            let pid = i32::try_from(child.id()).unwrap();
            let own = getpid().as_raw_nonzero().get();
            assert_eq!(entry(pid).map(|entry| entry.parent), Some(own));
            assert!(children(own).contains(&pid));
            assert!(everything().iter().any(|entry| entry.pid == pid));
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(entry(pid), None);
        }

        proptest! {
            #[test]
            fn total(line in any::<String>(), numbers in "[0-9]{1,12} \\([a-z)( ]{0,9}\\)( -?[0-9A-Z]{1,22}){0,25}") {
                let _ = (parse(&line), parse(&numbers));
            }
        }
    }
}
