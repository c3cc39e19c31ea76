//! The configuration that `init` adds to a repository and `--uninstall` takes away, and settings
//! of the user's that endanger the notes refs.
//!
//! Incidents are fetched into refs of their own, by a glob: a refspec that names a ref the remote
//! lacks would break every fetch, and one that writes onto the local refs would drop what was not
//! pushed yet.

use super::program::Git;
use crate::model::Result;

/// The ref whose notes `git log` shall show.
pub const DISPLAY_REF: &str = "refs/notes/incident-lines";
/// The refs that travel; no setting may rewrite or overwrite them.
const TRAVELLING: [&str; 2] = ["refs/notes/incidents", "refs/notes/incidents-evidence"];

/// The refspec that fetches a remote's incidents beside the local ones.
pub fn fetch_refspec(remote: &str) -> String {
    format!("+refs/notes/incidents*:refs/notes/remotes/{remote}/incidents*")
}

/// A setting that was added or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The full name, such as `remote.origin.fetch`.
    pub key: String,
    /// The value.
    pub value: String,
}

/// Adds what is missing to the repository's local configuration, for each remote it has; the
/// user's own values stay. Returns what was added.
pub fn configure(git: &Git) -> Result<Vec<Setting>> {
    let settings = Settings::read(git, true)?;
    let mut wanted: Vec<Setting> = settings
        .remotes()
        .into_iter()
        .map(|remote| Setting { key: format!("remote.{remote}.fetch"), value: fetch_refspec(&remote) })
        .collect();
    wanted.push(Setting { key: "notes.displayRef".into(), value: DISPLAY_REF.into() });
    wanted.retain(|setting| !settings.has(setting));
    for setting in &wanted {
        git.call(["config", "--local", "--add", &setting.key, &setting.value]).writes().run()?;
    }
    Ok(wanted)
}

/// Removes what [`configure`] adds and nothing else. Returns what was removed.
pub fn unconfigure(git: &Git) -> Result<Vec<Setting>> {
    let settings = Settings::read(git, true)?;
    let ours = |setting: &&Setting| {
        let fetch = setting.key.strip_prefix("remote.").and_then(|key| key.strip_suffix(".fetch"));
        fetch.is_some_and(|remote| setting.value == fetch_refspec(remote))
            || (setting.key == "notes.displayref" && setting.value == DISPLAY_REF)
    };
    let mut removed: Vec<Setting> = settings.0.iter().filter(ours).cloned().collect();
    removed.dedup();
    for Setting { key, value } in &removed {
        // Takes the section along when nothing is left in it.
        git.call(["config", "--local", "--fixed-value", "--unset-all", key, value]).writes().run()?;
    }
    Ok(removed)
}

/// A setting that can lose events or keeps hooks from running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Danger {
    /// A fetch writes straight onto our refs: events that were not pushed are dropped.
    FetchOverwrites(Setting),
    /// `git push` to this remote mirrors: it deletes what is not here, our refs included.
    PushMirrors(Setting),
    /// An amend or a rebase rewrites our refs without compare and swap.
    NotesRewritten(Setting),
    /// git looks for hooks elsewhere.
    HooksElsewhere(Setting),
}

impl Danger {
    /// The setting.
    pub fn setting(&self) -> &Setting {
        let (Self::FetchOverwrites(setting)
        | Self::PushMirrors(setting)
        | Self::NotesRewritten(setting)
        | Self::HooksElsewhere(setting)) = self;
        setting
    }

    /// What can happen.
    pub const fn consequence(&self) -> &'static str {
        match self {
            Self::FetchOverwrites(_) => "a fetch overwrites the local ledger and drops events not yet pushed",
            Self::PushMirrors(_) => "a push deletes on the remote every ref that is missing here",
            Self::NotesRewritten(_) => {
                "an amend or a rebase rewrites the ledger beside its writers and loses events"
            }
            Self::HooksElsewhere(_) => "git runs the hooks of that directory and no others",
        }
    }
}

/// Finds dangerous settings, whichever configuration they are in.
pub fn dangers(git: &Git) -> Result<Vec<Danger>> {
    let settings = Settings::read(git, false)?;
    Ok(settings.0.into_iter().filter_map(danger).collect())
}

fn danger(setting: Setting) -> Option<Danger> {
    let key = setting.key.as_str();
    match key.strip_prefix("remote.").and_then(|key| key.rsplit_once('.')) {
        Some((_, "fetch")) => {
            let target = setting.value.split_once(':')?.1;
            let hit = TRAVELLING.iter().any(|name| star(target, name));
            return hit.then_some(Danger::FetchOverwrites(setting));
        }
        Some((_, "mirror")) => {
            let off = ["false", "no", "off", "0"].iter().any(|word| setting.value.eq_ignore_ascii_case(word));
            return (!off).then_some(Danger::PushMirrors(setting));
        }
        _ => {}
    }
    match key {
        "notes.rewriteref"
            if TRAVELLING.iter().any(|name| glob(setting.value.as_bytes(), name.as_bytes())) =>
        {
            Some(Danger::NotesRewritten(setting))
        }
        "core.hookspath" => Some(Danger::HooksElsewhere(setting)),
        _ => None,
    }
}

/// The settings this module looks at, keys as git prints them (section and name in lower case).
struct Settings(Vec<Setting>);

impl Settings {
    fn read(git: &Git, local: bool) -> Result<Self> {
        let pattern = r"^(remote\..*\.(fetch|mirror|url)|notes\.(displayref|rewriteref)|core\.hookspath)$";
        let scope = if local { ["config", "--local"] } else { ["config", "--includes"] };
        let bytes = git.call(scope).args(["-z", "--get-regexp", pattern]).bytes_if_any()?.unwrap_or_default();
        let entries = bytes.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
        Ok(Self(
            entries
                .map(|entry| {
                    let text = String::from_utf8_lossy(entry);
                    // A key alone, without `=`, means true.
                    let (key, value) = text.split_once('\n').unwrap_or((&text, "true"));
                    Setting { key: key.to_owned(), value: value.to_owned() }
                })
                .collect(),
        ))
    }

    fn remotes(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .0
            .iter()
            .filter_map(|setting| {
                setting.key.strip_prefix("remote.")?.strip_suffix(".url").map(str::to_owned)
            })
            .collect();
        names.sort();
        names.dedup();
        names
    }

    fn has(&self, wanted: &Setting) -> bool {
        self.0
            .iter()
            .any(|setting| setting.key.eq_ignore_ascii_case(&wanted.key) && setting.value == wanted.value)
    }
}

/// Whether one side of a refspec covers a ref.
pub fn refspec_covers(side: &str, name: &str) -> bool {
    star(side, name)
}

/// Whether a pattern of `notes.rewriteRef` or `notes.displayRef` covers a ref.
pub fn notes_glob_covers(pattern: &str, name: &str) -> bool {
    glob(pattern.as_bytes(), name.as_bytes())
}

/// Whether a refspec's side, with at most one `*` for anything, covers a ref.
fn star(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => {
            name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
        }
    }
}

/// Whether a glob of `*` and `?` covers a name. Bracket expressions count as covering: a warning
/// too many is better than one too few.
fn glob(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while from < name.len() {
        match pattern.get(at) {
            Some(b'[') => return true,
            Some(b'*') => {
                retry = Some((at + 1, from));
                at += 1;
            }
            Some(byte) if *byte == b'?' || *byte == name[from] => {
                at += 1;
                from += 1;
            }
            _ => {
                let Some((after, start)) = retry else { return false };
                retry = Some((after, start + 1));
                (at, from) = (after, start + 1);
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn scene() -> (tempfile::TempDir, Git) {
        let root = tempfile::tempdir().unwrap();
        let git = |name: &str| {
            Git::at(root.path().join(name))
                .scrubbed()
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .env("GIT_CONFIG_NOSYSTEM", "1")
                .config("user.name", "A")
                .config("user.email", "a@example.org")
        };
        git("").call(["init", "-q", "--bare", "remote"]).run().unwrap();
        git("").call(["init", "-q", "-b", "main", "repo"]).run().unwrap();
        let repo = git("repo");
        repo.call(["remote", "add", "origin", "../remote"]).run().unwrap();
        repo.call(["remote", "add", "odd.name/x", "../remote"]).run().unwrap();
        repo.call(["commit", "-q", "--allow-empty", "-m", "first"]).run().unwrap();
        repo.call(["push", "-q", "origin", "main"]).run().unwrap();
        (root, repo)
    }

    #[test]
    fn what_is_added_is_removed_to_the_byte() {
        let (root, git) = scene();
        let config = root.path().join("repo/.git/config");
        for own in ["", "[notes]\n\tdisplayRef = refs/notes/mine # keep\n\trewriteMode = overwrite\n"] {
            let before = fs::read_to_string(&config).unwrap() + own;
            fs::write(&config, &before).unwrap();
            assert_eq!(configure(&git).unwrap().len(), 3);
            let once = fs::read_to_string(&config).unwrap();
            assert!(
                once.contains(own) && once.contains("+refs/notes/incidents*:refs/notes/remotes/odd.name/x/")
            );
            assert_eq!(configure(&git).unwrap(), []);
            assert_eq!(fs::read_to_string(&config).unwrap(), once);
            assert_eq!(dangers(&git).unwrap(), []);
            assert_eq!(unconfigure(&git).unwrap().len(), 3);
            assert_eq!(fs::read_to_string(&config).unwrap(), before);
            assert_eq!(unconfigure(&git).unwrap(), []);
        }
    }

    #[test]
    fn fetch_works_before_and_after_the_remote_has_incidents() {
        let (_root, git) = scene();
        configure(&git).unwrap();
        git.call(["fetch", "-q", "origin"]).run().unwrap();
        git.call(["notes", "--ref", "incidents", "add", "-m", "x"]).run().unwrap();
        git.call(["notes", "--ref", "incidents-evidence", "add", "-m", "x"]).run().unwrap();
        git.call(["push", "-q", "origin", "refs/notes/incidents", "refs/notes/incidents-evidence"])
            .run()
            .unwrap();
        git.call(["notes", "--ref", "incidents", "append", "-m", "unpushed"]).run().unwrap();
        let mine = git.call(["rev-parse", "refs/notes/incidents"]).text().unwrap();
        git.call(["fetch", "-q", "--prune", "origin"]).run().unwrap();
        assert_eq!(git.call(["rev-parse", "refs/notes/incidents"]).text().unwrap(), mine);
        let refs = git.call(["for-each-ref", "--format=%(refname)", "refs/notes/remotes"]).text().unwrap();
        assert_eq!(refs, "refs/notes/remotes/origin/incidents\nrefs/notes/remotes/origin/incidents-evidence");
    }

    #[test]
    fn lines_are_shown_beside_the_default_notes() {
        let (_root, git) = scene();
        configure(&git).unwrap();
        git.call(["notes", "add", "-m", "ordinary note"]).run().unwrap();
        git.call(["notes", "--ref", DISPLAY_REF, "add", "-m", "incident line"]).run().unwrap();
        let log = git.call(["log", "-1"]).text().unwrap();
        assert!(
            log.contains("ordinary note") && log.contains("Notes (incident-lines):\n    incident line"),
            "{log}"
        );
    }

    #[test]
    fn dangerous_settings_are_named() {
        let (_root, git) = scene();
        for (key, value, dangerous) in [
            ("remote.origin.fetch", "+refs/notes/*:refs/notes/*", true),
            ("remote.origin.fetch", "+refs/*:refs/*", true),
            ("remote.origin.fetch", "refs/notes/incidents:refs/notes/incidents", true),
            ("remote.origin.fetch", "refs/notes/*:refs/notes/remotes/origin/*", false),
            ("remote.origin.fetch", "refs/notes/incidents", false),
            ("remote.origin.mirror", "true", true),
            ("remote.origin.mirror", "false", false),
            ("notes.rewriteRef", "refs/notes/*", true),
            ("notes.rewriteRef", "refs/notes/inc*s", true),
            ("notes.rewriteRef", "refs/notes/commits", false),
            ("notes.rewriteRef", "refs/notes/incident-lines", false),
            ("core.hooksPath", "elsewhere", true),
        ] {
            let git = git.clone().config(key, value);
            let found = dangers(&git).unwrap();
            assert_eq!(found.len(), usize::from(dangerous), "{key}={value}: {found:?}");
            if let Some(danger) = found.first() {
                assert!(danger.setting().key.eq_ignore_ascii_case(key) && !danger.consequence().is_empty());
            }
        }
    }
}
