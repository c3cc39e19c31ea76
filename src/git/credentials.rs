//! Secrets that git and GitHub's own program keep for a host. Asked for, never typed: nobody is prompted.

use std::process::{Command, Stdio};

use super::program::Git;

/// The password git's credential helpers hold for `https://HOST`; `None` when they have none.
///
/// Prompts are off: for git, for its helpers that would open a window, and for SSH's.
pub fn from_git(git: &Git, host: &str) -> Option<String> {
    let mut request = format!("protocol=https\nhost={host}\n");
    request.push('\n');
    let output = git
        .clone()
        .config("credential.interactive", "false")
        .call(["credential", "fill"])
        .env("GIT_ASKPASS", "")
        .env("SSH_ASKPASS", "")
        .env("GCM_INTERACTIVE", "never")
        .stdin(request)
        .output()
        .ok()?;
    if !output.success() {
        return None;
    }
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().find_map(|line| line.strip_prefix("password=")).map(str::to_owned).filter(|p| !p.is_empty())
}

/// The token GitHub's command-line program holds for a host; `None` without the program or a login.
pub fn from_gh(host: &str) -> Option<String> {
    let output = Command::new("gh")
        .args(["auth", "token", "--hostname", host])
        .env("GH_PROMPT_DISABLED", "1")
        .env("GH_NO_UPDATE_NOTIFIER", "1")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let token = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_helper_is_asked_and_nobody_else() {
        let root = tempfile::tempdir().unwrap();
        let git = Git::at(root.path())
            .scrubbed()
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        assert_eq!(from_git(&git, "github.com"), None, "without a helper there is none, and no prompt");
        let word = ["kept", "word"].concat();
        let helper = format!("!f() {{ test \"$1\" = get && echo username=x && echo password={word}; }}; f");
        let git = git.config("credential.https://github.com.helper", helper);
        assert_eq!(from_git(&git, "github.com"), Some(word));
        assert_eq!(from_git(&git, "other.example"), None);
    }
}
