//! The repository: whether it opens, what kind it is, whether it can be written, which git reads it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Check, Scene, Status, quoted, quoted_path};
use crate::git::Repo;
use crate::git::program::{Git, Version};
use crate::git::{notes, refs, worktree};
use crate::model::{Oid, Result};
use crate::store::travelling::BOTH;

/// The oldest git that the tests run with.
const OLDEST: Version = Version::new(2, 39, 0);

/// Less free space than this, and the next commands fail.
const NEARLY_NONE: u64 = 64 << 20;

/// Less than this is worth a word.
const LITTLE: u64 = 512 << 20;

pub(super) fn checks(scene: &Scene) -> Result<Vec<Check>> {
    let mut found = vec![repository(scene)];
    found.extend(versions(scene)?);
    if let Some(common_dir) = &scene.common_dir {
        found.push(disk(common_dir));
        found.extend(alternates(common_dir));
    }
    if let Some(session) = &scene.session {
        found.push(writable(session.repo.common_dir()));
        found.extend(clone_kind(scene, &session.repo));
        found.push(replaced(scene, &session.repo)?);
    }
    Ok(found)
}

fn repository(scene: &Scene) -> Check {
    let Some(error) = &scene.trouble else {
        let bare = scene.session.as_ref().is_some_and(|s| s.repo.workdir().is_none());
        return Check::ok("repository", if bare { "a bare repository" } else { "it opens" });
    };
    let text = error.to_string();
    let check =
        Check::problem("repository", &text, "git incident works with SHA-1 objects and refs in files");
    if text.contains("belongs to somebody else") {
        // git does not say where it is either.
        let place = scene.top.ancestors().find(|p| p.join(".git").exists()).unwrap_or(&scene.top);
        let mut check =
            check.mend(format!("git config --global --add safe.directory {}", quoted_path(place)));
        check.why = "git and git incident refuse repositories whose owner is somebody else";
        return check;
    }
    if text.contains("reftables") {
        return check.mend("git refs migrate --ref-format=files");
    }
    match error.hints().first().and_then(|hint| hint.split_once(": ")) {
        Some((_, command)) => check.mend(command),
        None => check,
    }
}

/// Several programs called git, of which one may not run hooks of the configuration.
fn versions(scene: &Scene) -> Result<Vec<Check>> {
    let version = scene.git.version()?;
    let mut found = Vec::new();
    if version < OLDEST {
        let text = format!("git is {version}; the oldest that is known to work is {OLDEST}");
        found.push(Check::warn(
            "git-version",
            text,
            "older versions lack options that hooks and settings use",
        ));
    } else {
        found.push(Check::ok("git-version", format!("git {version}")));
    }
    let mut programs: BTreeMap<PathBuf, Version> = BTreeMap::new();
    let mut first: Option<PathBuf> = None;
    let path = std::env::var_os("PATH").unwrap_or_default();
    for directory in std::env::split_paths(&path).filter(|d| d.is_absolute()).take(64) {
        let program = directory.join("git");
        if !program.is_file() {
            continue;
        }
        if let Ok(version) = Git::at(&scene.top).program(&program).version() {
            first.get_or_insert(program.clone());
            programs.insert(program, version);
        }
    }
    let older: Vec<String> = programs
        .iter()
        .filter(|(_, v)| (**v >= Version::CONFIG_HOOKS) != (version >= Version::CONFIG_HOOKS))
        .map(|(p, v)| format!("{} is {v}", p.display()))
        .collect();
    if older.is_empty() {
        return Ok(found);
    }
    let newest = programs.iter().max_by_key(|(_, v)| **v).map(|(p, _)| p);
    let text = format!("git is {version}, but {}", older.join(", "));
    let why = "git from 2.54 on runs hooks of the configuration, older ones hook files: one of them passes hooks by";
    let check = Check::warn("several-gits", text, why);
    found.push(match newest.and_then(|p| p.parent()) {
        // Nothing else is taken off the path: the older one stays for those who name it.
        Some(directory) => {
            let others: Vec<PathBuf> = std::env::split_paths(&path)
                .filter(|d| programs.get(&d.join("git")).is_none_or(|v| *v >= Version::CONFIG_HOOKS))
                .collect();
            let others = std::env::join_paths(others).unwrap_or_default();
            let path = format!("{}:{}", directory.display(), others.to_string_lossy());
            check.mend(format!("export PATH={}", quoted(&path)))
        }
        None => check,
    });
    Ok(found)
}

/// How free space reads.
fn space(free: u64) -> Status {
    match free {
        0..NEARLY_NONE => Status::Problem,
        NEARLY_NONE..LITTLE => Status::Warn,
        _ => Status::Ok,
    }
}

fn disk(common_dir: &Path) -> Check {
    let why = "an event that cannot be written is refused: nothing is lost, and nothing is recorded";
    match rustix::fs::statvfs(common_dir) {
        Ok(stat) => {
            let free = stat.f_bavail.saturating_mul(stat.f_frsize);
            let text = format!("{} MiB are free", free >> 20);
            match space(free) {
                Status::Ok => Check::ok("disk", text),
                status => Check::new("disk", status, text, why).mend("git gc"),
            }
        }
        Err(error) => Check::new("disk", Status::Unknown, error.to_string(), why),
    }
}

/// Objects that are another repository's.
fn alternates(common_dir: &Path) -> Vec<Check> {
    let file = common_dir.join("objects/info/alternates");
    let Ok(text) = std::fs::read_to_string(&file) else { return Vec::new() };
    let places: Vec<&str> = text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')).collect();
    let resolve = |line: &str| common_dir.join("objects").join(line);
    let gone = places.iter().find(|line| !resolve(line).is_dir());
    let why = "what is deleted there is gone here: git gc of the other repository does not know of our refs";
    match gone {
        Some(gone) => vec![
            Check::problem(
                "alternates",
                format!("objects are looked for in {gone}, which is not there"),
                why,
            )
            .mend(format!("rm {}", quoted_path(&file))),
        ],
        None if places.is_empty() => Vec::new(),
        None => {
            let text = format!("objects are shared with {}", places.join(", "));
            let mend = format!("git repack -a -d -q && rm {}", quoted_path(&file));
            vec![Check::warn("alternates", text, why).mend(mend)]
        }
    }
}

/// Whether the local state and the objects can be written.
fn writable(common_dir: &Path) -> Check {
    let why = "nothing can be recorded";
    let state = common_dir.join("incident");
    for directory in
        [common_dir.to_owned(), common_dir.join("objects"), common_dir.join("refs"), state.clone()]
    {
        if directory == state && !directory.exists() {
            continue;
        }
        if !directory.is_dir() {
            let text = format!("{} is no directory", directory.display());
            let check = Check::problem("writable", text, why);
            return if directory == state {
                check.mend(format!("rm {}", quoted_path(&state)))
            } else {
                check
            };
        }
        if let Err(error) = rustix::fs::access(&directory, rustix::fs::Access::WRITE_OK) {
            let text = format!("{} cannot be written: {error}", directory.display());
            return Check::problem("writable", text, why)
                .mend(format!("chmod -R u+w {}", quoted_path(common_dir)));
        }
    }
    Check::ok("writable", "the repository can be written")
}

fn clone_kind(scene: &Scene, repo: &Repo) -> Vec<Check> {
    let mut found = Vec::new();
    if repo.raw().is_shallow() {
        let why = "whether a linked commit exists beyond the cut, and ranges across it, cannot be told";
        let text = "a shallow clone: ledgers and evidence are whole";
        found.push(Check::warn("shallow", text, why).mend("git fetch --unshallow"));
    }
    if let Some(remote) = repo.promisor() {
        let why = "stored files are fetched when they are shown, which needs the remote";
        let text = format!("a partial clone: what is not here stays with {remote}");
        let key = |name: &str| quoted(&format!("remote.{remote}.{name}"));
        let mut mend = format!("git fetch --quiet --refetch --no-filter {}", quoted(&remote));
        for (name, unset) in [
            (key("promisor"), scene.settings.named(&format!("remote.{remote}.promisor")).is_empty()),
            (
                key("partialclonefilter"),
                scene.settings.named(&format!("remote.{remote}.partialclonefilter")).is_empty(),
            ),
            (
                "extensions.partialClone".to_owned(),
                scene.settings.named("extensions.partialclone").is_empty(),
            ),
        ] {
            if !unset {
                mend.push_str(&format!(" && git config --unset-all {name}"));
            }
        }
        found.push(Check::warn("partial", text, why).mend(mend));
    }
    found
}

/// `git replace` on objects of ours: what plain git shows is not what is stored.
fn replaced(scene: &Scene, repo: &Repo) -> Result<Check> {
    let listed = scene.git.call(["replace", "-l"]).text()?;
    let names: Vec<&str> = listed.lines().take(1000).collect();
    if names.is_empty() {
        return Ok(Check::ok("replace", "no object is replaced"));
    }
    let mut ours: Vec<&str> = Vec::new();
    for which in BOTH {
        let Some(commit) = refs::read(repo, which.notes)? else { continue };
        let tree = notes::tree_of(repo, &commit)?;
        for name in &names {
            let Some(oid) = Oid::parse(name) else { continue };
            let is_note = oid == commit
                || tree.id().to_string() == *name
                || !notes::lookup(repo, &tree, &oid)?.is_empty()
                || notes::entries(repo, &tree)?.iter().any(|(_, blob)| *blob == oid);
            if is_note && !ours.contains(name) {
                ours.push(name);
            }
        }
    }
    if ours.is_empty() {
        return Ok(Check::ok("replace", format!("{} objects are replaced, none of them ours", names.len())));
    }
    let text =
        format!("git replace stands in for objects of the ledger or its evidence: {}", ours.join(", "));
    let why = "plain git shows, merges and packs something else than what was recorded";
    Ok(Check::problem("replace", text, why).mend(format!("git replace -d {}", ours.join(" "))))
}

/// Keeps the name of validation worktrees in one place.
pub(super) const WORKTREES: &str = worktree::PREFIX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_space_is_said_before_there_is_none() {
        assert_eq!(space(0), Status::Problem);
        assert_eq!(space(NEARLY_NONE), Status::Warn);
        assert_eq!(space(LITTLE), Status::Ok);
    }
}
