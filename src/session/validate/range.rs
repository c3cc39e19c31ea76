//! The commits between a base and a tip: the incidents they belong to, and where a base is.

use std::collections::BTreeSet;

use super::{Session, Subject};
use crate::git::{diff, notes, refs, trailers};
use crate::model::status::Role;
use crate::model::{Oid, Result};
use crate::store::lines;

/// No push of a sane size has more commits; beyond it the oldest are not looked at.
const MOST_COMMITS: usize = 20_000;

impl Session {
    /// Whether a commit on the way is linked as a fix.
    pub(super) fn has_linked_fix(&self, subject: &Subject) -> Result<bool> {
        let (commits, incidents) = self.walk(&subject.commit, subject.base.as_ref())?;
        for id in incidents {
            let incident = self.incident(&id)?;
            if incident.links_as(Role::Fix).any(|link| commits.contains(&link.commit)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The incidents that commits on the way belong to.
    pub(in crate::session) fn incidents_between(&self, commit: &Oid, base: Option<&Oid>) -> Result<Vec<Oid>> {
        Ok(self.walk(commit, base)?.1)
    }

    fn walk(&self, tip: &Oid, base: Option<&Oid>) -> Result<(BTreeSet<Oid>, Vec<Oid>)> {
        let range = base.map_or_else(|| tip.to_string(), |base| format!("{base}..{tip}"));
        let limit = format!("--max-count={MOST_COMMITS}");
        let format = "--format=%H%n%B";
        let settled = ["--no-show-signature", "--no-notes", "--no-color", "--encoding=UTF-8"];
        let call = self.git().call(["log", "-z", format, &limit]).args(settled);
        let bytes = call.args([range.as_str(), "--"]).bytes()?;
        let lines_tree = refs::read(&self.repo, lines::REF)?
            .map(|commit| notes::tree_of(&self.repo, &commit))
            .transpose()?;
        let mut commits = BTreeSet::new();
        let mut named: BTreeSet<String> = BTreeSet::new();
        for entry in bytes.split(|b| *b == 0).filter(|entry| !entry.is_empty()) {
            let (id, message) = entry.split_at(entry.iter().position(|b| *b == b'\n').unwrap_or(entry.len()));
            let Some(commit) = std::str::from_utf8(id).ok().and_then(Oid::parse) else {
                continue;
            };
            if let Some(tree) = &lines_tree
                && !notes::lookup(&self.repo, tree, &commit)?.is_empty()
            {
                named.extend(lines::incidents_on(&self.repo, &commit)?);
            }
            let message = message.strip_prefix(b"\n").unwrap_or(message);
            if message.windows(9).any(|w| w.eq_ignore_ascii_case(b"incident:")) {
                named.extend(trailers::values(message, "#", "Incident"));
            }
            commits.insert(commit);
        }
        // A trailer may name an incident that is not here: that is for fsck to say, not for a gate.
        let mut incidents: Vec<Oid> =
            named.iter().filter_map(|name| self.incident_id(Some(name)).ok()).collect();
        incidents.sort_unstable();
        incidents.dedup();
        Ok((commits, incidents))
    }

    /// The best common ancestor of a commit and several others taken together.
    pub(crate) fn merge_base_of(&self, commit: &Oid, others: &[Oid]) -> Result<Option<Oid>> {
        if others.is_empty() {
            return Ok(None);
        }
        let call = self.git().call(["merge-base"]).arg(commit.as_str());
        let text = call.args(others.iter().map(Oid::as_str)).text_if_any()?;
        Ok(text.and_then(|text| Oid::parse(text.lines().next().unwrap_or_default())))
    }

    /// The refs below a prefix with their commits, tags peeled.
    fn refs_below(&self, prefixes: &[&str]) -> Result<Vec<(String, Oid)>> {
        let format = "--format=%(objectname) %(objecttype) %(*objectname) %(refname)";
        let text = self.git().call(["for-each-ref", format]).args(prefixes).text()?;
        let parse = |line: &str| {
            let mut fields = line.splitn(4, ' ');
            let (oid, kind, peeled, name) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
            let oid = if kind == "tag" { peeled } else { oid };
            Some((name.to_owned(), Oid::parse(oid)?))
        };
        Ok(text.lines().filter_map(parse).collect())
    }

    /// Where a push to a remote leaves what the remote has, as far as it is known here.
    ///
    /// `former` is what the remote says it has. With `protected` only its protected branches count, as what
    /// other branches hold was not judged for them.
    ///
    /// # Errors
    /// git is in trouble.
    pub fn push_base(
        &self,
        remote: Option<&str>,
        commit: &Oid,
        former: Option<&Oid>,
        protected: Option<&crate::config::PrePush>,
    ) -> Result<Option<Oid>> {
        if let Some(former) = former.filter(|oid| self.repo.is_commit(oid)) {
            return self.merge_base_of(commit, std::slice::from_ref(former));
        }
        let Some(remote) = remote else { return Ok(None) };
        let prefix = format!("refs/remotes/{remote}/");
        let mut known: Vec<Oid> = Vec::new();
        for (name, oid) in self.refs_below(&[&prefix])? {
            let branch = format!("refs/heads/{}", name.strip_prefix(&prefix).unwrap_or_default());
            if protected.is_none_or(|rules| rules.protects(&branch)) && !known.contains(&oid) {
                known.push(oid);
            }
        }
        // More would not fit on a command line, and the newest matter most.
        known.truncate(2000);
        self.merge_base_of(commit, &known)
    }

    /// A commit by itself, without a push: compared with the protected branches it is not part of, or else
    /// with its first parent.
    ///
    /// # Errors
    /// The configuration is wrong; git is in trouble.
    pub fn subject_of(&self, commit: &Oid, strict: bool) -> Result<Subject> {
        let rules = self.config_at(commit)?.pre_push;
        let mut protected: Vec<Oid> = Vec::new();
        let refs = self.refs_below(&["refs/remotes", "refs/heads"])?;
        // What a remote has comes first: it decides what the protected branch is.
        for remote in [true, false] {
            for (name, oid) in &refs {
                let branch = match name.strip_prefix("refs/remotes/") {
                    Some(rest) if remote => rest.split_once('/').map(|(_, b)| format!("refs/heads/{b}")),
                    None if !remote => Some(name.clone()),
                    _ => None,
                };
                if branch.is_some_and(|b| rules.protects(&b)) && !protected.contains(oid) {
                    protected.push(oid.clone());
                }
            }
        }
        let mut others = Vec::new();
        for tip in protected {
            if self.merge_base_of(commit, std::slice::from_ref(&tip))?.as_ref() != Some(commit) {
                others.push(tip);
            }
        }
        let base =
            if others.is_empty() { self.first_parent(commit)? } else { self.merge_base_of(commit, &others)? };
        Ok(Subject {
            commit: commit.clone(),
            base,
            target: None,
            former: others.into_iter().next().filter(|_| strict),
            only: Vec::new(),
            strict,
        })
    }

    /// The tip of a range `A..B`, compared with the merge base of both.
    ///
    /// # Errors
    /// No such commits.
    pub fn subject_of_range(&self, range: &str, strict: bool) -> Result<Subject> {
        let wrong = || {
            crate::model::Error::usage(format!("{range:?} is no range"))
                .hint("write it as A..B, such as main..HEAD")
        };
        let (from, to) = range.split_once("...").or_else(|| range.split_once("..")).ok_or_else(wrong)?;
        let resolve = |text: &str| self.repo.resolve_commit(if text.is_empty() { "HEAD" } else { text });
        let (from, to) = (resolve(from)?, resolve(to)?);
        let base = diff::merge_base(&self.git(), from.as_str(), to.as_str())?;
        Ok(Subject {
            base: base.as_deref().and_then(Oid::parse),
            commit: to,
            target: None,
            former: Some(from).filter(|_| strict),
            only: Vec::new(),
            strict,
        })
    }

    fn first_parent(&self, commit: &Oid) -> Result<Option<Oid>> {
        let info = diff::commit_info(&self.git(), commit.as_str())?;
        Ok(info.parents.first().and_then(|parent| Oid::parse(parent)))
    }
}
