//! Whether a signature is good, and whose: `ssh-keygen -Y` decides.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::model::canonical::sha256_hex;
use crate::model::{Error, Result, Timestamp};

use super::{NAMESPACE, envelope, quiet};

/// How long one question may take.
const LIMIT: Duration = Duration::from_secs(10);

/// So many names of one key are tried.
const MOST_NAMES: usize = 16;

/// Who may sign.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// The program that checks.
    pub program: PathBuf,
    /// The allowed signers, in the format of `ssh-keygen`.
    pub allowed: Vec<u8>,
    /// Lists of keys that are not trusted any more: public keys, one a line, or a key revocation list.
    pub revoked: Vec<Vec<u8>>,
}

/// What is known of a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checked {
    /// An allowed signer made it over these bytes.
    Good {
        /// The name the list of allowed signers has for the key.
        principal: String,
    },
    /// It counts for nothing, for this reason.
    Not(String),
}

/// What was asked before in this process: the same bytes have the same answer.
static KNOWN: Mutex<BTreeMap<String, Checked>> = Mutex::new(BTreeMap::new());

/// Checks a signature over bytes that say when they were signed.
///
/// # Errors
/// The program cannot be run; a temporary file cannot be written.
pub fn check(rules: &Rules, payload: &[u8], signature: &str, at: Timestamp) -> Result<Checked> {
    let mut question = Vec::new();
    let parts = [payload, signature.as_bytes(), &rules.allowed, rules.program.as_os_str().as_encoded_bytes()];
    for part in parts.into_iter().chain(rules.revoked.iter().map(Vec::as_slice)) {
        question.extend_from_slice(sha256_hex(part).as_bytes());
    }
    let question = sha256_hex(&question);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(answer) = known().get(&question) {
        return Ok(answer.clone());
    }
    let answer = ask(rules, payload, signature, at)?;
    known().insert(question, answer.clone());
    Ok(answer)
}

fn ask(rules: &Rules, payload: &[u8], signature: &str, at: Timestamp) -> Result<Checked> {
    let Some(armoured) = envelope::armour(signature) else {
        return Ok(Checked::Not("its signature cannot be read".into()));
    };
    let directory = tempfile::Builder::new().prefix("git-incident-verify").tempdir()?;
    let file = |name: &str, bytes: &[u8]| -> Result<PathBuf> {
        let path = directory.path().join(name);
        // Private keys do not stand here, and `ssh-keygen` looks at the mode of none of these.
        std::fs::File::create(&path)?.write_all(bytes)?;
        Ok(path)
    };
    let signature_file = file("signature", armoured.as_bytes())?;
    let allowed = file("allowed", &rules.allowed)?;
    let time = format!("-Overify-time={}", moment(at));
    let call = |action: &str| {
        let mut command = Command::new(&rules.program);
        command.args(["-Y", action, "-s"]).arg(&signature_file).arg("-f").arg(&allowed).arg(&time);
        command
    };
    let found = run(call("find-principals"), None)?;
    if found.status != Some(0) {
        if !is_intact(&rules.program, payload, signature)? {
            return Ok(Checked::Not(
                "its signature does not fit: it was altered, or moved from elsewhere".into(),
            ));
        }
        let key = envelope::fingerprint(signature).unwrap_or_default();
        return Ok(Checked::Not(format!("no allowed signer had the key {key} when it was made")));
    }
    let mut why = String::new();
    for name in names(&String::from_utf8_lossy(&found.stdout)) {
        match verify(&call, &name, payload, rules, directory.path())? {
            None => return Ok(Checked::Good { principal: name }),
            Some(reason) => why = reason,
        }
    }
    if !is_intact(&rules.program, payload, signature)? {
        why = "its signature does not fit: it was altered, or moved from elsewhere".into();
    }
    Ok(Checked::Not(why))
}

/// The names of a key: whole lines first, as git does, then the single names of a list.
fn names(said: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let lines = said.lines().map(str::trim);
    let parts = said.lines().flat_map(|line| line.split(',')).map(str::trim);
    for name in lines.chain(parts) {
        let usable = !name.is_empty() && !name.starts_with(['-', '!']);
        if usable && names.len() < MOST_NAMES && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// `None` when the signature is good under every list of revoked keys; else why not.
fn verify(
    call: &dyn Fn(&str) -> Command,
    name: &str,
    payload: &[u8],
    rules: &Rules,
    directory: &Path,
) -> Result<Option<String>> {
    let ask = |revoked: Option<&Path>| -> Result<Option<String>> {
        let mut command = call("verify");
        command.args(["-n", NAMESPACE, "-I", name]);
        if let Some(path) = revoked {
            command.arg("-r").arg(path);
        }
        let output = run(command, Some(payload))?;
        if output.status == Some(0) {
            return Ok(None);
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let said = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it does not say why");
        Ok(Some(format!("the signature of {name} is not accepted: {said}")))
    };
    if rules.revoked.is_empty() {
        return ask(None);
    }
    for (n, list) in rules.revoked.iter().enumerate() {
        let path = directory.join(format!("revoked-{n}"));
        std::fs::write(&path, list)?;
        if let Some(why) = ask(Some(&path))? {
            return Ok(Some(why));
        }
    }
    Ok(None)
}

/// Whether a signature fits the bytes, whoever made it.
///
/// # Errors
/// The program cannot be run; a temporary file cannot be written.
pub fn is_intact(program: &Path, payload: &[u8], signature: &str) -> Result<bool> {
    let Some(armoured) = envelope::armour(signature) else {
        return Ok(false);
    };
    let mut file = tempfile::Builder::new().prefix("git-incident-verify").tempfile()?;
    file.write_all(armoured.as_bytes())?;
    let mut command = Command::new(program);
    command.args(["-Y", "check-novalidate", "-n", NAMESPACE, "-s"]).arg(file.path());
    Ok(run(command, Some(payload))?.status == Some(0))
}

fn run(command: Command, input: Option<&[u8]>) -> Result<quiet::Output> {
    let program = command.get_program().to_owned();
    let output = quiet::run(command, input, LIMIT)?;
    if output.late {
        return Err(quiet::failure("a signature could not be checked", Path::new(&program), &output));
    }
    if matches!(output.status, Some(126 | 127)) {
        return Err(Error::refused("a signature could not be checked")
            .because(format!("{} cannot be run", Path::new(&program).display())));
    }
    Ok(output)
}

/// `20261121204500`: the process runs in UTC.
fn moment(at: Timestamp) -> String {
    let text: String = at.to_string().chars().take(19).filter(char::is_ascii_digit).collect();
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_moment_as_the_program_reads_it() {
        assert_eq!(moment(Timestamp::parse("2026-11-21T20:45:07.123Z").unwrap()), "20261121204507");
    }

    #[test]
    fn names_that_could_be_options_are_none() {
        assert_eq!(names("a@x,b@x\n-r\n!c\n*@y\n"), ["a@x,b@x", "*@y", "a@x", "b@x"]);
        assert!(names(&"n\n".repeat(3).replace('n', "x")).len() == 1);
    }
}
