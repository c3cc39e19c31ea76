//! Sharing: fetch, unite, push, until it lands.

use std::fs::{File, OpenOptions};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use super::{Session, identity};
use crate::git::program::Git;
use crate::git::transport::{self, Manner, Place, Progress, Pushed, Update};
use crate::git::{lock, maintenance, notes, refs};
use crate::model::incident::Incident;
use crate::model::{Error, Kind, Oid, Result};
use crate::runner;
use crate::store::cleanse::{self, Cleansed};
use crate::store::guard::{self, Mended};
use crate::store::merge::{self, Amount, Merged, Theirs, What};
use crate::store::travelling::{EVIDENCE, LEDGER, Travelling};
use crate::store::{ledger, lines};

/// So many times somebody else may be faster, one after the other.
const ATTEMPTS: u32 = 60;

/// What to sync, and how.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// A remote or an address; the one that a push would go to when absent.
    pub remote: Option<String>,
    /// Only this incident is taken over, and nothing is pushed: its id or the first digits of it.
    pub incident: Option<String>,
    /// It is only told what would travel.
    pub dry_run: bool,
    /// A person is at the terminal.
    pub terminal: bool,
}

/// Something that the remote had lost, and got back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The remote's ref.
    pub reference: &'static str,
    /// Notes that were missing there, or lacked lines.
    pub notes: usize,
    /// Whether the whole ref was gone.
    pub was_deleted: bool,
}

/// What a sync did.
#[derive(Debug, Default)]
pub struct Synced {
    /// The remote, without credentials.
    pub remote: String,
    /// What came.
    pub fetched: Amount,
    /// What went.
    pub pushed: Amount,
    /// How often it was tried.
    pub attempts: u32,
    /// What had been lost here.
    pub mended: Vec<Mended>,
    /// What had been lost there.
    pub restored: Vec<Restored>,
    /// Whether the remote's history was replaced, because it held what was purged.
    pub replaced: bool,
    /// What was removed here, because it was purged elsewhere.
    pub cleansed: Option<Cleansed>,
    /// The incident that was taken over, when it was one.
    pub incident: Option<Oid>,
    /// Push addresses of the remote that were left out.
    pub left_out: Vec<String>,
}

impl Session {
    /// The `git` program for fetches and pushes: at this repository, whatever the current directory.
    fn network_git(&self) -> Git {
        self.git().git_dir(self.repo.git_dir())
    }

    /// Syncs with a remote.
    ///
    /// # Errors
    /// The remote says no ([`Kind::Remote`]); the repository cannot be written.
    pub fn sync(&self, request: &Request, progress: Progress<'_>) -> Result<Synced> {
        let git = self.network_git();
        let place = transport::resolve(&git, &self.repo, request.remote.as_deref())?;
        let hooks = self.repo.config_bool("incident.pushHooks").unwrap_or(false);
        let manner = Manner { terminal: request.terminal, hooks };
        let _one = one_at_a_time(self)?;
        let mut sync = Sync { session: self, git, manner, progress, done: Synced::default() };
        sync.done.remote.clone_from(&place.shown);
        sync.done.left_out.clone_from(&place.left_out);
        let result = match (&request.incident, request.dry_run) {
            (Some(prefix), dry) => sync.one_incident(&place, prefix, dry),
            (None, true) => sync.dry_run(&place),
            (None, false) => sync.until_it_lands(&place),
        };
        let scratch = [Some(place.clone()), place.elsewhere()];
        for place in scratch.into_iter().flatten().filter(|p| p.scratch) {
            for which in [LEDGER, EVIDENCE] {
                refs::delete(&self.repo, &place.tracked(which.notes))?;
            }
        }
        // Also when the remote said no: what was purged goes from here all the same.
        if crate::store::tombstones::is_marked(&self.repo) && !request.dry_run {
            sync.done.cleansed = self.cleanse("purge\n")?;
        }
        result?;
        maintenance::hand_over(&self.repo);
        Ok(sync.done)
    }

    /// Removes what was purged elsewhere from this clone.
    pub(super) fn cleanse(&self, message: &str) -> Result<Option<Cleansed>> {
        // Not signed by anybody: the person who purges may be the one who is to be forgotten.
        let nobody = git2::Signature::now("git incident", "git-incident@localhost")
            .map_err(|e| Error::bug("a fixed signature is refused").because(e.message()))?;
        let done = cleanse::cleanse(&self.repo, &nobody, message);
        // What is forgotten may stand in the index as well, which is made anew.
        let nothing = |c: &Cleansed| !c.rewritten && c.dropped.is_empty() && c.removal.removed == 0;
        if !done.as_ref().is_ok_and(|done| done.as_ref().is_none_or(nothing)) {
            crate::store::index::forget(&self.repo);
        }
        done
    }
}

/// Two syncs of one clone would only race with each other.
fn one_at_a_time(session: &Session) -> Result<File> {
    let path = lock::state_dir(&session.repo)?.join("sync.lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(|e| {
        Error::refused("the repository cannot be written").because(format!("{}: {e}", path.display()))
    })?;
    while let Err(e) = flock(&file, FlockOperation::LockExclusive) {
        if e != rustix::io::Errno::INTR {
            return Err(Error::refused("the sync lock cannot be taken").because(e));
        }
    }
    Ok(file)
}

struct Sync<'s, 'p> {
    session: &'s Session,
    git: Git,
    manner: Manner,
    progress: Progress<'p>,
    done: Synced,
}

impl Sync<'_, '_> {
    fn tips(&self, place: &Place) -> Result<Theirs> {
        let read = |which: Travelling| refs::read(&self.session.repo, &place.tracked(which.notes));
        Ok(Theirs { ledger: read(LEDGER)?, evidence: read(EVIDENCE)? })
    }

    /// Fetches, and sees to it that all ledgers are here, whatever the clone leaves out.
    fn fetch(&mut self, place: &Place) -> Result<Theirs> {
        transport::fetch(&self.git, place, self.manner, self.progress)?;
        let theirs = self.tips(place)?;
        let repo = &self.session.repo;
        if place.promisor
            && let Some(commit) = &theirs.ledger
        {
            let tree = notes::tree_of(repo, commit)?;
            let mut missing: Vec<Oid> =
                notes::entries(repo, &tree)?.into_iter().map(|(_, blob)| blob).collect();
            missing.sort_unstable();
            missing.dedup();
            missing.retain(|blob| !repo.has_object(blob));
            transport::fetch_objects(&self.git, place, &missing, self.manner)?;
            repo.refresh();
        }
        Ok(theirs)
    }

    fn unite(&mut self, theirs: &Theirs, what: What<'_>, dry: bool) -> Result<Merged> {
        let repo = &self.session.repo;
        let mut merged = merge::merge(repo, &identity::signature(repo, true)?, theirs, what, dry)?;
        self.done.mended.append(&mut merged.mended);
        self.done.fetched += merged.fetched;
        if !dry {
            self.session.refresh_lines(&merged.arrived)?;
        }
        Ok(merged)
    }

    fn dry_run(&mut self, place: &Place) -> Result<()> {
        let theirs = self.fetch(place)?;
        self.done.attempts = 1;
        let mut merged = self.unite(&theirs, What::All, true)?;
        if let Some(other) = place.elsewhere() {
            let theirs = self.fetch(&other)?;
            merged = self.unite(&theirs, What::All, true)?;
        }
        self.done.pushed = merged.pushed;
        Ok(())
    }

    fn one_incident(&mut self, place: &Place, prefix: &str, dry: bool) -> Result<()> {
        let digits = prefix.trim().to_ascii_lowercase();
        if !crate::model::id::is_lower_hex(&digits) || digits.len() < super::locate::SHORTEST_PREFIX {
            return Err(Error::usage(format!("{prefix:?} is no incident's id"))
                .because("what is elsewhere is named by the first digits of its id, 7 or more")
                .hint("the person who recorded it sees it with: git incident list"));
        }
        let theirs = self.fetch(place)?;
        self.done.attempts = 1;
        let (id, ledger, evidence) = merge::keys_of_incident(&self.session.repo, &theirs, &digits)
            .map_err(|e| e.while_doing(format!("{} has no such incident", self.done.remote)))?;
        self.done.incident = Some(id);
        self.unite(&theirs, What::Only { ledger: &ledger, evidence: &evidence }, dry)?;
        Ok(())
    }

    fn until_it_lands(&mut self, place: &Place) -> Result<()> {
        let mut before = self.tips(place)?;
        for attempt in 1..=ATTEMPTS {
            self.done.attempts = attempt;
            let mut theirs = self.fetch(place)?;
            let mut merged = self.unite(&theirs, What::All, false)?;
            let mut target = place.clone();
            if let Some(other) = place.elsewhere() {
                theirs = self.fetch(&other)?;
                merged = self.unite(&theirs, What::All, false)?;
                target = other;
            } else {
                self.restore(&before, &theirs, &mut merged)?;
            }
            self.done.pushed = merged.pushed;
            let updates = updates(&merged, &theirs);
            if updates.is_empty() {
                return Ok(());
            }
            if transport::push(&self.git, place, &updates, self.manner, self.progress)? == Pushed::Done {
                for update in &updates {
                    let tracked = target.tracked(update.reference);
                    refs::set(&self.session.repo, &tracked, &update.new, "git incident sync")?;
                    self.done.replaced |= update.replaces.is_some();
                }
                return Ok(());
            }
            before = theirs;
            Self::pause(attempt)?;
        }
        Err(Error::new(Kind::Remote, format!("somebody else pushed to {} every time", self.done.remote))
            .because(format!("{ATTEMPTS} tries, each after the fetch of what had come in between"))
            .hint("nothing is lost; sync again: git incident sync"))
    }

    /// Waits for a moment that is longer and less certain with each try, so that many clones do not meet again.
    fn pause(attempt: u32) -> Result<()> {
        let mut random = [0_u8; 4];
        getrandom::fill(&mut random)
            .map_err(|e| Error::refused("no randomness from the operating system").because(e))?;
        let most = (25_u32 << attempt.min(6)).min(1000);
        std::thread::sleep(Duration::from_millis(u64::from(u32::from_le_bytes(random) % most)));
        Ok(())
    }

    /// What was there at the last fetch and is gone now was lost: it stands in the copy of then.
    fn restore(&mut self, before: &Theirs, now: &Theirs, merged: &mut Merged) -> Result<()> {
        let repo = &self.session.repo;
        let mut lost = Vec::new();
        for (which, before, now) in
            [(LEDGER, &before.ledger, &now.ledger), (EVIDENCE, &before.evidence, &now.evidence)]
        {
            let Some(before) = before.as_ref().filter(|c| repo.is_commit(c)) else { continue };
            if now.as_ref().is_some_and(|now| repo.is_ancestor(before, now)) {
                continue;
            }
            let notes = guard::count_missing(repo, which, before, now.as_ref())?;
            if notes > 0 {
                lost.push(Restored { reference: which.notes, notes, was_deleted: now.is_none() });
            }
        }
        if lost.is_empty() {
            return Ok(());
        }
        // It may have been fetched and never merged.
        self.unite(before, What::All, false)?;
        *merged = self.unite(now, What::All, false)?;
        self.done.restored.extend(lost);
        Ok(())
    }
}

/// What has to be pushed, evidence first.
fn updates(merged: &Merged, theirs: &Theirs) -> Vec<Update> {
    let parts = [(EVIDENCE, &merged.evidence, &theirs.evidence), (LEDGER, &merged.ledger, &theirs.ledger)];
    parts
        .into_iter()
        .filter(|(_, tip, theirs)| tip.commit.is_some() && tip.commit != **theirs)
        .filter_map(|(which, tip, _)| {
            Some(Update { reference: which.notes, new: tip.commit.clone()?, replaces: tip.replaces.clone() })
        })
        .collect()
}

impl Session {
    /// Makes the lines on commits agree with ledgers that have changed.
    fn refresh_lines(&self, arrived: &[Oid]) -> Result<()> {
        let mut changed: Vec<Incident> = Vec::new();
        for key in ledger::incidents_with_links(&self.repo, arrived)? {
            if let Ok(incident) = ledger::incident(&self.repo, &key)
                && !changed.iter().any(|c| c.id == incident.id)
            {
                changed.push(incident);
            }
        }
        let former: Vec<Vec<Oid>> =
            changed.iter().map(|i| i.links.iter().map(|l| l.commit.clone()).collect()).collect();
        let pairs: Vec<(&Incident, &[Oid])> =
            changed.iter().zip(&former).map(|(incident, commits)| (incident, &commits[..])).collect();
        lines::project_many(&self.repo, &identity::signature(&self.repo, true)?, &pairs)
    }
}

/// Says to the processes below that they belong to a sync, so that none starts another.
const VARIABLE: &str = "GIT_INCIDENT_SYNC";

impl Session {
    /// Whether each push shall sync the ledgers with its remote: the person's `incident.sync`, else the team's
    /// `[pre-push] sync`.
    pub fn syncs_with_pushes(&self) -> bool {
        if std::env::var_os(VARIABLE).is_some() {
            return false;
        }
        let own = self.repo.config_bool("incident.sync");
        own.unwrap_or_else(|| self.config().is_ok_and(|config| config.pre_push.sync))
    }

    /// Syncs in a process of its own, which ends when its time is up (`incident.syncTimeout`, 30 seconds), whatever
    /// it waits for. Says what happened.
    ///
    /// # Errors
    /// It did not end well.
    pub fn sync_beside_push(&self, remote: &str) -> Result<String> {
        let seconds =
            self.repo.config_string("incident.syncTimeout").and_then(|v| v.parse().ok()).unwrap_or(30);
        let program = std::env::current_exe()
            .map_err(|e| Error::refused("the program's own path is not known").because(e))?;
        let scratch = tempfile::tempdir()?;
        let output = scratch.path().join("said");
        let arguments = [program.as_os_str(), "sync".as_ref(), remote.as_ref()];
        let mut command = runner::Command::new(arguments, &output);
        command.env =
            vec![(VARIABLE.into(), Some("1".into())), ("GIT_TERMINAL_PROMPT".into(), Some("0".into()))];
        command.timeout = Some(Duration::from_secs(seconds));
        command.stream = runner::Stream::Quiet;
        let end = runner::run(&command).map_err(|f| f.error)?.end;
        let said = std::fs::read(&output).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        match end {
            runner::End::Exited(0) => {
                let lines: Vec<&str> = said.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
                Ok(format!("synced: {}", lines.join("; ")))
            }
            runner::End::Hang(_) => {
                Err(Error::new(Kind::Remote, format!("the sync took longer than {seconds} seconds"))
                    .hint("sync by hand: git incident sync")
                    .hint("or give it more time: git config incident.syncTimeout SECONDS"))
            }
            other => {
                let mut error =
                    Error::new(Kind::Remote, format!("the sync ended with status {}", other.exit_code()));
                for line in said.lines().filter(|l| !l.trim().is_empty()).take(8) {
                    error = error.because(line.trim());
                }
                Err(error.hint("see for yourself: git incident sync"))
            }
        }
    }
}
