//! `docs/STORAGE.md` against the library, and both against the second reader in `tests/reader/`.
//!
//! The reader is Python 3 (standard library only), so that one misreading of the specification cannot hide in
//! both programs.

#[path = "storage_format/ledgers.rs"]
mod ledgers;
#[path = "storage_format/view.rs"]
mod view;
#[path = "storage_format/writing.rs"]
mod writing;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use git_incident::event::line::{Body, seal};
use git_incident::event::{Data, IncidentOpened, Line, NextAdded};
use git_incident::fold::Ledger;
use git_incident::git::Repo;
use git_incident::model::canonical::sha256_hex;
use git_incident::model::incident::Author;
use git_incident::model::{Oid, Timestamp};
use git_incident::store::ledger;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use ledgers::{author, random_ledger};
use view::{python, reader, second_reader, view};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn specification() -> String {
    std::fs::read_to_string(root().join("docs/STORAGE.md")).expect("docs/STORAGE.md is there")
}

/// The fenced block after `<!-- example: NAME -->`.
fn example(name: &str) -> String {
    let text = specification();
    let marker = format!("<!-- example: {name} -->\n```");
    let (_, after) = text.split_once(&marker).expect("the example stands there");
    let (_, block) = after.split_once('\n').expect("the fence ends its line");
    block.split("```\n").next().unwrap_or_default().to_owned()
}

// ---- the example ----

#[test]
fn the_example_is_what_the_specification_says() {
    let text = example("ledger");
    let anchor = Oid::parse(example("anchor").trim()).expect("an object id");
    let first = text.lines().next().expect("a line");
    assert!(ledger::is_anchor(&anchor, first.as_bytes()), "the anchor is the first line's blob");
    let ledger = Ledger::parse(text.as_bytes());
    let ids: Vec<String> = ledger.events.iter().map(|e| e.id.to_string()).collect();
    assert_eq!(ids, example("order").lines().collect::<Vec<_>>());
    let stated: Value = serde_json::from_str(&example("view")).expect("JSON");
    assert_eq!(view(&ledger, &anchor), stated, "the library");
    assert_eq!(second_reader(&[(text.into_bytes(), anchor)])[0], stated, "the second reader");
}

#[test]
fn the_writer_writes_the_example() {
    for line in example("ledger").lines() {
        let wire: Value = serde_json::from_str(line).expect("JSON");
        let by: Author = serde_json::from_value(wire["by"].clone()).expect("an author");
        let event = Line::parse(line.as_bytes()).event().cloned().expect("an event");
        let Body::Known(data) = &event.body else { panic!("a known type: {line}") };
        let salt = wire["data"]["salt"].as_str().expect("a salt");
        let again = seal(event.at, &by, data, &event.parents, salt).expect("sealed");
        assert_eq!(String::from_utf8(again.raw).as_deref(), Ok(line), "byte for byte");
    }
}

#[test]
fn the_erased_line_of_the_example_has_the_same_id_and_wins() {
    let anchor = Oid::parse(example("anchor").trim()).expect("an object id");
    let erased = example("erased");
    let event = Line::parse(erased.trim_end().as_bytes()).event().cloned().expect("an event");
    assert_eq!(event.body, Body::Erased);
    let fourth = example("ledger").lines().nth(3).expect("five lines").to_owned();
    assert_eq!(Line::parse(fourth.as_bytes()).event().map(|e| e.id), Some(event.id));
    let both = [example("ledger"), erased].concat().into_bytes();
    let folded = view(&Ledger::parse(&both), &anchor);
    assert_eq!(folded["next"], json!([]));
    assert_eq!(second_reader(&[(both, anchor)])[0], folded);
}

// ---- every type and member is specified ----

/// The public members of a struct, as JSON names them.
fn members(source: &str, name: &str) -> Vec<String> {
    let (_, after) = source.split_once(&format!("pub struct {name} {{\n")).expect("the struct stands there");
    let body = after.split("\n}").next().unwrap_or_default();
    let mut renamed = None;
    let mut found = Vec::new();
    for line in body.lines().map(str::trim) {
        if let Some((_, rest)) = line.split_once("rename = \"") {
            renamed = rest.split('"').next().map(str::to_owned);
        } else if let Some(field) = line.strip_prefix("pub ") {
            let field = field.split(':').next().unwrap_or_default().to_owned();
            found.push(renamed.take().unwrap_or(field));
        }
    }
    found
}

/// Type name to members, from the sources.
fn types_in_the_sources() -> BTreeMap<String, Vec<String>> {
    let mut types = BTreeMap::new();
    for entry in std::fs::read_dir(root().join("src/event")).expect("src/event is there") {
        let source = std::fs::read_to_string(entry.expect("an entry").path()).expect("a source file");
        let Some((_, after)) = source.split_once("const TYPE: &'static str = \"") else {
            continue;
        };
        let type_name = after.split('"').next().unwrap_or_default().to_owned();
        let (_, implemented) = source.split_once("impl EventType for ").expect("a type implements the trait");
        let name = implemented.split(' ').next().unwrap_or_default();
        types.insert(type_name, members(&source, name));
    }
    let model = std::fs::read_to_string(root().join("src/model/incident.rs")).expect("a source file");
    for (shape, name) in [
        ("author", "Author"),
        ("file", "FileRef"),
        ("run", "RunRecord"),
        ("account", "Account"),
        ("redaction", "Redaction"),
        ("block", "DraftedBlock"),
    ] {
        types.insert(shape.into(), members(&model, name));
    }
    let outcome = std::fs::read_to_string(root().join("src/model/outcome.rs")).expect("a source file");
    types.insert("outcome".into(), members(&outcome, "Outcome"));
    types
}

/// The text of a type's section of the specification.
fn section(text: &str, name: &str) -> Option<String> {
    let heading = if name.contains('.') { format!("\n- **`{name}`** ") } else { format!("\n- **{name}** ") };
    let (_, after) = text.split_once(&heading)?;
    let end = after.find("\n- **").into_iter().chain(after.find("\n#")).min()?;
    after[..end].split("*Fold:*").next().map(str::to_owned)
}

#[test]
fn every_type_and_member_is_specified() {
    let text = specification();
    let sources = types_in_the_sources();
    let mut missing = Vec::new();
    for type_name in Data::TYPES {
        assert!(sources.contains_key(*type_name), "{type_name} has a file in src/event");
    }
    for (type_name, members) in &sources {
        let Some(section) = section(&text, type_name) else {
            missing.push(format!("a section `{type_name}`"));
            continue;
        };
        missing.extend(
            members
                .iter()
                .filter(|m| !section.contains(&format!("`{m}`")))
                .map(|m| format!("`{m}` of {type_name}")),
        );
    }
    assert!(missing.is_empty(), "docs/STORAGE.md §9 lacks: {missing:#?}");
    let (_, types) = text.split_once("### 9.2").expect("the types are specified there");
    for name in types.lines().filter_map(|l| l.strip_prefix("- **`")?.split('`').next()) {
        assert!(Data::TYPES.contains(&name), "docs/STORAGE.md specifies {name}, which nobody writes");
    }
}

#[test]
fn the_second_reader_knows_the_same_members() {
    let program = format!(
        "import json, sys; sys.path.insert(0, {:?}); import ledger_line as l; \
         print(json.dumps({{n: [m.rstrip('!') for m, _ in s] for n, s in l.SHAPES.items()}}))",
        root().join("tests/reader").to_string_lossy()
    );
    let mut known: BTreeMap<String, Vec<String>> =
        serde_json::from_str(&python(&["-c", &program], None)).expect("JSON");
    let mut sources = types_in_the_sources();
    known.values_mut().chain(sources.values_mut()).for_each(|m| m.sort());
    assert_eq!(known, sources);
}

// ---- random ledgers ----

#[test]
fn random_ledgers_fold_the_same_in_both_readers() {
    let text = proptest::string::string_regex("[a-z é\"\\\\\n\t\u{1}\u{7f}/]{0,6}").expect("a pattern");
    let steps = proptest::collection::vec((any::<u64>(), any::<u64>(), 0_i64..5, text), 0..60);
    let extra = proptest::collection::vec((0_u8..14, any::<u64>()), 0..12);
    let mut runner = TestRunner::default();
    let ledgers: Vec<(Vec<u8>, Oid)> = (0..40)
        .map(|_| {
            let (steps, extra) = (&steps, &extra).new_tree(&mut runner).expect("generated").current();
            random_ledger(&steps, &extra)
        })
        .collect();
    let mut seen = std::collections::BTreeSet::new();
    for ((bytes, anchor), theirs) in ledgers.iter().zip(second_reader(&ledgers)) {
        let ledger = Ledger::parse(bytes);
        seen.extend(ledger.events.iter().map(|e| e.type_name.clone()));
        let ours = view(&ledger, anchor);
        for (member, value) in ours.as_object().expect("an object") {
            assert_eq!(*value, theirs[member], "{member} of\n{}", String::from_utf8_lossy(bytes));
        }
        assert_eq!(ours, theirs);
    }
    assert!(seen.len() > 20, "the ledgers hold most types: {seen:?}");
}

// ---- a repository ----

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs([("GIT_AUTHOR_NAME", "Ada"), ("GIT_AUTHOR_EMAIL", "ada@example.org")])
        .envs([("GIT_COMMITTER_NAME", "Ada"), ("GIT_COMMITTER_EMAIL", "ada@example.org")])
        .output()
        .expect("git is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn both_read_a_repository_that_git_carried() {
    let directory = tempfile::tempdir().expect("a directory");
    let [a, b, remote] = ["a", "b", "r.git"].map(|n| directory.path().join(n));
    let path = |p: &Path| p.to_string_lossy().into_owned();
    git(directory.path(), &["init", "-q", "--bare", "r.git"]);
    for clone in [&a, &b] {
        git(directory.path(), &["init", "-q", &path(clone)]);
        git(clone, &["remote", "add", "origin", &path(&remote)]);
    }
    let repo = Repo::open(&a).expect("opened");
    let count = std::cell::Cell::new(0_u64);
    let writer = ledger::Writer {
        signature: git2::Signature::new("Ada", "ada@example.org", &git2::Time::new(0, 0))
            .expect("a signature"),
        author: author(0),
        now: Timestamp::from_millis(1_772_000_000_000),
        salt: &|| {
            count.set(count.get() + 1);
            Ok(sha256_hex(&count.get().to_be_bytes())[..32].to_owned())
        },
    };
    let opened = ledger::open(&repo, &writer, &[], |d| {
        d.add(IncidentOpened { title: "it hangs".into(), ..Default::default() })
    })
    .expect("opened");
    let incident = opened.incident;
    // Enough for two segments.
    for n in 0..6 {
        let text = format!("{n}{}", "x".repeat(150_000));
        ledger::append(&repo, &writer, &incident, &[], |d| d.add(NextAdded { text: text.clone() }))
            .expect("appended");
    }
    // The specification's own commands, from one clone to another.
    let commands: Vec<Vec<String>> = specification()
        .lines()
        .filter_map(|l| l.strip_prefix("    git "))
        .map(|l| l.split(' ').map(|w| w.trim_matches('\'').to_owned()).collect())
        .collect();
    assert_eq!(commands.len(), 4, "push, fetch, two merges");
    for (i, command) in commands.iter().enumerate() {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        git(if i == 0 { &a } else { &b }, &words);
    }
    let here = Repo::open(&b).expect("opened");
    let whole = ledger::load(&here, &incident).expect("loaded");
    assert!(whole.events.iter().filter(|e| e.type_name == "ledger.segment").count() > 1);
    let ours = view(&whole, &incident);
    let theirs = python(&[&reader(), "--repo", &path(&b), "--incident", incident.as_str()], None);
    assert_eq!(serde_json::from_str::<Value>(&theirs).expect("JSON"), ours);
    // A flat tree, as git writes it for few notes, and the anchors of segments are no incidents.
    let tree = git(&b, &["ls-tree", "-r", "refs/notes/incidents"]).replace('/', "");
    std::fs::write(directory.path().join("flat"), &tree).expect("written");
    let output = Command::new("git")
        .args(["-C", &path(&b), "mktree"])
        .stdin(std::fs::File::open(directory.path().join("flat")).expect("there"))
        .output()
        .expect("git is installed");
    let flat = String::from_utf8(output.stdout).expect("UTF-8");
    let commit = git(&b, &["commit-tree", "-m", "flat", flat.trim()]);
    git(&b, &["update-ref", "refs/notes/incidents", commit.trim()]);
    let all: Vec<Value> =
        serde_json::from_str(&python(&[&reader(), "--repo", &path(&b)], None)).expect("JSON");
    assert_eq!(all, vec![ours]);
}
