//! The check of post-mortems in a repository: which documents, what is known, all of it at once.
//!
//! Reading, parsing and judging run on all processors; what the repository and the ledger are asked is gathered from
//! all documents first and asked once.

mod files;
mod incidents;
mod repository;

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::document::lint::output::Checked;
use crate::document::lint::{self, Document, Facts, Profile, Settings, Wants, fix};
use crate::model::Result;

use super::Session;

pub use files::{Source, collect};

/// What `check` did.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The documents, in order, with what was found in them.
    pub checked: Vec<Checked>,
    /// Documents that were repaired.
    pub fixed: Vec<String>,
    /// Documents that could be repaired and were not, and why.
    pub kept: Vec<(String, String)>,
}

/// Checks documents; `session` is `None` outside of a repository. With `repair`, mechanical repairs are written.
///
/// # Errors
/// The configuration is wrong.
pub fn check(session: Option<&Session>, sources: Vec<Source>, repair: bool) -> Result<Outcome> {
    let config = session.map(Session::config).transpose()?;
    let settings: Settings = config.map(|c| c.postmortem.rules.clone()).unwrap_or_default();
    let profile = match config.map(|c| c.postmortem.profile) {
        Some(crate::config::Profile::Incident) => Profile::Incident,
        _ => Profile::Bugfix,
    };
    Ok(judge(session, &sources, &settings, profile, repair))
}

fn judge(
    session: Option<&Session>,
    sources: &[Source],
    settings: &Settings,
    profile: Profile,
    repair: bool,
) -> Outcome {
    let homes = session.map(|s| crate::git::look_up::homes(&s.repo)).unwrap_or_default();
    let (documents, tags): (Vec<(Document<'_>, Wants)>, _) = std::thread::scope(|scope| {
        let tags = session.map(|s| {
            let place = repository::Place::of(s);
            scope.spawn(move || repository::tags(&place))
        });
        let documents = each(sources, |source| {
            let document = Document::read(&source.path, &source.text, profile);
            let wants = lint::wants(&document, &homes);
            (document, wants)
        });
        (documents, tags.and_then(|t| t.join().ok()).unwrap_or_default())
    });
    let mut all = Wants::default();
    for (_, wants) in &documents {
        all.merge(wants);
    }
    let ledgers = incidents::ledgers(session, &documents.iter().map(|(_, w)| w).collect::<Vec<_>>());
    let mut known = session.map(|s| repository::known(s, &all, &ledgers, homes)).unwrap_or_default();
    known.tags = tags;

    let work: Vec<(&Source, &(Document<'_>, Wants), &incidents::About)> =
        sources.iter().zip(&documents).zip(&ledgers).map(|((s, d), l)| (s, d, l)).collect();
    let judged = each(&work, |(source, (document, _), about)| {
        let facts = Facts { known: &known, ledger: about.ledger.as_ref(), incident_missing: about.missing };
        one(source, document, &facts, settings, profile, repair)
    });
    let mut outcome = Outcome::default();
    for (checked, repaired) in judged {
        match repaired {
            Some(Ok(())) => outcome.fixed.push(checked.path.clone()),
            Some(Err(why)) => outcome.kept.push((checked.path.clone(), why)),
            None => {}
        }
        outcome.checked.push(checked);
    }
    let readable: Vec<Document<'_>> = documents.into_iter().map(|(d, _)| d).collect();
    let unclaimed = lint::unclaimed_tags(&readable, &known, settings);
    if let Some(last) = outcome.checked.last_mut() {
        last.diagnostics.extend(unclaimed);
    }
    outcome
}

/// What became of a repair: made, or not and why.
type Repaired = std::result::Result<(), String>;

fn one(
    source: &Source,
    document: &Document<'_>,
    facts: &Facts<'_>,
    settings: &Settings,
    profile: Profile,
    repair: bool,
) -> (Checked, Option<Repaired>) {
    let mut checked =
        Checked { path: source.path.clone(), text: source.text.clone(), diagnostics: Vec::new() };
    if let Some(unreadable) = &source.unreadable {
        match settings.get(unreadable.rule) {
            Some(None) => {}
            Some(Some(severity)) => {
                checked.diagnostics.push(lint::Diagnostic { severity: *severity, ..unreadable.clone() });
            }
            None => checked.diagnostics.push(unreadable.clone()),
        }
        return (checked, None);
    }
    checked.diagnostics = lint::check(document, facts, settings);
    if !repair || checked.diagnostics.iter().all(|d| d.fix.is_none()) {
        return (checked, None);
    }
    let again = |d: &Document<'_>| lint::check(d, facts, settings);
    let repaired = match fix::all(&source.path, &source.text, profile, again) {
        Ok(None) => return (checked, None),
        Err(why) => Err(refusal(why).to_owned()),
        Ok(Some(text)) => files::replace(source, &text).map(|()| {
            let document = Document::read(&source.path, &text, profile);
            checked.diagnostics = lint::check(&document, facts, settings);
            checked.text.clone_from(&text);
        }),
    };
    (checked, Some(repaired))
}

const fn refusal(why: fix::Refused) -> &'static str {
    match why {
        fix::Refused::Merge => "a merge was never finished in it",
        fix::Refused::Overlap => "two repairs want the same place",
        fix::Refused::Outside => "a repair lies outside of the document",
        fix::Refused::Endless => "its repairs undo each other",
    }
}

/// Does something with each item on all processors; the results are in the order of the items.
fn each<'t, T: Sync, R: Send>(items: &'t [T], work: impl Fn(&'t T) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(16).min(items.len());
    if threads <= 1 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut mine = Vec::new();
                    while let Some((at, item)) = {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        items.get(at).map(|item| (at, item))
                    } {
                        mine.push((at, work(item)));
                    }
                    mine
                })
            })
            .collect();
        workers.into_iter().flat_map(|w| w.join().unwrap_or_else(|e| std::panic::resume_unwind(e))).collect()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

impl Outcome {
    /// Whether any document was left unrepaired though a repair was asked for.
    pub fn refused(&self) -> bool {
        !self.kept.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_shared_and_comes_back_in_order() {
        let items: Vec<usize> = (0..1000).collect();
        assert_eq!(each(&items, |n| n * 2), items.iter().map(|n| n * 2).collect::<Vec<_>>());
        assert!(each(&Vec::<u8>::new(), |n| *n).is_empty());
    }
}
