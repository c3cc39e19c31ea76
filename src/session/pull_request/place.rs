//! Addresses: of files on the forge, and of the place that notes can be fetched from.

use super::super::Session;
use crate::git::remote_url::{self, RemoteUrl};
use crate::model::Oid;

/// What git's configuration says of the remote that the branch is pushed to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The address of the repository's pages, without a `/` at the end; empty when they are not known.
    web: String,
    /// What others fetch from; empty when it is a place that only this machine has.
    pub(super) notes: String,
}

impl Place {
    /// The remote of the current branch.
    pub(super) fn of(session: &Session) -> Self {
        let config = |key: &str| session.repo.config_string(key).filter(|v| !v.is_empty());
        let branch = session.repo.head_branch().unwrap_or_default();
        let branch = branch.strip_prefix("refs/heads/").unwrap_or_default();
        let remote = config(&format!("branch.{branch}.pushRemote"))
            .or_else(|| config("remote.pushDefault"))
            .or_else(|| config(&format!("branch.{branch}.remote")))
            .unwrap_or_else(|| "origin".to_owned());
        config(&format!("remote.{remote}.url")).map_or_else(Self::default, |url| Self::read(&url))
    }

    /// Reads a remote's address. A user and a password in it are not repeated, nor is a place that only this
    /// machine has, or a name that only its SSH configuration knows.
    fn read(url: &str) -> Self {
        let RemoteUrl::Hosted(hosted) = remote_url::read(url) else {
            return Self::default();
        };
        if !hosted.host.contains('.') {
            return Self::default();
        }
        let notes =
            if hosted.ssh { format!("ssh://git@{hosted}.git") } else { format!("https://{hosted}.git") };
        // Other forges have other paths, and a link that leads nowhere is worse than a command that works.
        let github = hosted.host.split('.').any(|label| label == "github");
        Self { web: if github { format!("https://{hosted}") } else { String::new() }, notes }
    }

    /// The address of a file at a commit; empty when it is not known.
    pub(super) fn file(&self, commit: &Oid, path: &str) -> String {
        if self.web.is_empty() {
            return String::new();
        }
        let mut address = format!("{}/blob/{commit}/", self.web);
        for byte in path.bytes() {
            if byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte) {
                address.push(char::from(byte));
            } else {
                address.push_str(&format!("%{byte:02X}"));
            }
        }
        address
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_remotes_are_read() {
        let web = "https://github.com/o/r";
        for (url, expected, notes) in [
            ("https://github.com/o/r.git", web, "https://github.com/o/r.git"),
            ("https://user:word@github.com/o/r", web, "https://github.com/o/r.git"),
            ("git@github.com:o/r.git", web, "ssh://git@github.com/o/r.git"),
            ("ssh://git@github.com:22/o/r.git", web, "ssh://git@github.com/o/r.git"),
            ("https://forge.example.org/o/r.git", "", "https://forge.example.org/o/r.git"),
            ("git@work:o/r.git", "", ""),
            ("/srv/git/r.git", "", ""),
            ("../r.git", "", ""),
            ("file:///srv/r.git", "", ""),
            ("https://github.com/o/`r`", "", ""),
            ("https://github.com/../r", "", ""),
        ] {
            let place = Place::read(url);
            assert_eq!((place.web.as_str(), place.notes.as_str()), (expected, notes), "{url}");
        }
    }

    #[test]
    fn a_file_has_an_address() {
        let commit = Oid::parse(&"a".repeat(40)).unwrap();
        let place = Place::read("git@github.example.org:o/r");
        let expected = format!("https://github.example.org/o/r/blob/{commit}/docs/a%20%28b%29.md");
        assert_eq!(place.file(&commit, "docs/a (b).md"), expected);
    }
}
