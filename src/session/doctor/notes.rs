//! Settings of `git notes` that reach the ledger's refs.

use super::{Check, Scene};
use crate::git::setup::{DISPLAY_REF, notes_glob_covers};
use crate::model::Result;
use crate::store::travelling::BOTH;

const REWRITTEN: &str = "an amend or a rebase writes the ref without compare and swap, beside its writers";

const WRITTEN: &str = "a plain `git notes add` would write into the ledger";

#[expect(clippy::unnecessary_wraps, reason = "every family has this shape")]
pub(super) fn checks(scene: &Scene) -> Result<Vec<Check>> {
    let mut found = Vec::new();
    rewriting(scene, &mut found);
    default_ref(scene, &mut found);
    let shown = scene.settings.named("notes.displayref");
    if shown.iter().filter_map(|s| s.value.as_deref()).any(|value| notes_glob_covers(value, DISPLAY_REF)) {
        found.push(Check::ok("display-ref", "git log shows the lines of incidents"));
    } else {
        let why = "git log does not say which commits belong to an incident";
        let text = format!("notes.displayRef does not name {DISPLAY_REF}");
        let mend = format!("git config --add notes.displayRef {DISPLAY_REF}");
        found.push(Check::warn("display-ref", text, why).mend(mend));
    }
    Ok(found)
}

fn is_ours(pattern: &str) -> bool {
    // git takes a name without `refs/notes/` for a ref below it.
    let whole = |p: &str| BOTH.iter().any(|which| notes_glob_covers(p, which.notes));
    whole(pattern) || whole(&format!("refs/notes/{pattern}")) || whole(&format!("refs/{pattern}"))
}

fn rewriting(scene: &Scene, found: &mut Vec<Check>) {
    let before = found.len();
    for setting in scene.settings.named("notes.rewriteref") {
        if let Some(value) = setting.value.as_deref().filter(|v| is_ours(v)) {
            let text = format!("notes.rewriteRef = {value} names the ledger's refs");
            found.push(Check::problem("rewrite-ref", text, REWRITTEN).mend(scene.settings.unset(setting)));
        }
    }
    let variable = std::env::var("GIT_NOTES_REWRITE_REF").unwrap_or_default();
    if variable.split(':').any(|pattern| !pattern.is_empty() && is_ours(pattern)) {
        let text = format!("GIT_NOTES_REWRITE_REF = {variable} names the ledger's refs");
        let check = Check::problem("rewrite-ref", text, REWRITTEN);
        found.push(check.mend("unset GIT_NOTES_REWRITE_REF"));
    }
    if found.len() == before {
        found.push(Check::ok("rewrite-ref", "no amend or rebase rewrites the ledger's refs"));
    }
}

fn default_ref(scene: &Scene, found: &mut Vec<Check>) {
    let before = found.len();
    let is_one = |value: &str| {
        BOTH.iter().any(|which| {
            [value, &format!("refs/notes/{value}"), &format!("refs/{value}")].contains(&which.notes)
        })
    };
    for setting in scene.settings.named("core.notesref") {
        if let Some(value) = setting.value.as_deref().filter(|v| is_one(v)) {
            let text = format!("core.notesRef = {value} is the ledger");
            found.push(Check::problem("notes-ref", text, WRITTEN).mend(scene.settings.unset(setting)));
        }
    }
    let variable = std::env::var("GIT_NOTES_REF").unwrap_or_default();
    if is_one(&variable) {
        let text = format!("GIT_NOTES_REF = {variable} is the ledger");
        found.push(Check::problem("notes-ref", text, WRITTEN).mend("unset GIT_NOTES_REF"));
    }
    if found.len() == before {
        found.push(Check::ok("notes-ref", "plain git notes writes somewhere else"));
    }
}
