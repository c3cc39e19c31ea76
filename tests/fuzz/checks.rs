//! What must hold of every input, for the fuzz targets beside this file and for `tests/fuzz_smoke.rs`.

#![allow(unreachable_pub, reason = "one file of several programs")]

use git_incident::config;
use git_incident::document::brief::{Channel, brief};
use git_incident::document::debuglog;
use git_incident::document::diff::{Document as Reviewed, canonical_text, to_html, to_markdown};
use git_incident::document::lint::output::{Checked, github, human, json, sarif};
use git_incident::document::lint::{
    Document, Facts, Known, Ledger as Told, Profile, Settings, check, fix, rules, wants,
};
use git_incident::document::render::page::{PageInput, page};
use git_incident::document::render::{adf, text};
use git_incident::event::{Data, Line, line};
use git_incident::fold::{Ledger, split_lines, unite};
use git_incident::git::trailers;
use git_incident::model::incident::Author;
use git_incident::model::{EventId, Oid, Timestamp};
use git_incident::redact::{AllowedFinding, cut, redact};
use git_incident::report::codeowners::Codeowners;
use git_incident::report::workflows::recommend;
use git_incident::search::document::Document;
use git_incident::search::similar::{Profile, likeness};
use git_incident::search::{fingerprint, patch, query, rank};
use git_incident::validate::push;

/// A target: its name, and what it does with an input.
pub type Check = (&'static str, fn(&[u8]));

/// Every target.
pub const ALL: [Check; 12] = [
    ("event_line", event_line),
    ("ledger_fold", ledger_fold),
    ("ledger_union", ledger_union),
    ("debug_log", debug_log),
    ("configuration", configuration),
    ("redaction", redaction),
    ("hook_input", hook_input),
    ("repository_files", repository_files),
    ("search_texts", search_texts),
    ("post_mortem", post_mortem),
    ("review_diff", review_diff),
    ("document_views", document_views),
];

/// Any bytes as one line of a ledger: read without a panic, and kept byte for byte.
pub fn event_line(bytes: &[u8]) {
    let line = Line::parse(bytes);
    assert_eq!(line.raw(), bytes, "a line keeps its bytes");
    assert_eq!(line, Line::parse(line.raw()), "reading is a function of the bytes");
    // No fuzzer finds a digest, which keeps it out of everything behind the id: `TYPE JSON` leads there directly.
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Some((type_name, data)) = text.split_once(' ')
    {
        let _ = Data::decode(type_name, data);
    }
}

/// A ledger of events whose ids are right, from a script of the fuzzer's: fold it, in both orders.
///
/// A line of the script is `<type> <parents> <data>`: the type's place in `Data::TYPES` as one letter from
/// `A`, the parents as letters (`a` is the first event), and JSON in which `@a` stands for the first
/// event's id. Any other line goes into the ledger as it is.
pub fn ledger_fold(bytes: &[u8]) {
    let mut lines = ledger_of(bytes);
    let first = lines.first().cloned().unwrap_or_default();
    let ledger = Ledger::parse(&lines.join(&b'\n'));
    let Some(anchor) = Oid::parse(&"a".repeat(40)) else {
        return;
    };
    let incident = ledger.incident(&anchor, &|raw| raw == first);
    let _ = (incident.cause(), incident.worked_millis(), ledger.heads());
    for attempt in &incident.attempts {
        let _ = (attempt.headline(), attempt.disproof_was_run(), attempt.failed());
    }
    lines.reverse();
    let mirrored = Ledger::parse(&lines.join(&b'\n'));
    assert_eq!(incident, mirrored.incident(&anchor, &|raw| raw == first), "the order of lines means nothing");
}

/// Two ledgers (a script as above, cut at its first empty line): their union is the same whoever makes it, twice is
/// once, and no line that is not an event is lost.
pub fn ledger_union(bytes: &[u8]) {
    let cut = bytes.windows(2).position(|two| two == b"\n\n").unwrap_or(bytes.len() / 2);
    let all = ledger_of(bytes);
    let here = all[..ledger_of(&bytes[..cut]).len().min(all.len())].join(&b'\n');
    let there = all.iter().rev().cloned().collect::<Vec<_>>().join(&b'\n');
    let sorted = |bytes: &[u8]| {
        let mut lines: Vec<Vec<u8>> = split_lines(bytes).map(<[u8]>::to_vec).collect();
        lines.sort();
        lines
    };
    let united = unite([here.as_slice(), &there]);
    assert_eq!(sorted(&united), sorted(&unite([there.as_slice(), &here])), "who begins means nothing");
    assert_eq!(unite([united.as_slice(), &united]), united, "twice is once");
    let kept = sorted(&united);
    for line in split_lines(&here).chain(split_lines(&there)) {
        let is_event = matches!(Line::parse(line), Line::Event(_));
        assert!(is_event || kept.binary_search(&line.to_vec()).is_ok(), "a line is lost");
    }
}

fn ledger_of(script: &[u8]) -> Vec<Vec<u8>> {
    let mut ids: Vec<EventId> = Vec::new();
    let mut lines: Vec<Vec<u8>> = Vec::new();
    for script in script.split(|b| *b == b'\n').take(400) {
        match sealed(script, &ids) {
            Some((id, raw)) => {
                ids.push(id);
                lines.push(raw);
            }
            None => lines.push(script.to_vec()),
        }
    }
    lines
}

fn sealed(script: &[u8], ids: &[EventId]) -> Option<(EventId, Vec<u8>)> {
    let text = std::str::from_utf8(script).ok()?;
    let mut words = text.splitn(3, ' ');
    let letter = *words.next()?.as_bytes().first()?;
    let type_name = Data::TYPES.get(usize::from(letter.checked_sub(b'A')?))?;
    let of = |letter: u8| ids.get(usize::from(letter.checked_sub(b'a')?)).copied();
    let parents: Vec<EventId> = words.next()?.bytes().filter_map(of).collect();
    let mut json = String::new();
    let mut rest = words.next()?;
    while let Some((before, after)) = rest.split_once('@') {
        json.push_str(before);
        rest = after;
        if let Some(letter) = after.bytes().next()
            && let Some(id) = of(letter)
        {
            json.push_str(&id.to_string());
            rest = &after[1..];
        }
    }
    json.push_str(rest);
    let data = Data::decode(type_name, &json)?.ok()?;
    let at = Timestamp::from_millis(i64::from(letter) * 7 + ids.len() as i64);
    let event = line::seal(at, &Author::default(), &data, &parents, "00").ok()?;
    Some((event.id, event.raw))
}

/// Any text as a Markdown debug log: read without a panic, and what was read survives being printed.
pub fn debug_log(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    for incident in debuglog::parse(text).incidents {
        let again = debuglog::parse(&debuglog::print(&incident)).incidents;
        assert_eq!(again, [debuglog::normalise(&incident)], "printing and reading lose nothing");
    }
}

/// Any bytes as `.git-incident.toml`: read, or refused with a place in the file.
pub fn configuration(bytes: &[u8]) {
    match config::parse(bytes, "config") {
        Ok(config) => config.gates.iter().for_each(|gate| assert_eq!(gate.digest().len(), 64)),
        Err(error) => assert!(error.what().starts_with("config:"), "{error}"),
    }
}

/// Any bytes through the secret scan: what was found is gone, and a second scan changes nothing. The same for a JSON
/// value, and for the name of an allowed finding.
pub fn redaction(bytes: &[u8]) {
    let once = redact(bytes);
    let lines = |b: &[u8]| b.split(|c| *c == b'\n').count();
    assert_eq!(lines(bytes), lines(&once.bytes), "lines stay lines");
    if bytes.len() < 4096 {
        let twice = redact(&once.bytes);
        assert_eq!(twice.bytes, once.bytes, "once is enough");
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let _ = text.parse::<AllowedFinding>();
    let words: Vec<&str> = text.split(' ').collect();
    let mut value = serde_json::json!({"text": text, "words": words});
    let _ = cut(&mut value);
    assert_eq!(value["words"].as_array().map(Vec::len), Some(words.len()), "words stay words");
    assert_eq!(
        value["text"],
        serde_json::json!(String::from_utf8_lossy(&once.bytes)),
        "one answer, by either way"
    );
}

/// Any bytes as what git hands to hooks: pre-push lines, and the trailers of a message.
pub fn hook_input(bytes: &[u8]) {
    for update in push::parse(bytes).updates {
        let _ = update.matter();
    }
    assert!(trailers::body_end(bytes, "#") <= bytes.len());
    let _ = trailers::read(bytes, "#");
}

/// Any bytes as files of a repository that the PR text reads: CODEOWNERS and workflows.
pub fn repository_files(bytes: &[u8]) {
    let _ = Codeowners::parse(bytes).owners("kernels/softmax.cu");
    let files = [(".github/workflows/a.yml".to_owned(), bytes.to_vec())];
    assert!(recommend(&files, &["kernels/softmax.cu".to_owned()]).len() <= 1);
}

/// Any bytes as a post-mortem: every rule, every output, every repair.
pub fn post_mortem(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    // Facts that say no to what the rules' own examples ask.
    let mut known = Known { repository: true, ..Known::default() };
    let mut ledger = Told::default();
    for rule in rules::ALL {
        let (k, l) = (rule.facts)();
        known.commits.extend(k.commits);
        known.paths.extend(k.paths);
        known.pulls.extend(k.pulls);
        known.identifiers.extend(k.identifiers);
        known.located.extend(k.located);
        known.tags.extend(k.tags);
        ledger.failed.extend(l.into_iter().flat_map(|l| l.failed));
    }
    let judge = |document: &Document<'_>| {
        let facts = Facts { known: &known, ledger: Some(&ledger), incident_missing: false };
        check(document, &facts, &Settings::new())
    };
    let document = Document::read("x.md", &text, Profile::Bugfix);
    let _ = wants(&document, &["example.org/a/b".to_owned()]);
    let diagnostics = judge(&document);
    for found in &diagnostics {
        assert!(text.get(found.span.clone()).is_some(), "{found:?} lies outside");
    }
    let checked = [Checked { path: "x.md".to_owned(), text: text.to_string(), diagnostics }];
    let shown = human::render(&checked, false);
    assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
    let _ = (github::render(&checked), sarif::log(&checked), json::view(&checked));
    if let Ok(Some(fixed)) = fix::all("x.md", &text, Profile::Bugfix, judge) {
        assert_eq!(fix::all("x.md", &fixed, Profile::Bugfix, judge), Ok(None), "repairs are made once");
    }
}

/// Two documents of any bytes, parted by a NUL: read as pages, compared, shown in every form.
pub fn review_diff(bytes: &[u8]) {
    let at = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len() / 2);
    let (old, new) = bytes.split_at(at);
    let document = Reviewed::of("a.md", None, Some(old), Some(new));
    for change in &document.review.changes {
        assert!(change.old.is_some() || change.new.is_some());
    }
    let documents = [document];
    assert!(to_markdown(&documents).len() < 65_536);
    let _ = to_html(&documents, "t");
    if let Ok(text) = std::str::from_utf8(new) {
        let _ = canonical_text(text);
    }
}

/// Any text as a document: rendered in all three formats and briefed without a panic, within limits, and safe.
pub fn document_views(bytes: &[u8]) {
    let markdown = String::from_utf8_lossy(bytes);
    let markdown = markdown.as_ref();
    let lower = page(&PageInput { markdown, path: "x.md", ..PageInput::default() }).to_lowercase();
    for never in ["<script", "\"javascript:", "\"vbscript:", "\"data:text"] {
        assert!(!lower.contains(never), "{never}");
    }
    let jira = adf::adf(markdown, "x.md", adf::LIMIT);
    assert!(jira.json.encode_utf16().count() <= adf::LIMIT);
    serde_json::from_str::<serde_json::Value>(&jira.json).expect("JSON");
    assert!(text::text(markdown, 80).chars().all(|c| c == '\n' || !c.is_control()));
    for channel in Channel::ALL {
        assert!(brief(markdown, channel).words <= channel.most_words());
    }
}

/// Any bytes as a query, a log, a patch and a hypothesis.
pub fn search_texts(bytes: &[u8]) {
    let touched = patch::parse(bytes);
    assert!((0.0..=1.0).contains(&patch::likeness(&touched, &touched)));
    let text = String::from_utf8_lossy(bytes);
    let _ = fingerprint::prints(&text);
    let half = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    let score = likeness(&Profile::of(&text[..half]), &Profile::of(&text[half..]), &|_| 0.5);
    assert!((0.0..=1.0).contains(&score));
    if let Ok(query) = query::parse(&text, Timestamp::from_millis(1_800_000_000_000)) {
        let document =
            Document { fields: vec![("hypothesis".into(), text.to_string())], ..Document::default() };
        if let Some(found) = rank::judge(&document, &query, &|_| 1.0) {
            assert!(found.marks.iter().all(|(from, to)| found.snippet.get(*from..*to).is_some()));
        }
    }
}
