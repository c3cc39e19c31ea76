//! The team's file, what a person approved of it, who may sign, and the devices that gates ask for.

use super::{Check, Scene, Status, not_open, quoted, quoted_path};
use crate::config::{Config, Device, FILE_NAME, Gate};
use crate::model::Result;
use crate::session::Session;
use crate::session::trust::Trust;
use crate::{config, device};

/// A larger list of signers is not read.
const MAX_SIGNERS: u64 = 1 << 20;

#[expect(clippy::unnecessary_wraps, reason = "every family has this shape")]
pub(super) fn checks(scene: &Scene) -> Result<Vec<Check>> {
    let Some(session) = &scene.session else { return Ok(not_open("configuration")) };
    let config = match session.config() {
        Ok(config) => config,
        Err(error) => return Ok(vec![invalid(session, &error.to_string())]),
    };
    let mut found = vec![Check::ok("configuration", format!("{FILE_NAME} is right, or there is none"))];
    found.extend(trust(session, config));
    if let Some(signers) = &config.records.signers {
        found.push(signers_file(scene, signers));
        found.extend(config.records.revoked.as_ref().and_then(|list| revoked_file(scene, list)));
        found.push(signing(scene));
    }
    found.extend(devices(config));
    Ok(found)
}

fn invalid(session: &Session, why_not: &str) -> Check {
    let why = "every command that reads it refuses: gates do not run, and pushes are held";
    let check = Check::problem("configuration", format!("{FILE_NAME} is wrong: {why_not}"), why);
    // The last version that was committed, when that one can be read.
    let committed = session.repo.head_commit().ok().flatten().and_then(|head| {
        session.repo.file_at(&head, FILE_NAME).ok().flatten().filter(|b| config::parse(b, FILE_NAME).is_ok())
    });
    match committed {
        Some(_) => check.mend(format!("git checkout HEAD -- :/{FILE_NAME}")),
        None => check.mend(format!("${{EDITOR:-vi}} {FILE_NAME}")),
    }
}

fn trust(session: &Session, config: &Config) -> Vec<Check> {
    let launches = |gate: &Gate| gate.kernel.launched().next().is_some();
    let probes = |gate: &Gate| matches!(gate.device, Device::Custom(_));
    if config.commands().is_empty() && !config.gates.iter().any(|gate| probes(gate) || launches(gate)) {
        return vec![Check::ok("trust", "the configuration names no commands")];
    }
    let why = "gates and captures are not run before a person approved them: their verdict is not-run";
    let ignored = session.approvals().err();
    if let Some(error) = ignored {
        let check = Check::problem("trust", error.to_string(), why);
        return vec![match session.trust_dir() {
            Ok(directory) => check.mend(format!("chmod -R go-w {}", quoted_path(&directory))),
            Err(_) => check,
        }];
    }
    vec![match session.working_trust() {
        Ok(Trust::Given) => Check::ok("trust", "its commands were approved"),
        Ok(Trust::Missing(reason)) => Check::warn("trust", reason, why).mend("git incident trust"),
        Err(error) => Check::new("trust", Status::Unknown, error.to_string(), why),
    }]
}

/// A line of the file: principals, options, key type, key.
fn is_signer(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let kind = |w: &str| ["ssh-", "ecdsa-", "sk-ssh-", "sk-ecdsa-"].iter().any(|start| w.starts_with(start));
    let Some(at) = words.iter().skip(1).position(|w| kind(w)).map(|n| n + 1) else { return false };
    words.get(at + 1).is_some_and(|key| {
        key.len() >= 16 && key.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b))
    })
}

fn signers_file(scene: &Scene, signers: &str) -> Check {
    let why = "records of other machines count only when one of these has signed them";
    let path = scene.top.join(signers);
    let key = match scene.settings.value("user.signingkey") {
        Some(key) if !key.starts_with("key::") && !key.starts_with("ssh-") => {
            key.strip_suffix(".pub").unwrap_or(key).to_owned() + ".pub"
        }
        _ => "~/.ssh/id_ed25519.pub".to_owned(),
    };
    let key = if key.starts_with("~/") { key } else { quoted(&key) };
    let mend = format!("echo \"$(git config user.email) $(cat {key})\" >> {}", quoted_path(&path));
    let meta = std::fs::symlink_metadata(&path);
    if !meta.as_ref().is_ok_and(|m| m.is_file() && m.len() <= MAX_SIGNERS) {
        let text = format!("[records] signers names {signers}, which is no file here");
        return Check::problem("signers", text, why).mend(mend);
    }
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let lines: Vec<(usize, &str)> = text
        .lines()
        .enumerate()
        .filter(|(_, l)| !l.trim().is_empty() && !l.trim_start().starts_with('#'))
        .collect();
    if let Some((n, _)) = lines.iter().find(|(_, line)| !is_signer(line)) {
        let text =
            format!("line {} of {signers} names no signer: principals, key type and key are wanted", n + 1);
        return Check::problem("signers", text, why).mend(format!(
            "sed -i {}d {}",
            n + 1,
            quoted_path(&path)
        ));
    }
    if lines.is_empty() {
        return Check::warn("signers", format!("{signers} names nobody"), why).mend(mend);
    }
    Check::ok("signers", format!("{signers} names {} keys", lines.len()))
}

/// A list that is not there makes every signature count for nothing.
fn revoked_file(scene: &Scene, list: &str) -> Option<Check> {
    let path = scene.top.join(list);
    if std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file()) {
        return None;
    }
    let text = format!("[records] revoked names {list}, which is no file here");
    let why = "no record of another machine counts while it cannot be read";
    Some(Check::problem("signers", text, why).mend(format!("touch {}", quoted_path(&path))))
}

fn signing(scene: &Scene) -> Check {
    let why = "records made here count nowhere else without a signature";
    let format = scene.settings.value("gpg.format");
    let key = scene.settings.value("user.signingkey");
    match (format, key) {
        (Some(format), Some(_)) if format.eq_ignore_ascii_case("ssh") => {
            Check::ok("signing", "by SSH, as git signs")
        }
        (_, None) => Check::warn("signing", "no key signs: user.signingKey is not set", why)
            .mend("git config gpg.format ssh && git config user.signingKey ~/.ssh/id_ed25519.pub"),
        _ => Check::warn("signing", "git does not sign by SSH: gpg.format is not ssh", why)
            .mend("git config gpg.format ssh"),
    }
}

fn devices(config: &Config) -> Vec<Check> {
    let why = "its gates are not-run here: run them on a machine that has one";
    let mut found = Vec::new();
    let mut gpus: Option<Vec<device::Gpu>> = None;
    for gate in &config.gates {
        let vendor = match &gate.device {
            Device::Any | Device::Cpu | Device::Emulated => continue,
            Device::Cuda => "nvidia",
            Device::Hip => "amd",
            Device::Custom(_) => {
                let text = format!("gate {} asks a probe of its own, which doctor does not run", gate.id);
                found.push(Check::new("devices", Status::Unknown, text, why));
                continue;
            }
        };
        let gpus = gpus.get_or_insert_with(|| device::probe(&[]).gpus);
        let here = gpus.iter().filter(|g| g.vendor == vendor).count();
        let wanted = gate.gpus.unwrap_or(1) as usize;
        found.push(if here >= wanted {
            Check::ok("devices", format!("gate {} has its {wanted} {vendor} GPUs", gate.id))
        } else {
            let text = format!("gate {} asks for {wanted} {vendor} GPUs, and {here} are here", gate.id);
            Check::warn("devices", text, why)
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signers_are_told_from_other_lines() {
        let key = "AAAAC3NzaC1lZDI1NTE5AAAAIGuess";
        for line in [
            format!("ada@example.org ssh-ed25519 {key}"),
            format!("ada@example.org,*@example.com namespaces=\"git\" ssh-ed25519 {key} a comment"),
            format!("* cert-authority ecdsa-sha2-nistp256 {key}"),
        ] {
            assert!(is_signer(&line), "{line}");
        }
        for line in ["ada@example.org", "ssh-ed25519", &format!("ssh-ed25519 {key}"), "a ssh-rsa !!!!", ""] {
            assert!(!is_signer(line), "{line}");
        }
    }
}
