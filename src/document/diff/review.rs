//! From two texts to the changes between them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::align::{self, Alignment};
use super::facts::{Category, Fact, FactChange};
use super::units::{Form, Unit};
use super::{Change, Kind, Review, Side, actions, claims, evidence, facts, units, words};
use crate::document::page::Page;

/// What is longer, in bytes, is no sentence that anybody wrote: it is compared as a whole, without a look at its facts.
const LONGEST: usize = 4_000;

/// Sentences shorter than this are not followed when they move: "None." stands anywhere.
const WORDS_TO_FOLLOW: usize = 4;

/// One version, read.
struct Version<'a> {
    page: Page<'a>,
    units: Vec<Unit>,
    /// For each section the one that decides whether its statements are claims: itself, or the block around it.
    blocks: Vec<usize>,
}

impl<'a> Version<'a> {
    fn of(text: &'a str) -> Self {
        let page = Page::parse(text);
        let units = units::of(&page);
        let mut blocks = Vec::with_capacity(page.sections.len());
        for (at, section) in page.sections.iter().enumerate() {
            // Below a heading of the second level all belongs to it.
            let outer = blocks.last().copied().unwrap_or(0);
            blocks.push(if section.level <= 2 { at } else { outer });
        }
        Self { page, units, blocks }
    }

    fn title(&self, section: usize) -> &str {
        &self.page.sections[section].title
    }

    fn block(&self, section: usize) -> usize {
        self.blocks[section]
    }

    /// The facts of a unit; none of a line of code, and none of what is too long to be a sentence.
    fn facts(&self, unit: usize) -> Vec<Fact> {
        let unit = &self.units[unit];
        if unit.form == Form::Code || unit.text.len() > LONGEST {
            Vec::new()
        } else {
            facts::of(&unit.text, &unit.code)
        }
    }

    fn side(&self, unit: usize) -> Side {
        Side { text: self.units[unit].text.clone(), place: self.units[unit].place }
    }
}

/// Compares two versions of a document.
pub fn compare(old: &str, new: &str) -> Review {
    if old == new {
        return Review::default();
    }
    let mut comparison = Comparison {
        old: Version::of(old),
        new: Version::of(new),
        fresh: HashSet::new(),
        review: Review { differs: true, ..Review::default() },
        replaced: HashSet::new(),
        matched: HashSet::new(),
    };
    comparison.run();
    let mut review = comparison.review;
    review.changes.sort_by_key(|c| {
        let line = |side: &Option<Side>| side.as_ref().map(|s| s.place);
        (c.kind, line(&c.new).or(line(&c.old)))
    });
    review
}

struct Comparison<'a> {
    old: Version<'a>,
    new: Version<'a>,
    /// The blocks of the new version that hold evidence which the old version has nowhere.
    fresh: HashSet<usize>,
    review: Review,
    /// Names that an aligned sentence replaced by others.
    replaced: HashSet<String>,
    /// Old units that stand unchanged in the new version.
    matched: HashSet<usize>,
}

impl Comparison<'_> {
    fn run(&mut self) {
        let old_evidence = evidence::of(&self.old.page, &self.old.units);
        let new_evidence = evidence::of(&self.new.page, &self.new.units);
        self.fresh = new_evidence
            .iter()
            .filter(|(key, _)| !old_evidence.contains_key(*key))
            .map(|(_, piece)| self.new.block(self.new.units[piece.unit].section))
            .collect();
        let sections = align::sections(&self.old.page, &self.new.page);
        let mut all = self.align(&sections);
        let moved = self.moved(&mut all);
        let covered = self.action_items();
        for (old, new, equal) in &all.pairs {
            if *equal {
                self.matched.insert(*old);
            } else {
                self.pair(*old, *new, &covered);
            }
        }
        self.matched.extend(moved.iter().map(|(old, _)| *old));
        for old in &all.removed {
            self.removed(*old, &covered);
        }
        for new in &all.added {
            self.added(*new, &covered);
        }
        self.sections(&sections, &all);
        self.raw_html();
        self.evidence_removed(&old_evidence, &new_evidence);
        self.comments();
    }

    fn align(&mut self, sections: &align::Sections) -> Alignment {
        let by_section = |version: &Version| {
            let mut lists: Vec<Vec<usize>> = vec![Vec::new(); version.page.sections.len()];
            for (at, unit) in version.units.iter().enumerate() {
                lists[unit.section].push(at);
            }
            lists
        };
        let (olds, news) = (by_section(&self.old), by_section(&self.new));
        let mut all = Alignment::default();
        for (old, new) in &sections.pairs {
            let part = align::units(&self.old.units, &olds[*old], &self.new.units, &news[*new]);
            for (before, after) in &part.too_large {
                self.review.unaligned.push(format!(
                    "in \"{}\", {before} old and {after} new sentences changed together, too many to pair: each is shown as removed or added",
                    self.new.title(*new)
                ));
            }
            all.pairs.extend(part.pairs);
            all.removed.extend(part.removed);
            all.added.extend(part.added);
        }
        all.removed.extend(sections.removed.iter().flat_map(|at| &olds[*at]));
        all.added.extend(sections.added.iter().flat_map(|at| &news[*at]));
        all
    }

    /// Takes sentences that stand word by word elsewhere out of the removed and added ones, and tells of them.
    fn moved(&mut self, all: &mut Alignment) -> Vec<(usize, usize)> {
        let mut waiting: HashMap<(&str, Form), Vec<usize>> = HashMap::new();
        for at in all.removed.iter().rev() {
            let unit = &self.old.units[*at];
            if unit.form != Form::Code && unit.text.split(' ').count() >= WORDS_TO_FOLLOW {
                waiting.entry((&unit.key, unit.form)).or_default().push(*at);
            }
        }
        let mut pairs = Vec::new();
        all.added.retain(|new| {
            let unit = &self.new.units[*new];
            match waiting.get_mut(&(unit.key.as_str(), unit.form)).and_then(Vec::pop) {
                Some(old) => {
                    pairs.push((old, *new));
                    false
                }
                None => true,
            }
        });
        let gone: HashSet<usize> = pairs.iter().map(|p| p.0).collect();
        all.removed.retain(|at| !gone.contains(at));
        for (old, new) in &pairs {
            let from = self.old.title(self.old.units[*old].section).to_owned();
            let to = self.new.title(self.new.units[*new].section).to_owned();
            let message = if from == to {
                "moved within the section".to_owned()
            } else {
                format!("moved here from \"{from}\"")
            };
            self.push(Kind::Prose, *new, message, Some(*old), Some(*new));
        }
        pairs
    }

    fn push(&mut self, kind: Kind, at_new: usize, message: String, old: Option<usize>, new: Option<usize>) {
        let section = match (new, old) {
            (Some(_), _) => self.new.title(self.new.units[at_new].section),
            (None, Some(old)) => self.old.title(self.old.units[old].section),
            (None, None) => "",
        };
        let section = section.to_owned();
        let old = old.map(|at| self.old.side(at));
        let new = new.map(|at| self.new.side(at));
        let words = match (&old, &new) {
            (Some(old), Some(new)) if old.text != new.text => words::compare(&old.text, &new.text),
            _ => Vec::new(),
        };
        self.review.changes.push(Change { kind, section, message, old, new, words });
    }

    /// Tells what became of the action items, and returns the lines of both sides that it told of.
    fn action_items(&mut self) -> [HashSet<usize>; 2] {
        let mut changes =
            actions::compare((&self.old.page, &self.old.units), (&self.new.page, &self.new.units));
        for change in &mut changes {
            if let (Some(old), Some(new)) = (&change.old, &change.new)
                && old.text != new.text
            {
                change.words = words::compare(&old.text, &new.text);
            }
        }
        let lines = |side: fn(&Change) -> &Option<Side>| -> HashSet<usize> {
            changes.iter().filter_map(|c| side(c).as_ref().map(|s| s.place.line)).collect()
        };
        let covered = [lines(|c| &c.old), lines(|c| &c.new)];
        self.review.changes.extend(changes);
        covered
    }

    fn pair(&mut self, old: usize, new: usize, covered: &[HashSet<usize>; 2]) {
        let (before, after) = (&self.old.units[old], &self.new.units[new]);
        let block = self.new.block(after.section);
        let title = self.new.title(block).to_owned();
        if covered[0].contains(&before.place.line) && covered[1].contains(&after.place.line) {
            return;
        }
        let (old_facts, new_facts) = (self.old.facts(old), self.new.facts(new));
        let mut differences = facts::changes(&old_facts, &new_facts);
        for difference in &differences {
            if let FactChange {
                category: Category::Commit | Category::Identifier,
                old: Some(fact),
                new: Some(_),
            } = difference
            {
                self.replaced.insert(format!("name {}", fact.value.to_lowercase()));
            }
        }
        // One link for another is told with the sentence.
        if before.links.len() == after.links.len() {
            let gone = before.links.iter().filter(|link| !after.links.contains(link));
            self.replaced.extend(gone.map(|link| format!("link {link}")));
        }
        let mut why = Vec::new();
        if before.form != Form::Code && claims::claims(&title) {
            why = claims::widened(&title, &before.text, &old_facts, &after.text, &new_facts);
        }
        let mut messages: Vec<String> = Vec::new();
        match (before.task, after.task) {
            (Some(false) | None, Some(true)) if claims::validates(&title) => {
                why.push("the box is ticked".to_owned());
            }
            (a, b) if a != b => messages.push(
                match b {
                    Some(true) => "ticked",
                    Some(false) => "not ticked any more",
                    None => "no task any more",
                }
                .to_owned(),
            ),
            _ => {}
        }
        if before.links != after.links {
            let shown =
                |links: &[String]| if links.is_empty() { "none".to_owned() } else { links.join(", ") };
            messages.push(format!("link: {} → {}", shown(&before.links), shown(&after.links)));
        }
        if before.form == Form::Row && after.form == Form::Row && claims::validates(&title) {
            // The head of a table says what is counted; a cell that counts more claims more.
            let raised = |d: &&FactChange| match (&d.old, &d.new) {
                (Some(a), Some(b)) => a.unit.is_empty() && a.number() < b.number(),
                _ => false,
            };
            why.extend(differences.iter().filter(raised).map(FactChange::to_text));
        }
        if before.leaf == usize::MAX && after.leaf == usize::MAX {
            differences.clear();
            messages.extend(front_matter(&before.text, &after.text));
        }
        messages.extend(differences.iter().map(FactChange::to_text));
        let kind = if why.is_empty() {
            if messages.is_empty() { Kind::Prose } else { Kind::FactChanged }
        } else if self.fresh.contains(&block) {
            Kind::ClaimSupported
        } else {
            Kind::ClaimWidened
        };
        // "H100 is new" has said "added device H100".
        let said = |m: &String| {
            why.contains(m) || m.rsplit(' ').next().is_some_and(|w| why.contains(&format!("{w} is new")))
        };
        messages.retain(|m| !said(m));
        why.extend(messages);
        let message = why.join("; ");
        self.push(kind, new, message, Some(old), Some(new));
    }

    fn removed(&mut self, old: usize, covered: &[HashSet<usize>; 2]) {
        let unit = &self.old.units[old];
        let block = self.old.block(unit.section);
        let title = self.old.title(block).to_owned();
        if covered[0].contains(&unit.place.line) {
            return;
        }
        if unit.form != Form::Code && claims::claims(&title) && claims::limits(&unit.text) {
            let fresh =
                self.fresh.iter().any(|at| crate::document::page::same_title(self.new.title(*at), &title));
            let kind = if fresh { Kind::ClaimSupported } else { Kind::ClaimWidened };
            self.push(kind, 0, "a stated limit is gone".to_owned(), Some(old), None);
        } else {
            self.push(Kind::Prose, 0, "removed".to_owned(), Some(old), None);
        }
    }

    fn added(&mut self, new: usize, covered: &[HashSet<usize>; 2]) {
        let unit = &self.new.units[new];
        if covered[1].contains(&unit.place.line) {
            return;
        }
        let block = self.new.block(unit.section);
        let title = self.new.title(block).to_owned();
        let why = if unit.form == Form::Code { Vec::new() } else { claims::added(&title, &unit.text) };
        let (kind, message) = if why.is_empty() {
            (Kind::Prose, "added".to_owned())
        } else if self.fresh.contains(&block) {
            (Kind::ClaimSupported, why.join("; "))
        } else {
            (Kind::ClaimWidened, why.join("; "))
        };
        self.push(kind, new, message, None, Some(new));
    }

    fn sections(&mut self, sections: &align::Sections, all: &Alignment) {
        let mut edited: BTreeSet<usize> = BTreeSet::new();
        edited.extend(all.pairs.iter().filter(|p| !p.2).map(|p| self.new.units[p.1].section));
        edited.extend(all.added.iter().map(|at| self.new.units[*at].section));
        let mut say = |message: String, old: Option<usize>, new: Option<usize>| {
            let side = |version: &Version, at: usize| Side {
                text: version.title(at).to_owned(),
                place: version.page.lines.place(version.page.text, version.page.sections[at].heading.start),
            };
            let old = old.map(|at| side(&self.old, at));
            let new = new.map(|at| side(&self.new, at));
            let section = new.as_ref().or(old.as_ref()).map(|s| s.text.clone()).unwrap_or_default();
            self.review.changes.push(Change {
                kind: Kind::Section,
                section,
                message,
                old,
                new,
                words: Vec::new(),
            });
        };
        for at in &sections.removed {
            say("removed".to_owned(), Some(*at), None);
        }
        for at in &sections.added {
            say("added".to_owned(), None, Some(*at));
        }
        let moved: HashSet<usize> = sections.moved.iter().copied().collect();
        for (old, new) in &sections.pairs {
            let (before, after) = (&self.old.page.sections[*old], &self.new.page.sections[*new]);
            if before.title != after.title {
                say(format!("renamed: \"{}\" → \"{}\"", before.title, after.title), Some(*old), Some(*new));
            }
            if before.level != after.level && *new > 0 {
                say(format!("level {} → {}", before.level, after.level), Some(*old), Some(*new));
            }
            if moved.contains(new) {
                let word = if edited.contains(new) { "moved, and changed" } else { "moved, unchanged" };
                let after_what = new.checked_sub(1).map_or("", |at| self.new.title(at));
                let place = if after_what.is_empty() {
                    "to the top".to_owned()
                } else {
                    format!("after \"{after_what}\"")
                };
                say(format!("{word}: now {place}"), Some(*old), Some(*new));
            }
        }
    }

    fn evidence_removed(
        &mut self,
        old: &BTreeMap<String, evidence::Piece>,
        new: &BTreeMap<String, evidence::Piece>,
    ) {
        for (key, piece) in old.iter().filter(|(key, _)| !new.contains_key(*key)) {
            if self.replaced.contains(key) {
                continue;
            }
            if key.starts_with("block ") {
                let leaf = self.old.units[piece.unit].leaf;
                let lines =
                    (piece.unit..self.old.units.len()).take_while(|at| self.old.units[*at].leaf == leaf);
                let (mut all, mut kept) = (0_usize, 0_usize);
                for line in lines {
                    all += 1;
                    kept += usize::from(self.matched.contains(&line));
                }
                // Most of the output is still there: its changed lines are told as such.
                if kept * 2 >= all {
                    continue;
                }
            }
            let message = format!("{} not in the document any more", piece.shown);
            self.push(Kind::EvidenceRemoved, 0, message, Some(piece.unit), None);
        }
    }

    /// Raw HTML is no prose that could be aligned, but a forge may show its words.
    fn raw_html(&mut self) {
        let (before, after) = (units::raw_html(self.old.page.text), units::raw_html(self.new.page.text));
        if before != after {
            self.review
                .unaligned
                .push("raw HTML changed, which is not compared word by word: see git diff".to_owned());
        }
    }

    fn comments(&mut self) {
        let of = |version: &Version| -> Vec<(String, crate::document::page::Place)> {
            let page = &version.page;
            page.comments
                .iter()
                .map(|range| (page.comment(range).to_owned(), page.lines.place(page.text, range.start)))
                .collect()
        };
        let (before, mut after) = (of(&self.old), of(&self.new));
        let mut say = |message: &str, text: &str, place, new: bool| {
            let ours = text.starts_with("git-incident");
            let side = Side { text: format!("<!-- {text} -->"), place };
            let (old, new) = if new { (None, Some(side)) } else { (Some(side), None) };
            self.review.changes.push(Change {
                kind: if ours { Kind::FactChanged } else { Kind::Prose },
                section: String::new(),
                message: message.to_owned(),
                old,
                new,
                words: Vec::new(),
            });
        };
        for (text, place) in before {
            match after.iter().position(|(other, _)| *other == text) {
                Some(at) => {
                    after.remove(at);
                }
                None => say("comment removed", &text, place, false),
            }
        }
        for (text, place) in after {
            let switches_off = text.starts_with("git-incident") && text.contains("allow");
            say(
                if switches_off { "a check is switched off here" } else { "comment added" },
                &text,
                place,
                true,
            );
        }
    }
}

/// `status: open → resolved`, where a line of the front matter kept its key.
fn front_matter(old: &str, new: &str) -> Option<String> {
    let ((key, was), (same, is)) = (old.split_once(':')?, new.split_once(':')?);
    (key.trim() == same.trim()).then(|| format!("{}: {} → {}", key.trim(), was.trim(), is.trim()))
}
