//! Which API belongs to a host. A repository cannot say otherwise: only the environment and the person's own
//! configuration can, because the token goes where the API is.

use crate::git::remote_url::Hosted;
use crate::model::{Error, Result};

/// The variable that names another API.
pub const VARIABLE: &str = "GIT_INCIDENT_GITHUB_API";

/// The setting that names another API; read from the global and the system configuration only.
pub const SETTING: &str = "incident.githubApi";

/// Hosts that are no GitHub, known well enough to say so before anything is sent.
const OTHERS: &[&str] =
    &["gitlab.com", "bitbucket.org", "codeberg.org", "gitea.com", "git.sr.ht", "dev.azure.com"];

/// An API, and whose tokens it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Api {
    /// Its address, without a slash at the end.
    pub base: String,
    /// The host whose tokens are sent to it.
    pub host: String,
    /// What named another than the host's usual one; empty when nothing did.
    pub named_by: &'static str,
}

/// Whether a host is GitHub itself: github.com, or an enterprise's own part of it below ghe.com.
pub fn is_github(host: &str) -> bool {
    host == "github.com" || host.ends_with(".ghe.com")
}

/// The API of a repository's host, or the one that was named instead, with what named it.
///
/// # Errors
/// What was named is no address to send a token to; the host is another forge's.
pub fn api(place: &Hosted, named: Option<(&'static str, &str)>) -> Result<Api> {
    let host = place.port.map_or_else(|| place.host.clone(), |port| format!("{}:{port}", place.host));
    if let Some((named_by, address)) = named {
        let base = checked(address).map_err(|why| {
            Error::usage(format!("{named_by} is not the address of an API"))
                .because(why)
                .hint("write it like https://github.corp.example/api/v3; plain http is for 127.0.0.1 alone")
        })?;
        return Ok(Api { base, host, named_by });
    }
    if OTHERS.contains(&place.host.as_str()) {
        return Err(Error::refused(format!("{} is not GitHub", place.host))
            .because("pull requests are opened on GitHub and GitHub Enterprise only")
            .hint("print the text and open it there by hand: git incident pr"));
    }
    let base = if place.host == "github.com" {
        "https://api.github.com".to_owned()
    } else if is_github(&place.host) {
        format!("https://api.{}", place.host)
    } else {
        format!("https://{host}/api/v3")
    };
    Ok(Api { base, host, named_by: "" })
}

/// An address without a slash at its end, when a token may be sent there.
fn checked(address: &str) -> std::result::Result<String, &'static str> {
    let address = address.trim().trim_end_matches('/');
    let (scheme, rest) = address.split_once("://").ok_or("it has no https://")?;
    if rest.is_empty() || rest.contains(['?', '#', '@', '\\']) || !rest.chars().all(|c| c.is_ascii_graphic())
    {
        return Err("it has parts that an address of an API does not have");
    }
    let authority = rest.split('/').next().unwrap_or_default();
    if authority.is_empty() {
        return Err("it names no host");
    }
    match scheme.to_ascii_lowercase().as_str() {
        "https" => Ok(address.to_owned()),
        "http" if is_loopback(authority) => Ok(address.to_owned()),
        "http" => Err("a token would travel unencrypted"),
        _ => Err("it is neither https nor http"),
    }
}

/// Whether `HOST[:PORT]` is this machine: by its address, as a name could be answered by anybody.
fn is_loopback(authority: &str) -> bool {
    if let Ok(address) = authority.parse::<std::net::SocketAddr>() {
        return address.ip().is_loopback();
    }
    let bare = authority.trim_start_matches('[').trim_end_matches(']');
    bare.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::remote_url::{RemoteUrl, read};

    fn place(url: &str) -> Hosted {
        match read(url) {
            RemoteUrl::Hosted(place) => place,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_host_has_its_api() {
        for (url, base, host) in [
            ("git@github.com:o/r", "https://api.github.com", "github.com"),
            ("ssh://git@ssh.github.com:443/o/r", "https://api.github.com", "github.com"),
            ("https://octo.ghe.com/o/r", "https://api.octo.ghe.com", "octo.ghe.com"),
            ("https://git.corp.example/o/r", "https://git.corp.example/api/v3", "git.corp.example"),
            (
                "https://git.corp.example:8443/o/r",
                "https://git.corp.example:8443/api/v3",
                "git.corp.example:8443",
            ),
            ("ssh://git@git.corp.example:2222/o/r", "https://git.corp.example/api/v3", "git.corp.example"),
        ] {
            let api = api(&place(url), None).unwrap();
            assert_eq!((api.base.as_str(), api.host.as_str()), (base, host), "{url}");
        }
        assert!(api(&place("git@gitlab.com:o/r"), None).unwrap_err().what().contains("not GitHub"));
    }

    #[test]
    fn another_api_must_be_one_that_may_see_a_token() {
        let place = place("git@github.com:o/r");
        for (address, base) in [
            ("https://proxy.example/github/", Some("https://proxy.example/github")),
            ("http://127.0.0.1:8080", Some("http://127.0.0.1:8080")),
            ("http://[::1]:8080", Some("http://[::1]:8080")),
            ("http://[::1]", Some("http://[::1]")),
            ("http://proxy.example", None),
            ("http://127.0.0.1.evil.example", None),
            ("http://localhost.evil.example", None),
            ("http://10.0.0.1", None),
            ("https://ada@host", None),
            ("https://host?x", None),
            ("https:///x", None),
            ("https://", None),
            ("file:///etc", None),
            ("api.github.com", None),
            ("https://a\nb", None),
        ] {
            let got = api(&place, Some((VARIABLE, address)));
            assert_eq!(got.as_ref().ok().map(|a| a.base.as_str()), base, "{address}");
            if let Err(error) = got {
                assert_eq!(error.kind().exit_code(), 2);
            }
        }
    }
}
