//! The refs of the ledger: readable, kept, shared; and how large the evidence is.

use super::{Check, Scene, not_open, quoted};
use crate::git::examine::{Entry, Objects, Stored, walk};
use crate::git::{Repo, notes, refs};
use crate::model::Result;
use crate::store::fsck::{self, QUARANTINE, Severity};
use crate::store::index::{Condition, condition};
use crate::store::travelling::{BOTH, EVIDENCE};

/// More evidence than this makes every clone that has it slow.
const LARGE: u64 = 1 << 30;

pub(super) fn checks(scene: &Scene) -> Result<Vec<Check>> {
    let Some(session) = &scene.session else { return Ok(not_open("ledger")) };
    let mut found = kept(&session.repo)?;
    found.push(size(&session.repo)?);
    found.push(index(&session.repo));
    for remote in scene.settings.remotes() {
        found.extend(shared(&session.repo, remote)?);
    }
    let aside =
        scene.git.call(["for-each-ref", "--format=%(refname)", QUARANTINE.trim_end_matches('/')]).text()?;
    if !aside.is_empty() {
        let text = format!("fsck moved things aside: {}", aside.lines().collect::<Vec<_>>().join(", "));
        found.push(Check::ok("quarantine", text));
    }
    Ok(found)
}

/// Whether the refs can be read, and the kept refs hold no more than they.
fn kept(repo: &Repo) -> Result<Vec<Check>> {
    let why = "something took events out of the notes refs, or a power cut damaged them";
    let mut found: Vec<Check> = fsck::quick(repo)?
        .into_iter()
        .filter(|p| p.severity != Severity::Note)
        .map(|p| {
            let text = format!("{}: {}", p.reference, p.message);
            Check::problem("kept", text, why).mend("git incident fsck --repair")
        })
        .collect();
    if found.is_empty() {
        found.push(Check::ok("kept", "the notes refs hold all that this clone acknowledged"));
    }
    Ok(found)
}

fn size(repo: &Repo) -> Result<Check> {
    let Some(commit) = refs::read(repo, EVIDENCE.notes).ok().flatten() else {
        return Ok(Check::ok("evidence-size", "no evidence is stored"));
    };
    let tree = notes::tree_of(repo, &commit)?;
    let objects = Objects::of(repo)?;
    let (mut files, mut bytes, mut elsewhere) = (0_usize, 0_u64, 0_usize);
    walk(repo, &tree, &mut |entry| {
        if let Entry::Note { blob, .. } = entry {
            files += 1;
            match objects.look(blob) {
                Stored::Blob(size) => bytes = bytes.saturating_add(size),
                _ => elsewhere += 1,
            }
        }
        Ok(())
    })?;
    let not_here = if elsewhere > 0 { format!(", {elsewhere} of them not here") } else { String::new() };
    let text = format!("{files} blobs, {} MiB uncompressed{not_here}", bytes.div_ceil(1 << 20));
    Ok(judge(bytes, text))
}

/// Whether the index of `search` and `tried` is whole. What it holds is all in the notes.
fn index(repo: &Repo) -> Check {
    match condition(repo, false) {
        Condition::None => {
            Check::ok("index", "there is no index; a big repository gets one when it is asked")
        }
        Condition::Whole(bytes) => {
            Check::ok("index", format!("the index can be read, {} MiB", bytes.div_ceil(1 << 20)))
        }
        Condition::Foreign => {
            Check::ok("index", "the index is of another version; the next search makes it anew")
        }
        Condition::Damaged(how) => {
            let why = "nothing is lost: the next search makes it anew from the notes, which takes a while";
            Check::warn("index", format!("the index is damaged: {how}"), why)
                .mend("rm -f \"$(git rev-parse --git-common-dir)\"/incident/index*")
        }
    }
}

fn judge(bytes: u64, text: String) -> Check {
    if bytes > LARGE {
        let why = "all of it travels with every clone that fetches the evidence";
        return Check::warn("evidence-size", text, why).mend("git maintenance run --task=gc");
    }
    Check::ok("evidence-size", text)
}

/// What is here and was not at the remote when it was last fetched.
fn shared(repo: &Repo, remote: &str) -> Result<Vec<Check>> {
    let why = "what was not pushed is lost with this disk, and nobody else is told what failed before";
    let mut ahead = 0;
    let mut unknown = false;
    for which in BOTH {
        let Some(ours) = refs::read(repo, which.notes).ok().flatten() else { continue };
        let name = which.notes.trim_start_matches("refs/notes/");
        let theirs = refs::read(repo, &format!("refs/notes/remotes/{remote}/{name}")).ok().flatten();
        let Some(theirs) = theirs else {
            unknown = true;
            continue;
        };
        if ours != theirs {
            let (ours, theirs) = (notes::tree_of(repo, &ours)?, notes::tree_of(repo, &theirs)?);
            let differing = notes::keys_that_differ(repo, &ours, Some(&theirs))?;
            ahead += differing
                .iter()
                .filter(|key| {
                    // Trees at different fan-outs differ without a difference.
                    let (mine, other) = (notes::lookup(repo, &ours, key), notes::lookup(repo, &theirs, key));
                    !matches!((mine, other), (Ok(mine), Ok(other)) if mine == other)
                })
                .count();
        }
    }
    let mend = format!("git incident sync {}", quoted(remote));
    Ok(if unknown {
        let text = format!("the ledger was never exchanged with {remote}");
        vec![Check::warn("shared", text, why).mend(mend)]
    } else if ahead > 0 {
        let text = format!("{ahead} notes differ from what {remote} had when it was last fetched");
        vec![Check::warn("shared", text, why).mend(mend)]
    } else {
        vec![Check::ok("shared", format!("{remote} had everything when it was last fetched"))]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::doctor::Status;

    #[test]
    fn much_evidence_is_worth_a_word() {
        assert_eq!(judge(LARGE, String::new()).status, Status::Ok);
        assert_eq!(judge(LARGE + 1, String::new()).status, Status::Warn);
    }
}
