//! Who writes: from git's own environment and configuration.

use crate::git::Repo;
use crate::model::incident::Author;
use crate::model::{Error, Result};

/// Programs that act for people, by a variable they set in the commands they run.
const AGENTS: &[(&str, &str)] = &[
    ("CLAUDECODE", "claude-code"),
    ("CODEX_SANDBOX", "codex"),
    ("CURSOR_AGENT", "cursor"),
    ("GEMINI_CLI", "gemini-cli"),
    ("AIDER_MODEL", "aider"),
];

/// The person, and the agent that acts for them: `GIT_INCIDENT_AGENT`, or one that says so itself.
///
/// # Errors
/// No name or e-mail address is configured.
pub fn author(repo: &Repo) -> Result<Author> {
    let (name, email) = person(repo, "AUTHOR").ok_or_else(|| {
        Error::refused("git does not know who you are").because("user.name or user.email is not set").hint(
            "git config --global user.name \"Your Name\" && git config --global user.email you@example.org",
        )
    })?;
    let agent = variable("GIT_INCIDENT_AGENT").unwrap_or_else(|| {
        let found = AGENTS.iter().find(|(key, _)| variable(key).is_some());
        found.map_or_else(String::new, |(_, agent)| (*agent).to_owned())
    });
    Ok(Author { agent, email, name, salt: String::new() })
}

/// The signature of notes commits. With `fallback`, somebody without a name may still mend refs.
///
/// # Errors
/// No name or e-mail address is configured, and no fallback is allowed.
pub fn signature(repo: &Repo, fallback: bool) -> Result<git2::Signature<'static>> {
    let (name, email) = match person(repo, "COMMITTER") {
        Some(person) => person,
        None if fallback => ("git incident".to_owned(), "git-incident@localhost".to_owned()),
        None => return author(repo).and_then(|_| Err(Error::bug("an author without a committer"))),
    };
    git2::Signature::now(&name, &email).map_err(|e| {
        Error::refused("your name or e-mail address cannot stand in a commit")
            .because(e.message())
            .hint("git config user.name \"Your Name\"")
    })
}

fn person(repo: &Repo, role: &str) -> Option<(String, String)> {
    let part = |what: &str, keys: [&str; 2]| {
        variable(&format!("GIT_{role}_{what}"))
            .or_else(|| keys.iter().find_map(|key| repo.config_string(key).filter(|v| !v.trim().is_empty())))
    };
    let role_key = role.to_ascii_lowercase();
    let name = part("NAME", [&format!("{role_key}.name"), "user.name"])?;
    let email = part("EMAIL", [&format!("{role_key}.email"), "user.email"])?;
    Some((name, email))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|v| !v.trim().is_empty())
}
