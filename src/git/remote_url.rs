//! Reads the URL of a remote, in every form git takes: which host, whose repository. Pure and total.

use std::fmt;

/// A repository on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosted {
    /// The host's name, in lower case.
    pub host: String,
    /// The port of its web server, when a URL of http or https names another than the usual one.
    pub port: Option<u16>,
    /// The user or organisation.
    pub owner: String,
    /// The repository, without `.git`.
    pub name: String,
    /// Whether it is reached by SSH: its host may then be an alias of `ssh_config(5)`.
    pub ssh: bool,
}

impl fmt::Display for Hosted {
    /// Without user names and passwords that the URL may have held.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.host)?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        write!(f, "/{}/{}", self.owner, self.name)
    }
}

/// What a URL of a remote is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoteUrl {
    /// `OWNER/NAME` on a host.
    Hosted(Hosted),
    /// A path on this machine.
    Local,
    /// Something else, with the reason.
    Other(&'static str),
}

/// Reads a URL, an scp-like address, or a path (`git help push`, "GIT URLS").
pub fn read(url: &str) -> RemoteUrl {
    let url = url.trim();
    if url.is_empty() || url.chars().any(char::is_control) {
        return RemoteUrl::Other("it is empty or has control characters");
    }
    if let Some((scheme, rest)) = url.split_once("://") {
        let scheme = scheme.to_ascii_lowercase();
        return match scheme.as_str() {
            "https" | "http" => with_authority(rest, Some(if scheme == "https" { 443 } else { 80 })),
            "ssh" | "git+ssh" | "ssh+git" | "git" => with_authority(rest, None),
            "file" => RemoteUrl::Local,
            _ => RemoteUrl::Other("git reaches it through a helper program"),
        };
    }
    let before_slash = url.split('/').next().unwrap_or_default();
    if before_slash.contains("::") && !before_slash.contains('[') {
        return RemoteUrl::Other("git reaches it through a helper program");
    }
    scp_like(url)
}

/// `[user@]host:path`, where the host may be `[host:port]`; anything else without a scheme is a path.
fn scp_like(url: &str) -> RemoteUrl {
    // git: a colon after the first slash belongs to a path.
    if !url.split('/').next().unwrap_or_default().contains(':') {
        return RemoteUrl::Local;
    }
    let bare = |text| str::rsplit_once(text, '@').map_or(text, |(_, place)| place);
    let bracketed = url.strip_prefix('[').or_else(|| url.split_once("@[").map(|(_, rest)| rest));
    let (host, path) = match bracketed.and_then(|rest| rest.split_once("]:")) {
        Some((inside, path)) => {
            let place = bare(inside);
            // One colon: a port. More: an address of IPv6.
            let port = place.split_once(':').filter(|(_, port)| !port.contains(':'));
            (port.map_or(place, |(host, _)| host), path)
        }
        None => match url.split_once(':') {
            Some((place, path)) => (bare(place), path),
            None => return RemoteUrl::Local,
        },
    };
    hosted(host, None, path, true)
}

fn with_authority(rest: &str, usual_port: Option<u16>) -> RemoteUrl {
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    let (host, port) = match place.strip_prefix('[').and_then(|inside| inside.split_once(']')) {
        Some((host, after)) => (host, after.strip_prefix(':')),
        None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
    };
    let port = match port {
        None | Some("") => None,
        Some(digits) => match digits.parse::<u16>() {
            Ok(port) if port > 0 => Some(port),
            _ => return RemoteUrl::Other("its port is no number"),
        },
    };
    // The port of SSH says nothing about where the web server is.
    let web = usual_port.and_then(|usual| port.filter(|port| *port != usual));
    hosted(host, web, path, usual_port.is_none())
}

fn hosted(host: &str, port: Option<u16>, path: &str, ssh: bool) -> RemoteUrl {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._:".contains(&b);
    if host.is_empty() || host.starts_with(['-', '.']) || !host.bytes().all(plain) {
        return RemoteUrl::Other("its host's name is not one");
    }
    let host = match host.as_str() {
        // SSH through the port of https, and the web site's other name.
        "ssh.github.com" | "www.github.com" => "github.com".to_owned(),
        _ if host.contains(':') => format!("[{host}]"),
        _ => host,
    };
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
    match path.split_once('/') {
        Some((owner, name)) if is_owner(owner) && is_name(name) => {
            RemoteUrl::Hosted(Hosted { host, port, owner: owner.to_owned(), name: name.to_owned(), ssh })
        }
        _ => RemoteUrl::Other("its path is not OWNER/NAME"),
    }
}

/// Whether this can be a user or an organisation of GitHub's.
pub fn is_owner(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    !text.is_empty() && text.len() <= 100 && !text.starts_with('-') && text.bytes().all(plain)
}

/// Whether this can be the name of a repository on GitHub.
pub fn is_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    !text.is_empty() && text.len() <= 100 && text != "." && text != ".." && text.bytes().all(plain)
}

/// The text with what stands between `://` and `@` in every URL cut out: user names, passwords, tokens.
pub fn without_credentials(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        out.push_str(before);
        out.push_str("://");
        let end = after.find(|c: char| c == '/' || c.is_whitespace() || c == '\'' || c == '"');
        let (authority, tail) = after.split_at(end.unwrap_or(after.len()));
        out.push_str(authority.rsplit_once('@').map_or(authority, |(_, place)| place));
        rest = tail;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(url: &str) -> String {
        match read(url) {
            RemoteUrl::Hosted(hosted) => hosted.to_string(),
            RemoteUrl::Local => "local".to_owned(),
            RemoteUrl::Other(why) => format!("other: {why}"),
        }
    }

    #[test]
    fn every_form_of_github_names_the_same_place() {
        for url in [
            "https://github.com/ada/notes.git",
            "https://github.com/ada/notes",
            "https://github.com/ada/notes/",
            "https://github.com:443/ada/notes.git",
            "HTTPS://GitHub.com/ada/notes.git/",
            "https://user:word@github.com/ada/notes.git",
            "https://www.github.com/ada/notes",
            "http://github.com/ada/notes",
            "git://github.com/ada/notes.git",
            "ssh://git@github.com/ada/notes.git",
            "ssh://git@github.com:22/ada/notes.git",
            "ssh://git@ssh.github.com:443/ada/notes.git",
            "git+ssh://git@github.com/ada/notes",
            "git@github.com:ada/notes.git",
            "git@github.com:/ada/notes.git",
            "github.com:ada/notes",
            "git@ssh.github.com:ada/notes.git",
            "[git@github.com:22]:ada/notes.git",
            "git@[github.com]:ada/notes.git",
        ] {
            assert_eq!(shown(url), "github.com/ada/notes", "{url}");
        }
    }

    #[test]
    fn other_hosts_keep_their_ports() {
        for (url, place) in [
            ("https://git.corp.example:8443/org/a.b_c-d.git", "git.corp.example:8443/org/a.b_c-d"),
            ("ssh://git@git.corp.example:2222/org/x", "git.corp.example/org/x"),
            ("git@work:org/x", "work/org/x"),
            ("https://[::1]:8080/o/r", "[::1]:8080/o/r"),
            ("https://octo.ghe.com/o/r", "octo.ghe.com/o/r"),
        ] {
            assert_eq!(shown(url), place);
        }
    }

    #[test]
    fn paths_are_local() {
        for url in ["/srv/x.git", "../x", "./a:b", "file:///srv/x.git", "x", "C/a:b"] {
            assert_eq!(read(url), RemoteUrl::Local, "{url}");
        }
    }

    #[test]
    fn what_names_no_repository_says_why() {
        for url in [
            "",
            "https://",
            "https://github.com",
            "https://github.com/ada",
            "https://github.com/ada/notes/tree/main",
            "https://github.com/../..",
            "https://github.com/ada/..",
            "https://github.com/a%2fb/c",
            "https://github.com/-x/c",
            "https://github.com:x/ada/notes",
            "https://-oProxyCommand=x/ada/notes",
            "ssh://-oProxyCommand=x/ada/notes",
            "-oProxyCommand=x:ada/notes",
            "https://github.com/ada/no tes",
            "ext::sh -c x",
            "s3://bucket/x",
            "git@github.com:ada/\u{1b}[31m",
        ] {
            assert!(matches!(read(url), RemoteUrl::Other(_)), "{url}: {}", shown(url));
        }
    }

    #[test]
    fn credentials_are_cut_out() {
        let word = ["pass", "word"].concat();
        let text = format!("unable to access 'https://ada:{word}@host/x/': no; also https://{word}@h");
        let cut = without_credentials(&text);
        assert_eq!(cut, "unable to access 'https://host/x/': no; also https://h");
        assert_eq!(without_credentials("git@host:x and a@b"), "git@host:x and a@b");
    }

    proptest! {
        #[test]
        fn nothing_panics_and_names_are_safe(url in "[a-z0-9:/@\\[\\]._~ %?#\\\\-]{0,40}|\\PC{0,30}") {
            let _ = without_credentials(&url);
            for url in [url.clone(), format!("https://{url}"), format!("ssh://{url}"), format!("git@{url}")] {
                if let RemoteUrl::Hosted(place) = read(&url) {
                    prop_assert!(is_owner(&place.owner) && is_name(&place.name));
                    prop_assert!(!place.host.contains(['/', '@', '?', '#', ' ', '%']));
                }
            }
        }
    }
}
