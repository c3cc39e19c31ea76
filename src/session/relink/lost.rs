//! `relink`: links whose commit no branch, tag or remote branch leads to any more, and the commits they became.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::Changes;
use super::found::Reading;
use crate::event::{CommitLinked, CommitRewritten};
use crate::git::diff;
use crate::git::history::{self, Commit, Place};
use crate::links::matching::{Candidate, Field, Match, Sure, Wanted};
use crate::links::message::{pull_request_of, signs};
use crate::model::incident::{Incident, Link};
use crate::model::status::Role;
use crate::model::{Oid, Result};
use crate::session::Session;

/// So many commits are looked at, newest first.
const MOST_CANDIDATES: usize = 200_000;
/// Of so many of them patch-ids are computed.
const MOST_PATCH_IDS: usize = 20_000;
/// So many whole branches are compared with commits.
const MOST_BRANCHES: usize = 256;
/// A commit that was rewritten is not older than what it was made from, but clocks differ: seconds.
const CLOCKS: i64 = 24 * 3600;

/// Where to look, and what for.
#[derive(Debug, Clone, Default)]
pub struct Options<'o> {
    /// Only in these commits: `A..B`.
    pub range: Option<&'o str>,
    /// Also for copies of commits that are still there.
    pub all: bool,
    /// Only for this incident.
    pub incident: Option<Oid>,
    /// Write what is certain.
    pub apply: bool,
}

/// A commit that a link's commit may have become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matched {
    /// The match.
    pub found: Match,
    /// The commit's subject.
    pub subject: String,
    /// Its tree.
    pub tree: Oid,
    /// Its patch-id; empty for merges and empty commits.
    pub patch_id: String,
    /// Whether it is certain, so that `--apply` makes it.
    pub certain: bool,
}

/// A link that was looked at, and what was found for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The incident.
    pub incident: Oid,
    /// Its title.
    pub title: String,
    /// The link.
    pub link: Link,
    /// The attempt's number.
    pub ordinal: Option<usize>,
    /// Whether nothing leads to its commit any more.
    pub lost: bool,
    /// Whether its commit is not even in this repository.
    pub missing: bool,
    /// What was found, the surest first; nothing when it could not be placed.
    pub matches: Vec<Matched>,
}

/// What was looked at, found and done.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Links, those that are lost first.
    pub rows: Vec<Row>,
    /// Links that messages ask for and nobody has made: trailers, picks, reverts.
    pub told: Vec<(Oid, CommitLinked)>,
    /// How many links were looked at.
    pub looked_at: usize,
    /// How many commits they were compared with.
    pub candidates: usize,
    /// What was left out because there was too much of it.
    pub remarks: Vec<String>,
}

impl Report {
    /// How many links are certain, and so are made with `--apply`.
    pub fn certain(&self) -> usize {
        self.rows.iter().filter(|r| r.matches.iter().any(|m| m.certain)).count() + self.told.len()
    }

    /// How many links wait for a person.
    pub fn proposed(&self) -> usize {
        let open = |r: &&Row| !r.matches.is_empty() && !r.matches.iter().any(|m| m.certain);
        self.rows.iter().filter(open).count()
    }

    /// How many links nothing was found for.
    pub fn unplaced(&self) -> usize {
        self.rows.iter().filter(|r| r.lost && r.matches.is_empty()).count()
    }
}

impl Session {
    /// Looks for what became of linked commits. Writes only with `apply`, and only what is certain.
    ///
    /// # Errors
    /// No such range; the repository cannot be read or written.
    pub fn relink(&self, options: &Options<'_>) -> Result<Report> {
        let incidents = match &options.incident {
            Some(id) => vec![self.incident(id)?],
            None => self.incidents()?,
        };
        let mut report = Report::default();
        let place = options.range.map_or(Place::Everywhere, Place::Range);
        let seen = history::commits(&self.repo, &self.git(), &place, MOST_CANDIDATES)?;
        if seen.len() == MOST_CANDIDATES {
            report.remarks.push(format!("only the newest {MOST_CANDIDATES} commits were looked at"));
        }
        report.candidates = seen.len();

        let linked: HashSet<Oid> = incidents
            .iter()
            .flat_map(|i| i.links.iter().filter(|l| !l.unlinked).map(|l| l.commit.clone()))
            .collect();
        let linked: Vec<Oid> = linked.into_iter().collect();
        report.looked_at = linked.len();
        let dangling = history::lost(&self.repo, &self.git(), &linked)?;
        let lost = |commit: &Oid| dangling.contains(commit) || !self.repo.is_commit(commit);
        let everything = options.all || options.range.is_some();
        let wanted: Vec<(&Incident, &Link)> = incidents
            .iter()
            .flat_map(|i| i.links.iter().filter(|l| !l.unlinked).map(move |l| (i, l)))
            .filter(|(_, l)| everything || lost(&l.commit))
            .collect();
        if !wanted.is_empty() {
            let asked = self.matches_of(&incidents, &wanted, &seen, &mut report)?;
            for ((incident, link), matches) in wanted.iter().zip(asked) {
                let row =
                    row(incident, link, matches, lost(&link.commit), !self.repo.is_commit(&link.commit));
                if row.lost || !row.matches.is_empty() {
                    report.rows.push(row);
                }
            }
        }
        report.rows.sort_by_key(|r| !r.lost);

        let mut changes = moves(&report.rows);
        if options.apply {
            self.write_links(changes.clone())?;
        }
        // What messages say is read with those links in place, so that nothing is linked twice.
        let mut known = incidents;
        if options.apply {
            for incident in
                known.iter_mut().filter(|i| i.id.as_ref().is_some_and(|id| changes.contains_key(id)))
            {
                if let Some(id) = incident.id.clone() {
                    *incident = self.incident(&id)?;
                }
            }
        }
        let mut reading = Reading::new(self).knowing(&known);
        for commit in seen.iter().rev() {
            let signs = signs(&commit.message);
            let speaks = !signs.mentions.is_empty()
                || !signs.picked_from.is_empty()
                || !signs.reverts.is_empty()
                || !signs.reverts_pull.is_empty()
                || !signs.squashed.is_empty();
            if speaks {
                reading.read(commit, None);
            }
        }
        for (id, told) in std::mem::take(&mut reading.changes) {
            if options.incident.as_ref().is_some_and(|only| *only != id) {
                continue;
            }
            let planned = changes.entry(id.clone()).or_default();
            let moving = |commit: &Oid, role: Role| {
                let to =
                    planned.rewritten.iter().map(|r| &r.to).chain(planned.linked.iter().map(|l| &l.commit));
                !options.apply && role != Role::Revert && to.into_iter().any(|c| c == commit)
            };
            let fresh: Vec<CommitLinked> =
                told.linked.into_iter().filter(|l| !moving(&l.commit, l.role)).collect();
            if options.apply {
                let only = Changes { rewritten: Vec::new(), linked: fresh.clone() };
                self.write_links(BTreeMap::from([(id.clone(), only)]))?;
            }
            report.told.extend(fresh.into_iter().map(|l| (id.clone(), l)));
        }
        Ok(report)
    }

    /// The matches of each link.
    fn matches_of(
        &self,
        incidents: &[Incident],
        wanted: &[(&Incident, &Link)],
        seen: &[Commit],
        report: &mut Report,
    ) -> Result<Vec<Vec<Matched>>> {
        let mut names: Vec<Oid> = wanted.iter().map(|(_, l)| l.commit.clone()).collect();
        names.sort_unstable();
        names.dedup();
        names.retain(|c| self.repo.is_commit(c));
        let facts: HashMap<Oid, Commit> =
            history::commits(&self.repo, &self.git(), &Place::These(&names), names.len())?
                .into_iter()
                .map(|c| (c.oid.clone(), c))
                .collect();
        // Nothing becomes older by being rewritten; of what is gone, only the ledger tells when it was.
        let oldest = wanted.iter().map(|(_, l)| match facts.get(&l.commit) {
            Some(commit) => commit.committed,
            None => l.stamp.at.millis() / 1000 - 400 * 24 * 3600,
        });
        let since = oldest.min().unwrap_or_default() - CLOCKS;
        let recent: Vec<&Commit> = seen.iter().filter(|c| c.committed >= since).collect();
        let plain = recent.iter().filter(|c| c.parents.len() < 2).map(|c| c.oid.clone());
        let mut asked: Vec<Oid> = plain.take(MOST_PATCH_IDS + 1).collect();
        if asked.len() > MOST_PATCH_IDS {
            asked.pop();
            report
                .remarks
                .push(format!("only the newest {MOST_PATCH_IDS} commits were compared by what they change"));
        }
        asked.extend(names);
        let ids = self.patch_ids(&asked)?;
        let candidates: Vec<Candidate> = recent
            .iter()
            .map(|c| Candidate {
                commit: c.oid.clone(),
                tree: c.tree.clone(),
                subject: c.subject(),
                author: (c.author.clone(), c.authored),
                signs: signs(&c.message),
                patch_id: ids.get(&c.oid).cloned(),
            })
            .collect();
        let field = Field::of(&candidates);
        let by_name: HashMap<&Oid, &Candidate> = candidates.iter().map(|c| (&c.commit, c)).collect();
        let recorded = self.recorded(incidents);
        let mut branches =
            Branches { session: self, tips: history::branch_tips(&self.repo, 8), known: HashMap::new() };
        let mut all = Vec::new();
        for (incident, link) in wanted {
            let what = wanted_of(incident, link, facts.get(&link.commit), &ids, &recorded, &mut branches);
            all.push(judged(incident, link, wanted, field.matches(&what), &by_name));
        }
        Ok(all)
    }

    /// What git and rewriting tools wrote down, as far as ledgers or files here have it.
    fn recorded(&self, incidents: &[Incident]) -> HashMap<Oid, Vec<Oid>> {
        let mut all: HashMap<Oid, Vec<Oid>> = HashMap::new();
        for (from, to) in incidents.iter().flat_map(|i| &i.rewrites) {
            all.entry(from.clone()).or_default().push(to.clone());
        }
        for (from, to) in history::rewriting_map(&self.repo) {
            all.entry(from).or_default().push(to);
        }
        all
    }
}

/// Patch-ids of whole branches.
struct Branches<'s> {
    session: &'s Session,
    tips: Vec<Oid>,
    known: HashMap<(Oid, Oid), Option<String>>,
}

impl Branches<'_> {
    /// The ids that a squash of a branch that holds the commit would have.
    fn ids(&mut self, commit: &Oid) -> Vec<String> {
        let repo = &self.session.repo;
        let mut found = Vec::new();
        for tip in history::tips_above(repo, commit, 8) {
            for onto in &self.tips {
                let Some(base) = history::merge_base(repo, &tip, onto) else { continue };
                // What was merged was not squashed.
                if base == tip || repo.is_ancestor(commit, &base) {
                    continue;
                }
                let key = (base, tip.clone());
                if !self.known.contains_key(&key) && self.known.len() >= MOST_BRANCHES {
                    return found;
                }
                let id = self.known.entry(key).or_insert_with_key(|(base, tip)| {
                    diff::patch_id_between(&self.session.git(), base.as_str(), tip.as_str()).ok().flatten()
                });
                found.extend(id.clone());
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

fn wanted_of(
    incident: &Incident,
    link: &Link,
    commit: Option<&Commit>,
    ids: &HashMap<Oid, String>,
    recorded: &HashMap<Oid, Vec<Oid>>,
    branches: &mut Branches<'_>,
) -> Wanted {
    let former: Vec<Oid> = link.former.iter().map(|(name, _)| name.clone()).collect();
    // Records of records: a commit that was amended, and then rebased.
    let mut now: Vec<Oid> = Vec::new();
    let mut todo: Vec<Oid> = std::iter::once(link.commit.clone()).chain(former.iter().cloned()).collect();
    while let Some(name) = todo.pop().filter(|_| now.len() < 256) {
        for to in recorded.get(&name).into_iter().flatten() {
            if !now.contains(to) && *to != link.commit {
                now.push(to.clone());
                todo.push(to.clone());
            }
        }
    }
    // A rewrite that was undone: the commit has its former name again.
    now.extend(former.iter().cloned());
    let signs = commit.map(|c| signs(&c.message)).unwrap_or_default();
    let drafted = incident.pull_requests.iter().filter_map(|d| pull_of_url(&d.url));
    let mut pulls: Vec<String> = drafted.chain((!link.pr.is_empty()).then(|| link.pr.clone())).collect();
    pulls.sort_unstable();
    pulls.dedup();
    let recorded_id = Some(link.patch_id.clone()).filter(|id| !id.is_empty());
    Wanted {
        commit: link.commit.clone(),
        former,
        recorded: now,
        patch_id: if commit.is_some() { ids.get(&link.commit).cloned() } else { recorded_id },
        branch_ids: if commit.is_some() { branches.ids(&link.commit) } else { Vec::new() },
        tree: link.tree.clone(),
        subject: commit.map_or_else(|| link.subject.clone(), Commit::subject),
        author: commit.map(|c| (c.author.clone(), c.authored)),
        change_ids: signs.change_ids,
        pulls,
        incident: incident
            .id
            .iter()
            .map(|id| id.as_str().to_owned())
            .chain(Some(incident.ticket.get().clone()).filter(|t| !t.is_empty()))
            .collect(),
        attempt: link.attempt.map(|a| a.to_string()),
    }
}

/// `#12` of `…/pull/12`, `!12` of `…/merge_requests/12`.
fn pull_of_url(url: &str) -> Option<String> {
    let (sign, rest) = match url.split_once("/pull/") {
        Some((_, rest)) => ('#', rest),
        None => ('!', url.split_once("/merge_requests/")?.1),
    };
    let digits: String = rest.chars().take_while(char::is_ascii_digit).take(12).collect();
    (!digits.is_empty()).then(|| format!("{sign}{digits}"))
}

/// What is left of the matches: nothing that was taken back or is linked already; and nothing is certain where several
/// lost commits claim it with the same change.
fn judged(
    incident: &Incident,
    link: &Link,
    wanted: &[(&Incident, &Link)],
    matches: Vec<Match>,
    by_name: &HashMap<&Oid, &Candidate>,
) -> Vec<Matched> {
    let is = |l: &Link, commit: &Oid| l.commit == *commit;
    let rival = wanted.iter().any(|(other, l)| {
        other.id == incident.id
            && l.commit != link.commit
            && !link.patch_id.is_empty()
            && l.patch_id == link.patch_id
            && (l.role, l.attempt) != (link.role, link.attempt)
    });
    let mut left = Vec::new();
    for found in matches {
        let mut of_commit = incident.links.iter().filter(|l| is(l, &found.commit)).peekable();
        let taken = of_commit.peek().is_some() && of_commit.clone().all(|l| l.unlinked);
        let same = of_commit.any(|l| !l.unlinked && l.role == link.role && l.attempt == link.attempt);
        if taken {
            continue;
        }
        let certain = found.sure == Sure::Certain
            && (!rival || found.how.first().is_some_and(|h| h.as_str() == "record"));
        let Some(candidate) = by_name.get(&found.commit) else { continue };
        let matched = Matched {
            subject: candidate.subject.clone(),
            tree: candidate.tree.clone(),
            patch_id: candidate.patch_id.clone().unwrap_or_default(),
            certain,
            found,
        };
        left.push((same, matched));
    }
    // The link is where it belongs already, unless its own commit is the one that is lost (which `row` knows).
    left.retain(|(same, m)| !same || m.certain);
    left.into_iter().map(|(_, m)| m).collect()
}

fn row(incident: &Incident, link: &Link, matches: Vec<Matched>, lost: bool, missing: bool) -> Row {
    let linked = |m: &Matched| {
        incident.links.iter().any(|l| {
            !l.unlinked && l.commit == m.found.commit && l.role == link.role && l.attempt == link.attempt
        })
    };
    // A copy that is linked needs no second link; a lost commit moves onto it.
    let matches = matches.into_iter().filter(|m| lost || !linked(m)).collect();
    let ordinal = link.attempt.and_then(|a| incident.attempt(a)).map(|a| a.ordinal);
    Row {
        incident: incident.id.clone().unwrap_or_else(Oid::zero),
        title: incident.title.get().clone(),
        link: link.clone(),
        ordinal,
        lost,
        missing,
        matches,
    }
}

/// What the certain matches ask for: a lost link moves to the first of them, and every other one is a copy.
fn moves(rows: &[Row]) -> BTreeMap<Oid, Changes> {
    let mut changes: BTreeMap<Oid, Changes> = BTreeMap::new();
    for row in rows {
        let mut certain = row.matches.iter().filter(|m| m.certain).peekable();
        if certain.peek().is_none() {
            continue;
        }
        let of = changes.entry(row.incident.clone()).or_default();
        if row.lost
            && let Some(first) = certain.next()
        {
            let event = CommitRewritten {
                from: row.link.commit.clone(),
                to: first.found.commit.clone(),
                how: first.found.how.first().map_or("", |h| h.as_str()).to_owned(),
                tree: Some(first.tree.clone()),
                patch_id: first.patch_id.clone(),
            };
            // Several links of one commit move together.
            if !of.rewritten.iter().any(|e| e.from == event.from && e.to == event.to) {
                of.rewritten.push(event);
            }
        }
        for copy in certain {
            of.linked.push(CommitLinked {
                commit: copy.found.commit.clone(),
                role: row.link.role,
                attempt: row.link.attempt,
                patch_id: copy.patch_id.clone(),
                tree: Some(copy.tree.clone()),
                subject: copy.subject.clone(),
                pr: pull_request_of(&copy.subject),
                how: copy.found.how.first().map_or("", |h| h.as_str()).to_owned(),
                reverts: row.link.reverts.clone(),
            });
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::pull_of_url;

    #[test]
    fn addresses_of_pull_requests_name_a_number() {
        assert_eq!(pull_of_url("https://example.org/a/b/pull/12/files").as_deref(), Some("#12"));
        assert_eq!(pull_of_url("https://example.org/a/b/-/merge_requests/7").as_deref(), Some("!7"));
        assert_eq!(pull_of_url("https://example.org/a/b"), None);
    }
}
