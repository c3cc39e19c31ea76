//! `pre-push`: what leaves the machine has passed its gates, or somebody has been told.
//!
//! git has opened the connection when this runs, so it decides fast: records are looked up, and what has
//! none runs with all it takes limited to `inline`. What does not end within it is ended, goes to the
//! background, and the push is refused with the command that waits.

use std::time::Instant;

use crate::config::PushMode;
use crate::model::status::Verdict;
use crate::model::{Error, Kind, Oid, Result};
use crate::session::Session;
use crate::session::validate::{Options, Progress, Report, Subject};
use crate::validate::push::{self, Matter, Update};
use crate::validate::verdict::{combine, exit_code};

use super::{Line, Say, Tone, say_error, table};

/// Judges a push. Returns the exit status: git lets the push go on only for 0.
///
/// `watch` is shown what happens while gates run; whole lines go to `say`.
pub fn run(
    session: &Session,
    arguments: &[String],
    input: &[u8],
    watch: &mut dyn FnMut(Progress<'_>),
    say: Say<'_>,
) -> i32 {
    let name = arguments.first().map_or("", String::as_str);
    let url = arguments.get(1).map_or("", String::as_str);
    let remote = (!name.is_empty() && !push::is_url(name, url)).then_some(name);
    let push = push::parse(input);
    let mut exit = 0;
    if let Some(line) = push.strange.first() {
        say(Line::new(Tone::Bad, format!("line {line} of what git says about this push is not understood")));
        exit = Kind::Refused.exit_code();
    }
    let mut subjects = Vec::new();
    for update in push.updates.iter().filter(|update| update.matter() == Matter::Judge) {
        match subject(session, remote, update) {
            Ok(Some(subject)) if !subjects.contains(&subject) => subjects.push(subject),
            Ok(_) => {}
            Err(error) => {
                let about = error.while_doing(format!("{} cannot be judged", update.remote_ref));
                exit = worst(exit, trouble(session, update, &about, say));
            }
        }
    }
    link(session, remote, &push.updates, say);
    let exit = worst(exit, judge(session, &subjects, watch, say));
    if let Some(remote) = remote.filter(|_| exit == 0) {
        let only_notes = push.updates.iter().all(|update| update.matter() == Matter::Notebook);
        if !only_notes && session.syncs_with_pushes() {
            sync(session, remote, say);
        }
    }
    exit
}

/// Links commits of the push that name incidents and were made without our hooks. Trouble is told; the push goes on.
fn link(session: &Session, remote: Option<&str>, updates: &[Update], say: Say<'_>) {
    let judged = updates.iter().filter(|update| update.matter() == Matter::Judge);
    let tips: Vec<Oid> = judged.map(|update| update.local.clone()).collect();
    match session.link_pushed(remote, &tips) {
        Ok(0) => {}
        Ok(n) => say(Line::new(Tone::Quiet, format!("{n} link(s) made that commits of this push ask for"))),
        Err(error) => say_error(say, Tone::Look, &error),
    }
}

/// Syncs the ledgers with the remote of the push. It may fail and it may be cut short: the push goes on.
fn sync(session: &Session, remote: &str, say: Say<'_>) {
    match session.sync_beside_push(remote) {
        Ok(text) => say(Line::new(Tone::Quiet, text)),
        Err(error) => {
            say_error(say, Tone::Look, &error);
            say(Line::new(Tone::Look, "the push goes on; the ledgers were not shared with it"));
        }
    }
}

/// What is judged for an update; `None` when it brings nothing that would need it.
fn subject(session: &Session, remote: Option<&str>, update: &Update) -> Result<Option<Subject>> {
    if !session.repo.has_object(&update.local) {
        return Err(Error::refused(format!("object {} is not in this repository", update.local.short()))
            .hint("in a shallow or partial clone: git fetch --unshallow, or git fetch --refetch"));
    }
    let Ok(commit) = session.repo.resolve_commit(update.local.as_str()) else {
        // A tag of a file or a tree: no commit, no gates.
        return Ok(None);
    };
    let former = update.former().filter(|oid| session.repo.is_commit(oid)).cloned();
    let former = former.or_else(|| {
        let branch = update.remote_ref.strip_prefix("refs/heads/")?;
        session.repo.resolve_commit(&format!("refs/remotes/{}/{branch}", remote?)).ok()
    });
    let rules = session.config_at(&commit)?.pre_push;
    let protected = rules.protects(&update.remote_ref).then_some(&rules);
    let base = session.push_base(remote, &commit, former.as_ref(), protected)?;
    // What the remote has already was judged when it went there.
    if base.as_ref() == Some(&commit) {
        return Ok(None);
    }
    Ok(Some(Subject {
        commit,
        base,
        target: Some(update.remote_ref.clone()),
        former,
        only: Vec::new(),
        strict: false,
    }))
}

/// Trouble before there is anything to judge: the policy of the commit, or of what stands there, decides.
fn trouble(session: &Session, update: &Update, error: &Error, say: Say<'_>) -> i32 {
    let mode = [&update.local, &update.remote]
        .into_iter()
        .find_map(|oid| session.config_at(oid).ok())
        .map_or(PushMode::Enforce, |config| config.pre_push.mode);
    refuse(mode, error, say)
}

fn refuse(mode: PushMode, error: &Error, say: Say<'_>) -> i32 {
    match mode {
        PushMode::Off => 0,
        PushMode::Warn => {
            say_error(say, Tone::Look, error);
            say(Line::new(Tone::Look, "the push goes on, as pre-push.mode is \"warn\""));
            0
        }
        PushMode::Enforce => {
            say_error(say, Tone::Bad, error);
            error.kind().exit_code()
        }
    }
}

fn judge(session: &Session, subjects: &[Subject], watch: &mut dyn FnMut(Progress<'_>), say: Say<'_>) -> i32 {
    let policies: Vec<_> = subjects.iter().map(|s| session.push_policy(s)).collect();
    let inline = policies.iter().flatten().map(|p| p.inline).min().unwrap_or_default();
    let options = Options { deadline: Some(Instant::now() + inline), failures_stand: false };
    let reports = session.validate(subjects, options, watch);
    let mut exit = 0;
    let mut waiting = Vec::new();
    for (report, policy) in reports.iter().zip(&policies) {
        let mode = policy.as_ref().map_or(PushMode::Enforce, |p| p.mode);
        exit = worst(
            exit,
            match report {
                Err(error) => refuse(mode, error, say),
                Ok(report) => one(report, say, &mut waiting),
            },
        );
    }
    if !waiting.is_empty() {
        hand_over(session, &waiting, say);
    }
    exit
}

fn one(report: &Report, say: Say<'_>, waiting: &mut Vec<Subject>) -> i32 {
    if report.mode == PushMode::Off || report.results.is_empty() && report.changes.is_empty() {
        return 0;
    }
    let target = report.subject.target.as_deref().unwrap_or_default();
    let commit = report.subject.commit.short();
    say(Line::new(Tone::Plain, format!("{commit} → {target}")));
    for line in table::lines(report) {
        say(line);
    }
    if report.handed_over {
        waiting.push(report.subject.clone());
    }
    let verdict = report.verdict();
    if report.results.iter().any(|r| r.deferred) {
        say(Line::new(Tone::Look, "pending gates wait for their device; protected refs will ask for them"));
    }
    if verdict == Verdict::Pass {
        return 0;
    }
    if report.mode == PushMode::Warn {
        say(Line::new(Tone::Look, "the push goes on, as pre-push.mode is \"warn\""));
        return 0;
    }
    say(Line::new(Tone::Bad, format!("the push to {target} is refused")));
    exit_code(verdict)
}

/// Starts what takes longer than a connection is held open, and names the command that waits for it.
fn hand_over(session: &Session, waiting: &[Subject], say: Say<'_>) {
    if let Err(error) = session.start_background(waiting) {
        say_error(say, Tone::Bad, &error);
        return;
    }
    let head = session.repo.head_commit().ok().flatten();
    let mut commits: Vec<&Oid> = waiting.iter().map(|s| &s.commit).collect();
    commits.dedup();
    let waits: Vec<String> = commits
        .iter()
        .map(|commit| match &head {
            Some(head) if head == *commit => "git incident validate --wait".to_owned(),
            _ => format!("git incident validate --wait {}", commit.short()),
        })
        .collect();
    say(Line::new(Tone::Look, "the gates run in the background; wait for them and push again:"));
    say(Line::new(Tone::Look, format!("  {} && git push", waits.join(" && "))));
}

/// Of two exit statuses the one that tells more: a failure before a refusal before not knowing.
fn worst(one: i32, other: i32) -> i32 {
    let rank = |exit: i32| match exit {
        0 => 0,
        e if e == exit_code(combine([Verdict::NotRun])) => 1,
        e if e == exit_code(Verdict::Fail) => 3,
        _ => 2,
    };
    if rank(other) > rank(one) { other } else { one }
}

#[cfg(test)]
mod tests {
    use super::worst;

    #[test]
    fn a_failure_is_what_is_told() {
        assert_eq!(worst(0, 5), 5);
        assert_eq!(worst(5, 4), 4);
        assert_eq!(worst(4, 1), 4);
        assert_eq!(worst(5, 1), 1);
        assert_eq!(worst(0, 0), 0);
    }
}
