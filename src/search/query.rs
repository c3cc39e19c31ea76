//! The language of `search`: words, `"phrases"`, `-without`, and `key:value`.

use crate::model::outcome::{Bug, Hypothesis};
use crate::model::status::Status;
use crate::model::{Error, Result, Timestamp};

use super::words::terms;

/// A query has no more parts than this.
const MOST_PARTS: usize = 64;

/// The filters.
pub const KEYS: [&str; 10] =
    ["status", "outcome", "author", "path", "kernel", "gpu", "label", "since", "until", "incident"];

/// Words that stand side by side, or one alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase(pub Vec<String>);

/// What is looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// All of these must be there.
    pub with: Vec<Phrase>,
    /// None of these may be.
    pub without: Vec<Phrase>,
    /// Marks a document must have, as [`tag`] makes them.
    pub tags: Vec<String>,
    /// Marks it may not have.
    pub without_tags: Vec<String>,
    /// Not before.
    pub since: Option<Timestamp>,
    /// Not after.
    pub until: Option<Timestamp>,
    /// Incidents as people name them; one of them.
    pub incidents: Vec<String>,
    /// Kernels by their whole name.
    pub kernels: Vec<String>,
}

/// The sign that no word of a text can hold: it tells marks from words.
const SIGN: char = '\u{a7}';

/// A mark of a document: `status`, `open`.
pub fn tag(key: &str, value: &str) -> String {
    let mut tag = format!("{SIGN}{key}{SIGN}");
    for c in value.chars().flat_map(char::to_lowercase) {
        tag.push(if c.is_alphanumeric() { c } else { SIGN });
    }
    tag
}

/// Reads a query.
///
/// # Errors
/// It is empty, a quote is open, a filter has a value that it cannot have.
pub fn parse(text: &str, now: Timestamp) -> Result<Query> {
    let mut query = Query::default();
    let parts = split(text)?;
    if parts.len() > MOST_PARTS {
        return Err(Error::usage(format!("the query has {} parts; at most {MOST_PARTS}", parts.len()))
            .hint("look for fewer words"));
    }
    for part in &parts {
        add(&mut query, part, now)?;
    }
    if query == Query::default() {
        return Err(Error::usage("the query holds no word to look for").hint(EXAMPLE));
    }
    Ok(query)
}

const EXAMPLE: &str = "git incident search \"illegal access\" status:open -driver";

/// A part of a query: its filter's key, its text, and the two signs it can have.
#[derive(Debug, Default)]
struct Part {
    without: bool,
    key: Option<String>,
    text: String,
    quoted: bool,
}

fn split(text: &str) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    let mut chars = text.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        if chars.peek().is_none() {
            return Ok(parts);
        }
        let mut part = Part { without: chars.next_if_eq(&'-').is_some(), ..Part::default() };
        while let Some(c) = chars.next_if(|c| !c.is_whitespace()) {
            if c == '"' {
                part.quoted = true;
                let mut closed = false;
                for c in chars.by_ref() {
                    if c == '"' {
                        closed = true;
                        break;
                    }
                    part.text.push(c);
                }
                if !closed {
                    return Err(Error::usage("a quote is opened and not closed")
                        .because(format!("after {:?}", part.text))
                        .hint("close it with another \", or leave it away"));
                }
                part.text.push(' ');
            } else if c == ':' && part.key.is_none() && !part.quoted && is_key(&part.text)? {
                part.key = Some(std::mem::take(&mut part.text).to_lowercase());
            } else {
                part.text.push(c);
            }
        }
        let trimmed = part.text.trim().to_owned();
        part.text = trimmed;
        parts.push(part);
    }
}

/// Whether what stands before a colon is a filter. A word that looks like a slip of one is asked back.
fn is_key(text: &str) -> Result<bool> {
    let lower = text.to_lowercase();
    if KEYS.contains(&lower.as_str()) || lower == "not" {
        return Ok(true);
    }
    let slip = KEYS.iter().find(|key| lower.len() > 3 && strsim::damerau_levenshtein(key, &lower) == 1);
    match slip {
        Some(key) => Err(Error::usage(format!("there is no filter {text:?}"))
            .hint(format!("did you mean {key}: ? The filters are {}", KEYS.join(", ")))
            .hint(format!("to look for the text: \"{text}: …\" in quotes"))),
        None => Ok(false),
    }
}

fn add(query: &mut Query, part: &Part, now: Timestamp) -> Result<()> {
    let Some(key) = part.key.as_deref().filter(|key| *key != "not") else {
        let without = part.without || part.key.is_some();
        let into = if without { &mut query.without } else { &mut query.with };
        let found = terms(&part.text);
        if !found.is_empty() {
            into.push(Phrase(found));
        }
        return Ok(());
    };
    let value = part.text.as_str();
    if value.is_empty() {
        return Err(Error::usage(format!("{key}: has no value")).hint(format!("say which: {key}:VALUE")));
    }
    let plain = |allowed: &[&[&str]]| {
        let lower = value.to_lowercase();
        if allowed.iter().any(|words| words.contains(&lower.as_str())) {
            return Ok(tag(key, &lower));
        }
        let all: Vec<&str> = allowed.concat();
        Err(Error::usage(format!("{key}: cannot be {value:?}"))
            .hint(format!("it is one of {}", all.join(", "))))
    };
    let only_with = || {
        if part.without {
            return Err(Error::usage(format!("-{key}: is not understood")).hint(format!(
                "only words and status, outcome, author, path, gpu and label can be left out, not {key}"
            )));
        }
        Ok(())
    };
    let tags = match key {
        "status" => vec![plain(&[Status::WORDS])?],
        "outcome" => vec![plain(&[Hypothesis::WORDS, Bug::WORDS, &["running"]])?],
        "label" => vec![tag(key, value)],
        "path" => vec![path_tag(value)],
        "author" | "gpu" => {
            let found: Vec<String> = terms(value).iter().map(|word| tag(key, word)).collect();
            if found.is_empty() {
                return Err(Error::usage(format!("{key}: cannot be {value:?}")).hint("name a word of it"));
            }
            found
        }
        "since" | "until" => {
            only_with()?;
            let moment = moment(key, value, now)?;
            let slot = if key == "since" { &mut query.since } else { &mut query.until };
            *slot = Some(moment);
            return Ok(());
        }
        "incident" => {
            only_with()?;
            query.incidents.push(value.to_owned());
            return Ok(());
        }
        _ => {
            only_with()?;
            if terms(value).is_empty() {
                return Err(Error::usage(format!("kernel: cannot be {value:?}")).hint("name the kernel"));
            }
            query.kernels.push(value.to_owned());
            return Ok(());
        }
    };
    if part.without {
        // All of several words make the value; one of them missing is enough to be something else.
        query.without_tags.push(tags.join(" "));
    } else {
        query.tags.extend(tags);
    }
    Ok(())
}

/// The mark of a file, and of every folder it stands in.
pub fn path_tag(path: &str) -> String {
    let path = path.trim().trim_start_matches("./").trim_matches('/');
    tag("path", path)
}

/// `2026-03-01`, an instant, or how long ago: `12h`, `3d`, `2w`, `6m`, `1y`.
fn moment(key: &str, text: &str, now: Timestamp) -> Result<Timestamp> {
    let wrong = || {
        Error::usage(format!("{key}: cannot be {text:?}"))
            .hint(format!("{key}:2026-03-01, or how long ago: {key}:12h, 3d, 2w, 6m, 1y"))
    };
    if let Some(at) = Timestamp::parse(text) {
        return Ok(at);
    }
    // A day lasts until its end.
    let clock = if key == "since" { "00:00:00.000" } else { "23:59:59.999" };
    if let Some(at) = Timestamp::parse(&format!("{text}T{clock}Z")) {
        return Ok(at);
    }
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let count: i64 =
        text[..text.len() - unit.len_utf8()].parse().ok().filter(|n| *n >= 0).ok_or_else(wrong)?;
    let hours = match unit {
        'h' => 1,
        'd' => 24,
        'w' => 24 * 7,
        'm' => 24 * 30,
        'y' => 24 * 365,
        _ => return Err(wrong()),
    };
    let back = count.saturating_mul(hours).saturating_mul(3_600_000);
    Ok(Timestamp::from_millis(now.millis().saturating_sub(back)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn now() -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000)
    }

    #[test]
    fn parts_are_told_apart() {
        let query = parse(
            "nan -driver \"illegal access\" status:open -label:flaky path:./src/k/ gpu:\"RTX 4090\" since:2d std::vector not:hang kernel:flash_fwd incident:GPU-1",
            now(),
        )
        .unwrap();
        let words = |w: &[&str]| Phrase(w.iter().map(|w| (*w).to_owned()).collect());
        assert_eq!(query.with, [words(&["nan"]), words(&["illegal", "access"]), words(&["std", "vector"])]);
        assert_eq!(query.without, [words(&["driver"]), words(&["hang"])]);
        assert_eq!(
            query.tags,
            [tag("status", "open"), tag("path", "src/k"), tag("gpu", "rtx"), tag("gpu", "4090")]
        );
        assert_eq!(query.without_tags, [tag("label", "flaky")]);
        assert_eq!(query.since.unwrap().millis(), now().millis() - 2 * 86_400_000);
        assert_eq!(
            (query.kernels.as_slice(), query.incidents.as_slice()),
            (&["flash_fwd".to_owned()][..], &["GPU-1".to_owned()][..])
        );
    }

    #[test]
    fn mistakes_are_told() {
        for (text, says) in [
            ("\"open", "not closed"),
            ("", "no word"),
            ("!!! ---", "no word"),
            ("status:opened", "cannot be"),
            ("stauts:open", "no filter"),
            ("since:yesterday", "cannot be"),
            ("label:", "no value"),
            ("-since:2d x", "not understood"),
            ("gpu:!", "cannot be"),
        ] {
            let error = parse(text, now()).unwrap_err();
            assert!(error.what().contains(says), "{text}: {}", error.what());
            assert!(!error.hints().is_empty() && error.kind().exit_code() == 2, "{text}");
        }
        assert!(parse(&"x ".repeat(65), now()).is_err());
    }

    proptest! {
        #[test]
        fn any_query_is_read_or_refused(text in any::<String>()) {
            let _ = parse(&text, now());
        }

        #[test]
        fn marks_are_no_words(key in "[a-z]{1,8}", value in any::<String>()) {
            let tag = tag(&key, &value);
            prop_assert!(!terms(&tag).contains(&tag));
            prop_assert!(tag.bytes().all(|b| b.is_ascii_alphanumeric() || !b.is_ascii()));
        }
    }
}
