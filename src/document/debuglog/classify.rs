//! What headings and labels mean: the words people use for the parts of a debug log.

/// A labelled part of an incident or an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Status,
    Ticket,
    /// Names a ticket or tells the symptom, as its text shows.
    Issue,
    Symptom,
    Environment,
    Files,
    RootCause,
    Fix,
    Hypothesis,
    Disproof,
    Action,
    Result,
    Conclusion,
    Outcome,
}

impl Field {
    /// The part of an incident this label names.
    pub(super) fn of_head(label: &str) -> Option<Self> {
        Some(match fold(label).as_str() {
            "status" | "state" | "current status" => Self::Status,
            "ticket" | "tickets" | "tracking issue" | "jira" | "github issue" | "bug id" => Self::Ticket,
            "issue" => Self::Issue,
            "symptom" | "symptoms" | "problem" | "problem statement" | "description" | "error" => {
                Self::Symptom
            }
            "environment" | "env" | "setup" | "platform" | "system" | "versions" => Self::Environment,
            "related files" | "relevant files" | "files" | "key files" => Self::Files,
            "root cause" | "cause" | "the cause" | "root cause analysis" => Self::RootCause,
            "fix" | "the fix" | "final fix" | "resolution" | "solution" => Self::Fix,
            _ => return None,
        })
    }

    /// The part of an attempt this label names.
    pub(super) fn of_attempt(label: &str) -> Option<Self> {
        let folded = fold(label);
        Some(match folded.as_str() {
            "hypothesis" | "theory" | "idea" | "why" | "rationale" | "expectation" => Self::Hypothesis,
            "what would disprove it" | "disproof" | "disproved if" | "falsified if" | "prediction" => {
                Self::Disproof
            }
            "what we did" | "what you did" | "what i did" | "what was done" | "what was tried"
            | "what we tried" | "what i tried" | "action" | "actions" | "steps" | "change" | "changes"
            | "method" | "procedure" | "tried" | "experiment" | "test" => Self::Action,
            "result" | "results" | "observed" | "observation" | "observations" | "output"
            | "what happened" | "actual" => Self::Result,
            "conclusion" | "conclusions" | "takeaway" | "takeaways" | "learned" | "what we learned"
            | "what this tells us" | "lesson" | "analysis" | "interpretation" => Self::Conclusion,
            "outcome" | "verdict" => Self::Outcome,
            _ => return None,
        })
    }
}

/// What a heading opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Heading {
    /// An attempt; without a number it gets the next one.
    Attempt { ordinal: Option<u32>, title: String },
    /// The table of differences; the rest names the two cases.
    Differences(String),
    /// The list of next steps.
    Next,
    /// A heading whose only use is to stand above the attempts.
    Group,
    /// A part of the incident.
    Head(Field),
    /// A part of an attempt.
    Attempted(Field),
    /// A template's `<placeholder>`.
    Placeholder,
    /// Anything else, such as the title of an incident.
    Other,
}

/// Whether a heading with this text would not be read as a plain title.
pub(super) fn is_special_heading(text: &str) -> bool {
    heading(text) != Heading::Other
}

/// A title as it must be written so that it is read as a title.
pub(super) fn escape_title(title: &str) -> String {
    if is_special_heading(title.trim_start_matches('\\')) { format!("\\{title}") } else { title.to_owned() }
}

/// Reads what [`escape_title`] wrote.
pub(super) fn unescape_title(title: &str) -> &str {
    match title.strip_prefix('\\') {
        Some(rest) if is_special_heading(title.trim_start_matches('\\')) => rest,
        _ => title,
    }
}

/// Reads a heading's text.
pub(super) fn heading(text: &str) -> Heading {
    let text = text.trim_matches([' ', '\t']);
    if text.len() > 1 && text.starts_with('<') && text.ends_with('>') {
        return Heading::Placeholder;
    }
    let text = undecorated(text);
    let text = numbered(text).map_or(text, |(_, rest)| undecorated(rest));
    if let Some(attempt) = attempt(text) {
        return attempt;
    }
    if let Some(rest) = ["key differences", "key difference", "differences"]
        .iter()
        .find_map(|word| strip_word(text, word))
        .filter(|rest| rest.is_empty() || rest.starts_with([':', '(', '\u{2014}', '\u{2013}', '-']))
    {
        return Heading::Differences(cases(rest));
    }
    let folded = fold(text);
    match folded.as_str() {
        "what to try next" | "next steps" | "next step" | "next" | "to try" | "things to try" | "ideas"
        | "todo" | "to do" | "what's next" | "what next" | "open ideas" | "ideas to try"
        | "remaining ideas" => Heading::Next,
        "attempts" | "attempt log" | "investigation" | "investigation log" | "debug log"
        | "debugging log" | "what we tried" | "what was tried" | "what i tried" | "experiments" | "log"
        | "tried so far" => Heading::Group,
        _ => Field::of_head(&folded)
            .map(Heading::Head)
            .or_else(|| Field::of_attempt(&folded).map(Heading::Attempted))
            .unwrap_or(Heading::Other),
    }
}

fn attempt(text: &str) -> Option<Heading> {
    let (strict, rest) = match strip_word(text, "attempt") {
        Some(rest) => (false, rest),
        None => (true, ["try", "trial", "experiment"].iter().find_map(|word| strip_word(text, word))?),
    };
    let number = rest.strip_prefix('#').unwrap_or(rest).trim_start_matches([' ', '\t']);
    let after = number.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = &number[..number.len() - after.len()];
    if digits.is_empty() {
        let title = separated(rest)?;
        return (!strict && !title.is_empty())
            .then(|| Heading::Attempt { ordinal: None, title: title.to_owned() });
    }
    let title = if after.starts_with(char::is_alphanumeric) {
        // "Attempt 2b": the letter stays visible, the ordinal is the number.
        if strict {
            return None;
        }
        number
    } else {
        let after = after.trim_start_matches([' ', '\t']);
        separated(after).unwrap_or(after)
    };
    Some(Heading::Attempt { ordinal: Some(digits.parse().unwrap_or(u32::MAX)), title: title.to_owned() })
}

/// What follows one separator, if the text starts with one.
pub(super) fn separated(text: &str) -> Option<&str> {
    let rest = text
        .strip_prefix("--")
        .or_else(|| text.strip_prefix([':', '-', '\u{2013}', '\u{2014}', '.', ')']))?;
    Some(rest.trim_start_matches([' ', '\t']))
}

/// Splits `3. text` or `3) text`.
pub(super) fn numbered(text: &str) -> Option<(u32, &str)> {
    let after = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = text[..text.len() - after.len()].parse().ok()?;
    let rest = after.strip_prefix(['.', ')', ':'])?;
    rest.starts_with(' ').then(|| (number, rest.trim_start_matches(' ')))
}

/// What follows the word (lower-case ASCII) at the start of the text, whatever its case.
fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let head = text.get(..word.len())?;
    let rest = &text[word.len()..];
    (head.eq_ignore_ascii_case(word) && !rest.starts_with(char::is_alphanumeric))
        .then(|| rest.trim_matches([' ', '\t']))
}

/// The part of a heading of differences that names the cases.
fn cases(rest: &str) -> String {
    if let Some(named) = separated(rest) {
        return named.to_owned();
    }
    rest.strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'))
        .unwrap_or(rest)
        .trim_matches(' ')
        .to_owned()
}

/// The text without the emoji and emphasis before its first word. A backslash stops it.
fn undecorated(text: &str) -> &str {
    text.trim_start_matches(|c: char| " \t*_~`".contains(c) || !c.is_ascii() && !c.is_alphanumeric())
}

/// A label for comparison: lower-case, straight apostrophes, no emphasis, colon or trailing remark in
/// parentheses.
fn fold(label: &str) -> String {
    let label = undecorated(label);
    let label =
        if label.ends_with(')') { label.rsplit_once('(').map_or(label, |(head, _)| head) } else { label };
    let label = label.trim_end_matches([' ', '\t', '*', '_', ':', '`']);
    if label.len() > 64 {
        return String::new();
    }
    label.to_lowercase().replace('\u{2019}', "'").replace('-', " ")
}

/// Reads `**Label:** rest` or `**Label**: rest` at the very start of a line.
pub(super) fn bold_label(line: &str) -> Option<(&str, &str)> {
    let mark = if line.starts_with("**") { "**" } else { "__" };
    let inner = line.strip_prefix(mark)?;
    let (label, rest) = inner.split_once(mark)?;
    let (label, rest) = match label.strip_suffix(':') {
        Some(label) => (label, rest),
        None => (label, rest.strip_prefix(':')?),
    };
    let fits = !label.is_empty() && label.len() <= 64 && !label.starts_with([' ', '*', '_', '`']);
    fits.then(|| (label, rest.trim_start_matches([' ', '\t'])))
}

/// Reads `Label: rest` at the very start of a line.
pub(super) fn plain_label(line: &str) -> Option<(&str, &str)> {
    let (label, rest) = line.split_once(':')?;
    let fits = !label.is_empty() && label.len() <= 64 && label.starts_with(char::is_alphabetic);
    (fits && (rest.is_empty() || rest.starts_with([' ', '\t'])))
        .then(|| (label, rest.trim_start_matches([' ', '\t'])))
}

/// The rest of a top-level bullet that starts the list of related files.
pub(super) fn files_bullet(line: &str) -> Option<&str> {
    let rest = line.strip_prefix(['-', '*', '+'])?;
    let rest = rest.strip_prefix(' ')?.trim_start_matches(' ');
    let (label, rest) = bold_label(rest).or_else(|| plain_label(rest))?;
    (Field::of_head(label) == Some(Field::Files)).then_some(rest)
}

/// Reads `[ ] text` or `[x] text`.
pub(super) fn checkbox(text: &str) -> Option<(bool, &str)> {
    let (done, rest) = if let Some(rest) = text.strip_prefix("[ ]") {
        (false, rest)
    } else {
        (true, text.strip_prefix("[x]").or_else(|| text.strip_prefix("[X]"))?)
    };
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then(|| (done, rest.trim_start_matches([' ', '\t'])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempted(text: &str) -> Option<(Option<u32>, String)> {
        match heading(text) {
            Heading::Attempt { ordinal, title } => Some((ordinal, title)),
            _ => None,
        }
    }

    #[test]
    fn attempts_in_many_spellings() {
        for text in [
            "Attempt 2: x",
            "attempt #2 - x",
            "Try 2 \u{2014} x",
            "\u{1f9ea} **Attempt 2** x",
            "Attempt 2. x",
        ] {
            let (ordinal, title) = attempted(text).unwrap();
            assert_eq!(ordinal, Some(2), "{text}");
            assert!(title.ends_with('x'), "{text}: {title}");
        }
        assert_eq!(attempted("Attempt: x"), Some((None, "x".into())));
        assert_eq!(attempted("Attempt 2b: x"), Some((Some(2), "2b: x".into())));
        assert_eq!(attempted("Attempt N: <short>"), None);
        assert_eq!(attempted("Try 3D convolution"), None);
        assert_eq!(attempted("Attempted murder of the cache"), None);
    }

    #[test]
    fn other_headings() {
        assert_eq!(heading("Key Differences: a vs b"), Heading::Differences("a vs b".into()));
        assert_eq!(heading("Key differences (a vs b)"), Heading::Differences("a vs b".into()));
        assert_eq!(heading("3. Next steps (by cost)"), Heading::Next);
        assert_eq!(heading("Root cause"), Heading::Head(Field::RootCause));
        assert_eq!(heading("<Issue title>"), Heading::Placeholder);
        assert_eq!(heading("Next.js build hangs"), Heading::Other);
        assert_eq!(heading("Fix the flaky test"), Heading::Other);
    }

    #[test]
    fn labels() {
        assert_eq!(bold_label("**Result:** x"), Some(("Result", "x")));
        assert_eq!(bold_label("**Result**: x"), Some(("Result", "x")));
        assert_eq!(bold_label("**Hangs** at once"), None);
        assert_eq!(plain_label("Result: x"), Some(("Result", "x")));
        assert_eq!(plain_label("std::vec"), None);
        assert_eq!(files_bullet("- **Related files:** `a`"), Some("`a`"));
    }
}
