//! Remotes: what a fetch or a push does to the ledger's refs.

use super::settings::{Setting, is_true};
use super::{Check, Scene, quoted};
use crate::git::setup::{fetch_refspec, refspec_covers};
use crate::model::Result;
use crate::store::travelling::BOTH;

#[expect(clippy::unnecessary_wraps, reason = "every family has this shape")]
pub(super) fn checks(scene: &Scene) -> Result<Vec<Check>> {
    let mut found = Vec::new();
    found.extend(overwrites(scene));
    found.extend(mirrors(scene));
    found.extend(forced_pushes(scene));
    found.extend(hidden(scene));
    for remote in scene.settings.remotes() {
        found.push(fetches(scene, remote));
        found.extend(several_urls(scene, remote));
    }
    if scene.settings.remotes().is_empty() {
        found.push(Check::ok("remotes", "there is no remote: the ledger is in this repository alone"));
    }
    Ok(found)
}

fn shown(setting: &Setting) -> String {
    format!("{} = {}", setting.key, setting.value.as_deref().unwrap_or("true"))
}

/// Whether a refspec's target is a ref of ours.
fn writes_ours(refspec: &str) -> bool {
    let Some((_, target)) = refspec.split_once(':') else { return false };
    BOTH.iter().any(|which| refspec_covers(target, which.notes) || refspec_covers(target, which.kept))
}

/// Fetches straight onto the refs in which this clone writes.
fn overwrites(scene: &Scene) -> Vec<Check> {
    let mut found = Vec::new();
    for (remote, name, setting) in scene.settings.of_remotes().filter(|(_, name, _)| *name == "fetch") {
        if name == "fetch" && setting.value.as_deref().is_some_and(writes_ours) {
            let prunes = [format!("remote.{remote}.prune"), "fetch.prune".to_owned()]
                .iter()
                .any(|key| scene.settings.named(key).pop().is_some_and(|s| is_true(s.value.as_deref())));
            let also = if prunes { ", and pruning deletes the refs where the remote has none" } else { "" };
            let text = format!("{} fetches onto the ledger's own refs{also}", shown(setting));
            let why = "a fetch drops events that were not pushed yet; only the kept refs bring them back";
            found.push(Check::problem("fetch-overwrites", text, why).mend(scene.settings.unset(setting)));
        }
    }
    if found.is_empty() {
        found.push(Check::ok("fetch-overwrites", "no fetch writes onto the ledger's own refs"));
    }
    found
}

/// Remotes to which a push mirrors.
fn mirrors(scene: &Scene) -> Vec<Check> {
    let mirrors = scene.settings.of_remotes().filter(|(_, name, _)| *name == "mirror");
    mirrors
        .filter(|(_, _, setting)| is_true(setting.value.as_deref()))
        .map(|(remote, _, setting)| {
            let text = format!("every push to {remote} mirrors ({})", shown(setting));
            let why = "it deletes there every ref that is not here, notes of others included, and sends the kept refs";
            Check::problem("mirror", text, why).mend(scene.settings.unset(setting))
        })
        .collect()
}

/// Refspecs that push notes by force.
fn forced_pushes(scene: &Scene) -> Vec<Check> {
    let mut found = Vec::new();
    for (remote, _, setting) in scene.settings.of_remotes().filter(|(_, name, _)| *name == "push") {
        let Some(value) = &setting.value else { continue };
        let Some(refspec) = value.strip_prefix('+') else { continue };
        let source = refspec.split(':').next().unwrap_or_default();
        if BOTH.iter().any(|which| refspec_covers(source, which.notes)) {
            let text = format!("{} forces the ledger onto {remote}", shown(setting));
            let why = "a push replaces what others recorded there since";
            found.push(Check::problem("forced-push", text, why).mend(scene.settings.unset(setting)));
        }
    }
    found
}

/// Refs that this repository hides from those who fetch or push.
fn hidden(scene: &Scene) -> Vec<Check> {
    let mut found = Vec::new();
    for key in ["transfer.hiderefs", "receive.hiderefs", "uploadpack.hiderefs"] {
        for setting in scene.settings.named(key) {
            let Some(value) = &setting.value else { continue };
            let prefix = value.trim_start_matches('^');
            let hides = |name: &str| {
                name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            if !value.starts_with('!') && BOTH.iter().any(|which| hides(which.notes)) {
                let text = format!("{} hides the ledger", shown(setting));
                let why = "whoever fetches from or pushes to this repository finds no incidents";
                found.push(Check::problem("hidden-refs", text, why).mend(scene.settings.unset(setting)));
            }
        }
    }
    found
}

/// Whether a fetch brings the remote's incidents.
fn fetches(scene: &Scene, remote: &str) -> Check {
    let wanted = fetch_refspec(remote);
    let key = format!("remote.{remote}.fetch");
    let covers = |value: &str| {
        let value = value.trim_start_matches('+');
        value.split_once(':').is_some_and(|(source, target)| {
            BOTH.iter().all(|which| refspec_covers(source, which.notes))
                && target.starts_with("refs/notes/remotes/")
        })
    };
    if scene.settings.named(&key).iter().any(|s| s.value.as_deref().is_some_and(covers)) {
        return Check::ok("fetch-refspec", format!("a fetch from {remote} brings its incidents"));
    }
    let text = format!("a fetch from {remote} does not bring its incidents");
    let why = "git fetches no notes unless it is told to";
    Check::warn("fetch-refspec", text, why).mend(format!(
        "git config --add {} {}",
        quoted(&key),
        quoted(&wanted)
    ))
}

/// A push that goes to several places.
fn several_urls(scene: &Scene, remote: &str) -> Option<Check> {
    let mut key = format!("remote.{remote}.pushurl");
    let mut urls = scene.settings.named(&key);
    if urls.is_empty() {
        key = format!("remote.{remote}.url");
        urls = scene.settings.named(&key);
    }
    if urls.len() < 2 {
        return None;
    }
    let first = urls.first()?.value.clone().unwrap_or_default();
    let text = format!("a push to {remote} goes to {} places", urls.len());
    let why =
        "evidence goes to each of them; one that refuses is easily missed, and the hook runs once for each";
    let mend = format!("git config --replace-all {} {}", quoted(&key), quoted(&first));
    Some(Check::warn("push-urls", text, why).mend(mend))
}
