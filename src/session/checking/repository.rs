//! What the repository knows of what documents speak of.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use super::incidents::About;
use crate::document::lint::rules::leftover_instrumentation::tags_in;
use crate::document::lint::{CodePlace, Known, Presence, Wants};
use crate::git::look_up::{self, At};
use crate::git::program::Git;
use crate::session::Session;

/// Commits before which names are looked for, when HEAD does not have them.
const MOST_PARENTS: usize = 8;

/// Where the code is, for a thread of its own.
pub(super) struct Place {
    git: Git,
    head: Option<String>,
    bare: bool,
}

impl Place {
    pub(super) fn of(session: &Session) -> Self {
        let head = session.repo.head_commit().ok().flatten().map(|h| h.as_str().to_owned());
        Self { git: session.git(), head, bare: session.repo.workdir().is_none() }
    }

    fn at(&self) -> Option<At<'_>> {
        if self.bare { self.head.as_deref().map(At::Commit) } else { Some(At::WorkingTree) }
    }
}

/// The instrumentation tags in the code.
pub(super) fn tags(place: &Place) -> BTreeMap<String, Vec<CodePlace>> {
    let Some(at) = place.at() else { return BTreeMap::new() };
    let read = |line: &str| tags_in(line).map(str::to_owned).collect();
    look_up::tags(&place.git, at, "[DBG-", read)
        .into_iter()
        .map(|(tag, hits)| (tag, hits.into_iter().map(|(path, line)| CodePlace { path, line }).collect()))
        .collect()
}

/// Answers what all documents want to know.
pub(super) fn known(session: &Session, wants: &Wants, about: &[About], homes: Vec<String>) -> Known {
    let repo = &session.repo;
    let partial = look_up::is_partial(repo);
    let git = session.git();
    let absent = if partial { Presence::Shallow } else { Presence::No };
    let mut known = Known { repository: true, homes, ..Known::default() };

    let objects = look_up::objects(repo, wants.commits.iter());
    known.commits =
        objects.into_iter().map(|(id, there)| (id, if there { Presence::Yes } else { absent })).collect();

    let paths = look_up::paths(repo, wants.paths.iter());
    let missing: Vec<&str> =
        paths.iter().filter(|(_, there)| **there == Some(false)).map(|(p, _)| p.as_str()).collect();
    let once = if missing.is_empty() { HashSet::new() } else { look_up::in_history(&git, &missing) };
    known.paths = paths
        .iter()
        .map(|(path, there)| {
            let presence = match there {
                Some(true) => Presence::Yes,
                Some(false) if once.contains(path) => Presence::Yes,
                Some(false) => absent,
                None => Presence::Unknown,
            };
            (path.clone(), presence)
        })
        .collect();

    if !wants.pulls.is_empty()
        && let Some(named) = look_up::pulls(&git)
        && !named.is_empty()
    {
        known.pulls = wants
            .pulls
            .iter()
            .map(|n| (*n, if named.contains(n) { Presence::Yes } else { absent }))
            .collect();
    }
    if !wants.identifiers.is_empty() && !partial && has_code(session) {
        known.identifiers = identifiers(session, wants, about, &known);
    }
    known.located = located(session, wants);
    known
}

/// Whether there is any code here: a repository of documents alone knows no names.
fn has_code(session: &Session) -> bool {
    const CODE: &[&str] = &[
        "c", "cc", "cpp", "cxx", "cu", "cuh", "h", "hh", "hpp", "hip", "py", "rs", "go", "java", "kt", "js",
        "jsx", "ts", "tsx", "rb", "php", "cs", "swift", "m", "mm", "scala", "ex", "exs", "erl", "hs", "ml",
        "jl", "lua", "pl", "sh", "sql", "zig", "f90", "r", "awk", "proto", "tf",
    ];
    let Some(tree) = session.repo.raw().head().ok().and_then(|h| h.peel_to_tree().ok()) else { return false };
    let mut found = false;
    // The walk is aborted at the first hit, which libgit2 reports as an error.
    let _ = tree.walk(git2::TreeWalkMode::PreOrder, |_, entry| {
        let name = String::from_utf8_lossy(entry.name_bytes()).to_lowercase();
        found = name.rsplit_once('.').is_some_and(|(_, ending)| CODE.contains(&ending));
        if found { git2::TreeWalkResult::Abort } else { git2::TreeWalkResult::Ok }
    });
    found
}

fn identifiers(
    session: &Session,
    wants: &Wants,
    about: &[About],
    known: &Known,
) -> HashMap<String, Presence> {
    let place = Place::of(session);
    let Some(at) = place.at() else { return HashMap::new() };
    let asked: Vec<&str> = wants.identifiers.iter().map(String::as_str).take(look_up::MOST_NAMES).collect();
    let mut there = look_up::names(&place.git, at, &asked);
    // What a fix took out stood there just before it.
    let spoken = wants.commits.iter().filter(|c| known.commit(c) == Presence::Yes);
    let linked = about.iter().flat_map(|a| &a.commits);
    for commit in spoken.chain(linked).take(MOST_PARENTS) {
        let missing: Vec<&str> = asked.iter().filter(|n| !there.contains(**n)).copied().collect();
        if missing.is_empty() {
            break;
        }
        if let Some(parent) = look_up::parent(&session.repo, commit) {
            there.extend(look_up::names(&place.git, At::Commit(parent.as_str()), &missing));
        }
    }
    let presence = |name: &str| if there.contains(name) { Presence::Yes } else { Presence::No };
    asked.iter().map(|name| ((*name).to_owned(), presence(name))).collect()
}

/// Whether the files that are named have the names that are said to stand in them.
fn located(session: &Session, wants: &Wants) -> HashMap<(String, String), Presence> {
    let mut files: HashMap<&str, Option<String>> = HashMap::new();
    let head = session.repo.head_commit().ok().flatten();
    let mut found = HashMap::new();
    for (path, name) in wants.located.iter().take(look_up::MOST_NAMES) {
        let text = files.entry(path).or_insert_with(|| {
            let on_disk: Option<PathBuf> = session.repo.workdir().map(|top| top.join(path));
            let bytes = on_disk
                .filter(|p| std::fs::symlink_metadata(p).is_ok_and(|m| m.is_file() && m.len() < 8 << 20))
                .and_then(|p| std::fs::read(p).ok())
                .or_else(|| session.repo.file_at(head.as_ref()?, path).ok().flatten())?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        });
        let presence = match text {
            None => Presence::Unknown,
            Some(text) if has_word(text, name) => Presence::Yes,
            Some(_) => Presence::No,
        };
        found.insert((path.clone(), name.clone()), presence);
    }
    found
}

fn has_word(text: &str, name: &str) -> bool {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(name).any(|(at, _)| {
        !inside(text[..at].chars().next_back()) && !inside(text[at + name.len()..].chars().next())
    })
}
