//! What must hold of every input, for the fuzz targets beside this file and for `tests/fuzz_smoke.rs`.

#![allow(unreachable_pub, reason = "one file of several programs")]

use git_incident::config;
use git_incident::device::cpu::Cpu;
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
use git_incident::git::{signing, trailers};
use git_incident::links::{message, place};
use git_incident::model::incident::Author;
use git_incident::model::status::Verdict;
use git_incident::model::{EventId, Oid, Timestamp, canonical, patch};
use git_incident::redact::{AllowedFinding, cut, redact};
use git_incident::report::codeowners::Codeowners;
use git_incident::report::workflows::recommend;
use git_incident::search::document::Document as Searched;
use git_incident::search::similar::{Profile as Words, likeness};
use git_incident::search::{fingerprint, patch as touched, query, rank};
use git_incident::store::records::line as records;
use git_incident::validate::compare::conformance::{same_details, same_summary};
use git_incident::validate::compare::{
    Device as _, MUTANTS, Pair, Policy, Rule, Tolerance, compare, judge_mutants, plain,
};
use git_incident::validate::gate::{End, build, sanitizer};
use git_incident::validate::kernel::{self, Left, Progress, Report, Request};
use git_incident::validate::push;
use git_incident::validate::tensor::{Declared, Dtype, File, Order, Tensor};

/// A target: its name, and what it does with an input.
pub type Check = (&'static str, fn(&[u8]));

/// Every target.
pub const ALL: &[Check] = &[
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
    ("tensor_file", tensor_file),
    ("tensor_pair", tensor_pair),
    ("compiler_report", compiler_report),
    ("sanitizer_report", sanitizer_report),
    ("kernel_report", kernel_report),
    ("record", record),
    ("commit_links", commit_links),
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

/// Any bytes as a file of tensors, of any format and with anything declared: no panic, and what is read is as long as its
/// shape says, wherever it is decoded.
pub fn tensor_file(bytes: &[u8]) {
    let dtypes = [None, Some(Dtype::BF16), Some(Dtype::F8E4M3)];
    for name in ["x", "x.npy", "x.npz", "x.safetensors"] {
        for (dtype, shape) in
            dtypes.into_iter().flat_map(|d| [(d, None), (d, Some(vec![bytes.len() as u64]))])
        {
            let Ok(file) = File::open(name, bytes, &Declared { dtype, shape }) else {
                continue;
            };
            let names = file.names().into_iter().map(Some).chain([None]);
            for tensor in names.take(20).filter_map(|name| file.tensor(name).ok()) {
                let elements = tensor.elements();
                assert_eq!(
                    tensor.bytes.len() as u64,
                    elements * tensor.dtype.size() as u64,
                    "no byte is missing"
                );
                let mut out = [0.0_f32; 48];
                let count = tensor.decode_f32(elements / 3, &mut out) as u64;
                assert_eq!(count, (elements - elements / 3).min(48), "no element is missing");
            }
        }
    }
}

/// Any bytes as two tensors (type, shape and layout in the first five bytes, then the elements of one and the other):
/// compared as the oracle does, and put into words without a panic.
pub fn tensor_pair(bytes: &[u8]) {
    const DTYPES: [Dtype; 10] = [
        Dtype::F32,
        Dtype::F16,
        Dtype::BF16,
        Dtype::F64,
        Dtype::F8E4M3,
        Dtype::F8E5M2Fnuz,
        Dtype::I64,
        Dtype::U64,
        Dtype::I16,
        Dtype::Bool,
    ];
    const TOLERANCES: [f64; 8] = [0.0, 1e-5, 1e-2, 1.0, 1e30, f64::INFINITY, -1.0, f64::NAN];
    let Some(([dtype, columns, layout, tolerance, rule], data)) = bytes.split_first_chunk::<5>() else {
        return;
    };
    let dtype = DTYPES[usize::from(*dtype) % DTYPES.len()];
    let columns = usize::from(*columns) % 80 + 1;
    let rows = (data.len() / 2 / dtype.size() / columns).min(4096 / columns);
    let size = rows * columns * dtype.size();
    let tensor = |at: usize, flags: u8| Tensor {
        dtype,
        shape: vec![rows as u64, columns as u64],
        bytes: std::borrow::Cow::Borrowed(&data[at..at + size]),
        order: if flags & 1 == 0 { Order::C } else { Order::Fortran },
        big_endian: flags & 2 != 0,
        scale: None,
    };
    let (candidate, reference) = (tensor(0, *layout), tensor(size, layout >> 2));
    let pair = Pair { reference: &reference, candidate: &candidate };
    let (atol, rtol) = (TOLERANCES[usize::from(tolerance & 7)], TOLERANCES[usize::from(tolerance >> 3 & 7)]);
    let tolerance = Tolerance { atol, rtol, equal_nan: rule & 1 == 0, bitwise: rule & 2 != 0 };
    let device = Cpu::with_threads(1);
    let (right, details) = (plain::summary(pair, &tolerance), plain::details(pair, &tolerance, 3));
    let found = device.summary(pair, &tolerance).expect("the CPU compares");
    assert_eq!(same_summary(&found, &right), Ok(()));
    let found = device.details(pair, &tolerance, 3).expect("the CPU compares");
    assert_eq!(same_details(&found, &details), Ok(()));
    let rule = match rule >> 2 & 3 {
        0 => Rule::Bitwise,
        1 => Rule::Baseline { slack: 2.0 },
        _ => Rule::Allclose { atol, rtol },
    };
    let policy =
        Policy { equal_nan: tolerance.equal_nan, norm: Some(0.5), details: true, ..Policy::of(rule) };
    let judged = compare(&device, &policy, pair, Some(&candidate)).expect("the CPU compares");
    assert_eq!(judged.passed, judged.reason.is_empty());
    assert!(judged.lines().iter().all(|line| line.chars().all(|c| !c.is_control())));
    canonical::to_string(&judged.record()).expect("no floating-point numbers");
    if judged.passed {
        let tried = judge_mutants(pair, &judged, None).expect("they were compared before");
        let judged = tried.caught.len() + tried.skipped.len();
        assert!(tried.passed.is_some() && judged < MUTANTS.len() || judged == MUTANTS.len(), "{tried:?}");
    }
}

/// Any text as what a compiler says: read without a panic, and without a kernel it never passes.
pub fn compiler_report(bytes: &[u8]) {
    let report = build::report::read(bytes);
    assert!(report.functions.iter().all(|function| !function.name.is_empty()));
    let limits = build::Limits { registers: Some(64), spills: Some(0), ..build::Limits::default() };
    let judged = build::judge(Some(&report), &[], &limits);
    let kernels = report.functions.iter().any(|function| function.entry);
    assert!(kernels || judged.verdict == Verdict::Inconclusive);
    canonical::to_string(&judged.details).expect("a record holds it");
}

/// A sanitizer's log and report, parted by a NUL: read without a panic; nothing passes without a summary of zero.
pub fn sanitizer_report(bytes: &[u8]) {
    let at = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    let (log, xml) = bytes.split_at(at);
    let end = End::Exit(0);
    let xml = xml.strip_prefix(&[0]);
    let judged = sanitizer::judge(&[sanitizer::Ran {
        tool: "memcheck",
        end: Some(&end),
        log: Some(log),
        xml,
        unfit: None,
    }]);
    let summary = log.windows(15).any(|words| words == b"ERROR SUMMARY: ");
    assert!(judged.verdict != Verdict::Pass || summary);
    canonical::to_string(&judged.details).expect("a record holds it");
}

/// A line under a descriptor, as a peer may have written it.
pub fn record(bytes: &[u8]) {
    let _ = signing::fingerprint(&String::from_utf8_lossy(bytes));
    let Some(read) = records::read(bytes) else { return };
    let _ = signing::fingerprint(&read.record.signature);
    let Some(key) = Oid::parse(&"2".repeat(40)) else { return };
    // What is signed is a function of the line, and does not hold the signature.
    let signed = records::payload(&key, &read.value);
    let again = records::read(bytes).map(|again| records::payload(&key, &again.value));
    match (signed, again) {
        (Ok(one), Some(Ok(other))) => assert_eq!(one, other, "one line, one payload"),
        (Err(_), Some(Err(_))) => assert!(!read.canonical, "a canonical line can be signed"),
        _ => panic!("reading is a function of the bytes"),
    }
}

/// What a process that shared its memory with somebody's code left: a request, a report of each process and a word of
/// progress, parted by NULs. Never panics; what comes of it can be kept in a record; only a whole report passes.
pub fn kernel_report(bytes: &[u8]) {
    let mut parts = bytes.split(|byte| *byte == 0);
    let mut next = || parts.next().unwrap_or_default();
    let (request, first, second, progress) = (Request::read(next()), next(), next(), Progress::read(next()));
    let Ok(request) = request else {
        return;
    };
    for end in [End::Exit(0), End::Exit(4), End::Signal(11)] {
        let left = |bytes: &[u8]| Left {
            end: Some(end.clone()),
            report: Report::read(bytes),
            progress: progress.clone(),
        };
        let judged = kernel::judge(&request, &left(first), &left(second));
        assert!(canonical::to_string(&judged.details).is_ok(), "a record can hold it");
        let whole = |bytes: &[u8]| Report::read(bytes).is_ok_and(|report| report.complete);
        if judged.verdict == Verdict::Pass {
            assert!(end == End::Exit(0) && whole(first) && whole(second), "half a report passes");
        }
    }
}

/// A commit's message and a diff of any bytes, parted by a NUL: read without a panic; what a message names can name a
/// commit, and a hunk lies within the file.
pub fn commit_links(bytes: &[u8]) {
    let at = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len() / 2);
    let (message, diff) = bytes.split_at(at);
    let signs = message::signs(&String::from_utf8_lossy(message));
    for digits in signs.picked_from.iter().chain(&signs.reverts).chain(&signs.squashed) {
        assert!((7..=64).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit()));
    }
    let today = place::Today::of(message);
    for hunk in patch::files(diff).iter().flat_map(|file| &file.hunks) {
        if let Some(place) = today.place(hunk) {
            assert!(1 <= place.lines.0 && place.lines.0 <= place.lines.1 && place.lines.1 <= today.len());
        }
    }
}

/// Any bytes as a query, a log, a patch and a hypothesis.
pub fn search_texts(bytes: &[u8]) {
    let touched = touched::parse(bytes);
    assert!((0.0..=1.0).contains(&touched::likeness(&touched, &touched)));
    let text = String::from_utf8_lossy(bytes);
    let _ = fingerprint::prints(&text);
    let half = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    let score = likeness(&Words::of(&text[..half]), &Words::of(&text[half..]), &|_| 0.5);
    assert!((0.0..=1.0).contains(&score));
    if let Ok(query) = query::parse(&text, Timestamp::from_millis(1_800_000_000_000)) {
        let document =
            Searched { fields: vec![("hypothesis".into(), text.to_string())], ..Searched::default() };
        if let Some(found) = rank::judge(&document, &query, &|_| 1.0) {
            assert!(found.marks.iter().all(|(from, to)| found.snippet.get(*from..*to).is_some()));
        }
    }
}
