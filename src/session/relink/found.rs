//! What messages say: trailers, sources of a pick or a squash, reverts. Used when a commit is made, when it is pushed,
//! and by `relink`, so that a commit made without hooks, or by somebody else, is linked as well.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::Changes;
use crate::event::CommitLinked;
use crate::git::history::{Commit, Place, commits};
use crate::links::matching::{How, is_prefix};
use crate::links::message::{Mention, Signs, signs};
use crate::model::incident::{Incident, Link};
use crate::model::status::Role;
use crate::model::{EventId, Oid, Result};
use crate::session::Session;
use crate::store::{lines, travelling};

/// A push of more commits than this is not read through; `relink` does that.
const MOST_PUSHED: usize = 5000;

/// A link that a commit asks for: of which incident, in which role and attempt, what it undoes, how that is known.
type Asked = (Oid, Role, Option<EventId>, Vec<Oid>, How);

/// What commits say, and what was asked on the way.
pub(super) struct Reading<'s> {
    session: &'s Session,
    incidents: HashMap<Oid, Option<Incident>>,
    named: HashMap<String, Option<Oid>>,
    patches: HashMap<Oid, Option<String>>,
    /// No other incident counts than those that are known: a foreign tracker's key is not looked for in every ledger.
    closed: bool,
    pub(super) changes: BTreeMap<Oid, Changes>,
}

impl<'s> Reading<'s> {
    pub(super) fn new(session: &'s Session) -> Self {
        Self {
            session,
            incidents: HashMap::new(),
            named: HashMap::new(),
            patches: HashMap::new(),
            closed: false,
            changes: BTreeMap::new(),
        }
    }

    /// Incidents that were folded already; only they count.
    pub(super) fn knowing(mut self, incidents: &[Incident]) -> Self {
        self.closed = true;
        self.incidents = incidents.iter().filter_map(|i| Some((i.id.clone()?, Some(i.clone())))).collect();
        self
    }

    fn incident(&mut self, id: &Oid) -> Option<Incident> {
        let session = self.session;
        self.incidents.entry(id.clone()).or_insert_with(|| session.incident(id).ok()).clone()
    }

    fn id_of(&mut self, text: &str) -> Option<Oid> {
        if let Some(known) = self.named.get(text) {
            return known.clone();
        }
        let id = if self.closed { self.known_as(text) } else { self.session.incident_id(Some(text)).ok() };
        self.named.insert(text.to_owned(), id.clone());
        id
    }

    /// The one known incident that is called so: by the first digits of its id, or by its ticket.
    fn known_as(&self, text: &str) -> Option<Oid> {
        let digits = text.to_ascii_lowercase();
        let called = |(id, incident): &(&Oid, &Option<Incident>)| {
            is_prefix(&digits, id.as_str())
                || incident.as_ref().is_some_and(|i| !text.is_empty() && i.ticket.eq_ignore_ascii_case(text))
        };
        let mut matching = self.incidents.iter().filter(called);
        matching.next().map(|(id, _)| id.clone()).filter(|_| matching.next().is_none())
    }

    fn patch_of(&mut self, commit: &Oid) -> Option<String> {
        let session = self.session;
        let ask = || session.patch_ids(std::slice::from_ref(commit)).ok()?.remove(commit);
        self.patches.entry(commit.clone()).or_insert_with(ask).clone()
    }

    /// Incidents whose lines stand on a commit.
    fn on(&mut self, commit: &Oid) -> Vec<Oid> {
        let short = lines::incidents_on(&self.session.repo, commit).unwrap_or_default();
        short.iter().filter_map(|text| self.id_of(text)).collect()
    }

    /// Reads one commit. `source` is the commit it is being picked from, where git says so.
    pub(super) fn read(&mut self, commit: &Commit, source: Option<&Oid>) {
        let signs = signs(&commit.message);
        let mut wanted: Vec<Asked> = Vec::new();
        self.sources(commit, &signs, source, &mut wanted);
        self.reverts(commit, &signs, &mut wanted);
        for mention in &signs.mentions {
            self.mention(commit, mention, &mut wanted);
        }
        for (id, role, attempt, reverts, how) in wanted {
            self.want(commit, &id, role, attempt, reverts, how);
        }
    }

    /// What a pick or a squash brings along: the links of the commits it was made from.
    fn sources(&mut self, commit: &Commit, signs: &Signs, source: Option<&Oid>, wanted: &mut Vec<Asked>) {
        let named = |digits: &[String], how: How| -> Vec<(Oid, How)> {
            digits.iter().filter_map(|d| Some((self.session.full_name(d)?, how))).collect()
        };
        let mut sources = named(&signs.picked_from, How::CherryPick);
        sources.extend(named(&signs.squashed, How::SquashMessage));
        sources.extend(source.map(|s| (s.clone(), How::CherryPick)));
        for (from, how) in sources.into_iter().filter(|(from, _)| *from != commit.oid) {
            for id in self.on(&from) {
                let Some(incident) = self.incident(&id) else { continue };
                for link in incident.links.iter().filter(|l| !l.unlinked && has_name(l, &from)) {
                    // What a pick of a revert undoes, its message says, and where it stands decides.
                    if link.role != Role::Revert || signs.reverts.is_empty() {
                        wanted.push((id.clone(), link.role, link.attempt, link.reverts.clone(), how));
                    }
                }
            }
        }
    }

    /// Links that a commit undoes: those of the commits it names, and those whose copy it names.
    fn reverts(&mut self, commit: &Commit, signs: &Signs, wanted: &mut Vec<Asked>) {
        let mut undone: BTreeMap<Oid, Vec<Link>> = BTreeMap::new();
        for digits in &signs.reverts {
            let Some(target) = self.session.full_name(digits) else { continue };
            let mut ids = self.on(&target);
            let linked_itself = !ids.is_empty();
            if !linked_itself {
                // Of a copy on another branch, its own message tells.
                ids = self.told_by(&target);
            }
            for id in ids {
                let Some(incident) = self.incident(&id) else { continue };
                let in_force = || incident.links.iter().filter(|l| !l.unlinked);
                // Picked from another branch, a revert names the copy that stands there and undoes the one here.
                let stands = self.session.repo.is_ancestor(&target, &commit.oid);
                let mut links: Vec<Link> = Vec::new();
                if !(linked_itself && stands) {
                    for link in in_force() {
                        if !has_name(link, &target) && self.is_copy(&target, link, commit) {
                            links.push(link.clone());
                        }
                    }
                }
                if links.is_empty() {
                    links.extend(in_force().filter(|l| has_name(l, &target)).cloned());
                }
                undone.entry(id.clone()).or_default().extend(links);
            }
        }
        if !signs.reverts_pull.is_empty() {
            let of_pull =
                |l: &&Link| !l.unlinked && signs.reverts_pull.contains(&l.pr) && l.commit != commit.oid;
            for incident in self.incidents.values().flatten() {
                let Some(id) = &incident.id else { continue };
                let stands_before = |l: &&Link| self.session.repo.is_ancestor(&l.commit, &commit.oid);
                let links = incident.links.iter().filter(of_pull).filter(stands_before).cloned();
                let links: Vec<Link> = links.collect();
                if !links.is_empty() {
                    undone.entry(id.clone()).or_default().extend(links);
                }
            }
        }
        for (id, links) in undone.into_iter().filter(|(_, links)| !links.is_empty()) {
            let mut reverts: Vec<Oid> = links.iter().map(|l| l.commit.clone()).collect();
            reverts.sort_unstable();
            reverts.dedup();
            let attempt =
                links.iter().find(|l| l.role == Role::Fix).or(links.first()).and_then(|l| l.attempt);
            wanted.push((id, Role::Revert, attempt, reverts, How::Record));
        }
    }

    /// The incidents that a commit's own message names, or the lines of what it was picked from.
    fn told_by(&mut self, commit: &Oid) -> Vec<Oid> {
        let Ok(message) = self.session.repo.message_of(commit) else { return Vec::new() };
        let signs = signs(&message);
        let mut ids: Vec<Oid> = signs.mentions.iter().filter_map(|m| self.id_of(&m.incident)).collect();
        for digits in &signs.picked_from {
            if let Some(from) = self.session.full_name(digits) {
                ids.extend(self.on(&from));
            }
        }
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Whether a commit is a copy of a linked one that stands in the history of the commit that undoes it.
    fn is_copy(&mut self, target: &Oid, link: &Link, by: &Commit) -> bool {
        if !self.session.repo.is_ancestor(&link.commit, &by.oid) || link.commit == by.oid {
            return false;
        }
        let message = self.session.repo.message_of(target).unwrap_or_default();
        // One of them says that it was picked from the other, or both change the same.
        let named = |text: &str, name: &Oid| {
            signs(text).picked_from.iter().any(|d| name.as_str().starts_with(d.as_str()))
        };
        let own = self.session.repo.message_of(&link.commit).unwrap_or_default();
        let picked = named(&message, &link.commit) || named(&own, target);
        picked || self.patch_of(target).is_some_and(|id| self.patch_of(&link.commit) == Some(id))
    }

    /// An incident that trailers name. A commit that changes what a linked one changes plays its part.
    fn mention(&mut self, commit: &Commit, mention: &Mention, wanted: &mut Vec<Asked>) {
        let Some(id) = self.id_of(&mention.incident) else { return };
        let Some(incident) = self.incident(&id) else { return };
        let known = incident.links.iter().any(|l| l.commit == commit.oid && !l.unlinked);
        if known || wanted.iter().any(|(other, ..)| *other == id) || self.was_taken_back(&incident, commit) {
            return;
        }
        let own = self.patch_of(&commit.oid);
        let same: Vec<&Link> = incident
            .links
            .iter()
            .filter(|l| !l.unlinked && !l.patch_id.is_empty() && l.role != Role::Related)
            .filter(|l| Some(&l.patch_id) == own.as_ref() && l.role != Role::Revert)
            .collect();
        let commits: HashSet<&Oid> = same.iter().map(|l| &l.commit).collect();
        if commits.len() == 1 {
            wanted.extend(same.iter().map(|l| (id.clone(), l.role, l.attempt, Vec::new(), How::PatchId)));
            return;
        }
        let attempt = mention.attempts.iter().find_map(|digits| attempt_of(&incident, digits));
        wanted.push((id, Role::Related, attempt, Vec::new(), How::Trailer));
    }

    /// Whether a person has taken back the link of this very commit, under whatever name it had.
    fn was_taken_back(&mut self, incident: &Incident, commit: &Commit) -> bool {
        let in_force = |name: &Oid| incident.links.iter().any(|l| l.commit == *name && !l.unlinked);
        let taken: Vec<&Link> =
            incident.links.iter().filter(|l| l.unlinked && !in_force(&l.commit)).collect();
        if taken.is_empty() {
            return false;
        }
        let own = self.patch_of(&commit.oid);
        let names: Vec<Oid> = taken.iter().map(|l| l.commit.clone()).collect();
        let former = commits(
            &self.session.repo,
            &self.session.git(),
            &Place::These(&here(self.session, &names)),
            1000,
        );
        taken.iter().any(|l| l.commit == commit.oid || own.as_ref().is_some_and(|id| *id == l.patch_id))
            || former.unwrap_or_default().iter().any(|old| {
                let same = old.author == commit.author && old.authored == commit.authored;
                same && (old.subject() == commit.subject() || old.parents == commit.parents)
            })
    }

    /// Notes a link, unless it is there, was taken back, or says less than one that is there.
    fn want(
        &mut self,
        commit: &Commit,
        id: &Oid,
        role: Role,
        attempt: Option<EventId>,
        reverts: Vec<Oid>,
        how: How,
    ) {
        let Some(incident) = self.incident(id) else { return };
        let mut of_commit = incident.links.iter().filter(|l| l.commit == commit.oid).peekable();
        let taken = of_commit.peek().is_some() && of_commit.clone().all(|l| l.unlinked);
        let there = of_commit.any(|l| {
            let says = role == Role::Related || l.role == role && (l.attempt == attempt || attempt.is_none());
            !l.unlinked && says && reverts.iter().all(|r| l.reverts.contains(r))
        });
        let noted = self.changes.get(id).into_iter().flat_map(|c| &c.linked);
        let again = noted.filter(|l| l.commit == commit.oid).any(|l| l.role == role && l.attempt == attempt);
        if taken || there || again {
            return;
        }
        let patch_id = self.patch_of(&commit.oid);
        let how = if role == Role::Revert && how == How::Record { "revert" } else { how.as_str() };
        let described = self.session.described(commit, Role::Related, attempt, patch_id);
        let link = CommitLinked { role, reverts, how: how.to_owned(), ..described };
        // What was found in this reading counts for the commits that follow: a revert of this one, a pick of it.
        self.remember(id, &link);
        self.changes.entry(id.clone()).or_default().linked.push(link);
    }

    fn remember(&mut self, id: &Oid, link: &CommitLinked) {
        let Some(Some(incident)) = self.incidents.get_mut(id) else { return };
        let Some(stamp) = incident.opened.clone() else { return };
        incident.links.push(Link {
            stamp,
            commit: link.commit.clone(),
            role: link.role,
            attempt: link.attempt,
            patch_id: link.patch_id.clone(),
            tree: link.tree.clone(),
            subject: link.subject.clone(),
            pr: link.pr.clone(),
            how: link.how.clone(),
            reverts: link.reverts.clone(),
            former: Vec::new(),
            reverted_by: None,
            unlinked: false,
        });
    }
}

fn here(session: &Session, names: &[Oid]) -> Vec<Oid> {
    names.iter().filter(|n| session.repo.is_commit(n)).cloned().collect()
}

fn has_name(link: &Link, name: &Oid) -> bool {
    link.commit == *name || link.former.iter().any(|(former, _)| former == name)
}

/// The attempt whose event begins with these digits, if only one does.
fn attempt_of(incident: &Incident, digits: &str) -> Option<EventId> {
    let mut matching = incident
        .attempts
        .iter()
        .map(|a| a.started.event)
        .filter(|event| is_prefix(digits, &event.to_string()));
    matching.next().filter(|_| matching.next().is_none())
}

impl Session {
    /// Links a commit that was just made, as its message says and as the pick in progress says.
    ///
    /// # Errors
    /// The repository cannot be read or written.
    pub fn link_new_commit(&self, commit: &Oid) -> Result<Vec<(Oid, CommitLinked)>> {
        if !self.has_ledgers()? {
            return Ok(Vec::new());
        }
        let picked = std::fs::read_to_string(self.repo.git_dir().join("CHERRY_PICK_HEAD")).ok();
        let picked = picked.and_then(|text| Oid::parse(text.trim()));
        let message = self.repo.message_of(commit)?;
        let quiet = signs(&message);
        let nothing =
            Signs { pull: quiet.pull.clone(), change_ids: quiet.change_ids.clone(), ..Signs::default() };
        if picked.is_none() && quiet == nothing {
            return Ok(Vec::new());
        }
        self.link_read(
            &commits(&self.repo, &self.git(), &Place::These(std::slice::from_ref(commit)), 1)?,
            picked.as_ref(),
        )
    }

    /// Links the commits that a push brings to a remote and that name incidents, attempts or linked commits: those that
    /// were made without our hooks. Says how many there were.
    ///
    /// # Errors
    /// The repository cannot be read or written.
    pub fn link_pushed(&self, remote: Option<&str>, tips: &[Oid]) -> Result<usize> {
        if !self.has_ledgers()? {
            return Ok(0);
        }
        let tips: Vec<Oid> =
            tips.iter().filter_map(|tip| self.repo.resolve_commit(tip.as_str()).ok()).collect();
        let mut all =
            commits(&self.repo, &self.git(), &Place::NotOn(remote.unwrap_or_default(), &tips), MOST_PUSHED)?;
        all.reverse();
        Ok(self.link_read(&all, None)?.len())
    }

    /// Links what commits say, which stand oldest first.
    pub(super) fn link_read(
        &self,
        commits: &[Commit],
        source: Option<&Oid>,
    ) -> Result<Vec<(Oid, CommitLinked)>> {
        let mut reading = Reading::new(self);
        for commit in commits {
            reading.read(commit, source);
        }
        let changes = reading.changes;
        let links =
            changes.iter().flat_map(|(id, c)| c.linked.iter().map(|l| (id.clone(), l.clone()))).collect();
        self.write_links(changes)?;
        Ok(links)
    }

    /// Whether anybody has opened an incident here.
    pub(super) fn has_ledgers(&self) -> Result<bool> {
        Ok(crate::git::refs::read(&self.repo, travelling::LEDGER.notes)?.is_some())
    }
}
