//! Where git would push a branch, and what stands there: its configuration read as git reads it.

use std::collections::BTreeMap;

use super::program::Git;
use super::remote_url::{self, Hosted, RemoteUrl, without_credentials};
use crate::model::{Error, Kind, Oid, Result};

/// Where a branch is pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushTarget {
    /// The remote's name, or its URL where the configuration names none.
    pub remote: String,
    /// The branch over there, without `refs/heads/`.
    pub branch: String,
}

/// The settings that say where branches go.
#[derive(Debug, Clone, Default)]
pub struct Settings(BTreeMap<String, Vec<String>>);

impl Settings {
    /// Reads them from everywhere git looks.
    ///
    /// # Errors
    /// git cannot read its configuration.
    pub fn read(git: &Git) -> Result<Self> {
        let pattern = r"^(branch\..*|remote\..*|push\.default)$";
        let bytes = git
            .call(["config", "--includes", "-z", "--get-regexp", pattern])
            .bytes_if_any()?
            .unwrap_or_default();
        let mut all = Self::default();
        for entry in bytes.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
            let text = String::from_utf8_lossy(entry);
            let (key, value) = text.split_once('\n').unwrap_or((&text, "true"));
            all.add(key, value);
        }
        Ok(all)
    }

    fn add(&mut self, key: &str, value: &str) {
        self.0.entry(key.to_owned()).or_default().push(value.to_owned());
    }

    /// The value that counts: the last one.
    fn last(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(|v| v.last()).map(String::as_str).filter(|v| !v.is_empty())
    }

    fn all(&self, key: &str) -> &[String] {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }

    /// The names of the remotes that have a URL, sorted.
    pub fn remotes(&self) -> Vec<&str> {
        self.0
            .keys()
            .filter_map(|key| {
                key.strip_prefix("remote.")?
                    .strip_suffix(".url")
                    .or_else(|| key.strip_prefix("remote.")?.strip_suffix(".pushurl"))
            })
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect()
    }

    /// The remote a branch is fetched from.
    pub fn upstream_remote(&self, branch: &str) -> Option<&str> {
        self.last(&format!("branch.{branch}.remote")).filter(|name| *name != ".")
    }

    /// Where `git push` would send a branch (`git help config`: `branch.<name>.pushRemote`,
    /// `remote.pushDefault`, `remote.<name>.push`, `push.default`).
    pub fn push_target(&self, branch: &str) -> Option<PushTarget> {
        let remotes = self.remotes();
        let only = || if remotes.len() == 1 { remotes.first().copied() } else { None };
        let remote = self
            .last(&format!("branch.{branch}.pushremote"))
            .or_else(|| self.last("remote.pushdefault"))
            .or_else(|| self.upstream_remote(branch))
            .or_else(|| remotes.contains(&"origin").then_some("origin"))
            .or_else(only)?;
        let full = format!("refs/heads/{branch}");
        let specs = self.all(&format!("remote.{remote}.push"));
        let there = specs.iter().find_map(|spec| mapped(spec, &full)).or_else(|| {
            let upstream = matches!(self.last("push.default"), Some("upstream" | "tracking"));
            let same = self.upstream_remote(branch) == Some(remote);
            let merge = self.last(&format!("branch.{branch}.merge")).filter(|_| upstream && same);
            merge.map(str::to_owned)
        });
        let there = there.unwrap_or(full);
        let there = there.strip_prefix("refs/heads/").unwrap_or(&there);
        Some(PushTarget { remote: remote.to_owned(), branch: there.to_owned() })
    }

    /// The remote whose repository changes go to: marked by `gh`, what the branch comes from when it is pushed
    /// elsewhere, or one called `upstream`.
    pub fn base_remote(&self, branch: &str, pushed_to: &str) -> Option<String> {
        let marked = self
            .remotes()
            .into_iter()
            .find(|r| self.last(&format!("remote.{r}.gh-resolved")) == Some("base"));
        let triangular = self.upstream_remote(branch).filter(|remote| *remote != pushed_to);
        let upstream = || self.remotes().into_iter().find(|r| *r == "upstream" && *r != pushed_to);
        marked.or(triangular).or_else(upstream).map(str::to_owned)
    }

    /// The URL as it is written, for when git rewrites it to a place on this machine.
    fn written(&self, remote: &str) -> Option<&str> {
        let push = self.all(&format!("remote.{remote}.pushurl"));
        let fetch = self.all(&format!("remote.{remote}.url"));
        push.first().or(fetch.first()).map(String::as_str)
    }
}

/// Where a refspec of `remote.<name>.push` sends a branch.
fn mapped(spec: &str, full: &str) -> Option<String> {
    let spec = spec.strip_prefix('+').unwrap_or(spec);
    if spec.starts_with('^') {
        return None;
    }
    let (from, to) = spec.split_once(':').unwrap_or((spec, spec));
    let short = full.strip_prefix("refs/heads/").unwrap_or(full);
    if from == "HEAD" || from == full || from == short {
        let to = if to.is_empty() || to == "HEAD" { full } else { to };
        return Some(to.to_owned());
    }
    let (before, after) = from.split_once('*')?;
    let middle = full.strip_prefix(before)?.strip_suffix(after)?;
    let to = if to.is_empty() { from } else { to };
    Some(to.replacen('*', middle, 1))
}

/// A remote's repository on its host, and the URL git pushes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemotePlace {
    /// Where it is.
    pub hosted: Hosted,
    /// What git is given to reach it; never shown as it is: it may hold a password.
    url: String,
}

impl RemotePlace {
    /// The URL for people, without user names and passwords.
    pub fn shown(&self) -> String {
        without_credentials(&self.url)
    }
}

/// Finds the repository a remote names, as git resolves it: `pushurl`, `insteadOf`, `pushInsteadOf`, aliases of SSH.
///
/// # Errors
/// There is no such remote, or it names no repository on a host.
pub fn place(git: &Git, settings: &Settings, remote: &str) -> Result<RemotePlace> {
    let known = settings.remotes().contains(&remote);
    let url = if known {
        git.call(["remote", "get-url", "--push", remote]).text()?
    } else {
        // `branch.<name>.pushRemote` may be a URL itself.
        git.call(["ls-remote", "--get-url", "--", remote]).text()?
    };
    let url = url.lines().next().unwrap_or_default().to_owned();
    let mut found = remote_url::read(&url);
    if found == RemoteUrl::Local && known {
        // A mirror on this machine stands in for what the configuration names.
        found = settings.written(remote).map_or(RemoteUrl::Local, remote_url::read);
    }
    let shown = without_credentials(&url);
    let named = if known { format!("the remote {remote:?} ({shown})") } else { format!("{shown:?}") };
    match found {
        RemoteUrl::Hosted(mut hosted) => {
            if hosted.ssh
                && !hosted.host.contains(['.', '['])
                && let Some(real) = ssh_host(&hosted.host)
            {
                hosted.host = real;
            }
            Ok(RemotePlace { hosted, url })
        }
        RemoteUrl::Local => Err(Error::refused(format!("{named} is a path on this machine"))
            .because("a pull request needs a repository on GitHub")
            .hint("name one: git remote add github https://github.com/OWNER/NAME.git")
            .hint("then push there: git push -u github HEAD")),
        RemoteUrl::Other(why) => Err(Error::refused(format!("{named} names no repository on GitHub"))
            .because(why)
            .hint("look at the remotes: git remote -v; mend one: git remote set-url NAME URL")),
    }
}

/// The host an alias of `ssh_config(5)` stands for, as `ssh -G` resolves it.
fn ssh_host(alias: &str) -> Option<String> {
    // `remote_url` lets no name begin with a dash, so it is never read as an option.
    let out = std::process::Command::new("ssh")
        .args(["-G", alias])
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let name = text.lines().find_map(|line| line.strip_prefix("hostname "))?.trim();
    match remote_url::read(&format!("ssh://{name}/o/r")) {
        RemoteUrl::Hosted(hosted) => Some(hosted.host),
        _ => None,
    }
}

/// What the refs of a remote's repository are now, of those asked for.
///
/// # Errors
/// It cannot be reached, or refuses (exit 6).
pub fn refs_there(git: &Git, place: &RemotePlace, names: &[&str]) -> Result<BTreeMap<String, Oid>> {
    let output = git.call(["ls-remote", "--", &place.url]).args(names).output()?;
    if !output.success() {
        let mut error =
            Error::new(Kind::Remote, format!("cannot ask {} what its branches are", place.hosted));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        for line in said.lines().filter(|l| !l.trim().is_empty()).take(5) {
            error = error.because(without_credentials(line.trim().trim_start_matches("fatal: ")));
        }
        return Err(error
            .hint("see that git reaches it: git ls-remote --heads REMOTE")
            .hint("without the network: git incident pr prints the text"));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .filter_map(|(oid, name)| Some((name.to_owned(), Oid::parse(oid)?)))
        .collect())
}

/// A setting of the person's or the machine's, never of the repository's.
pub fn personal_setting(git: &Git, key: &str) -> Option<String> {
    ["--global", "--system"].into_iter().find_map(|scope| {
        let value = git.call(["config", scope, "--includes", "--get", key]).text_if_any().ok().flatten();
        value.filter(|v| !v.trim().is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(entries: &[(&str, &str)]) -> Settings {
        let mut all = Settings::default();
        for (key, value) in entries {
            all.add(key, value);
        }
        all
    }

    fn target(entries: &[(&str, &str)]) -> Option<(String, String)> {
        settings(entries).push_target("topic").map(|t| (t.remote, t.branch))
    }

    const ORIGIN: (&str, &str) = ("remote.origin.url", "x");
    const FORK: (&str, &str) = ("remote.fork.url", "y");

    #[test]
    fn the_push_remote_is_the_one_git_takes() {
        let to = |entries: &[(&str, &str)]| target(entries).map(|t| t.0);
        assert_eq!(to(&[]), None);
        assert_eq!(to(&[FORK]).as_deref(), Some("fork"), "the only one");
        assert_eq!(to(&[ORIGIN, FORK]).as_deref(), Some("origin"));
        let mut all = vec![ORIGIN, FORK, ("branch.topic.remote", "fork")];
        assert_eq!(to(&all).as_deref(), Some("fork"));
        all.push(("remote.pushdefault", "origin"));
        assert_eq!(to(&all).as_deref(), Some("origin"));
        all.push(("branch.topic.pushremote", "fork"));
        assert_eq!(to(&all).as_deref(), Some("fork"));
        all.push(("branch.topic.pushremote", "https://host/a/b"));
        assert_eq!(to(&all).as_deref(), Some("https://host/a/b"), "the last one counts, and may be a URL");
    }

    #[test]
    fn the_branch_over_there_follows_push_default_and_refspecs() {
        let there = |extra: &[(&str, &str)]| {
            let mut all =
                vec![ORIGIN, ("branch.topic.remote", "origin"), ("branch.topic.merge", "refs/heads/ada/t")];
            all.extend(extra);
            target(&all).expect("a target").1
        };
        assert_eq!(there(&[]), "topic");
        assert_eq!(there(&[("push.default", "current")]), "topic");
        assert_eq!(there(&[("push.default", "upstream")]), "ada/t");
        assert_eq!(there(&[("push.default", "upstream"), FORK, ("remote.pushdefault", "fork")]), "topic");
        assert_eq!(there(&[("remote.origin.push", "refs/heads/*:refs/heads/me/*")]), "me/topic");
        assert_eq!(there(&[("remote.origin.push", "+refs/heads/topic:refs/heads/other")]), "other");
        assert_eq!(there(&[("remote.origin.push", "HEAD")]), "topic");
        assert_eq!(there(&[("remote.origin.push", "refs/tags/*:refs/tags/*")]), "topic");
    }

    #[test]
    fn the_base_is_another_remote_only_when_something_says_so() {
        let base = |entries: &[(&str, &str)], pushed: &str| settings(entries).base_remote("topic", pushed);
        assert_eq!(base(&[ORIGIN], "origin"), None);
        assert_eq!(base(&[ORIGIN, ("branch.topic.remote", "origin")], "fork").as_deref(), Some("origin"));
        assert_eq!(base(&[ORIGIN, ("branch.topic.remote", ".")], "origin"), None);
        let upstream = ("remote.upstream.url", "z");
        assert_eq!(base(&[ORIGIN, upstream], "origin").as_deref(), Some("upstream"));
        assert_eq!(
            base(&[ORIGIN, upstream, ("remote.origin.gh-resolved", "base")], "origin").as_deref(),
            Some("origin")
        );
    }

    #[test]
    fn git_itself_resolves_urls() {
        let root = tempfile::tempdir().unwrap();
        let git = Git::at(root.path())
            .scrubbed()
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        git.call(["init", "-q"]).writes().run().unwrap();
        let set = |key: &str, value: &str| git.call(["config", "--add", key, value]).writes().run().unwrap();
        let at = |remote: &str| place(&git, &Settings::read(&git).unwrap(), remote);
        set("remote.origin.url", "gh:ada/notes");
        set("url.git@github.com:.insteadOf", "gh:");
        assert_eq!(at("origin").unwrap().hosted.to_string(), "github.com/ada/notes");
        set("url.ssh://git@ssh.github.com:443/.pushInsteadOf", "https://github.com/");
        assert_eq!(at("https://github.com/x/y").unwrap().hosted.to_string(), "github.com/x/y");
        let disk = root.path().join("mirror").display().to_string();
        set(&format!("url.{disk}/.insteadOf"), "https://host.example/");
        set("remote.mirrored.url", "https://host.example/ada/notes.git");
        assert_eq!(at("mirrored").unwrap().hosted.to_string(), "host.example/ada/notes");
        set("remote.disk.url", &disk);
        let error = at("disk").unwrap_err();
        assert!(error.what().contains("a path on this machine") && !error.hints().is_empty(), "{error}");
        let word = ["se", "cret"].concat();
        set("remote.odd.url", &format!("https://ada:{word}@host.example/only-one"));
        let error = at("odd").unwrap_err();
        assert!(!error.to_string().contains(&word), "{error}");
        assert!(at("absent").is_err());
    }

    #[test]
    fn only_personal_settings_are_personal() {
        let root = tempfile::tempdir().unwrap();
        let global = root.path().join("global");
        let git =
            Git::at(root.path()).scrubbed().env("GIT_CONFIG_GLOBAL", &global).env("GIT_CONFIG_NOSYSTEM", "1");
        git.call(["init", "-q"]).writes().run().unwrap();
        git.call(["config", "incident.githubApi", "https://evil.example"]).writes().run().unwrap();
        let inline = git.clone().config("incident.githubApi", "https://evil.example");
        assert_eq!(personal_setting(&inline, "incident.githubApi"), None);
        git.call(["config", "--global", "incident.githubApi", "https://api.example"]).writes().run().unwrap();
        assert_eq!(personal_setting(&inline, "incident.githubApi").as_deref(), Some("https://api.example"));
    }

    #[test]
    fn a_remote_that_is_not_there_is_told_without_its_password() {
        let root = tempfile::tempdir().unwrap();
        let git = Git::at(root.path()).scrubbed();
        let hosted = Hosted { host: "h".into(), port: None, owner: "o".into(), name: "n".into(), ssh: false };
        let word = ["se", "cret"].concat();
        let place = RemotePlace { hosted, url: format!("file://ada:{word}@/nowhere/at/all") };
        let error = refs_there(&git, &place, &["refs/heads/x"]).unwrap_err();
        assert_eq!(error.kind(), Kind::Remote);
        assert!(!format!("{error:?}").contains(&word) && !place.shown().contains(&word), "{error:?}");
    }
}
