//! What a commit's message says of other commits: which incidents and attempts it names, what it was picked from, what
//! it undoes, what it was squashed from, and its change in a forge or in Gerrit.
//!
//! Trailers count in every paragraph that is made of trailers, not only in the last one: `rebase`'s squash,
//! `merge --squash` and the forges put several messages one below the other, the middle ones' trailers included.

use crate::model::id::is_lower_hex;

/// The trailer that names an incident.
pub const INCIDENT: &str = "Incident";
/// The trailer that names an attempt.
pub const ATTEMPT: &str = "Attempt";

/// A message is read this far; trailers stand at the end of one that a person wrote.
const MOST_BYTES: usize = 1 << 20;

/// The fewest digits of a commit's name that are taken for one.
const FEWEST_DIGITS: usize = 7;

/// An incident that a message names, with the attempts named beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// Its id's first digits, or its ticket.
    pub incident: String,
    /// The first digits of attempts in the same paragraph.
    pub attempts: Vec<String>,
}

/// What a message says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Signs {
    /// Incidents, in the order in which they are named, each once.
    pub mentions: Vec<Mention>,
    /// Commits it was picked from: digits, the last one first.
    pub picked_from: Vec<String>,
    /// Commits it undoes: digits.
    pub reverts: Vec<String>,
    /// Pull requests it undoes: `#12` or `!12`.
    pub reverts_pull: Vec<String>,
    /// Commits it was squashed from: digits.
    pub squashed: Vec<String>,
    /// Gerrit's names of the change.
    pub change_ids: Vec<String>,
    /// The pull or merge request it came with: `#12` or `!12`.
    pub pull: String,
}

/// Reads a message. Total: whatever it holds.
pub fn signs(message: &str) -> Signs {
    let message = if message.len() > MOST_BYTES { cut(message) } else { message };
    let mut signs = Signs { pull: pull_request_of(message), ..Signs::default() };
    let mut squash = false;
    for (n, paragraph) in paragraphs(message).enumerate() {
        for (i, line) in paragraph.iter().enumerate() {
            let indented = line.starts_with([' ', '\t']);
            let line = line.trim();
            squash |= line == "Squashed commit of the following:";
            if let Some(digits) =
                line.strip_prefix("commit ").filter(|_| squash && i == 0 && !indented).and_then(digits)
            {
                signs.squashed.push(digits.to_owned());
            }
            if let Some(rest) = after(line, "(cherry picked from commit ") {
                signs.picked_from.extend(digits(rest).map(str::to_owned));
            }
            if let Some(rest) = after(line, "this reverts commit") {
                let mut text = rest.to_owned();
                for more in &paragraph[i + 1..] {
                    text.push(' ');
                    text.push_str(more.trim());
                }
                add_all(&mut signs.reverts, named_commits(&text));
            }
            add_all(&mut signs.reverts_pull, reverted_pull(line));
        }
        if n > 0 {
            trailers_of(&paragraph, &mut signs);
        }
    }
    signs.picked_from.reverse();
    signs
}

fn cut(message: &str) -> &str {
    let mut end = MOST_BYTES;
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    &message[..end]
}

fn add_all(to: &mut Vec<String>, from: impl IntoIterator<Item = String>) {
    for one in from {
        if !to.contains(&one) {
            to.push(one);
        }
    }
}

/// Lines between blank ones. Comments are gone from a commit's message, so `#` begins a line like any other.
fn paragraphs(message: &str) -> impl Iterator<Item = Vec<&str>> {
    let mut lines = message.lines().peekable();
    std::iter::from_fn(move || {
        while lines.next_if(|l| l.trim().is_empty()).is_some() {}
        let mut paragraph = Vec::new();
        while let Some(line) = lines.next_if(|l| !l.trim().is_empty()) {
            paragraph.push(line);
        }
        (!paragraph.is_empty()).then_some(paragraph)
    })
}

/// The trailers of a paragraph that is made of them; `merge --squash` indents them.
fn trailers_of(paragraph: &[&str], signs: &mut Signs) {
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let common = paragraph.iter().map(|l| indent(l)).min().unwrap_or_default();
    let mut found: Vec<(&str, String)> = Vec::new();
    for line in paragraph {
        let continues = indent(line) > common;
        let line = line.trim();
        match (trailer(line), found.last_mut()) {
            (_, Some((_, value))) if continues => {
                value.push(' ');
                value.push_str(line);
            }
            (Some((key, value)), _) if !continues => found.push((key, value.to_owned())),
            _ if line.starts_with("(cherry picked from commit ") => {}
            // One line of prose, and it is prose.
            _ => return,
        }
    }
    let of = |wanted: &str| -> Vec<String> {
        let same = found.iter().filter(|(key, value)| key.eq_ignore_ascii_case(wanted) && !value.is_empty());
        same.map(|(_, value)| value.clone()).collect()
    };
    let attempts = of(ATTEMPT);
    for incident in of(INCIDENT) {
        match signs.mentions.iter_mut().find(|m| m.incident == incident) {
            Some(known) => add_all(&mut known.attempts, attempts.iter().cloned()),
            None => signs.mentions.push(Mention { incident, attempts: attempts.clone() }),
        }
    }
    add_all(&mut signs.change_ids, of("Change-Id").into_iter().filter(|id| is_change_id(id)));
}

/// `Key: value`, the key as git wants it: letters, digits and `-`.
fn trailer(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let key = key.trim_end();
    let plain = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    plain.then(|| (key, value.trim()))
}

fn is_change_id(value: &str) -> bool {
    value.strip_prefix('I').is_some_and(|digits| digits.len() == 40 && is_lower_hex(digits))
}

/// What follows a phrase at the start of a line, however it is written.
fn after<'l>(line: &'l str, phrase: &str) -> Option<&'l str> {
    let start = line.get(..phrase.len())?;
    start.eq_ignore_ascii_case(phrase).then(|| &line[phrase.len()..])
}

/// The digits at the start of a text, if they can name a commit.
fn digits(text: &str) -> Option<&str> {
    let end = text.bytes().take_while(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')).count();
    (FEWEST_DIGITS..=64).contains(&end).then(|| &text[..end])
}

/// The commits of `… commit A.`, `… commits A, B and C.` and `… commit A, reversing changes made to B.`
fn named_commits(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let text = text.strip_prefix(['s', 'S']).unwrap_or(text);
    for word in text.split_whitespace().take(2000) {
        let bare = word.trim_end_matches(['.', ',', ';', ')']);
        match digits(bare) {
            Some(all) if all.len() == bare.len() => found.push(all.to_owned()),
            _ if bare.eq_ignore_ascii_case("and") || bare == "&" || bare.is_empty() => continue,
            _ => break,
        }
        if word.ends_with('.') {
            break;
        }
    }
    found
}

/// The pull request of `Reverts #12`, `Reverts owner/name#12`, `This reverts merge request !12`.
fn reverted_pull(line: &str) -> Option<String> {
    let rest = after(line, "reverts ").or_else(|| after(line, "this reverts merge request "))?;
    let at = rest.find(['#', '!'])?;
    let repository = &rest[..at];
    let plain = repository.bytes().all(|b| b.is_ascii_alphanumeric() || b"/-_.".contains(&b));
    let number = number(&rest[at + 1..])?;
    plain.then(|| format!("{}{number}", &rest[at..=at]))
}

fn number(text: &str) -> Option<&str> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    (1..=12).contains(&end).then(|| &text[..end])
}

/// The pull request a forge wrote into a message: `Fix it (#123)`, `Merge pull request #123 from …`,
/// `Merged in topic (pull request #123)`, and GitLab's `Fix it (!12)` and `See merge request group/name!12`.
pub fn pull_request_of(message: &str) -> String {
    let subject = message.lines().next().unwrap_or_default().trim_end();
    if let Some(number) = subject.strip_prefix("Merge pull request #").and_then(number) {
        return format!("#{number}");
    }
    for (start, sign) in [("(#", '#'), ("(!", '!'), ("(pull request #", '#')] {
        if let Some(at) = subject.rfind(start)
            && let rest = &subject[at + start.len()..]
            && let Some(found) = number(rest)
            && &rest[found.len()..] == ")"
        {
            return format!("{sign}{found}");
        }
    }
    let merge = message.lines().rev().take(40).find_map(|line| {
        let place = line.trim().strip_prefix("See merge request ")?;
        number(&place[place.find('!')? + 1..])
    });
    merge.map_or_else(String::new, |number| format!("!{number}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const A: &str = "1111111111111111111111111111111111111111";
    const B: &str = "2222222222222222222222222222222222222222";

    #[test]
    fn finds_the_number_a_forge_wrote() {
        for (message, wanted) in [
            ("Fix softmax (#123)", "#123"),
            ("Fix softmax (#123)\n\nbody", "#123"),
            ("Merge pull request #7 from a/b", "#7"),
            ("Merged in topic (pull request #9)", "#9"),
            ("Fix (#12) for real", ""),
            ("Fix (#)", ""),
            ("Fix it (!12)", "!12"),
            ("Merge branch 'a' into 'b'\n\nFix\n\nSee merge request group/name!45\n", "!45"),
        ] {
            assert_eq!(pull_request_of(message), wanted, "{message}");
        }
    }

    #[test]
    fn every_paragraph_of_trailers_counts_and_prose_does_not() {
        let message = format!(
            "Fix (#4)\n\n* first\n\nIncident: GPU-1\nAttempt: aaaaaaaaaaaa\n\n* second\n\nIncident: GPU-2\n\
             Co-authored-by: B <b@example.org>\nincident: GPU-1\n\nWhat is\nIncident: prose\n\n\
             Change-Id: I{A}\n(cherry picked from commit {B})\n"
        );
        let signs = signs(&message);
        let named: Vec<_> = signs.mentions.iter().map(|m| m.incident.as_str()).collect();
        assert_eq!(named, ["GPU-1", "GPU-2"]);
        assert_eq!(signs.mentions[0].attempts, ["aaaaaaaaaaaa"]);
        assert_eq!(signs.change_ids, [format!("I{A}")]);
        assert_eq!(signs.picked_from, [B]);
        assert_eq!(super::signs("Incident: GPU-1\n").mentions, []);
    }

    #[test]
    fn a_squash_message_names_its_commits() {
        let message = format!(
            "Squashed commit of the following:\n\ncommit {A}\nAuthor: Ada <a@example.org>\nDate:   now\n\n    Second\n    \
             \n    Incident: 1234567\n    Attempt: 7654321\n\ncommit {B}\nAuthor: Ada\n\n    First\n\n    commit {A} is no line of git's\n"
        );
        let signs = signs(&message);
        assert_eq!(signs.squashed, [A, B]);
        assert_eq!(
            signs.mentions,
            [Mention { incident: "1234567".into(), attempts: vec!["7654321".into()] }]
        );
    }

    #[test]
    fn reverts_of_every_wording() {
        let of = |message: &str| signs(message).reverts;
        assert_eq!(of(&format!("Revert \"x\"\n\nThis reverts commit {A}.\n")), [A]);
        assert_eq!(of(&format!("x\n\nThis reverts commit {A}, reversing\nchanges made to {B}.\n")), [A]);
        assert_eq!(of(&format!("x\n\nThis reverts commit {A}.\nThis reverts commit {B}.\n")), [A, B]);
        assert_eq!(of(&format!("x\n\nThis reverts commits {A},\n{B} and 1234567.\n")), [A, B, "1234567"]);
        assert_eq!(of(&format!("x\n\nwe do not say: This reverts commit {A}.\n")), Vec::<String>::new());
        assert_eq!(of("x\n\nThis reverts commit to the plan.\n"), Vec::<String>::new());
        assert_eq!(signs("Revert \"x\" (#9)\n\nReverts owner/name#8\n").reverts_pull, ["#8"]);
        assert_eq!(signs("x\n\nThis reverts merge request !8\n").reverts_pull, ["!8"]);
    }

    proptest! {
        #[test]
        fn never_panics(text in "(?s).{0,400}", at in 0_usize..6) {
            let phrases = ["This reverts commit ", "(cherry picked from commit ", "commit ", "Incident: ", "See merge request ", "("];
            let _ = signs(&format!("s\n\n{}{text}", phrases[at]));
            let _ = signs(&text);
        }
    }
}
