//! Ledgers and repositories that somebody made to do harm: read in bounded time and memory, shown as what they are,
//! and harmless. Every command is tried on each, under a limit of 1.2 GB of address space and 60 s of processor time.

mod common;

use std::collections::HashMap;

use common::stranger::{
    Bytes, EVIL, Ledger, bounded, every_command, fanned, harmless, obeyed, own_is_well, plant, sealed,
    with_own_incident,
};
use common::{EVIDENCE, LEDGER, Repo};

// ---- what is said ----

/// An event of every type with the text in every member that takes one.
fn evil_everywhere() -> Ledger {
    let text = |json: &str| json.replace("EVIL", serde_json::json!(EVIL).as_str().expect("a text"));
    let quoted = serde_json::json!(EVIL).to_string();
    let fill = |json: &str| text(json).replace(EVIL, &quoted[1..quoted.len() - 1]);
    let mut ledger = Ledger::opened_with(
        &fill(
            r#"{"title":"EVIL","ticket":"EVIL","symptom":"EVIL","environment":"EVIL","files":[{"path":"EVIL","note":"EVIL"}],"labels":["EVIL"]}"#,
        ),
        EVIL,
    );
    let attempt = ledger.says(
        "attempt.started",
        &fill(r#"{"hypothesis":"EVIL","disproof":"EVIL","title":"EVIL","action":"EVIL"}"#),
    );
    let of = |json: &str| fill(json).replace("ATTEMPT", &attempt.to_string());
    let run =
        r#"{"argv":["EVIL"],"exit":1,"millis":5,"hang":"EVIL","dirty":true,"environment":{"EVIL":"EVIL"}}"#;
    ledger.says(
        "attempt.noted",
        &of(&format!(
            r#"{{"attempt":"ATTEMPT","text":"EVIL","about":["EVIL"],"important":true,"run":{run}}}"#
        )),
    );
    ledger.says("attempt.noted", &of(r#"{"text":"EVIL"}"#));
    ledger.says(
        "attempt.ended",
        &of(r#"{"attempt":"ATTEMPT","outcome":{"hypothesis":"supported","bug":"fixed"},"action":"EVIL","result":"EVIL","conclusion":"EVIL","rules_out":["EVIL"]}"#),
    );
    let next = ledger.says("next.added", &of(r#"{"text":"EVIL"}"#));
    ledger.says("next.done", &of(&format!(r#"{{"next":"{next}","remark":"EVIL"}}"#)));
    let next = ledger.says("next.added", &of(r#"{"text":"EVIL"}"#));
    ledger.says("next.dropped", &of(&format!(r#"{{"next":"{next}","reason":"EVIL"}}"#)));
    ledger.says(
        "difference.set",
        &of(r#"{"factor":"EVIL","working":"EVIL","broken":"EVIL","working_case":"EVIL","broken_case":"EVIL"}"#),
    );
    let cause = ledger.says("cause.proposed", &of(r#"{"text":"EVIL","mechanism":"EVIL"}"#));
    ledger.says("cause.rejected", &of(&format!(r#"{{"cause":"{cause}","reason":"EVIL"}}"#)));
    let cause = ledger.says("cause.proposed", &of(r#"{"text":"EVIL"}"#));
    ledger.says(
        "cause.confirmed",
        &of(&format!(r#"{{"cause":"{cause}","accounts":[{{"attempt":"ATTEMPT","how":"EVIL"}}],"disproof":"ATTEMPT","mechanism":"EVIL"}}"#)),
    );
    let repro = ledger.says(
        "repro.set",
        &of(r#"{"command":["EVIL","EVIL"],"fails_when":"output","pattern":"EVIL","directory":"EVIL"}"#),
    );
    ledger.says(
        "repro.ran",
        &of(&format!(r#"{{"repro":"{repro}","runs":5,"failures":2,"environment":"EVIL"}}"#)),
    );
    ledger.says(
        "evidence.added",
        &of(r#"{"oid":"0000000000000000000000000000000000000001","sha256":"EVIL","bytes":1,"name":"EVIL","kind":"EVIL","attempt":"ATTEMPT","location":"EVIL","redacted":[{"rule":"EVIL","line":1}]}"#),
    );
    ledger.says(
        "evidence.added",
        &of(r#"{"sha256":"EVIL","bytes":1,"name":"EVIL","kind":"log","location":"EVIL"}"#),
    );
    ledger.says("evidence.erased", r#"{"oid":"0000000000000000000000000000000000000009","reason":"x"}"#);
    ledger.says(
        "commit.linked",
        &of(r#"{"commit":"0000000000000000000000000000000000000002","role":"fix","attempt":"ATTEMPT","patch_id":"EVIL","subject":"EVIL","pr":"EVIL"}"#),
    );
    ledger.says("commit.rewritten", &of(r#"{"from":"0000000000000000000000000000000000000002","to":"0000000000000000000000000000000000000003","how":"EVIL"}"#));
    ledger.says("gate.recorded", &of(r#"{"gate":"EVIL","verdict":"pass","device":"EVIL"}"#));
    ledger.says("budget.spent", &of(r#"{"minutes":5,"micros":7,"note":"EVIL"}"#));
    ledger.says("postmortem.drafted", &of(r#"{"path":"EVIL","sha256":"EVIL"}"#));
    ledger.says("pr.drafted", &of(r#"{"title":"EVIL","sha256":"EVIL"}"#));
    ledger.says("incident.edited", &of(r#"{"status_note":"EVIL","next_preface":"EVIL"}"#));
    ledger.says("incident.closed", &of(r#"{"as":"blocked","note":"EVIL","gaps":["EVIL"]}"#));
    ledger
}

#[test]
fn escape_sequences_in_every_field_reach_no_terminal() {
    let (repo, own) = with_own_incident();
    let ledger = evil_everywhere();
    let id = ledger.plant(&repo);
    let said = every_command(&repo, &id);
    assert!(said["show ID"].stdout.contains("^["), "it is shown as what it is: {}", said["show ID"].stdout);
    said["show ID"].clone().expect(0);
    said["list"].clone().expect(0);
    said["export ID"].clone().expect(0);
    // Reopened, so that commands that need an open incident say something too.
    bounded(&repo, &["reopen", &id, "-m", "go on"]).expect(0);
    every_command(&repo, &id);
    for line in [
        "attempt start -H x -i ID",
        "attempt end --failed -m no -i ID",
        "close ID --wont-fix",
        "hook post-commit",
    ] {
        let words: Vec<&str> = line.split(' ').map(|word| if word == "ID" { &id } else { word }).collect();
        harmless(line, bounded(&repo, &words));
    }
    // Errors name what was typed, and what was found.
    for line in [vec!["show", EVIL.trim_end_matches('\u{0}')], vec!["use", "\u{1b}[31m"]] {
        let line: Vec<String> = line.iter().map(|w| w.replace('\u{0}', "")).collect();
        let words: Vec<&str> = line.iter().map(String::as_str).collect();
        harmless("typed", bounded(&repo, &words));
    }
    own_is_well(&repo, &own);
}

#[test]
fn lines_on_commits_and_trailers_hold_no_escape_sequences() {
    let (repo, _) = with_own_incident();
    let mut ledger = Ledger::opened_with(
        &serde_json::json!({"title": format!("evil {EVIL}"), "ticket": "T\u{1b}[31m-1"}).to_string(),
        EVIL,
    );
    ledger.says("attempt.started", r#"{"hypothesis":"h"}"#);
    let id = ledger.plant(&repo);
    repo.typed("init").expect(0);
    repo.incident(&["use", &id]).expect(0);
    let commit = repo.commit("a change");
    repo.incident(&["link", &commit, "--as", "fix", "-i", &id]).expect(0);
    let log = repo.git(&["log", "--notes=incident-lines", "-3"]);
    assert!(log.contains("evil"), "{log}");
    assert_eq!(obeyed(&log), None, "{log:?}");
}

#[test]
fn names_of_evidence_lead_nowhere_and_forge_no_rows() {
    let (repo, own) = with_own_incident();
    let mut ledger = Ledger::opened("names", "x");
    let blob = repo.git(&["hash-object", "-w", "--stdin"]);
    let names = [
        "../../x",
        "CON",
        "-rf",
        "a\nforged row 2026",
        "/etc/passwd",
        "..",
        "",
        "a\u{1b}[2Jb",
        ".git/config",
    ];
    for name in names {
        let json = serde_json::json!({"oid": blob, "sha256": "", "bytes": 0, "name": name, "kind": "log"});
        ledger.says("evidence.added", &json.to_string());
    }
    let id = ledger.plant(&repo);
    let before =
        repo.run("sh", &["-c", "cd ..; find . -path ./work/.git -prune -o -type f -print | sort"]).stdout;
    let said = every_command(&repo, &id);
    let list = &said["evidence list -i ID"].stdout;
    assert_eq!(list.lines().count(), names.len(), "a name forged a row:\n{list}");
    for name in names {
        harmless(name, bounded(&repo, &["evidence", "show", "-i", &id, "--", name]));
    }
    let show = &said["show ID"].stdout;
    assert!(!show.lines().any(|line| line.trim_start().starts_with("forged")), "{show}");
    std::fs::remove_file(repo.path().join("own.log")).expect("ours");
    let after =
        repo.run("sh", &["-c", "cd ..; find . -path ./work/.git -prune -o -type f -print | sort"]).stdout;
    assert_eq!(after, before, "a file was made");
    own_is_well(&repo, &own);
}

// ---- how much there is ----

#[test]
fn a_line_of_many_megabytes_is_not_read_and_said() {
    let (repo, own) = with_own_incident();
    let mut ledger = Ledger::opened("before the long line", "x");
    ledger.says("next.added", r#"{"text":"an idea"}"#);
    let id = ledger.plant(&repo);
    // A line of 200 MB in a note of its own, and one of 40 MB behind a sound ledger.
    plant(&repo, LEDGER, vec![(fanned(&"a1".repeat(20)), "100644", Bytes::Repeated(b'x', 200 << 20))]);
    let said = bounded(&repo, &["list"]).expect(0);
    harmless("list", said.clone()).says("too large to be read").says("our own").says("before the long line");
    assert_eq!(bounded(&repo, &["--json", "list"]).json()["unread"].as_array().map(Vec::len), Some(1));
    harmless("show", bounded(&repo, &["show", &"a1".repeat(20)])).refuses(1).says("too large");
    let mut bytes = ledger.bytes();
    bytes.extend(vec![b'y'; 40 << 20]);
    bytes.push(b'\n');
    plant(&repo, LEDGER, vec![(fanned(&id), "100644", Bytes::Whole(bytes))]);
    let said = every_command(&repo, &id);
    said["show ID"].clone().expect(0).says("before the long line").says("an idea").says("more than 1048576");
    own_is_well(&repo, &own);
}

#[test]
fn a_bomb_of_zeros_as_note_and_as_evidence_fills_no_memory() {
    let (repo, own) = with_own_incident();
    let mut ledger = Ledger::opened("bomb", "x");
    let bomb = 700 << 20;
    plant(&repo, "refs/heads/bomb", vec![("bomb".to_owned(), "100644", Bytes::Repeated(0, bomb))]);
    let oid = repo.git(&["rev-parse", "refs/heads/bomb:bomb"]);
    let json =
        serde_json::json!({"oid": oid, "sha256": "00", "bytes": 12, "name": "small.log", "kind": "log"});
    ledger.says("evidence.added", &json.to_string());
    let id = ledger.plant(&repo);
    let tree = format!("100644 blob {oid}\t{}", &oid[2..]);
    let planted = format!(
        "sub=$(printf '%s\\n' '{tree}' | git mktree) && top=$(git ls-tree {EVIDENCE} | grep -v '\t{fan}$' | \
         {{ cat; printf '040000 tree %s\\t{fan}\\n' $sub; }} | git mktree) && \
         git update-ref {EVIDENCE} $(git commit-tree -p {EVIDENCE} -m x $top) && \
         sub=$(printf '100644 blob {oid}\\t{key}\\n' | git mktree) && \
         top=$({{ git ls-tree {LEDGER} | grep -v '\tb7$'; printf '040000 tree %s\\tb7\\n' $sub; }} | git mktree) && \
         git update-ref {LEDGER} $(git commit-tree -p {LEDGER} -m x $top)",
        fan = &oid[..2],
        key = "b7".repeat(19),
    );
    repo.run("bash", &["-c", &planted]).expect(0);
    let said = every_command(&repo, &id);
    said["list"].clone().expect(0).says("too large to be read");
    said["evidence verify -i ID"].clone().expect(1).says("altered");
    harmless("show", bounded(&repo, &["evidence", "show", "small.log", "-i", &id]))
        .refuses(1)
        .says("too large");
    own_is_well(&repo, &own);
}

#[test]
fn hundreds_of_thousands_of_lines_are_bounded() {
    let (repo, own) = with_own_incident();
    let mut ledger = Ledger::opened("many lines", "x");
    for n in 0..40_000 {
        ledger.line(format!("junk {n}"));
    }
    // Names half a million segments that are not there.
    for n in 0..500 {
        ledger.says("ledger.continued", &format!(r#"{{"segment":"{n:040x}"}}"#));
    }
    let id = ledger.plant(&repo);
    let said = every_command(&repo, &id);
    said["show ID"].clone().expect(0).says("many lines").says("and 39000 more");
    // More lines than a ledger may have: not read, and said.
    let many: Vec<u8> = (0..400_000).flat_map(|n| format!("{n}\n").into_bytes()).collect();
    plant(&repo, LEDGER, vec![(fanned(&"c3".repeat(20)), "100644", Bytes::Whole(many.clone()))]);
    harmless("list", bounded(&repo, &["list"])).expect(0).says("too large to be read as a note");
    // The same in place of a ledger of ours: ours comes back, and everybody can write.
    plant(&repo, LEDGER, vec![(fanned(&own), "100644", Bytes::Whole(many))]);
    harmless("list", bounded(&repo, &["list"])).expect(0).says("mended");
    own_is_well(&repo, &own);
}

/// Trees that each name one other 256 times: more paths than anything can hold.
#[test]
fn a_tree_that_names_itself_without_end_is_bounded() {
    let (repo, own) = with_own_incident();
    let script = format!(
        "blob=$(echo x | git hash-object -w --stdin)
         tree=$(for d in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do printf '100644 blob %s\\t0%s\\n' $blob $d; done | git mktree)
         for level in 1 2 3 4 5 6 7 8; do
            tree=$(for a in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do for b in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do
                printf '040000 tree %s\\t%s%s\\n' $tree $a $b; done; done | git mktree)
         done
         git update-ref {LEDGER} $(git commit-tree -p {LEDGER} -m bomb $tree)"
    );
    repo.run("bash", &["-c", &script]).expect(0);
    // This clone knows better.
    harmless("list", bounded(&repo, &["list"])).expect(0).says("mended").says("our own");
    own_is_well(&repo, &own);
    // One that has nothing else says so.
    let clone = Repo::new();
    clone.commit("first");
    clone.run("bash", &["-c", &script.replace(&format!("-p {LEDGER}"), "")]).expect(0);
    for line in ["list", "show 1234567", "--json list", "show abcdef0123", "open x"] {
        let words: Vec<&str> = line.split(' ').collect();
        harmless(line, bounded(&clone, &words));
    }
    harmless("list", bounded(&clone, &["list"]))
        .refuses(1)
        .says("more than 1048576 entries")
        .says("git log -1");
}

// ---- how it is made ----

#[test]
fn lines_that_are_no_events_are_kept_and_shown() {
    let (repo, own) = with_own_incident();
    let mut ledger = Ledger::opened("odd lines", "x");
    let real = ledger.says("next.added", r#"{"text":"the real idea"}"#);
    let good = String::from_utf8(ledger.lines[1].clone()).expect("text");
    // Twins: the same id with another body, another parent, another time.
    ledger.line(good.replace("the real idea", "the forged idea"));
    ledger.line(good.replace("\"parents\":[\"", "\"parents\":[\"00"));
    // An event that names itself, two that name each other, one whose parents are nowhere.
    ledger.line(good.replace(&ledger.key, "").replace("\"parents\":[", &format!("\"parents\":[\"{real}\",")));
    let nowhere = git_incident::model::EventId::from_bytes([7; 32]);
    ledger.line(sealed("next.added", r#"{"text":"an orphan"}"#, &[nowhere], 1_772_000_000_001, "x").raw);
    // Deep JSON, alone and inside an event; another version; a type that nobody knows; bytes that are no text.
    let deep = format!("{}1{}", "[".repeat(300_000), "]".repeat(300_000));
    ledger.line(&deep);
    ledger.line(good.replace("{\"salt\"", &format!("{{\"a\":{deep},\"salt\"")));
    ledger.line(r#"{"v":99,"what":"a later version"}"#);
    ledger.line(b"\xff\xfe\x00\x80 no text");
    ledger.line(b"{\"at\":\"\xc3\x28\",\"by\":");
    ledger.line("{\"v\":18446744073709551616}");
    ledger.line(vec![b'{'; 900_000]);
    ledger.line("\r");
    let id = ledger.plant(&repo);
    let before = ledger.lines.clone();
    let said = every_command(&repo, &id);
    let show = said["show ID"].clone().expect(0);
    show.says("the real idea")
        .says("an orphan")
        .says("damaged")
        .says("version 99")
        .never_says("the forged idea");
    // Whatever is written here, every line of the stranger stays, byte for byte.
    let note = repo.command("git").args(["cat-file", "blob", &format!("{LEDGER}:{}", fanned(&id))]).output();
    let note = note.expect("git cat-file").stdout;
    let there: Vec<&[u8]> = note.split(|b| *b == b'\n').collect();
    for line in &before {
        assert!(there.contains(&line.as_slice()), "{}", String::from_utf8_lossy(&line[..line.len().min(80)]));
    }
    own_is_well(&repo, &own);
}

#[test]
fn ids_that_begin_alike_are_told_apart() {
    let (repo, own) = with_own_incident();
    // Two anchors that share seven digits, as a birthday finds them.
    let mut seen: HashMap<String, String> = HashMap::new();
    let (a, b) = (0..)
        .find_map(|n| {
            let title = format!("twin {n}");
            let key = Ledger::opened(&title, "x").key;
            seen.insert(key[..7].to_owned(), title.clone()).map(|other| (other, title))
        })
        .expect("a pair");
    let (first, second) = (Ledger::opened(&a, "x").plant(&repo), Ledger::opened(&b, "x").plant(&repo));
    let prefix = &first[..7];
    assert!(second.starts_with(prefix) && first != second);
    for line in ["show", "use", "export", "close"] {
        let mut words = vec![line, prefix];
        if line == "close" {
            words.push("--wont-fix");
        }
        let ran = repo.incident(&words).refuses(1);
        ran.says("means 2 incidents")
            .says(&a)
            .says(&b)
            .says(&first[..12])
            .says(&second[..12])
            .says("more digits");
    }
    repo.incident(&["show", &first]).expect(0).says(&a);
    repo.incident(&["show", &second]).expect(0).says(&b);
    own_is_well(&repo, &own);
}

#[test]
fn links_and_submodules_in_the_tree_of_notes_are_not_followed() {
    let (repo, own) = with_own_incident();
    let outside = repo.root().join("outside.txt");
    std::fs::write(&outside, "nobody's business\n").expect("a file");
    let target = Bytes::Whole(outside.display().to_string().into_bytes());
    plant(&repo, LEDGER, vec![(fanned(&"d4".repeat(20)), "120000", target)]);
    let commit = repo.git(&["rev-parse", "HEAD"]);
    let sub = format!(
        "sub=$(printf '160000 commit {commit}\\t{}\\n' | git mktree) && top=$({{ git ls-tree {LEDGER}; \
         printf '160000 commit {commit}\\t{}\\n040000 tree %s\\te5\\n' $sub; }} | git mktree) && \
         git update-ref {LEDGER} $(git commit-tree -p {LEDGER} -m x $top)",
        "e5".repeat(19),
        "f6".repeat(20)
    );
    repo.run("bash", &["-c", &sub]).expect(0);
    let entries = [("../../escape", "100755"), ("README", "100644"), ("zz/zz", "100644")];
    for (path, mode) in entries {
        let path = path.trim_start_matches("../").to_owned();
        plant(&repo, LEDGER, vec![(path, mode, Bytes::Whole(b"{}\n".to_vec()))]);
    }
    for key in ["d4", "e5", "f6"] {
        harmless(key, bounded(&repo, &["show", &key.repeat(20)])).expect(1).never_says("nobody's business");
    }
    every_command(&repo, &own);
    own_is_well(&repo, &own);
}
