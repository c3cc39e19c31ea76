//! One run at a time on a GPU: a file lock for each device, of the person and not of a repository.
//!
//! Who waits holds the queue, and only who holds the queue takes devices. So one that needs eight is not starved by
//! those that need one, and no two wait for each other.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::cards::Card;
use super::one_line;
use crate::model::{Error, Result};

/// How often a device that is taken is tried again.
const AGAIN: Duration = Duration::from_millis(100);

/// Devices that are ours until this is dropped.
#[derive(Debug)]
pub struct Held {
    /// Which they are, in the order of their names.
    pub cards: Vec<Card>,
    files: Vec<File>,
}

impl Drop for Held {
    fn drop(&mut self) {
        for file in &self.files {
            let _ = file.set_len(0);
        }
    }
}

/// What came of asking.
#[derive(Debug)]
pub enum Asked {
    /// They are ours.
    Taken(Held),
    /// The time is over; this is who has them.
    Busy(String),
}

/// Takes `wanted` of the cards, free ones first, then in the order of their names.
///
/// `who` is what others are told while they wait for us; `waiting` is told whom we wait for, once.
///
/// # Errors
/// The folder of the locks cannot be written.
pub fn take(
    folder: &Path,
    cards: &[Card],
    wanted: usize,
    who: &str,
    deadline: Option<Instant>,
    waiting: &mut dyn FnMut(&str),
) -> Result<Asked> {
    let trouble = |error: std::io::Error| {
        Error::refused(format!("{} cannot be written", folder.display()))
            .because(error)
            .hint("see who owns it, or set XDG_CACHE_HOME")
    };
    std::fs::create_dir_all(folder).map_err(trouble)?;
    let mut cards = cards.to_vec();
    cards.sort_by_key(|card| (card.busy, card.lock_name()));
    let vendor = cards.first().map(|card| card.vendor.clone()).unwrap_or_default();
    let mut told = false;
    let mut tell = |whom: &str| {
        if !told {
            told = true;
            waiting(whom);
        }
    };
    let late = || deadline.is_some_and(|at| Instant::now() >= at);
    let queue = loop {
        match try_lock(&folder.join(format!("{}.queue", safe(&vendor))), who).map_err(trouble)? {
            Ok(file) => break file,
            Err(whom) if late() => return Ok(Asked::Busy(whom)),
            Err(whom) => tell(&whom),
        }
        std::thread::sleep(AGAIN);
    };
    let mut held: Vec<(Card, File)> = Vec::new();
    loop {
        let mut whom = String::new();
        for card in &cards {
            if held.len() == wanted {
                break;
            }
            if held.iter().any(|(known, _)| known == card) {
                continue;
            }
            match try_lock(&folder.join(format!("{}.lock", safe(&card.lock_name()))), who).map_err(trouble)? {
                Ok(file) => held.push((card.clone(), file)),
                Err(other) => whom = other,
            }
        }
        if held.len() >= wanted {
            let _ = queue.set_len(0);
            held.sort_by_key(|(card, _)| card.lock_name());
            let (cards, files) = held.into_iter().unzip();
            return Ok(Asked::Taken(Held { cards, files }));
        }
        if late() || cards.len() < wanted {
            return Ok(Asked::Busy(whom));
        }
        tell(&whom);
        std::thread::sleep(AGAIN);
    }
}

/// The lock, or who has it.
fn try_lock(path: &Path, who: &str) -> std::io::Result<std::result::Result<File, String>> {
    let mut file = File::options().create(true).truncate(false).read(true).write(true).open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            // The kernel lets go of the lock with the process; the text is only for those who wait.
            file.set_len(0)?;
            file.rewind()?;
            file.write_all(format!("{who} (process {})", std::process::id()).as_bytes())?;
            Ok(Ok(file))
        }
        Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {
            let mut text = String::new();
            let _ = file.take(512).read_to_string(&mut text);
            let text = one_line(&text);
            Ok(Err(if text.is_empty() { "another run".to_owned() } else { text }))
        }
        Err(error) => Err(error.into()),
    }
}

/// An identity comes from a driver; a file name of it must stay in its folder.
fn safe(name: &str) -> String {
    name.chars().take(100).map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cards(names: &[(&str, bool)]) -> Vec<Card> {
        names
            .iter()
            .map(|(uuid, busy)| Card {
                vendor: "nvidia".into(),
                uuid: (*uuid).into(),
                busy: *busy,
                ..Card::default()
            })
            .collect()
    }

    fn taken(asked: Asked) -> Held {
        match asked {
            Asked::Taken(held) => held,
            Asked::Busy(whom) => panic!("busy: {whom}"),
        }
    }

    fn names(held: &Held) -> Vec<&str> {
        held.cards.iter().map(|card| card.uuid.as_str()).collect()
    }

    #[test]
    fn free_ones_first_and_whoever_comes_late_hears_of_whom() {
        let folder = tempfile::tempdir().unwrap();
        let all = cards(&[("GPU-c", false), ("GPU-a", true), ("GPU-b", false)]);
        let now = Some(Instant::now());
        let mut quiet = |_: &str| {};
        let one = taken(take(folder.path(), &all, 1, "gate one", now, &mut quiet).unwrap());
        assert_eq!(names(&one), ["GPU-b"]);
        let two = taken(take(folder.path(), &all, 2, "gate two", now, &mut quiet).unwrap());
        assert_eq!(names(&two), ["GPU-a", "GPU-c"]);
        let mut heard = String::new();
        match take(folder.path(), &all, 1, "three", now, &mut |whom| heard = whom.to_owned()).unwrap() {
            Asked::Busy(whom) => assert!(whom.starts_with("gate ") && whom.contains("process"), "{whom}"),
            Asked::Taken(held) => panic!("{held:?}"),
        }
        drop(one);
        let again = taken(take(folder.path(), &all, 1, "four", now, &mut quiet).unwrap());
        assert_eq!(names(&again), ["GPU-b"]);
        drop(two);
    }

    #[test]
    fn who_waits_gets_them_when_they_are_free() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let all = cards(&[("GPU-a", false), ("GPU-b", false)]);
        let one = taken(take(&path, &all, 1, "gate one", None, &mut |_| {}).unwrap());
        let (heard, hears) = std::sync::mpsc::channel();
        let others = all.clone();
        let waiter = std::thread::spawn(move || {
            let asked =
                take(&path, &others, 2, "gate two", None, &mut |whom| heard.send(whom.to_owned()).unwrap());
            names(&taken(asked.unwrap())).len()
        });
        assert!(hears.recv().unwrap().starts_with("gate one"));
        // Whoever comes now stands in the queue, although a device would have been free.
        let deadline = Some(Instant::now());
        match take(folder.path(), &all, 1, "gate three", deadline, &mut |_| {}).unwrap() {
            Asked::Busy(whom) => assert!(whom.starts_with("gate two"), "{whom}"),
            Asked::Taken(held) => panic!("{held:?}"),
        }
        drop(one);
        assert_eq!(waiter.join().unwrap(), 2);
    }

    #[test]
    fn a_name_stays_in_its_folder() {
        assert_eq!(safe("../../x y"), "______x_y");
        assert_eq!(safe("MIG-aa/1/0"), "MIG-aa_1_0");
    }
}
