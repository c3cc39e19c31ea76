//! Signatures by SSH keys, made and checked by the program that git itself uses for them.
//!
//! Whose key signs is the person's git configuration: `gpg.format = ssh` and `user.signingKey`, or what
//! `gpg.ssh.defaultKeyCommand` says. The signatures are for records and nothing else: they have a namespace of their
//! own, so none can be passed off as one on a commit, nor the other way round.
//!
//! | file | what it knows |
//! |---|---|
//! | `quiet` | running a program that must not ask anybody |
//! | `envelope` | a signature's bytes: armour, base 64, whose key it names |
//! | `verify` | whether a signature is good, and whose |

mod envelope;
mod quiet;
mod verify;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::model::{Error, Result};

use super::program::Git;

pub use envelope::fingerprint;
pub use verify::{Checked, Rules, check, is_intact};

/// What a signature of ours is for; `namespaces="git-incident-record"` in an allowed signers file.
pub const NAMESPACE: &str = "git-incident-record";

/// How long signing may take: somebody may have to touch a key.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the configuration says about signing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// Nothing.
    None,
    /// Something that is no SSH key.
    Unsupported(String),
    /// A key.
    Key(Signer),
}

/// A key to sign with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signer {
    program: PathBuf,
    key: Key,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Key {
    /// The public key itself; the agent has the other half.
    Literal(String),
    /// A file that holds either half.
    File(PathBuf),
    /// A command whose first line is the public key.
    Command(String),
}

/// What git is configured with for signatures.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    values: BTreeMap<String, String>,
    /// Where relative paths begin.
    base: PathBuf,
}

impl Settings {
    /// Reads the configuration, as git would at that place.
    ///
    /// # Errors
    /// git cannot be run, or the configuration cannot be read.
    pub fn of(git: &Git) -> Result<Self> {
        let pattern = r"^(user\.signingkey|gpg\.format|gpg\.ssh\..*)$";
        let bytes = git.call(["config", "--null", "--get-regexp", pattern]).bytes_if_any()?;
        let mut values = BTreeMap::new();
        for entry in bytes.unwrap_or_default().split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
            let text = String::from_utf8_lossy(entry);
            let (key, value) = text.split_once('\n').unwrap_or((&text, ""));
            values.insert(key.to_lowercase(), value.to_owned());
        }
        let mut settings = Self { values, base: git.directory().to_owned() };
        // `~` and `%(prefix)` are git's to expand.
        for key in
            ["user.signingkey", "gpg.ssh.program", "gpg.ssh.allowedsignersfile", "gpg.ssh.revocationfile"]
        {
            if settings.get(key).is_some_and(|value| value.starts_with(['~', '%']))
                && let Some(path) = git.call(["config", "--type=path", "--get", key]).text_if_any()?
            {
                settings.values.insert(key.to_owned(), path);
            }
        }
        Ok(settings)
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    fn path(&self, key: &str) -> Option<PathBuf> {
        self.get(key).map(|value| self.base.join(value))
    }

    /// The program that signs and checks.
    pub fn program(&self) -> PathBuf {
        match self.get("gpg.ssh.program") {
            Some(program) if program.contains('/') => self.base.join(program),
            Some(program) => PathBuf::from(program),
            None => PathBuf::from("ssh-keygen"),
        }
    }

    /// The person's own list of signers.
    pub fn allowed_signers(&self) -> Option<PathBuf> {
        self.path("gpg.ssh.allowedsignersfile")
    }

    /// The person's own list of keys that are not to be trusted any more.
    pub fn revoked(&self) -> Option<PathBuf> {
        self.path("gpg.ssh.revocationfile")
    }

    /// What to sign with.
    pub fn choice(&self) -> Choice {
        let format = self.get("gpg.format").unwrap_or("openpgp");
        let key = self.get("user.signingkey");
        if format != "ssh" {
            return match (key, self.get("gpg.format")) {
                (None, None) => Choice::None,
                _ => Choice::Unsupported(format!(
                    "git signs with {format} here, and records are signed with SSH keys only"
                )),
            };
        }
        let key = match (key, self.get("gpg.ssh.defaultkeycommand")) {
            (Some(key), _) => match literal(key) {
                Some(key) => Key::Literal(key.to_owned()),
                None => Key::File(self.base.join(key)),
            },
            (None, Some(command)) => Key::Command(command.to_owned()),
            (None, None) => return Choice::None,
        };
        Choice::Key(Signer { program: self.program(), key })
    }
}

/// A public key that stands in the configuration itself.
fn literal(key: &str) -> Option<&str> {
    key.strip_prefix("key::").or_else(|| key.starts_with("ssh-").then_some(key))
}

impl Signer {
    /// Signs bytes. Returns the signature without its armour: base 64 on one line.
    ///
    /// Nobody is asked anything on a terminal, and a program that waits is ended.
    ///
    /// # Errors
    /// There is no such program or key; the key has a passphrase and no agent holds it; it took too long.
    pub fn sign(&self, payload: &[u8]) -> Result<String> {
        let directory = tempfile::Builder::new().prefix("git-incident-sign").tempdir()?;
        let message = directory.path().join("record");
        std::fs::write(&message, payload)?;
        let mut command = Command::new(&self.program);
        command.args(["-Y", "sign", "-n", NAMESPACE, "-f"]);
        match &self.key {
            Key::File(path) => {
                command.arg(path);
            }
            Key::Literal(key) => {
                write_key(directory.path(), key, &mut command)?;
            }
            Key::Command(line) => {
                let said = default_key(line)?;
                write_key(directory.path(), &said, &mut command)?;
            }
        }
        command.arg(&message);
        let output = quiet::run(command, None, PATIENCE)?;
        if output.status != Some(0) {
            return Err(quiet::failure("the record could not be signed", &self.program, &output)
                .hint("load the key into an agent: ssh-add; or sign no records: git config incident.signRecords false"));
        }
        let armoured = std::fs::read(directory.path().join("record.sig"))?;
        envelope::strip(&String::from_utf8_lossy(&armoured)).ok_or_else(|| {
            Error::refused("the record could not be signed")
                .because(format!("{} wrote no signature", self.program.display()))
        })
    }
}

/// `-U` says that an agent has the private half.
fn write_key(directory: &std::path::Path, key: &str, command: &mut Command) -> Result<()> {
    let file = directory.join("key.pub");
    std::fs::write(&file, format!("{key}\n"))?;
    command.arg(&file).arg("-U");
    Ok(())
}

fn default_key(line: &str) -> Result<String> {
    let wrong = || Error::refused("gpg.ssh.defaultKeyCommand gives no key");
    let words = shlex::split(line).filter(|words| !words.is_empty()).ok_or_else(wrong)?;
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    let output = quiet::run(command, None, PATIENCE)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let first = text.lines().next().unwrap_or_default().trim();
    match literal(first) {
        Some(key) if output.status == Some(0) => Ok(key.to_owned()),
        _ => Err(wrong().because("its first line is not a public key").hint(format!("try it: {line}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Settings {
        Settings {
            values: pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            base: "/base".into(),
        }
    }

    #[test]
    fn what_is_configured_decides() {
        assert_eq!(settings(&[]).choice(), Choice::None);
        assert_eq!(settings(&[("gpg.format", "ssh")]).choice(), Choice::None);
        for other in [&[("user.signingkey", "ABCD")][..], &[("gpg.format", "x509")]] {
            assert!(matches!(settings(other).choice(), Choice::Unsupported(_)), "{other:?}");
        }
        let of = |value: &str| match settings(&[("gpg.format", "ssh"), ("user.signingkey", value)]).choice() {
            Choice::Key(signer) => signer.key,
            other => panic!("{other:?}"),
        };
        assert_eq!(of("keys/mine.pub"), Key::File("/base/keys/mine.pub".into()));
        assert_eq!(of("key::sk-ssh-x AAAA"), Key::Literal("sk-ssh-x AAAA".into()));
        assert_eq!(of("ssh-ed25519 AAAA"), Key::Literal("ssh-ed25519 AAAA".into()));
        let command = settings(&[("gpg.format", "ssh"), ("gpg.ssh.defaultkeycommand", "ssh-add -L")]);
        assert!(matches!(command.choice(), Choice::Key(Signer { key: Key::Command(_), .. })));
    }

    #[test]
    fn a_program_of_another_name_is_looked_up_one_with_a_folder_is_not() {
        assert_eq!(settings(&[]).program(), PathBuf::from("ssh-keygen"));
        assert_eq!(settings(&[("gpg.ssh.program", "op-ssh-sign")]).program(), PathBuf::from("op-ssh-sign"));
        assert_eq!(settings(&[("gpg.ssh.program", "bin/x")]).program(), PathBuf::from("/base/bin/x"));
    }

    #[test]
    fn a_command_that_gives_no_key_is_an_error() {
        for line in ["", "'", "echo nothing", "false", "/no/such/program"] {
            assert!(default_key(line).is_err(), "{line}");
        }
        assert_eq!(default_key("echo 'ssh-ed25519 AAAA me'").unwrap(), "ssh-ed25519 AAAA me");
    }
}
