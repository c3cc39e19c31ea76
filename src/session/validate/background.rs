//! A validation that outlives the push that asked for it.
//!
//! One process for each tree: the starter locks a file and gives it to the process as its standard input, so
//! that from the first moment to the last somebody holds the lock, and whoever waits, waits for it. The
//! kernel lets go of it however the process ends.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::{Session, Subject};
use crate::git::lock;
use crate::git::program::scrubbed_environment;
use crate::model::{Error, Oid, Result};
use crate::runner;

/// How often a waiting process looks.
const LOOK: Duration = Duration::from_millis(100);

/// What a background process is asked to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Request {
    subjects: Vec<Subject>,
    v: u64,
}

/// What waiting found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waited {
    /// Nothing was asked for in the background.
    Nothing,
    /// It has ended; this is what it was asked to judge.
    Ended(Vec<Subject>),
}

impl Session {
    /// Starts or joins the background validation of subjects. Says for each tree whether one was running.
    ///
    /// # Errors
    /// The process cannot be started.
    pub fn start_background(&self, subjects: &[Subject]) -> Result<()> {
        let mut by_tree: Vec<(Oid, Vec<Subject>)> = Vec::new();
        for subject in subjects {
            let tree = self.repo.tree_of(&subject.commit)?;
            match by_tree.iter_mut().find(|(known, _)| *known == tree) {
                Some((_, group)) => group.push(subject.clone()),
                None => by_tree.push((tree, vec![subject.clone()])),
            }
        }
        by_tree.iter().try_for_each(|(tree, group)| self.start_one(tree, group))
    }

    fn start_one(&self, tree: &Oid, subjects: &[Subject]) -> Result<()> {
        let directory = lock::state_dir(&self.repo)?.join("background");
        std::fs::create_dir_all(&directory)?;
        let held = open_lock(&lock_file(&directory, tree))?;
        match flock(&held, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(()),
            Err(error) => return Err(std::io::Error::from(error).into()),
        }
        let request = Request { subjects: subjects.to_vec(), v: 1 };
        let text = serde_json::to_vec(&request)
            .map_err(|e| Error::bug("a request cannot be written as JSON").because(e))?;
        let request_file = request_file(&directory, tree);
        std::fs::write(&request_file, text)?;
        let log = File::create(directory.join(format!("{tree}.log")))?;
        let mut env: Vec<(OsString, Option<OsString>)> =
            scrubbed_environment().iter().map(|name| (OsString::from(*name), None)).collect();
        env.push(("GIT_DIR".into(), Some(self.repo.git_dir().into())));
        runner::detach(runner::Detached {
            arguments: vec!["validate".into(), "--request".into(), request_file.into()],
            cwd: self.repo.workdir().unwrap_or_else(|| self.repo.git_dir()).to_owned(),
            env,
            held,
            log,
        })
    }

    /// Inside the background process: what to judge. The file returned is the lock, to be kept until the end.
    ///
    /// # Errors
    /// A request that is not ours.
    pub fn take_request(&self, request: &Path) -> Result<(File, Vec<Subject>)> {
        let held = runner::settle()?;
        let bytes = std::fs::read(request)?;
        let request: Request = serde_json::from_slice(&bytes)
            .map_err(|e| Error::refused("this is no request of git incident").because(e))?;
        Ok((held, request.subjects))
    }

    /// Waits until nothing runs in the background for a commit's tree. `waiting` is told, again and again, what the
    /// other process said last.
    ///
    /// # Errors
    /// The commit is not here; the lock cannot be read.
    pub fn wait_for_background(&self, commit: &Oid, waiting: &mut dyn FnMut(&str)) -> Result<Waited> {
        let tree = self.repo.tree_of(commit)?;
        let directory = self.repo.common_dir().join("incident/background");
        let lock = lock_file(&directory, &tree);
        if !lock.exists() {
            return Ok(Waited::Nothing);
        }
        let file = open_lock(&lock)?;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockShared) {
                Ok(()) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    waiting(&last_line(&self.background_log(&tree)));
                    std::thread::sleep(LOOK);
                }
                Err(error) => return Err(std::io::Error::from(error).into()),
            }
        }
        let request = std::fs::read(request_file(&directory, &tree))
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Request>(&bytes).ok());
        Ok(match request {
            Some(request) => Waited::Ended(request.subjects),
            None => Waited::Nothing,
        })
    }

    /// Where the background process of a tree writes what it does.
    pub fn background_log(&self, tree: &Oid) -> PathBuf {
        self.repo.common_dir().join("incident/background").join(format!("{tree}.log"))
    }
}

/// The last line of a log that another process is writing; empty when there is none.
fn last_line(log: &Path) -> String {
    use std::io::{Read, Seek, SeekFrom};
    let mut end = Vec::new();
    let read = File::open(log).and_then(|mut file| {
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(1024)))?;
        file.take(1024).read_to_end(&mut end)
    });
    if read.is_err() {
        return String::new();
    }
    let text = String::from_utf8_lossy(&end);
    text.lines().next_back().unwrap_or_default().trim_start_matches("git incident: ").to_owned()
}

fn lock_file(directory: &Path, tree: &Oid) -> PathBuf {
    directory.join(format!("{tree}.lock"))
}

fn request_file(directory: &Path, tree: &Oid) -> PathBuf {
    directory.join(format!("{tree}.json"))
}

fn open_lock(path: &Path) -> Result<File> {
    std::fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(path)
        .map_err(|e| Error::refused(format!("{} cannot be opened", path.display())).because(e))
}
