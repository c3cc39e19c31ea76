//! Markdown debug logs go in and come out, and an incident is the same in another repository.

mod common;

use std::path::{Path, PathBuf};

use common::Repo;
use serde_json::{Value, json};

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A view without what belongs to one repository: ids and times.
fn without_ids_and_times(view: &Value) -> Value {
    const LOCAL: [&str; 8] = ["id", "incident", "at", "opened", "updated", "started", "ended", "author"];
    match view {
        Value::Object(members) => members
            .iter()
            .filter(|(name, _)| !LOCAL.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), without_ids_and_times(value)))
            .collect(),
        Value::Array(items) => items.iter().map(without_ids_and_times).collect(),
        other => other.clone(),
    }
}

#[track_caller]
fn import(repo: &Repo, path: &Path) -> Value {
    let path = path.display().to_string();
    repo.incident_json(&["import", &path])
}

/// Exports the active incident, imports it in a fresh repository, and compares the two views.
#[track_caller]
fn survives_the_way_out_and_in(repo: &Repo) {
    let log = repo.typed("export").expect(0).stdout;
    let fresh = Repo::new();
    fresh.write("log.md", &log);
    let imported = import(&fresh, &fresh.path().join("log.md"));
    assert_eq!(imported["warnings"], json!([]), "{log}");
    let (before, after) = (repo.view("show"), fresh.view("show"));
    let different = pretty(&before) != pretty(&after);
    assert!(!different, "{}\n---\n{}\n---\n{log}", pretty(&before), pretty(&after));
    assert_eq!(fresh.typed("export").expect(0).stdout, log, "the second export differs");
}

fn pretty(view: &Value) -> String {
    format!("{:#}", without_ids_and_times(view))
}

fn texts(list: &Value, member: &str) -> Vec<String> {
    let items = list.as_array().expect("a list").iter();
    items.map(|i| i[member].as_str().expect("a text").to_owned()).collect()
}

fn outcomes(view: &Value) -> Vec<String> {
    let attempts = view["attempts"].as_array().expect("attempts").iter();
    attempts
        .map(|a| format!("{} {}", a["outcome"]["hypothesis"], a["outcome"]["bug"]).replace('"', ""))
        .collect()
}

#[test]
fn every_log_of_the_fixtures_is_imported_and_comes_back() {
    let mut seen = 0;
    for entry in std::fs::read_dir(here("tests/fixtures/debuglog")).expect("the fixtures") {
        let path = entry.expect("a fixture").path();
        let repo = Repo::new();
        let imported = import(&repo, &path);
        let rows = imported["incidents"].as_array().expect("incidents");
        assert_eq!(rows.len(), 1, "{}: the template is no incident", path.display());
        survives_the_way_out_and_in(&repo);
        seen += 1;
    }
    assert!(seen > 0, "no fixture");
}

#[test]
fn the_log_of_the_ranks_is_read_whole() {
    let repo = Repo::new();
    import(&repo, &here("tests/fixtures/debuglog/allreduce.md"));
    let view = repo.view("show");
    assert_eq!(view["title"], "Gradients drift after `all_reduce` on 8 ranks");
    assert_eq!((&view["status"], &view["status_note"]), (&json!("open"), &json!("one suspect left.")));
    assert!(view["symptom"].as_str().expect("a symptom").starts_with("From step 40 on"));
    assert!(view["environment"].as_str().expect("an environment").contains("8 devices, one node"));
    assert_eq!(view["files"], json!(["train/hook.py", "repro/drift.py"]));
    let attempts = view["attempts"].as_array().expect("attempts");
    assert_eq!(attempts.len(), 2);
    assert_eq!(attempts[0]["hypothesis"], "The data loader shuffles differently on each rank.");
    assert_eq!(attempts[1]["disproof"], "Both drift.");
    assert!(attempts[1]["action"].as_str().expect("an action").contains("# not a heading"));
    assert_eq!(outcomes(&view), ["refuted remains", "supported remains"]);
    assert_eq!(texts(&view["differences"], "factor"), ["Launch", "Buffers", "__seed__"]);
    assert!(
        view["differences"][1]["broken"].as_str().expect("a value").contains("(cast in the hook → fp32)")
    );
    assert_eq!(view["next"].as_array().expect("ideas").len(), 2);
}

/// The log that the product comes from stands outside of this repository; where it is not, that is said.
#[test]
fn the_real_debug_log_is_one_open_incident() {
    let path = here("../shared/seeds/debug-process.md");
    if !path.exists() {
        return common::skipped("no ../shared/seeds/debug-process.md: the real debug log is not imported");
    }
    let repo = Repo::new();
    let imported = import(&repo, &path);
    assert_eq!(imported["incidents"].as_array().expect("incidents").len(), 1);
    let view = repo.view("show");
    assert_eq!(view["status"], "open");
    assert!(view["title"].as_str().expect("a title").starts_with("NCU Profiling Hangs"));
    assert!(view["symptom"].as_str().expect("a symptom").contains("hangs at \"Profiling ... 0%\""));
    assert!(view["environment"].as_str().expect("an environment").contains("NVIDIA B200"));
    assert_eq!(view["files"].as_array().expect("files").len(), 2);
    let expected =
        ["refuted remains", "refuted remains", "refuted remains", "supported remains", "refuted remains"];
    assert_eq!(outcomes(&view), expected);
    for attempt in view["attempts"].as_array().expect("attempts") {
        for part in ["hypothesis", "action", "result", "conclusion"] {
            assert_ne!(attempt[part], "", "{part} of {attempt}");
        }
    }
    let factors = [
        "Launch context",
        "Grid shape",
        "Register pressure",
        "Coordinate math",
        "Memory inputs",
        "__launch_bounds__",
        "SMEM layout",
        "TMA pattern",
    ];
    assert_eq!(texts(&view["differences"], "factor"), factors);
    let next = texts(&view["next"], "text");
    assert_eq!(next.len(), 5);
    assert!(next[3].contains("Add int64 loads"), "a list in an idea belongs to it: {}", next[3]);
    survives_the_way_out_and_in(&repo);
}

#[test]
fn an_incident_made_by_commands_survives_as_well() {
    let repo = Repo::new();
    for line in "open 'row 17: NaN & \"quotes\"' --symptom 'nan at 17, then\n\n- a list\n- of two' --environment 'one card' --file a.cu
attempt start -H 'exp overflows' -d 'NaN stays' -a 'made it `float64`'
attempt end --failed -m 'still NaN' -r '### not a heading\n**Result:** nor a field'
attempt start -H 'the | mask' -t 'mask'
attempt end --supported --remains -m 'half of it'
attempt start -H 'both'
attempt end --worked -m 'gone'
difference set 'type | size' -w 'fp64 | 8' -b 'fp32 | 4' --working-case script --broken-case trainer
difference eliminate 'type | size'
next add 'try bfloat16\n\nand then measure'
next add 'read the manual'
next done 2 -m 'it says nothing'"
        .split('\n')
        .fold(Vec::<String>::new(), |mut lines, part| {
            // A quoted text may go over several lines.
            match lines.last_mut().filter(|l| l.matches('\'').count() % 2 == 1) {
                Some(open) => *open = format!("{open}\n{part}"),
                None => lines.push(part.to_owned()),
            }
            lines
        })
    {
        repo.typed(&line).expect(0);
    }
    let log = repo.typed("export").expect(0).stdout;
    let fresh = Repo::new();
    fresh.write("log.md", &log);
    import(&fresh, &fresh.path().join("log.md"));
    let (before, after) = (repo.view("show"), fresh.view("show"));
    for part in
        ["title", "symptom", "environment", "files", "status", "differences", "working_case", "broken_case"]
    {
        let (a, b) = (without_ids_and_times(&before[part]), without_ids_and_times(&after[part]));
        assert_eq!(a, b, "{part}\n{log}");
    }
    assert_eq!(outcomes(&before), outcomes(&after), "{log}");
    for part in ["title", "hypothesis", "disproof", "action", "result", "conclusion"] {
        assert_eq!(texts(&before["attempts"], part), texts(&after["attempts"], part), "{part}\n{log}");
    }
    assert_eq!(texts(&before["next"], "text"), texts(&after["next"], "text"), "{log}");
    assert_eq!(texts(&before["next"], "state"), texts(&after["next"], "state"), "{log}");
}

#[test]
fn the_same_log_twice_is_noticed() {
    let repo = Repo::new();
    let path = here("tests/fixtures/debuglog/allreduce.md");
    let first = import(&repo, &path);
    assert_eq!(first["incidents"][0]["new"], true);
    let again = import(&repo, &path);
    assert_eq!((&again["incidents"][0]["new"], &again["incident"]), (&json!(false), &first["incident"]));
    assert_eq!(repo.view("list")["incidents"].as_array().expect("rows").len(), 1);
    repo.incident(&["import", "--again", &path.display().to_string()]).expect(0);
    assert_eq!(repo.view("list")["incidents"].as_array().expect("rows").len(), 2);
}

#[test]
fn a_dry_run_writes_nothing() {
    let repo = Repo::new();
    let path = here("tests/fixtures/debuglog/allreduce.md").display().to_string();
    repo.incident(&["import", "-n", &path]).expect(0).says("would import").says("2 attempts");
    assert_eq!(repo.view("list")["incidents"], json!([]));
    assert_eq!(repo.git(&["for-each-ref"]), "");
}

#[test]
fn what_holds_no_incident_is_refused() {
    let repo = Repo::new();
    repo.write("empty.md", "");
    repo.write("prose.md", "# A page\n\nWith prose, and no incident at all.\n\n- a list\n");
    repo.write("latin.md", "x");
    std::fs::write(repo.path().join("latin.md"), b"### Bug\n\n**Symptom:** gr\xfc\xdfe\n").expect("a file");
    for (name, why) in
        [("empty.md", "holds no incident"), ("prose.md", "holds no incident"), ("latin.md", "not UTF-8")]
    {
        repo.incident(&["import", name]).refuses(1).says(why);
    }
    repo.typed("import no-such-file.md").refuses(1).says("cannot be read");
    repo.typed("import .").refuses(1);
    assert_eq!(repo.view("list")["incidents"], json!([]));
}

#[test]
fn a_log_on_standard_input_is_read() {
    let repo = Repo::new();
    let path = here("tests/fixtures/debuglog/allreduce.md").display().to_string();
    repo.run("sh", &["-c", "git incident import - < \"$0\"", &path]).expect(0).says("imported");
}

#[test]
fn the_ledger_and_the_view_can_be_exported_too() {
    let repo = Repo::new();
    let id = repo.open("exported");
    repo.note("one \u{9b}2J \u{202e} \u{7f}");
    let ledger = repo.typed("export --format ledger").expect(0).stdout;
    assert_eq!(ledger.trim_end(), repo.git(&["notes", "--ref=incidents", "show", &id]));
    let view: Value =
        serde_json::from_str(&repo.typed("export --format json").expect(0).stdout).expect("JSON");
    assert_eq!(view["incident"], id.as_str());
    repo.typed("export -o log.md").expect(0).says("wrote log.md");
    assert_eq!(repo.read("log.md"), repo.typed("export").expect(0).stdout);
    repo.typed("export -o no/such/directory/log.md").expect(1).says("cannot be written");
}
