//! The `kernel` gate through its real path: `validate`, our own process, cudarc, and the emulated driver and compiler
//! of tests/emulator. tests/kernels holds wrong kernels that it must catch and right ones that it must pass.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use common::{Ran, Repo, finish};
use serde_json::Value;

/// Where the emulated libraries are; built once.
fn emulator() -> &'static Path {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    PLACE.get_or_init(|| {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulator");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/emulator/build");
        finish(Command::new(script).arg(&place).output()).expect(0);
        place
    })
}

/// `git-incident …` with the emulated device.
fn emulated(repo: &Repo, arguments: &[&str]) -> Ran {
    let mut command = repo.command("git-incident");
    command.env("LD_LIBRARY_PATH", emulator()).args(arguments);
    finish(command.output())
}

/// Commits what is there, approves it, and judges it: the records by the gates' names.
fn judged(repo: &Repo) -> Vec<Value> {
    repo.commit("Kernels");
    repo.incident(&["trust", "--yes"]).expect(0);
    let ran = emulated(repo, &["--json", "validate"]);
    let view = ran.json();
    view["records"].as_array().unwrap_or_else(|| panic!("no records in {view}\n{}", ran.stderr)).clone()
}

/// The record of the only gate.
fn judged_one(repo: &Repo) -> Value {
    judged(repo).remove(0)
}

fn reason(record: &Value) -> &str {
    record["reason"].as_str().unwrap_or_default()
}

/// A kernel of the set.
struct Member {
    id: String,
    wrong: bool,
    /// The kinds of finding that name what is wrong.
    expected: Vec<String>,
    gate: String,
}

/// The members of a family, with the family's declarations and what a file changes of them.
fn members(folder: &Path) -> Vec<Member> {
    let family = folder.file_name().expect("a name").to_string_lossy().into_owned();
    let declared = std::fs::read_to_string(folder.join("gate.toml")).expect("gate.toml");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    let mut members = Vec::new();
    for file in files {
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        let wrong = name.starts_with("wrong_");
        if !wrong && !name.starts_with("right_") {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("a source");
        let said = |word: &str| -> Vec<String> {
            text.lines().filter_map(|line| line.strip_prefix(&format!("// {word}: ")).map(str::to_owned)).collect()
        };
        let mut lines: Vec<String> = declared.lines().map(str::to_owned).collect();
        for change in said("gate") {
            let key = change.split(" = ").next().expect("a key").to_owned();
            lines.retain(|line| !line.starts_with(&format!("{key} = ")));
            lines.insert(0, change);
        }
        let id = format!("{family}-{name}").replace('_', "-");
        let gate = format!(
            "[[gate]]\nid = \"{id}\"\nkind = \"kernel\"\ndevice = \"emulated\"\nsource = \"{family}/{name}.cu\"\n{}\n",
            lines.join("\n")
        );
        let expected: Vec<String> =
            said("expect").iter().flat_map(|line| line.split(' ')).map(str::to_owned).collect();
        assert_eq!(wrong, !expected.is_empty(), "{id} says what is expected of it exactly if it is wrong");
        members.push(Member { id, wrong, expected, gate });
    }
    members
}

/// One row of the table.
struct Row {
    id: String,
    wrong: bool,
    caught: bool,
    as_expected: bool,
    text: String,
}

fn family(folder: &Path) -> Vec<Row> {
    let members = members(folder);
    let repo = Repo::new();
    let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
    for file in std::fs::read_dir(folder).expect("a folder") {
        let path = file.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a source");
        repo.write(&format!("{name}/{}", path.file_name().expect("a name").to_string_lossy()), &text);
    }
    let gates: Vec<&str> = members.iter().map(|member| member.gate.as_str()).collect();
    repo.write(".git-incident.toml", &gates.join("\n"));
    let records = judged(&repo);
    assert_eq!(records.len(), members.len(), "{name}");
    members
        .iter()
        .zip(&records)
        .map(|(member, record)| {
            assert_eq!(record["gate"], member.id.as_str());
            let verdict = record["verdict"].as_str().expect("a verdict");
            let kind = reason(record).split(':').next().unwrap_or_default();
            Row {
                id: member.id.clone(),
                wrong: member.wrong,
                caught: verdict == "fail",
                as_expected: if member.wrong {
                    verdict == "fail" && member.expected.iter().any(|expected| expected == kind)
                } else {
                    verdict == "pass"
                },
                text: format!("{verdict}: {}", reason(record)),
            }
        })
        .collect()
}

#[test]
fn wrong_kernels_are_caught_and_right_ones_pass() {
    let only = std::env::var("KERNEL_FAMILY").ok();
    let mut folders: Vec<PathBuf> = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels"))
        .expect("the set")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.join("gate.toml").is_file())
        .filter(|path| only.as_ref().is_none_or(|only| path.ends_with(only)))
        .collect();
    folders.sort();
    emulator();
    let (todo, rows) = (Mutex::new(folders), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let Some(next) = todo.lock().expect("the list").pop() else {
                        break;
                    };
                    let found = family(&next);
                    rows.lock().expect("the table").extend(found);
                }
            });
        }
    });
    let mut rows = rows.into_inner().expect("the table");
    rows.sort_by(|a, b| a.id.cmp(&b.id));
    for row in &rows {
        let mark = if row.as_expected { "ok " } else { "NOT" };
        println!("{mark} {:<40} {}", row.id, row.text.chars().take(150).collect::<String>());
    }
    let (wrong, right): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.wrong);
    let caught = wrong.iter().filter(|row| row.caught).count();
    println!("{caught} of {} wrong kernels caught, {} right ones", wrong.len(), right.len());
    let failed: Vec<&str> = right.iter().filter(|row| !row.as_expected).map(|row| row.id.as_str()).collect();
    assert!(failed.is_empty(), "right kernels that do not pass: {failed:?}");
    let mistaken: Vec<&str> =
        wrong.iter().filter(|row| row.caught && !row.as_expected).map(|row| row.id.as_str()).collect();
    assert!(mistaken.is_empty(), "caught for another reason than what is wrong: {mistaken:?}");
    assert!(caught * 100 >= wrong.len() * 95, "only {caught} of {} caught", wrong.len());
    if only.is_none() {
        assert!(wrong.len() >= 40 && right.len() >= 15);
    }
}
