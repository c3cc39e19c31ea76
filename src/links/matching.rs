//! Which commit is a lost one under another name: what speaks for it, and how sure that makes it.
//!
//! Names are proof: git's own record of a rewrite, `(cherry picked from commit …)`, the list in a squash message. A
//! patch-id, a Change-Id, a tree with its subject are proof when one commit has them. Everything else proposes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::message::Signs;
use crate::model::Oid;

/// What speaks for a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// A rewrite that git or a rewriting tool recorded.
    Record,
    /// Its message says that it was picked from the commit.
    CherryPick,
    /// Its message lists the commit among those it was squashed from.
    SquashMessage,
    /// Both change the same lines in the same way.
    PatchId,
    /// It changes what the commits of the branch change together.
    Squash,
    /// Gerrit's name of the change is the same.
    ChangeId,
    /// Both have the same files, and the same subject or no change of their own.
    Tree,
    /// Author, time of authoring and subject are the same.
    Author,
    /// Its trailers name the incident, and the attempt if the link has one.
    Trailer,
    /// The forge says that it came with the same pull request.
    PullRequest,
}

impl How {
    /// The word of ledgers and views.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::CherryPick => "cherry-pick",
            Self::SquashMessage => "squash-message",
            Self::PatchId => "patch-id",
            Self::Squash => "squash",
            Self::ChangeId => "change-id",
            Self::Tree => "tree",
            Self::Author => "author",
            Self::Trailer => "trailer",
            Self::PullRequest => "pr",
        }
    }

    /// Whether it names the very commit, so that another match says nothing against it.
    const fn names_it(self) -> bool {
        matches!(self, Self::Record | Self::CherryPick | Self::SquashMessage)
    }

    /// Whether it is proof where one commit alone has it.
    const fn is_proof(self) -> bool {
        matches!(self, Self::PatchId | Self::Squash | Self::ChangeId | Self::Tree)
    }
}

/// How sure a match is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sure {
    /// Something hints at it.
    Possible,
    /// Nothing else fits, but nothing proves it.
    Likely,
    /// It is the commit.
    Certain,
}

impl Sure {
    /// The word of the views.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Possible => "possible",
            Self::Likely => "likely",
            Self::Certain => "certain",
        }
    }
}

/// What is known of a linked commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Its name.
    pub commit: Oid,
    /// Names it had before.
    pub former: Vec<Oid>,
    /// Names that a record says it has now.
    pub recorded: Vec<Oid>,
    /// Its patch-id; none for merges and empty commits.
    pub patch_id: Option<String>,
    /// Patch-ids of the whole branch it stood on.
    pub branch_ids: Vec<String>,
    /// Its tree.
    pub tree: Option<Oid>,
    /// Its subject.
    pub subject: String,
    /// Its author and the time of authoring, where the commit is here.
    pub author: Option<(String, i64)>,
    /// Gerrit's names of its change.
    pub change_ids: Vec<String>,
    /// Its pull request, or those of the incident.
    pub pulls: Vec<String>,
    /// Whatever a trailer may call the incident: its id, its ticket.
    pub incident: Vec<String>,
    /// The attempt's id.
    pub attempt: Option<String>,
}

/// A commit that may be one of those that are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its name.
    pub commit: Oid,
    /// Its tree.
    pub tree: Oid,
    /// Its subject.
    pub subject: String,
    /// Its author and the time of authoring.
    pub author: (String, i64),
    /// What its message says.
    pub signs: Signs,
    /// Its patch-id; none for merges and empty commits.
    pub patch_id: Option<String>,
}

/// A match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The commit.
    pub commit: Oid,
    /// What speaks for it, the strongest first.
    pub how: Vec<How>,
    /// How sure it is.
    pub sure: Sure,
}

/// Candidates, ready to be asked.
pub struct Field<'c> {
    all: &'c [Candidate],
    by_commit: HashMap<&'c str, usize>,
    by_patch: HashMap<&'c str, Vec<usize>>,
    by_tree: HashMap<&'c str, Vec<usize>>,
    by_author: HashMap<(&'c str, i64, &'c str), Vec<usize>>,
    by_change: HashMap<&'c str, Vec<usize>>,
    by_pull: HashMap<&'c str, Vec<usize>>,
    by_mention: HashMap<String, Vec<usize>>,
    /// Digits of commits that messages name, sorted, with who names them and how.
    named: BTreeMap<&'c str, Vec<(usize, How)>>,
}

/// The fewest digits that name a commit beyond doubt.
const SURE_DIGITS: usize = 12;

impl<'c> Field<'c> {
    /// Prepares them.
    pub fn of(all: &'c [Candidate]) -> Self {
        let mut field = Self {
            all,
            by_commit: HashMap::new(),
            by_patch: HashMap::new(),
            by_tree: HashMap::new(),
            by_author: HashMap::new(),
            by_change: HashMap::new(),
            by_pull: HashMap::new(),
            by_mention: HashMap::new(),
            named: BTreeMap::new(),
        };
        for (i, one) in all.iter().enumerate() {
            field.by_commit.insert(one.commit.as_str(), i);
            field.by_patch.entry(one.patch_id.as_deref().unwrap_or_default()).or_default().push(i);
            field.by_tree.entry(one.tree.as_str()).or_default().push(i);
            let (author, at) = &one.author;
            field.by_author.entry((author, *at, &one.subject)).or_default().push(i);
            for id in &one.signs.change_ids {
                field.by_change.entry(id).or_default().push(i);
            }
            field.by_pull.entry(&one.signs.pull).or_default().push(i);
            for mention in &one.signs.mentions {
                field.by_mention.entry(mention.incident.to_ascii_lowercase()).or_default().push(i);
            }
            for digits in &one.signs.picked_from {
                field.named.entry(digits).or_default().push((i, How::CherryPick));
            }
            for digits in &one.signs.squashed {
                field.named.entry(digits).or_default().push((i, How::SquashMessage));
            }
        }
        field.by_patch.remove("");
        field.by_pull.remove("");
        field
    }

    /// The matches of a commit, the surest first; of equal ones in the order of the candidates.
    pub fn matches(&self, wanted: &Wanted) -> Vec<Match> {
        let mut found: BTreeMap<usize, BTreeSet<How>> = BTreeMap::new();
        let mut add = |i: usize, how: How| {
            found.entry(i).or_default().insert(how);
        };
        for name in &wanted.recorded {
            if let Some(i) = self.by_commit.get(name.as_str()) {
                add(*i, How::Record);
            }
        }
        for name in std::iter::once(&wanted.commit).chain(&wanted.former) {
            for (i, how) in self.naming(name.as_str()) {
                add(i, how);
            }
        }
        let get = |map: &HashMap<&str, Vec<usize>>, key: &str| map.get(key).cloned().unwrap_or_default();
        if let Some(id) = &wanted.patch_id {
            for i in get(&self.by_patch, id) {
                add(i, How::PatchId);
            }
        }
        for id in wanted.branch_ids.iter().filter(|id| wanted.patch_id.as_ref() != Some(id)) {
            for i in get(&self.by_patch, id) {
                add(i, How::Squash);
            }
        }
        for id in &wanted.change_ids {
            for i in get(&self.by_change, id) {
                add(i, How::ChangeId);
            }
        }
        if let Some(tree) = &wanted.tree {
            // A tree alone is shared by every empty commit and every revert of a revert.
            let same = get(&self.by_tree, tree.as_str()).into_iter();
            for i in same.filter(|i| self.all[*i].subject == wanted.subject) {
                add(i, How::Tree);
            }
        }
        if let Some((author, at)) = &wanted.author
            && let Some(same) = self.by_author.get(&(author.as_str(), *at, wanted.subject.as_str()))
        {
            for i in same {
                add(*i, How::Author);
            }
        }
        for pull in &wanted.pulls {
            for i in get(&self.by_pull, pull) {
                add(i, How::PullRequest);
            }
        }
        for i in self.mentioning(wanted) {
            add(i, How::Trailer);
        }
        // The commit itself is no other name of itself.
        found.remove(&self.by_commit.get(wanted.commit.as_str()).copied().unwrap_or(usize::MAX));
        self.judge(&found)
    }

    /// Who names a commit, by all its digits or the first ones.
    fn naming(&self, name: &str) -> Vec<(usize, How)> {
        let from = name.get(..SURE_DIGITS).unwrap_or(name);
        let near = self.named.range::<&str, _>(&from..=&name);
        near.filter(|(digits, _)| name.starts_with(**digits)).flat_map(|(_, who)| who.clone()).collect()
    }

    /// Who names the incident, and the attempt if the link has one, in trailers.
    fn mentioning<'s>(&'s self, wanted: &'s Wanted) -> impl Iterator<Item = usize> + 's {
        let called = |text: &str| {
            let text = text.to_ascii_lowercase();
            wanted.incident.iter().any(|name| {
                let name = name.to_ascii_lowercase();
                name == text || is_prefix(&text, &name)
            })
        };
        let attempted = |attempts: &[String]| match &wanted.attempt {
            Some(attempt) => attempts.iter().any(|a| is_prefix(a, attempt)),
            None => attempts.is_empty(),
        };
        let mut all: Vec<usize> = self
            .by_mention
            .iter()
            .filter(|(text, _)| called(text))
            .flat_map(|(_, who)| who.clone())
            .collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter().filter(move |i| {
            self.all[*i].signs.mentions.iter().any(|m| called(&m.incident) && attempted(&m.attempts))
        })
    }

    /// How sure each is, beside the others.
    fn judge(&self, found: &BTreeMap<usize, BTreeSet<How>>) -> Vec<Match> {
        let having = |how: How| found.values().filter(|h| h.contains(&how)).count();
        let counts: BTreeMap<How, usize> = found.values().flatten().map(|how| (*how, having(*how))).collect();
        let alone = |how: How| counts.get(&how) == Some(&1);
        let mut all: Vec<(usize, Match)> = found
            .iter()
            .map(|(i, hows)| {
                // Of several with the same change, no other sign tells which it is but a name.
                let doubtful = hows.iter().any(|h| h.is_proof() && !alone(*h));
                let strong = hows.iter().any(|h| h.is_proof() && alone(*h));
                let pair = |a, b| hows.contains(&a) && hows.contains(&b) && alone(a);
                // A squash has another author and subject; its own trailers and number tell.
                let together = pair(How::Author, How::Trailer) || pair(How::PullRequest, How::Trailer);
                let sure = if hows.iter().any(|h| h.names_it()) || !doubtful && (strong || together) {
                    Sure::Certain
                } else if doubtful || hows.iter().any(|h| alone(*h) && *h != How::Trailer) {
                    Sure::Likely
                } else {
                    Sure::Possible
                };
                let commit = self.all[*i].commit.clone();
                (*i, Match { commit, how: hows.iter().copied().collect(), sure })
            })
            .collect();
        // An attempt has many commits: that one of them names it says nothing when the link itself was found.
        let best = all.iter().map(|(_, m)| m.sure).max();
        all.retain(|(_, m)| m.how != [How::Trailer] || best < Some(Sure::Likely));
        all.sort_by(|(i, a), (j, b)| (b.sure, &a.how, i).cmp(&(a.sure, &b.how, j)));
        all.into_iter().map(|(_, m)| m).collect()
    }
}

/// Whether digits that a person wrote are the first of a name.
pub fn is_prefix(digits: &str, name: &str) -> bool {
    digits.len() >= 7 && name.starts_with(digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::message::signs;
    use proptest::prelude::*;

    fn oid(n: usize) -> Oid {
        Oid::parse(&format!("{n:040x}")).unwrap()
    }

    fn candidate(n: usize, patch: &str, message: &str) -> Candidate {
        Candidate {
            commit: oid(n),
            tree: oid(n + 1000),
            subject: message.lines().next().unwrap_or_default().to_owned(),
            author: ("Ada <a@example.org>".into(), n as i64),
            signs: signs(message),
            patch_id: (!patch.is_empty()).then(|| patch.to_owned()),
        }
    }

    fn wanted() -> Wanted {
        Wanted {
            commit: oid(1),
            former: vec![],
            recorded: vec![],
            patch_id: Some("p".into()),
            branch_ids: vec!["b".into()],
            tree: Some(oid(77)),
            subject: "Fix".into(),
            author: Some(("Ada <a@example.org>".into(), 5)),
            change_ids: vec![],
            pulls: vec!["#4".into()],
            incident: vec![oid(500).as_str().to_owned(), "GPU-1".into()],
            attempt: Some("ab".repeat(32)),
        }
    }

    fn of(wanted: &Wanted, candidates: &[Candidate]) -> Vec<(usize, String, Sure)> {
        let found = Field::of(candidates).matches(wanted).into_iter();
        let place = |commit: &Oid| candidates.iter().position(|c| c.commit == *commit).unwrap();
        found
            .map(|m| {
                let how: Vec<&str> = m.how.iter().map(|h| h.as_str()).collect();
                (place(&m.commit), how.join(" "), m.sure)
            })
            .collect()
    }

    #[test]
    fn one_equal_patch_is_proof_and_two_are_proposals() {
        let (a, b) = (candidate(10, "p", "Fix"), candidate(11, "p", "Fix again"));
        assert_eq!(of(&wanted(), std::slice::from_ref(&a)), [(0, "patch-id".into(), Sure::Certain)]);
        let both = of(&wanted(), &[a.clone(), b]);
        assert!(both.len() == 2 && both.iter().all(|(_, _, sure)| *sure == Sure::Likely), "{both:?}");
        // One of them says that it is the one.
        let named = candidate(12, "p", &format!("Fix\n\n(cherry picked from commit {})\n", oid(1)));
        let found = of(&wanted(), &[a, named]);
        assert_eq!(found[0], (1, "cherry-pick patch-id".into(), Sure::Certain));
        assert_eq!(found[1].2, Sure::Likely);
        assert_eq!(of(&wanted(), &[candidate(1, "p", "itself"), candidate(9, "q", "other")]), []);
    }

    #[test]
    fn weak_signs_propose_and_two_of_them_prove() {
        let mut author = candidate(5, "q", "Fix");
        assert_eq!(of(&wanted(), std::slice::from_ref(&author)), [(0, "author".into(), Sure::Likely)]);
        let trailers = format!("Fix\n\nIncident: gpu-1\nAttempt: {}\n", &"ab".repeat(6));
        author.signs = signs(&trailers);
        assert_eq!(of(&wanted(), &[author]), [(0, "author trailer".into(), Sure::Certain)]);
        let only = candidate(30, "r", &format!("Other\n\n{}", &trailers[5..]));
        assert_eq!(of(&wanted(), &[only]), [(0, "trailer".into(), Sure::Possible)]);
        let pull = candidate(31, "r", "All of it (#4)");
        assert_eq!(of(&wanted(), std::slice::from_ref(&pull)), [(0, "pr".into(), Sure::Likely)]);
        let whole = candidate(32, "r", &format!("All of it (#4)\n\n{}", &trailers[5..]));
        assert_eq!(of(&wanted(), &[whole]), [(0, "trailer pr".into(), Sure::Certain)]);
        let another = candidate(33, "r", "Fix\n\nIncident: GPU-1\nAttempt: cdcdcdcdcdcd\n");
        assert_eq!(of(&wanted(), &[another]), []);
    }

    #[test]
    fn trees_squashes_and_records() {
        let mut same = candidate(40, "", "Fix");
        same.tree = oid(77);
        let mut empty = candidate(41, "", "Something else");
        empty.tree = oid(77);
        assert_eq!(of(&wanted(), &[same, empty]), [(0, "tree".into(), Sure::Certain)]);
        assert_eq!(of(&wanted(), &[candidate(42, "b", "All")]), [(0, "squash".into(), Sure::Certain)]);
        let mut recorded = wanted();
        recorded.recorded = vec![oid(43)];
        assert_eq!(of(&recorded, &[candidate(43, "z", "z")]), [(0, "record".into(), Sure::Certain)]);
        let listed = candidate(44, "z", &format!("Squashed commit of the following:\n\ncommit {}\n", oid(1)));
        assert_eq!(of(&wanted(), &[listed]), [(0, "squash-message".into(), Sure::Certain)]);
    }

    proptest! {
        #[test]
        fn the_order_of_the_candidates_changes_no_answer(seed in prop::collection::vec((0_usize..4, 0_usize..6), 0..8)) {
            let patches = ["p", "q", "", "b"];
            let messages = ["Fix", "Other", "x (#4)", "Fix\n\nIncident: GPU-1\n", "y\n\n(cherry picked from commit 0000000000000000000000000000000000000001)\n", "Fix\n\nIncident: gpu-1\nAttempt: abababababab\n"];
            let all: Vec<Candidate> =
                seed.iter().enumerate().map(|(n, (p, m))| candidate(n + 5, patches[*p], messages[*m])).collect();
            let sorted = |all: &[Candidate]| {
                let mut found: Vec<(Oid, Vec<How>, Sure)> =
                    Field::of(all).matches(&wanted()).into_iter().map(|m| (m.commit, m.how, m.sure)).collect();
                found.sort();
                found
            };
            let mut mirrored = all.clone();
            mirrored.reverse();
            prop_assert_eq!(sorted(&all), sorted(&mirrored));
            // A patch that several have proves nothing.
            for (commit, how, sure) in sorted(&all) {
                let several = all.iter().filter(|c| c.patch_id.as_deref() == Some("p")).count() > 1;
                let of_p = all.iter().any(|c| c.commit == commit && c.patch_id.as_deref() == Some("p"));
                let named = how.contains(&How::CherryPick);
                prop_assert!(!(several && of_p && sure == Sure::Certain && !named));
            }
        }
    }
}
