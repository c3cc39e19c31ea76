//! Who uses a GPU while a gate runs: whether the gate does, and whether others do.
//!
//! A thread looks again and again at the processes on the devices. One that descends from us, or carries the run's mark
//! in its environment, is the gate's. Inside a container the driver may name processes by the host's numbers, or by
//! none; then only weaker things are seen: that a process came and went with the run, and that memory was taken.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use super::cards::{Card, kfd_users};
use super::nvml::{self, State};

/// Less memory than any context takes.
pub const SOME_MEMORY: u64 = 16 << 20;

/// How long the library may take before a run and after it.
const LIMIT: Duration = Duration::from_secs(10);

/// What looks at the devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Eye {
    /// NVIDIA's management library.
    Nvml,
    /// AMD's compute driver, at this folder.
    Kfd(PathBuf),
}

/// What was seen of one device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeenOn {
    /// As it was before the run.
    pub before: State,
    /// As it was after it.
    pub after: State,
    /// Processes of the run.
    pub ours: BTreeSet<u32>,
    /// Processes that came during the run and cannot be told to be the run's or not.
    pub unknown: BTreeSet<u32>,
    /// Processes that are somebody else's.
    pub others: BTreeSet<u32>,
    /// All throttle bits that were seen.
    pub throttle: u64,
    /// By how much its memory in use grew at most, in bytes.
    pub memory_rise: u64,
    /// Processes of the run that were still there when it had ended.
    pub left: BTreeSet<u32>,
}

impl SeenOn {
    /// Whether a process came, took memory and went: what is seen of a run whose processes have other numbers.
    pub fn came_and_went(&self) -> bool {
        let still: BTreeSet<u32> = self.after.processes.iter().flatten().copied().collect();
        self.unknown.iter().any(|pid| !still.contains(pid)) && self.memory_rise >= SOME_MEMORY
    }
}

/// What was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// One for each device, in the order they were asked for.
    pub devices: Vec<SeenOn>,
    /// How often was looked.
    pub looks: u32,
}

/// Somebody who looks, until told to stop.
pub struct Watch {
    stop: Arc<AtomicBool>,
    seen: Receiver<Option<Seen>>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

type Look = Box<dyn FnMut(bool) -> Vec<State> + Send>;

impl Watch {
    /// Begins to watch. Returns when the devices have been seen as they are before the run.
    ///
    /// `mark` is `NAME=VALUE` of the environment that the run's processes have.
    ///
    /// # Errors
    /// Nothing can be seen, for this reason.
    pub fn start(eye: &Eye, cards: &[Card], mark: &str) -> Result<Self, String> {
        let cards = cards.to_vec();
        let eye = eye.clone();
        let open = move || -> Result<Look, String> {
            let uuids: Vec<String> = cards.iter().map(|card| card.uuid.clone()).collect();
            Ok(match eye {
                Eye::Nvml => {
                    let nvml = nvml::open()?;
                    Box::new(move |whole| nvml::look(nvml, &uuids, whole))
                }
                Eye::Kfd(folder) => Box::new(move |_| cards.iter().map(|c| kfd_state(&folder, c)).collect()),
            })
        };
        Self::with(open, Family::here(mark))
    }

    fn with(
        open: impl FnOnce() -> Result<Look, String> + Send + 'static,
        family: Family,
    ) -> Result<Self, String> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let (ready, is_ready) = mpsc::channel();
        let (result, seen) = mpsc::channel();
        let watch = move || {
            let mut look = match open() {
                Ok(look) => look,
                Err(why) => {
                    let _ = ready.send(Err(why));
                    return;
                }
            };
            let before = look(true);
            let _ = ready.send(if before.is_empty() { Err("no device answers".to_owned()) } else { Ok(()) });
            let _ = result.send(watch(before, &mut look, &family, &stopped));
        };
        std::thread::Builder::new()
            .name("watch".into())
            .spawn(watch)
            .map_err(|error| format!("no thread can be started: {error}"))?;
        match is_ready.recv_timeout(LIMIT) {
            Ok(Ok(())) => Ok(Self { stop, seen }),
            Ok(Err(why)) => Err(why),
            Err(_) => {
                stop.store(true, Ordering::Relaxed);
                Err(format!("the driver did not answer within {} s", LIMIT.as_secs()))
            }
        }
    }

    /// Ends the watch and says what was seen.
    ///
    /// # Errors
    /// The driver does not answer any more.
    pub fn stop(self) -> Result<Seen, String> {
        self.stop.store(true, Ordering::Relaxed);
        match self.seen.recv_timeout(LIMIT) {
            Ok(Some(seen)) => Ok(seen),
            _ => Err("the device did not answer any more after the run".to_owned()),
        }
    }
}

/// `None` when a device was gone in the end.
fn watch(before: Vec<State>, look: &mut Look, family: &Family, stop: &AtomicBool) -> Option<Seen> {
    let began = Instant::now();
    let mut seen = Seen {
        devices: before.into_iter().map(|before| SeenOn { before, ..SeenOn::default() }).collect(),
        looks: 0,
    };
    let mut known = BTreeMap::new();
    loop {
        let last = stop.load(Ordering::Relaxed);
        let states = look(last);
        seen.looks = seen.looks.saturating_add(1);
        for state in &states {
            if let Some(on) = seen.devices.iter_mut().find(|on| on.before.uuid == state.uuid) {
                take(on, state, family, &mut known, last);
            }
        }
        if last {
            return (states.len() >= seen.devices.len()).then_some(seen);
        }
        // Often while it matters; seldom when everything is known, so that nothing measured is disturbed.
        let all_seen = seen.devices.iter().all(|on| !on.ours.is_empty());
        let pause = match began.elapsed() {
            _ if all_seen => 500,
            since if since < Duration::from_secs(10) => 15,
            _ => 100,
        };
        let until = Instant::now() + Duration::from_millis(pause);
        while !stop.load(Ordering::Relaxed) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(pause.min(15)));
        }
    }
}

fn take(on: &mut SeenOn, state: &State, family: &Family, known: &mut BTreeMap<u32, Whose>, last: bool) {
    on.throttle |= state.throttle.unwrap_or(0);
    let grown = state.memory_used.unwrap_or(0).saturating_sub(on.before.memory_used.unwrap_or(u64::MAX));
    on.memory_rise = on.memory_rise.max(grown);
    for pid in state.processes.iter().flatten().copied() {
        if on.before.processes.iter().flatten().any(|earlier| *earlier == pid) {
            on.others.insert(pid);
            continue;
        }
        // What a process is does not change; one that was not there yet may be seen better later.
        let whose = match known.get(&pid) {
            Some(Whose::Ours) => Whose::Ours,
            _ => family.whose(pid),
        };
        known.insert(pid, whose);
        match whose {
            Whose::Ours => {
                on.unknown.remove(&pid);
                on.ours.insert(pid);
                if last && Path::new("/proc").join(pid.to_string()).exists() {
                    on.left.insert(pid);
                }
            }
            Whose::Other => {
                on.others.insert(pid);
            }
            Whose::Unknown => {
                on.unknown.insert(pid);
            }
        }
    }
    if last {
        on.after = state.clone();
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Ours,
    Other,
    Unknown,
}

/// How the run's processes are told from others.
struct Family {
    own: u32,
    mark: Vec<u8>,
    /// Whether numbers of processes mean the same to us and to the driver.
    outermost: bool,
}

impl Family {
    fn here(mark: &str) -> Self {
        let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        Self {
            own: std::process::id(),
            mark: mark.as_bytes().to_vec(),
            // The number that Linux gives the first namespace.
            outermost: namespace.as_os_str() == "pid:[4026531836]",
        }
    }

    fn whose(&self, pid: u32) -> Whose {
        let Some(mut parent) = parent_of(pid) else {
            return Whose::Unknown;
        };
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        if pid != self.own && environment.split(|byte| *byte == 0).any(|entry| entry == self.mark) {
            return Whose::Ours;
        }
        for _ in 0..64 {
            if parent == self.own {
                return Whose::Ours;
            }
            match parent_of(parent) {
                Some(next) if parent > 1 => parent = next,
                _ => break,
            }
        }
        if self.outermost { Whose::Other } else { Whose::Unknown }
    }
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name in it may hold anything, so the fields are counted from its last parenthesis.
    String::from_utf8_lossy(&stat).rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// What AMD's compute driver tells: its users, and nothing of clocks or errors.
fn kfd_state(folder: &Path, card: &Card) -> State {
    State {
        uuid: card.uuid.clone(),
        name: card.name.clone(),
        arch: card.arch.clone(),
        index: card.index,
        processes: card.node.map(|node| kfd_users(folder, node)),
        missing: ["clocks", "throttle reasons", "ECC", "memory in use"].map(str::to_owned).to_vec(),
        ..State::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(pids: &[u32], memory: u64) -> State {
        State {
            uuid: "GPU-1".into(),
            processes: Some(pids.to_vec()),
            memory_used: Some(memory),
            ..State::default()
        }
    }

    /// Plays states one after the other, the last one for ever.
    fn played(states: Vec<State>, outermost: bool, mark: &str) -> SeenOn {
        let looks = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let (count, last) = (Arc::clone(&looks), states.len() - 1);
        let look: Look = Box::new(move |_| {
            let at = count.fetch_add(1, Ordering::Relaxed);
            vec![states[at.min(last)].clone()]
        });
        let family = Family { own: std::process::id(), mark: mark.as_bytes().to_vec(), outermost };
        let watch = Watch::with(move || Ok(look), family).unwrap();
        while looks.load(Ordering::Relaxed) <= last + 1 {
            std::thread::sleep(Duration::from_millis(5));
        }
        watch.stop().unwrap().devices.remove(0)
    }

    #[test]
    fn a_child_of_ours_is_seen_and_what_was_there_before_is_not_ours() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        let seen = played(vec![state(&[], 5), state(&[pid], 5), state(&[], 5)], true, "X=1");
        assert_eq!(seen.ours.iter().copied().collect::<Vec<_>>(), [pid]);
        assert!(!seen.came_and_went() && seen.left.is_empty());
        let seen = played(vec![state(&[pid], 5), state(&[pid], 5)], true, "X=1");
        assert!(seen.ours.is_empty() && seen.others.contains(&pid));
        let seen = played(vec![state(&[], 5), state(&[pid], 5)], true, "X=1");
        assert!(seen.left.contains(&pid), "it still runs");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn the_mark_tells_a_process_that_is_no_descendant() {
        // We are our own witness: no descendant of ours, so only the mark can tell.
        let family = |mark: &str, own: u32| Family { own, mark: mark.as_bytes().to_vec(), outermost: true };
        let mark = std::env::vars_os()
            .next()
            .map(|(name, value)| format!("{}={}", name.to_string_lossy(), value.to_string_lossy()));
        let own = std::process::id();
        if let Some(mark) = mark {
            assert_eq!(family(&mark, u32::MAX).whose(own), Whose::Ours);
        }
        assert_eq!(family("NO=SUCH MARK", u32::MAX).whose(own), Whose::Other);
        assert_eq!(family("NO=SUCH MARK", own).whose(own), Whose::Other, "we are not the gate");
        assert_eq!(family("NO=SUCH MARK", own).whose(u32::MAX), Whose::Unknown);
    }

    #[test]
    fn in_a_container_a_process_that_came_with_memory_and_went_is_weaker() {
        let strange = 4_000_000_000;
        let came = vec![state(&[], 5), state(&[strange], 5 + SOME_MEMORY), state(&[], 5)];
        let seen = played(came, false, "X=1");
        assert!(seen.ours.is_empty() && seen.came_and_went());
        let stays = vec![state(&[], 5), state(&[strange], 5 + SOME_MEMORY)];
        assert!(!played(stays, false, "X=1").came_and_went());
        let without_memory = vec![state(&[], 5), state(&[strange], 5), state(&[], 5)];
        assert!(!played(without_memory, false, "X=1").came_and_went());
    }

    #[test]
    fn a_device_that_is_gone_or_silent_is_trouble() {
        let first = AtomicBool::new(true);
        let look: Look =
            Box::new(
                move |_| if first.swap(false, Ordering::Relaxed) { vec![state(&[], 1)] } else { Vec::new() },
            );
        let watch = Watch::with(move || Ok(look), Family::here("X=1")).unwrap();
        assert!(watch.stop().is_err());
        assert!(Watch::with(|| Err("no library".into()), Family::here("X=1")).is_err());
        let nothing: Look = Box::new(|_| Vec::new());
        assert!(Watch::with(move || Ok(nothing), Family::here("X=1")).is_err());
    }

    #[test]
    fn the_compute_driver_of_amd_is_watched_through_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let card = Card { uuid: "GPU-1".into(), node: Some(7), ..Card::default() };
        let watch = Watch::start(&Eye::Kfd(folder.path().into()), &[card], "X=1").unwrap();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let process = folder.path().join("proc").join(child.id().to_string());
        std::fs::create_dir_all(&process).unwrap();
        std::fs::write(process.join("vram_7"), "1000\n").unwrap();
        std::thread::sleep(Duration::from_millis(300));
        std::fs::remove_dir_all(&process).unwrap();
        let seen = watch.stop().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(seen.devices[0].ours.contains(&child.id()) && seen.looks > 1);
    }
}
