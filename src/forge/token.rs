//! The token. It is found, sent to one host, and never shown: no form of it reaches a terminal, a log, an error
//! or a ledger.

use std::fmt;

use super::host::is_github;
use crate::model::{Error, Result};

/// A secret, and where it came from.
pub struct Token {
    secret: String,
    source: String,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token(from {})", self.source)
    }
}

/// Where tokens are looked for.
pub struct Places<'a> {
    /// A variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// What `gh` holds for a host.
    pub gh: &'a dyn Fn(&str) -> Option<String>,
    /// What git's credential helpers hold for a host.
    pub git: &'a dyn Fn(&str) -> Option<String>,
}

impl Token {
    /// Where it came from, for people.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The secret itself, for the one header that carries it.
    pub(super) fn secret(&self) -> &str {
        &self.secret
    }

    /// A text without the secret.
    pub fn cut_from(&self, text: &str) -> String {
        text.replace(&self.secret, "[token]")
    }

    /// The same for every text of an answer, whatever its member.
    pub fn cut_from_all(&self, value: &mut serde_json::Value) {
        match value {
            serde_json::Value::String(text) if text.contains(&self.secret) => *text = self.cut_from(text),
            serde_json::Value::Array(all) => all.iter_mut().for_each(|value| self.cut_from_all(value)),
            serde_json::Value::Object(all) => all.values_mut().for_each(|value| self.cut_from_all(value)),
            _ => {}
        }
    }

    fn new(secret: &str, source: String) -> Result<Self> {
        let secret = secret.trim();
        // What else it may hold would end the header early, or be no token at all.
        if secret.is_empty() || secret.len() > 4096 || !secret.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(Error::refused(format!("the token from {source} is no token"))
                .because("a token is one word of ASCII characters")
                .hint("set it again, without quotes or line ends"));
        }
        Ok(Self { secret: secret.to_owned(), source })
    }
}

/// The variables that hold tokens for a host, those of `gh help environment`: a token for github.com is never sent
/// to another host, nor the other way around.
pub fn variables(host: &str) -> [&'static str; 2] {
    if is_github(host) {
        ["GH_TOKEN", "GITHUB_TOKEN"]
    } else {
        ["GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"]
    }
}

/// Finds a host's token: the environment, then `gh`, then git's credential helpers.
///
/// # Errors
/// There is none, or it cannot be one.
pub fn find(host: &str, places: &Places<'_>) -> Result<Token> {
    let names = variables(host);
    for name in names {
        if let Some(secret) = (places.variable)(name).filter(|s| !s.trim().is_empty()) {
            return Token::new(&secret, format!("${name}"));
        }
    }
    if let Some(secret) = (places.gh)(host) {
        return Token::new(&secret, format!("gh auth token --hostname {host}"));
    }
    if let Some(secret) = (places.git)(host) {
        return Token::new(&secret, format!("git credential fill for {host}"));
    }
    Err(Error::refused(format!("no token for {host}"))
        .because(format!("${} and ${} are not set", names[0], names[1]))
        .because("gh and git's credential helpers hold none")
        .hint(format!("log in: gh auth login --hostname {host}"))
        .hint(format!(
            "or export {} with a token that may write pull requests (fine-grained: Pull requests read and write; classic: repo)",
            names[1]
        ))
        .hint("see what would be sent without one: git incident pr --open --dry-run"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find_with(host: &str, set: &[&str], gh: bool, git: bool) -> Result<Token> {
        find(
            host,
            &Places {
                variable: &|name| set.contains(&name).then(|| format!("of-{name}")),
                gh: &|host| gh.then(|| format!("gh-{host}")),
                git: &|host| git.then(|| format!("git-{host}")),
            },
        )
    }

    #[test]
    fn the_order_is_environment_gh_git() {
        let secret = |host, set: &[&str], gh, git| find_with(host, set, gh, git).unwrap().secret;
        assert_eq!(secret("github.com", &["GH_TOKEN", "GITHUB_TOKEN"], true, true), "of-GH_TOKEN");
        assert_eq!(secret("github.com", &["GITHUB_TOKEN"], true, true), "of-GITHUB_TOKEN");
        assert_eq!(secret("github.com", &[], true, true), "gh-github.com");
        assert_eq!(secret("github.com", &[], false, true), "git-github.com");
        let error = find_with("github.com", &[], false, false).unwrap_err();
        assert!(error.hints()[0].contains("gh auth login --hostname github.com"), "{error}");
    }

    #[test]
    fn a_token_of_one_host_never_goes_to_another() {
        let all = ["GH_TOKEN", "GITHUB_TOKEN"];
        assert!(find_with("git.corp.example", &all, false, false).is_err());
        assert!(find_with("github.com.evil.example", &all, false, false).is_err());
        assert!(find_with("ghe.com.evil.example", &all, false, false).is_err());
        assert!(find_with("notghe.com", &all, false, false).is_err());
        assert!(find_with("github.com", &["GH_ENTERPRISE_TOKEN"], false, false).is_err());
        assert_eq!(
            find_with("git.corp.example", &["GITHUB_ENTERPRISE_TOKEN"], false, false).unwrap().secret,
            "of-GITHUB_ENTERPRISE_TOKEN"
        );
        assert!(find_with("octo.ghe.com", &["GH_TOKEN"], false, false).is_ok());
    }

    #[test]
    fn it_is_never_shown() {
        let token = find_with("github.com", &["GH_TOKEN"], false, false).unwrap();
        assert!(!format!("{token:?} {token:#?}").contains("of-"));
        assert_eq!(token.source(), "$GH_TOKEN");
        assert_eq!(token.cut_from("bad of-GH_TOKEN!"), "bad [token]!");
        let mut answer =
            serde_json::json!({"html_url": "https://x/of-GH_TOKEN", "a": [{"title": "of-GH_TOKEN"}], "n": 1});
        token.cut_from_all(&mut answer);
        assert_eq!(
            answer,
            serde_json::json!({"html_url": "https://x/[token]", "a": [{"title": "[token]"}], "n": 1})
        );
    }

    #[test]
    fn what_would_end_a_header_is_no_token() {
        for odd in ["a b", "a\r\nX: y", "é", &"x".repeat(5000)] {
            let error = Token::new(odd, "here".into()).unwrap_err();
            assert!(!error.to_string().contains(odd), "{error}");
        }
        assert_eq!(Token::new(" word\n", "here".into()).unwrap().secret, "word");
    }
}
