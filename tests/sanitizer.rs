//! Gates of kind `sanitizer` in real repositories, with a stand-in for compute-sanitizer: no GPU is needed to say wrong
//! things about one. What the stand-in writes follows the tool's documented forms; it copies none of its output.

mod common;

use std::os::unix::fs::PermissionsExt;

use common::gates::with_gates;
use common::{Repo, skipped};

/// Reads its options as the tool does, runs the program, and says what the file `says-TOOL` of the tree holds.
const STAND_IN: &str = r#"#!/bin/sh
tool= xml= save= log= code=
while [ $# -gt 0 ]; do
    case "$1" in
        --tool) tool=$2; shift 2 ;;
        --xml) xml=yes; shift ;;
        --save) save=$2; shift 2 ;;
        --log-file) log=$2; shift 2 ;;
        --error-exitcode) code=$2; shift 2 ;;
        --print-limit) [ "$2" = 0 ] || exit 250; shift 2 ;;
        --target-processes) [ "$2" = all ] || exit 251; shift 2 ;;
        --*) exit 252 ;;
        *) break ;;
    esac
done
[ -n "$xml" ] && [ -n "$save" ] && [ -n "$log" ] && [ "$code" = 86 ] || exit 253
echo "$tool" >> ran
"$@"
status=$?
say() { printf '========= %s\n' "$@" >> "$log"; }
say COMPUTE-SANITIZER
summary() {
    if [ $tool = racecheck ]; then say "RACECHECK SUMMARY: $1 hazards displayed ($1 errors, 0 warnings)"
    else say "ERROR SUMMARY: $1 errors"; fi
}
report() { printf '<?xml version="1.0" encoding="utf-8"?>\n<ComputeSanitizerOutput>%s\n' "$1" > "$save"; }
access() {
    say "Invalid __global__ write of size 4 bytes" "    at tail(float *)+0xb0 in tail.cu:39" \
        "    by thread (31,0,0) in block (7,0,0)" "    Address 0x7f0000000400 is out of bounds" \
        "    and is 1 bytes after the nearest allocation at 0x7f0000000000 of size 1,024 bytes" ""
}
case $(cat "says-$tool" 2>/dev/null) in
    "") report "</ComputeSanitizerOutput>"; summary 0; exit $status ;;
    found) access; report "<record><kind>Precise</kind></record></ComputeSanitizerOutput>"; summary 1; exit 86 ;;
    found-and-0) access; summary 1; exit 0 ;;
    race)
        say "Error: Race reported between Write access at sum(int *)+0x90 in sum.cu:41" \
            "    and Read access at sum(int *)+0x100 in sum.cu:51 [508 hazards]" ""
        summary 1; exit 86 ;;
    no-call)
        say "Error: process didn't terminate successfully" \
            "Error: Target application terminated before first instrumented API call"
        exit 255 ;;
    cut-report) report "<record>"; summary 0; exit 0 ;;
    no-summary) exit 0 ;;
    no-log) rm "$log"; exit 0 ;;
    partly) say "Internal Sanitizer Error: x. Errors might go undetected."; summary 0; exit 0 ;;
esac
"#;

/// A repository with an approved sanitizer gate; `says` are the files that tell the stand-in what to say.
fn with(keys: &str, says: &[(&str, &str)]) -> Repo {
    let (repo, _bare) = with_gates("");
    for (tool, what) in says {
        repo.write(&format!("says-{tool}"), what);
    }
    repo.write(".git-incident.toml", &format!("[[gate]]\nid = \"memory\"\nkind = \"sanitizer\"\n{keys}\n"));
    repo.commit("Sanitize");
    let path = repo.root().join("bin/compute-sanitizer");
    std::fs::write(&path, STAND_IN).expect("a program");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("that runs");
    repo.incident(&["trust", "--yes"]).expect(0);
    repo
}

const RUN: &str = "run = \"echo 'it'\\\"s\\\" run\"";

#[test]
fn all_four_tools_run_and_pass() {
    let repo = with(&format!("{RUN}\nprepare = \"true\""), &[]);
    let passed = repo.incident_json(&["validate", "--gate", "memory"]);
    let tools = passed["records"][0]["details"]["tools"].as_array().expect("tools").clone();
    let names: Vec<&str> = tools.iter().map(|t| t["tool"].as_str().expect("a name")).collect();
    assert_eq!(names, ["memcheck", "racecheck", "initcheck", "synccheck"]);
    assert!(tools.iter().all(|t| t["verdict"] == "pass" && t["in_report"] == 0), "{passed}");
}

#[test]
fn only_the_named_tools_run_each_once() {
    let tools = "tools = [\"synccheck\", \"memcheck\", \"synccheck\"]";
    let repo = with(&format!("{RUN}\n{tools}"), &[]);
    let passed = repo.incident_json(&["validate", "--gate", "memory"]);
    let tools = passed["records"][0]["details"]["tools"].as_array().expect("tools").clone();
    let names: Vec<&str> = tools.iter().map(|t| t["tool"].as_str().expect("a name")).collect();
    assert_eq!(names, ["memcheck", "synccheck"]);
}

#[test]
fn tools_that_say_the_same_say_it_once() {
    let says = ["memcheck", "racecheck", "initcheck", "synccheck"].map(|tool| (tool, "no-summary"));
    with(RUN, &says)
        .incident(&["validate", "--gate", "memory"])
        .expect(5)
        .says("memcheck, racecheck, initcheck, synccheck: not checked: its log has no summary");
}

#[test]
fn findings_fail_and_are_structured() {
    let repo = with(RUN, &[("memcheck", "found"), ("racecheck", "race"), ("synccheck", "no-call")]);
    let ran = repo.incident(&["validate", "--gate", "memory"]).expect(4);
    ran.says("memcheck: 1 finding, first: Invalid __global__ write of size 4 bytes at tail(float *) (tail.cu:39)")
        .says("racecheck: race between write at sum(int *) (sum.cu:41) and read at sum(int *) (sum.cu:51), 508 hazards")
        .says("block (7,0,0)")
        .never_says("synccheck: not checked");
    let failed = repo.incident(&["--json", "validate", "--gate", "memory"]).expect(4).json();
    let details = &failed["records"][0]["details"];
    let finding = &details["findings"][0];
    assert_eq!(finding["site"]["function"], "tail(float *)", "{failed}");
    assert_eq!((finding["site"]["line"].as_u64(), finding["bytes"].as_u64()), (Some(39), Some(4)));
    assert_eq!(finding["site"]["thread"], "(31,0,0)");
    let verdicts: Vec<&str> = details["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .map(|t| t["verdict"].as_str().expect("one"))
        .collect();
    assert_eq!(verdicts, ["fail", "fail", "pass", "inconclusive"]);
}

#[test]
fn nothing_but_a_clean_check_passes() {
    for (what, exit, says) in [
        ("found-and-0", 4, "1 finding"),
        (
            "no-call",
            5,
            "not checked: Target application terminated before first instrumented API call (exit status 255)",
        ),
        ("cut-report", 5, "not checked: its XML report is cut short"),
        ("no-summary", 5, "not checked: its log has no summary"),
        ("no-log", 5, "not checked: there is no log"),
        ("partly", 5, "not checked: Internal Sanitizer Error"),
    ] {
        let repo = with(&format!("{RUN}\ntools = [\"memcheck\"]"), &[("memcheck", what)]);
        repo.incident(&["validate", "--gate", "memory"]).expect(exit).says(says);
    }
}

#[test]
fn the_commands_own_failure_is_one() {
    let repo = with("run = \"exit 3\"\ntools = [\"initcheck\"]", &[]);
    repo.incident(&["validate", "--gate", "memory"])
        .expect(4)
        .says("initcheck: no finding, and the command itself failed: exit status 3");
    let repo = with("run = \"sleep 100\"\ntools = [\"initcheck\"]\ntimeout = \"500ms\"", &[]);
    repo.incident(&["validate", "--gate", "memory"]).expect(4).says("hang");
}

#[test]
fn without_the_tool_nothing_was_checked() {
    let repo = with(RUN, &[]);
    std::fs::remove_file(repo.root().join("bin/compute-sanitizer")).expect("removed");
    let here = "PATH=$PATH:/usr/local/cuda/bin; command -v compute-sanitizer";
    if repo.run("sh", &["-c", here]).status == 0 {
        return skipped("compute-sanitizer is installed here: what is said without it was not tried");
    }
    repo.incident(&["validate", "--gate", "memory"])
        .expect(5)
        .says("not-run")
        .says("compute-sanitizer is not installed here");
}

#[test]
fn by_hand_runs_the_tool_too() {
    let repo = with("tools = [\"memcheck\"]\nrun = \"true\"", &[("memcheck", "found")]);
    repo.incident(&["validate"])
        .expect(4)
        .says("by hand: ")
        .says("compute-sanitizer --tool memcheck /bin/sh -c true");
}
