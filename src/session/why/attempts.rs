//! The incidents and attempts that touched a place.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{How, Spot, Touch};
use crate::git::line_history::{self, Past};
use crate::links::place::{Today, meet};
use crate::model::incident::{Attempt, Incident, Link};
use crate::model::patch::{self, FilePatch};
use crate::model::{EventId, Oid, Result, Timestamp};
use crate::search::query::{Query, path_tag};
use crate::session::Session;
use crate::store::index::Index;

/// So many attempts and incidents that touched a file are looked at.
const MOST_INCIDENTS: usize = 10_000;
/// So many stored diffs are read, the newest first.
const MOST_DIFFS: usize = 5000;
/// A stored diff that is larger is not read.
const MOST_BYTES: u64 = 16 << 20;

/// Where touches are gathered: one for each attempt, the surest.
struct Gathered<'a> {
    spot: &'a Spot,
    names: &'a BTreeSet<String>,
    today: Today<'a>,
    found: BTreeMap<(Oid, Option<EventId>), Touch>,
}

impl Session {
    /// Everything that touched the place, newest first.
    pub(super) fn touches(
        &self,
        spot: &mut Spot,
        past: &Past,
        remarks: &mut Vec<String>,
    ) -> Result<Vec<Touch>> {
        let content = spot.content.take().unwrap_or_default();
        let mut all = {
            let spot = &*spot;
            let mut gathered =
                Gathered { spot, names: &past.names, today: Today::of(&content), found: BTreeMap::new() };
            let incidents = self.with_path(spot, past, remarks)?;
            self.merged(&incidents, past, &mut gathered)?;
            self.unmerged(&incidents, past, &mut gathered)?;
            self.stored(&incidents, &mut gathered, remarks);
            named(&incidents, &mut gathered);
            gathered.found.into_values().collect::<Vec<Touch>>()
        };
        spot.content = Some(content);
        // An incident that only names the file says nothing where one of its attempts was found.
        let tried: HashSet<Oid> =
            all.iter().filter(|t| t.how != How::Named).map(|t| t.incident.clone()).collect();
        all.retain(|t| t.how != How::Named || !tried.contains(&t.incident));
        all.sort_by(|a, b| (b.at, &b.incident).cmp(&(a.at, &a.incident)));
        Ok(all)
    }

    /// The incidents that may have to do with the place. The index, where there is one, knows which files attempts and
    /// commits touched; else every incident is asked.
    fn with_path(&self, spot: &Spot, past: &Past, remarks: &mut Vec<String>) -> Result<Vec<Incident>> {
        let Some(index) = Index::if_there(&self.repo).filter(|_| !spot.path.is_empty()) else {
            return self.incidents();
        };
        let mut ids: BTreeSet<Oid> = BTreeSet::new();
        for name in past.names.iter().chain([&spot.path]).collect::<BTreeSet<_>>() {
            let query = Query { tags: vec![path_tag(name)], ..Query::default() };
            let Ok(answer) = index.search(&query, None, 0, MOST_INCIDENTS) else { return self.incidents() };
            if !answer.complete || answer.total > answer.hits.len() {
                remarks.push(format!("{name} has more than could be looked at; the newest of it was"));
            }
            ids.extend(answer.hits.into_iter().map(|hit| hit.incident));
        }
        Ok(ids.iter().filter_map(|id| self.incident(id).ok()).collect())
    }

    /// Linked commits of the file's history: those that blame names, and those whose hunks lie here.
    fn merged(&self, incidents: &[Incident], past: &Past, gathered: &mut Gathered<'_>) -> Result<()> {
        let links = by_commit(incidents);
        for (commit, ranges) in &past.blamed {
            for (incident, link) in links.get(commit).into_iter().flatten() {
                let here = ranges.iter().copied().filter(|r| gathered.counts(*r)).collect::<Vec<_>>();
                if !here.is_empty() {
                    gathered.add(incident, Some(link), link.attempt, How::Blame, here);
                }
            }
        }
        let of_history: Vec<&Oid> = past.commits.iter().filter(|c| links.contains_key(c)).collect();
        let patches = line_history::patches(&self.git(), &of_history, gathered.names)?;
        for commit in of_history {
            let files = patches.get(commit).map(Vec::as_slice).unwrap_or_default();
            let Some(places) = gathered.places(files) else { continue };
            for (incident, link) in links.get(commit).into_iter().flatten() {
                gathered.add(incident, Some(link), link.attempt, How::History, places.clone());
            }
        }
        Ok(())
    }

    /// Linked commits that no branch leads to: those of attempts that were given up, and those on other branches.
    fn unmerged(&self, incidents: &[Incident], past: &Past, gathered: &mut Gathered<'_>) -> Result<()> {
        let links = by_commit(incidents);
        let merged: HashSet<&Oid> = past.commits.iter().chain(past.blamed.keys()).collect();
        let head = self.repo.head_commit()?;
        let elsewhere: Vec<&Oid> = links
            .keys()
            .copied()
            .filter(|c| !merged.contains(c) && self.repo.is_commit(c))
            .filter(|c| head.as_ref().is_none_or(|h| !self.repo.is_ancestor(c, h)))
            .collect();
        let patches = line_history::patches(&self.git(), &elsewhere, gathered.names)?;
        for commit in elsewhere {
            let files = patches.get(commit).map(Vec::as_slice).unwrap_or_default();
            let Some(places) = gathered.places(files) else { continue };
            for (incident, link) in links.get(commit).into_iter().flatten() {
                gathered.add(incident, Some(link), link.attempt, How::Unmerged, places.clone());
            }
        }
        Ok(())
    }

    /// Diffs and new files that were stored with attempts.
    fn stored(&self, incidents: &[Incident], gathered: &mut Gathered<'_>, remarks: &mut Vec<String>) {
        let mut diffs: Vec<(&Incident, &Oid, Option<EventId>, Timestamp)> = Vec::new();
        for incident in incidents {
            for kept in incident.evidence.iter().filter(|e| !e.erased) {
                match (kept.kind.as_str(), &kept.oid) {
                    ("diff", Some(oid)) if kept.bytes <= MOST_BYTES => {
                        diffs.push((incident, oid, kept.attempt, kept.stamp.at));
                    }
                    ("untracked", _) if gathered.is_name(&kept.name) => {
                        gathered.add(incident, None, kept.attempt, How::Untracked, Vec::new());
                    }
                    _ => {}
                }
            }
        }
        diffs.sort_by_key(|(.., at)| std::cmp::Reverse(*at));
        if diffs.len() > MOST_DIFFS {
            remarks.push(format!("only the newest {MOST_DIFFS} of {} stored diffs were read", diffs.len()));
            diffs.truncate(MOST_DIFFS);
        }
        let mut read: HashMap<&Oid, Option<Vec<(u64, u64)>>> = HashMap::new();
        for (incident, oid, attempt, _) in diffs {
            // Every run of an attempt stores the same diff; it is one blob.
            let places = read.entry(oid).or_insert_with(|| {
                let bytes = self.repo.blob(oid).ok()?;
                gathered.places(&patch::files(&bytes))
            });
            if let Some(places) = places.clone() {
                gathered.add(incident, None, attempt, How::Diff, places);
            }
        }
    }
}

/// Links in force by their commits.
fn by_commit(incidents: &[Incident]) -> HashMap<&Oid, Vec<(&Incident, &Link)>> {
    let mut links: HashMap<&Oid, Vec<(&Incident, &Link)>> = HashMap::new();
    for incident in incidents {
        for link in incident.links.iter().filter(|l| !l.unlinked) {
            links.entry(&link.commit).or_default().push((incident, link));
        }
    }
    links
}

/// Incidents that name the file, or one below the folder.
fn named(incidents: &[Incident], gathered: &mut Gathered<'_>) {
    for incident in incidents {
        if incident.files.iter().any(|f| gathered.is_name(f.path.trim_start_matches("./"))) {
            gathered.add(incident, None, None, How::Named, Vec::new());
        }
    }
}

impl Gathered<'_> {
    /// Whether a name is the file's, today or before, or one below the folder.
    fn is_name(&self, name: &str) -> bool {
        if self.spot.folder {
            let below = |n: &str| n.strip_prefix(&self.spot.path).is_some_and(|rest| rest.starts_with('/'));
            return self.spot.path.is_empty() || name == self.spot.path || below(name);
        }
        self.names.contains(name)
    }

    /// Whether lines are among those that were asked for.
    fn counts(&self, range: (u64, u64)) -> bool {
        self.spot.range().is_none_or(|asked| meet(asked, range))
    }

    /// Where patches touch the place, in the lines of today; `None` when they do not. A file without lines of its own, and
    /// a hunk that lies nowhere any more, count where the whole file is asked about.
    fn places(&self, files: &[FilePatch]) -> Option<Vec<(u64, u64)>> {
        let of_spot: Vec<&FilePatch> =
            files.iter().filter(|f| self.is_name(&f.new) || self.is_name(&f.old)).collect();
        if of_spot.is_empty() {
            return None;
        }
        if self.spot.folder || self.spot.gone {
            return Some(Vec::new());
        }
        let hunks = of_spot.iter().flat_map(|f| &f.hunks);
        let mut places: Vec<(u64, u64)> =
            hunks.filter_map(|h| self.today.place(h)).map(|p| p.lines).filter(|l| self.counts(*l)).collect();
        places.sort_unstable();
        places.dedup();
        (self.spot.range().is_none() || !places.is_empty()).then_some(places)
    }

    /// Adds a touch; of several of one attempt the surest stays, with the lines of all.
    fn add(
        &mut self,
        incident: &Incident,
        link: Option<&Link>,
        attempt: Option<EventId>,
        how: How,
        lines: Vec<(u64, u64)>,
    ) {
        let Some(id) = &incident.id else { return };
        let tried: Option<&Attempt> = attempt.and_then(|a| incident.attempt(a));
        let ended = tried.filter(|a| a.ended.is_some());
        let at = ended
            .and_then(|a| a.ended.as_ref())
            .map(|s| s.at)
            .or(tried.map(|a| a.started.at))
            .or(link.map(|l| l.stamp.at))
            .unwrap_or(incident.last_at);
        let conclusion =
            tried.map_or("", |a| a.conclusion.trim()).lines().next().unwrap_or_default().to_owned();
        let touch = Touch {
            incident: id.clone(),
            title: incident.title.get().clone(),
            ticket: incident.ticket.get().clone(),
            status: *incident.status,
            attempt: tried.map(|a| (a.started.event, a.ordinal, a.headline().to_owned())),
            outcome: ended.map(|a| a.outcome),
            conclusion,
            reverted: tried.and_then(|a| a.reverted.clone()).or(link.and_then(|l| l.reverted_by.clone())),
            role: link.map(|l| l.role),
            commit: link.map(|l| l.commit.clone()),
            how,
            lines,
            at,
        };
        let key = (id.clone(), touch.attempt.as_ref().map(|(event, ..)| *event));
        match self.found.get_mut(&key) {
            Some(known) => {
                let mut lines = std::mem::take(&mut known.lines);
                lines.extend(&touch.lines);
                if touch.how < known.how {
                    *known = touch;
                }
                known.lines = merged(lines);
            }
            None => {
                self.found.insert(key, touch);
            }
        }
    }
}

/// Ranges in order, those that touch each other as one.
fn merged(mut lines: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    lines.sort_unstable();
    let mut found: Vec<(u64, u64)> = Vec::new();
    for (first, last) in lines {
        match found.last_mut().filter(|(_, end)| first <= end.saturating_add(1)) {
            Some((_, end)) => *end = last.max(*end),
            None => found.push((first, last)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::merged;

    #[test]
    fn ranges_that_touch_are_one() {
        assert_eq!(merged(vec![(9, 9), (1, 2), (2, 2), (3, 5)]), [(1, 5), (9, 9)]);
        assert_eq!(merged(Vec::new()), []);
    }
}
