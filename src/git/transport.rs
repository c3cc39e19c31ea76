//! Fetching and pushing the travelling refs, through the `git` program: it knows the user's ssh, proxies and
//! credentials.
//!
//! A fetch names its refspec and forgets the configured ones (`--refmap=`): one of those may write straight onto the
//! local refs. A push names commits, never refs, and is forced only with the value it expects to replace.

use std::borrow::Cow;

use super::Repo;
use super::program::{Git, Output};
use crate::model::{Error, Kind, Oid, Result};

/// Where refs fetched from an address that is no configured remote stand while they are needed.
pub const SCRATCH: &str = "refs/incident/fetched";

/// A remote, or an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The remote's name or the address, without its credentials: for people.
    pub shown: String,
    /// What git is told to fetch from.
    source: String,
    /// What git is told to push to.
    target: String,
    /// The address to push to, when it is another one than that of fetching.
    elsewhere: Option<String>,
    /// Below this the fetched refs stand.
    pub tracking: String,
    /// Whether `tracking` is of use for this one time only.
    pub scratch: bool,
    /// Push addresses that were left out: each is synced when it is named.
    pub left_out: Vec<String>,
    /// Whether objects of this remote may be missing here, to be fetched when they are needed.
    pub promisor: bool,
}

/// How the `git` program is run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Manner {
    /// A person is at the terminal: git may ask, and shows its progress.
    pub terminal: bool,
    /// The user's pre-push hooks run for the notes too.
    pub hooks: bool,
}

/// Told what git says of its progress, made safe.
pub type Progress<'a> = &'a mut dyn FnMut(&str);

/// Finds a remote: the named one, or the one that a push would go to.
///
/// # Errors
/// No such remote; none is configured, or several and none stands out.
pub fn resolve(git: &Git, repo: &Repo, named: Option<&str>) -> Result<Place> {
    let list = git.call(["remote"]).text()?;
    let remotes: Vec<&str> = list.lines().filter(|l| !l.is_empty()).collect();
    let name = match named {
        Some(name) => name.to_owned(),
        None => default_remote(repo, &remotes)?,
    };
    if name.is_empty() || name.starts_with('-') || name.chars().any(char::is_control) {
        return Err(Error::usage(format!("{name:?} is no remote")).hint("list them with: git remote -v"));
    }
    if remotes.contains(&name.as_str()) {
        return configured(git, repo, &name);
    }
    if !name.contains(['/', ':', '\\']) && !std::path::Path::new(&name).is_dir() {
        return Err(Error::new(Kind::Remote, format!("there is no remote {name:?} here"))
            .because(format!(
                "the remotes are: {}",
                if remotes.is_empty() { "none".to_owned() } else { remotes.join(", ") }
            ))
            .hint(format!("list them with: git remote -v; or add it: git remote add {name} URL")));
    }
    Ok(address(&name))
}

fn default_remote(repo: &Repo, remotes: &[&str]) -> Result<String> {
    let branch = repo.head_branch().and_then(|b| b.strip_prefix("refs/heads/").map(str::to_owned));
    let push = branch.and_then(|b| repo.config_string(&format!("branch.{b}.pushRemote")));
    let named = push.or_else(|| repo.config_string("remote.pushDefault"));
    match (named, remotes) {
        (Some(named), _) => Ok(named),
        (None, remotes) if remotes.contains(&"origin") => Ok("origin".to_owned()),
        (None, [only]) => Ok((*only).to_owned()),
        (None, []) => Err(Error::refused("this repository has no remote to share with")
            .hint("add one: git remote add origin URL")
            .hint("or name an address: git incident sync URL")),
        (None, several) => Err(Error::refused("which remote is meant is not clear")
            .because(format!("there are {}: {}", several.len(), several.join(", ")))
            .hint("name it: git incident sync REMOTE")
            .hint("or choose one for good: git config remote.pushDefault REMOTE")),
    }
}

fn configured(git: &Git, repo: &Repo, name: &str) -> Result<Place> {
    let urls = |arguments: &[&str]| -> Result<Vec<String>> {
        let text = git.call(["remote", "get-url", "--all"]).args(arguments).arg(name).text()?;
        Ok(text.lines().map(str::to_owned).collect())
    };
    let fetch = urls(&[])?.into_iter().next().unwrap_or_default();
    let mut push = urls(&["--push"])?;
    let first = if push.is_empty() { fetch.clone() } else { push.remove(0) };
    // Named by its address where its name means more than one address, or every ref there is.
    let mirror = repo.config_bool(&format!("remote.{name}.mirror")).unwrap_or(false);
    let by_address = mirror || !push.is_empty();
    let is = |key: &str| repo.config_bool(&format!("remote.{name}.{key}")).unwrap_or(false);
    Ok(Place {
        shown: name.to_owned(),
        source: name.to_owned(),
        target: if by_address { first.clone() } else { name.to_owned() },
        elsewhere: (first != fetch).then_some(first),
        tracking: format!("refs/notes/remotes/{name}"),
        scratch: false,
        left_out: push.iter().map(|u| without_credentials(u).into_owned()).collect(),
        promisor: is("promisor") || repo.config_string("extensions.partialclone").is_some_and(|v| v == name),
    })
}

/// An address that is no configured remote.
fn address(url: &str) -> Place {
    let digits = crate::model::canonical::sha256_hex(url.as_bytes());
    Place {
        shown: without_credentials(url).into_owned(),
        source: url.to_owned(),
        target: url.to_owned(),
        elsewhere: None,
        tracking: format!("{SCRATCH}/{}", &digits[..16]),
        scratch: true,
        left_out: Vec::new(),
        promisor: false,
    }
}

impl Place {
    /// The place that pushes go to, when it is not where fetches come from.
    pub fn elsewhere(&self) -> Option<Self> {
        self.elsewhere.as_deref().map(address)
    }

    /// What a ref of the remote is called here.
    pub fn tracked(&self, reference: &str) -> String {
        format!("{}/{}", self.tracking, reference.strip_prefix("refs/notes/").unwrap_or(reference))
    }
}

/// Fetches the travelling refs below the place's own. What the remote lacks is not here afterwards either.
///
/// # Errors
/// The remote says no, or cannot be reached.
pub fn fetch(git: &Git, place: &Place, manner: Manner, progress: Progress<'_>) -> Result<()> {
    let whole = format!("+refs/notes/incidents*:{}/incidents*", place.tracking);
    for attempt in 0..10 {
        let output = fetch_once(git, place, &whole, manner, progress)?;
        if output.success() {
            return Ok(());
        }
        // Another fetch moves the same refs in this instant.
        let busy = ["cannot lock ref", "unable to update local ref", ".lock"];
        let text = String::from_utf8_lossy(&output.stderr);
        if attempt < 9 && busy.iter().any(|b| text.contains(b)) {
            std::thread::sleep(std::time::Duration::from_millis(20 << attempt.min(5)));
            continue;
        }
        return Err(said_no(&format!("{} cannot be fetched from", place.shown), &output.stderr));
    }
    Err(Error::bug("a loop that returns ended"))
}

fn fetch_once(
    git: &Git,
    place: &Place,
    refspec: &str,
    manner: Manner,
    progress: Progress<'_>,
) -> Result<Output> {
    let git = git.clone().config("fetch.pruneTags", "false");
    let call = git
        .call(["fetch", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-gc"])
        .args(["--refmap=", "--prune"])
        .arg(if manner.terminal { "--progress" } else { "--no-progress" })
        .arg(&place.source)
        .arg(refspec)
        .writes();
    let call = if manner.terminal { call.may_ask() } else { call };
    call.watched(&mut |bytes| relay(bytes, progress))
}

/// Brings objects that a partial clone left out, all in one request.
///
/// # Errors
/// The remote says no, or cannot be reached.
pub fn fetch_objects(git: &Git, place: &Place, oids: &[Oid], manner: Manner) -> Result<()> {
    if oids.is_empty() {
        return Ok(());
    }
    let names: String = oids.iter().flat_map(|o| [o.as_str(), "\n"]).collect();
    // As git itself asks for what a promisor owes: naming what we have would only cost time.
    let call = git
        .clone()
        .config("fetch.negotiationAlgorithm", "noop")
        .call(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no"])
        .args(["--no-auto-gc", "--filter=blob:none", "--refmap=", "--stdin"])
        .arg(&place.source)
        .stdin(names)
        .writes();
    let call = if manner.terminal { call.may_ask() } else { call };
    let output = call.output()?;
    if output.success() {
        Ok(())
    } else {
        Err(said_no(&format!("{} did not send what is missing here", place.shown), &output.stderr))
    }
}

/// A ref to be pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// The remote's ref.
    pub reference: &'static str,
    /// Its new commit.
    pub new: Oid,
    /// The commit it must have now for the push to replace it, when the new one is no descendant.
    pub replaces: Option<Oid>,
}

/// What came of a push.
#[derive(Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The remote has it.
    Done,
    /// Somebody else pushed first.
    Raced,
}

/// Pushes refs, all or none.
///
/// # Errors
/// The remote says no, or cannot be reached.
pub fn push(
    git: &Git,
    place: &Place,
    updates: &[Update],
    manner: Manner,
    progress: Progress<'_>,
) -> Result<Pushed> {
    let output = push_once(git, place, updates, updates.len() > 1, manner, progress)?;
    if !output.success() && String::from_utf8_lossy(&output.stderr).contains("does not support --atomic") {
        // Evidence comes first in the list, so no ledger names what is not there.
        for update in updates {
            let output = push_once(git, place, std::slice::from_ref(update), false, manner, progress)?;
            if let Pushed::Raced = outcome(place, &output)? {
                return Ok(Pushed::Raced);
            }
        }
        return Ok(Pushed::Done);
    }
    outcome(place, &output)
}

fn push_once(
    git: &Git,
    place: &Place,
    updates: &[Update],
    atomic: bool,
    manner: Manner,
    progress: Progress<'_>,
) -> Result<Output> {
    let mut call = git
        .call(["push", "--porcelain", "--no-follow-tags", "--recurse-submodules=no"])
        .arg(if manner.terminal { "--progress" } else { "--no-progress" })
        .env("GIT_INCIDENT_SYNC", "1")
        .writes();
    if atomic {
        call = call.arg("--atomic");
    }
    if !manner.hooks {
        call = call.arg("--no-verify");
    }
    for update in updates {
        if let Some(old) = &update.replaces {
            call = call.arg(format!("--force-with-lease={}:{old}", update.reference));
        }
    }
    call = call.arg(&place.target);
    for update in updates {
        call = call.arg(format!("{}:{}", update.new, update.reference));
    }
    let call = if manner.terminal { call.may_ask() } else { call };
    call.watched(&mut |bytes| relay(bytes, progress))
}

/// Reasons by which a remote tells that somebody else was faster.
const RACES: [&str; 8] = [
    "(fetch first)",
    "(non-fast-forward)",
    "(stale info)",
    "failed to update ref",
    "cannot lock ref",
    "reference already exists",
    "incorrect old value",
    "(failed to lock)",
];

fn outcome(place: &Place, output: &Output) -> Result<Pushed> {
    if output.success() {
        return Ok(Pushed::Done);
    }
    let answers = String::from_utf8_lossy(&output.stdout);
    let refused: Vec<&str> = answers.lines().filter(|l| l.starts_with('!')).collect();
    let raced = |line: &&str| RACES.iter().any(|r| line.contains(r));
    // The other ref of an atomic push only says that it went down with the first.
    let companion = |line: &&str| line.contains("atomic");
    let own: Vec<&&str> = refused.iter().filter(|l| !companion(l)).collect();
    if own.iter().any(|l| raced(l)) && own.iter().all(|l| raced(l)) {
        return Ok(Pushed::Raced);
    }
    let text = String::from_utf8_lossy(&output.stderr);
    if own.is_empty() && RACES.iter().any(|r| text.contains(r)) {
        return Ok(Pushed::Raced);
    }
    let mut said = output.stderr.clone();
    for line in own {
        // `!`, tab, the refs, tab, the reason.
        said.extend_from_slice(line.rsplit('\t').next().unwrap_or(line).as_bytes());
        said.push(b'\n');
    }
    Err(said_no(&format!("{} did not take what was pushed", place.shown), &said))
}

/// The error for a remote that says no, in git's words.
fn said_no(what: &str, stderr: &[u8]) -> Error {
    let mut error = Error::new(Kind::Remote, what);
    let text = String::from_utf8_lossy(stderr);
    let mut seen: Vec<String> = Vec::new();
    for line in text.split(['\n', '\r']) {
        let line = safe(line);
        let line = line.trim().trim_start_matches("fatal: ").trim_start_matches("error: ");
        let noise = line.is_empty()
            || PROGRESS.iter().any(|p| line.trim_start_matches("remote: ").starts_with(p))
            || line.starts_with("hint:")
            || line.starts_with("To ")
            || line.starts_with("From ")
            || line.starts_with("failed to push some refs")
            || line == "remote:";
        if !noise && seen.len() < 8 && !seen.iter().any(|s| s == line) {
            seen.push(line.to_owned());
        }
    }
    for line in seen {
        error = error.because(line);
    }
    error
        .hint("nothing is lost: the ledgers are safe here, and the next sync sends them")
        .hint("see that you may read and write there: git ls-remote REMOTE, git remote -v")
}

/// How the lines begin by which git shows progress.
const PROGRESS: [&str; 9] = [
    "Enumerating objects",
    "Counting objects",
    "Compressing objects",
    "Writing objects",
    "Receiving objects",
    "Unpacking objects",
    "Resolving deltas",
    "Total ",
    "Delta compression",
];

/// Hands over git's progress, and nothing else of what it says.
fn relay(bytes: &[u8], progress: Progress<'_>) {
    let text = String::from_utf8_lossy(bytes);
    for piece in text.split_inclusive(['\r', '\n']) {
        let words = piece.trim_start_matches("remote: ");
        if PROGRESS.iter().any(|p| words.starts_with(p)) {
            let end = if piece.ends_with('\r') { "\r" } else { "\n" };
            progress(&format!("{}{end}", safe(piece)));
        }
    }
}

/// Foreign text without control characters, and without the credentials of the addresses in it.
fn safe(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !c.is_control()).collect();
    without_credentials(&plain).into_owned()
}

/// A text in which no address shows a user or a password.
pub fn without_credentials(text: &str) -> Cow<'_, str> {
    if !text.contains("://") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end =
            after.find(|c: char| c == '/' || c.is_whitespace() || "'\"?#".contains(c)).unwrap_or(after.len());
        // The last `@`: a password may hold one.
        match after[..end].rfind('@') {
            Some(sign) => {
                out.push_str("***");
                rest = &after[sign..];
            }
            None => rest = after,
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_not_shown() {
        for (given, shown) in [
            ("https://ada:pa@ss@example.org/x.git", "https://***@example.org/x.git"),
            (
                "unable to access 'https://token@example.org/x.git/': 403",
                "unable to access 'https://***@example.org/x.git/': 403",
            ),
            ("https://example.org/a@b", "https://example.org/a@b"),
            ("git@example.org:x.git", "git@example.org:x.git"),
            ("a ssh://git@h/x and http://u:p@h/y", "a ssh://***@h/x and http://***@h/y"),
            ("/srv/x.git", "/srv/x.git"),
        ] {
            assert_eq!(without_credentials(given), shown);
        }
    }

    #[test]
    fn what_a_remote_says_is_shown_without_its_controls() {
        let stderr = b"remote: \x1b[31mno\x1b[0m entry\nCounting objects: 3\rfatal: unable to access 'https://u:p@h/': denied\nhint: x\n";
        let error = said_no("origin did not take it", stderr);
        assert_eq!(error.causes(), ["remote: [31mno[0m entry", "unable to access 'https://***@h/': denied"]);
        assert_eq!(error.kind(), Kind::Remote);
    }

    #[test]
    fn a_race_is_told_from_a_refusal() {
        let ran = |stdout: &str| Output { status: 1, stdout: stdout.into(), stderr: Vec::new() };
        let place = address("/x");
        let race = "!\ta:refs/notes/incidents\t[rejected] (fetch first)\n!\tb:refs/notes/incidents-evidence\t[rejected] (atomic push failed)\n";
        assert_eq!(outcome(&place, &ran(race)).unwrap(), Pushed::Raced);
        let declined = "!\ta:refs/notes/incidents\t[remote rejected] (pre-receive hook declined)\n";
        let error = outcome(&place, &ran(declined)).unwrap_err();
        assert!(error.to_string().contains("pre-receive hook declined"), "{error}");
        let lease = "!\ta:refs/notes/incidents\t[rejected] (stale info)\n";
        assert_eq!(outcome(&place, &ran(lease)).unwrap(), Pushed::Raced);
        let locked = "!\ta:refs/notes/incidents\t[remote rejected] (cannot lock ref 'refs/notes/incidents': is at 1 but expected 2)\n";
        assert_eq!(outcome(&place, &ran(locked)).unwrap(), Pushed::Raced);
    }
}
