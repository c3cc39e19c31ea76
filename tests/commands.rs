//! Each command as people and programs meet it: text, `--json` by the names of the contract, exit codes.
//! Where it runs and how an incident is named is in `places.rs`.

mod common;

use common::{Repo, notes_in};
use serde_json::{Value, json};

/// Every command that a user may type, as far as the spine has it.
const COMMANDS: &str = "open list show status use edit close reopen attempt try next difference cause repro evidence \
                        link budget import export postmortem pr demo completions man";

#[track_caller]
fn has(view: &Value, fields: &str) {
    let object = view.as_object().expect("an object");
    for field in fields.split_whitespace() {
        assert!(object.contains_key(field), "{field:?} is missing in {view}");
    }
}

/// An incident with one of everything, by the commands alone.
fn worked_on() -> (Repo, String) {
    let repo = Repo::new();
    repo.commit("first");
    let id = repo.open("row 17 is NaN");
    repo.write("a.log", "nan\n");
    for line in "edit --ticket GPU-123 --symptom 'nan at 17' --environment 'one card' --file a.cu --label nan
        attempt start -H 'exp overflows' --disproof 'NaN stays'
        attempt note 'seen with float32 only'
        evidence add a.log
        link HEAD --as failed
        attempt end --failed -m 'not the maximum' --rules-out overflow
        next add 'try bfloat16'
        difference set type --working fp64 --broken fp32
        cause propose 'the scale is applied twice'
        repro set -- false"
        .lines()
    {
        repo.typed(line).expect(0);
    }
    (repo, id)
}

#[test]
fn every_command_explains_itself() {
    let repo = Repo::new();
    // Not through git: it takes `git incident --help` for a manual page.
    let top = repo.run("git-incident", &["-h"]).expect(0);
    for command in COMMANDS.split_whitespace() {
        let listed = format!("\n  {command} ");
        assert!(top.stdout.contains(&listed), "{command} is not in the list");
        for flag in ["-h", "--help"] {
            let help = repo.run("git-incident", &[command, flag]).expect(0).stdout;
            let usage = format!("Usage: git incident {command}");
            assert!(help.contains(&usage) && help.contains("--json"), "{help}");
        }
    }
    let version = repo.run("git-incident", &["--version"]).expect(0);
    assert!(version.stdout.starts_with("git-incident "));
}

#[test]
fn wrong_usage_exits_with_2() {
    let (repo, _) = worked_on();
    for line in "
        opne title
        open
        open '  '
        list --status half
        attempt
        attempt start
        attempt end --worked --failed -m x
        close
        try
        try -m x -- true
        repro set
        repro set --fails-when output -- true
        repro set --fails-when timeout -- sleep 9
        repro run -n 0
        evidence add
        link HEAD --as cause
        use"
    .lines()
    {
        repo.typed(line).expect(2).never_says("panicked");
    }
    let view = repo.typed("--json open ''").expect(2).json();
    assert_eq!(view["error"]["exit"], 2);
    assert!(view["error"]["what"].as_str().expect("a text").contains("empty"));
    let view = repo.typed("--json open").expect(2).json();
    assert_eq!(view["error"]["exit"], 2);
}

#[test]
fn empty_texts_are_refused_and_nothing_is_written() {
    let (repo, id) = worked_on();
    repo.typed("attempt start -H again").expect(0);
    let before = repo.incident_json(&["show", &id]);
    for line in "open ''
        attempt note ' '
        attempt start -H ''
        attempt end --failed -m ' '
        next add ''
        cause propose ' '
        difference set '' -w x
        edit --title ' '
        try -H ' ' -- true"
        .lines()
    {
        repo.typed(line).expect(2).says("empty");
    }
    repo.typed("attempt end -m 'no outcome'").refuses(2).says("neither was said");
    repo.typed("close --wont-fix").refuses(2).says("why");
    repo.typed("budget spend").refuses(2);
    assert_eq!(repo.incident_json(&["show", &id]), before);
}

#[test]
fn show_has_the_fields_of_the_contract() {
    let (repo, id) = worked_on();
    let view = repo.view("show");
    let all = "incident title ticket status symptom environment files attempts differences next repro cause links \
               evidence preconditions";
    has(&view, all);
    has(
        &view["attempts"][0],
        "id ordinal hypothesis disproof action result conclusion outcome commits evidence",
    );
    has(&view["attempts"][0]["outcome"], "hypothesis bug");
    has(&view["differences"][0], "factor working broken eliminated");
    has(&view["next"][0], "id text state");
    has(&view["repro"], "command runs failures reliable");
    has(&view["cause"], "state text");
    has(&view["links"][0], "commit role attempt");
    has(&view["evidence"][0], "oid sha256 bytes name kind");
    has(&view["preconditions"], "repro cause fix validation");
    let told = [&view["schema"], &view["incident"], &view["ticket"], &view["files"]];
    assert_eq!(told, [&json!(1), &json!(id), &json!("GPU-123"), &json!(["a.cu"])]);
    let attempt = &view["attempts"][0];
    assert_eq!(attempt["outcome"], json!({"hypothesis": "refuted", "bug": "remains"}));
    assert_eq!(attempt["commits"][0]["role"], "failed");
    assert_eq!(attempt["evidence"][0]["name"], "a.log");
    assert_eq!(view["links"][0]["attempt"], 1);
    assert_eq!(view["cause"]["state"], "proposed");
    assert_eq!(view["repro"]["command"], json!(["false"]));
}

#[test]
fn the_other_views_have_the_fields_of_the_contract() {
    let (repo, id) = worked_on();
    has(&repo.view("open another"), "incident schema");
    let listed = repo.view("list");
    has(&listed["incidents"][0], "incident title status attempts");
    assert_eq!(listed["incidents"].as_array().expect("rows").len(), 2);
    repo.incident(&["use", &id]).expect(0);
    let status = repo.view("status");
    has(&status, "incident attempt preconditions next budget pending_gates");
    assert_eq!(status["attempt"], Value::Null, "none is running");
    let tried = repo.view("try -- echo hi");
    has(&tried, "attempt exit seconds evidence findings");
    assert!(tried["seconds"].is_number() && tried["exit"] == 0);
    for line in "next list
        difference list
        cause list
        repro show
        evidence list
        evidence verify
        budget
        export
        export --format json
        export --format ledger
        attempt start -H x
        attempt note x
        attempt end --inconclusive -m x
        next done 1
        next add y
        next drop 2 -m dull
        difference eliminate type
        cause reject -m no
        edit --title t
        close --resolved
        reopen
        use --none"
        .lines()
    {
        assert_eq!(repo.view(line)["schema"], 1, "{line}");
    }
}

#[test]
fn a_refusal_is_json_too() {
    let repo = Repo::new();
    let view = repo.typed("--json show 1234567").refuses(1).json();
    assert_eq!(view["error"]["exit"], 1);
    let hint = view["error"]["hints"][0].as_str().expect("a hint");
    assert!(hint.contains("git incident list"), "{hint}");
}

#[test]
fn every_command_prints_text_and_talks_on_stderr_only() {
    let (repo, id) = worked_on();
    for line in "show list status next difference cause repro evidence budget export".split(' ') {
        let ran = repo.typed(line).expect(0);
        assert!(ran.stdout.len() > 3 && !ran.stdout.starts_with('{'), "{line}");
        assert_eq!(ran.stderr, "", "{line}");
    }
    let mut text = repo.typed("show").expect(0).says(&id[..12]);
    for part in "[GPU-123]|row 17 is NaN|nan at 17|one card|a.cu|exp overflows|not the maximum|seen with float32|a.log|\
                 try bfloat16|fp64|scale is applied twice"
        .split('|')
    {
        text = text.says(part);
    }
}

#[test]
fn edit_changes_what_is_said_and_keeps_the_rest() {
    let (repo, _) = worked_on();
    repo.typed("edit --title 'row 18' --file b.cu --remove-file a.cu --label fp32 --remove-label nan")
        .expect(0);
    let view = repo.view("show");
    assert_eq!(view["title"], "row 18");
    assert_eq!(view["symptom"], "nan at 17");
    assert_eq!(view["files"], json!(["b.cu"]));
    assert_eq!(view["labels"], json!(["fp32"]));
    repo.typed("edit").refuses(2).says("nothing to change");
}

#[test]
fn ideas_and_differences_change_by_number_and_factor() {
    let (repo, _) = worked_on();
    repo.typed("next done 1 -m 'no better'").expect(0);
    repo.typed("next done 7").refuses(1);
    repo.typed("difference eliminate TYPE").expect(0);
    repo.typed("difference eliminate shape").refuses(1);
    let view = repo.view("show");
    assert_eq!(view["next"][0]["state"], "done");
    assert_eq!(view["next"][0]["remark"], "no better");
    assert_eq!(view["differences"][0]["eliminated"], true);
    assert_eq!(view["differences"][0]["broken"], "fp32");
}

#[test]
fn texts_of_all_languages_stay_as_they_were_written() {
    let repo = Repo::new();
    let text = "Zeile 17: ∞ − ∞ = NaN 🤯\nдва\t行\u{301}";
    repo.open("∞ − ∞");
    repo.note(text);
    assert_eq!(notes_in(&repo.view("show")), [text]);
    repo.typed("show").expect(0).says("∞ − ∞ = NaN 🤯");
}

const HOSTILE: &str = "a\u{1b}[31mred\u{1b}]0;title\u{7}\u{8}\r\u{9b}2J\u{202e}txt";

/// The hostile text stands for every X of a line.
fn hostile(repo: &Repo, line: &str) -> common::Ran {
    let words = line.split_whitespace().map(|w| if w == "X" { HOSTILE } else { w });
    repo.incident(&words.collect::<Vec<_>>())
}

#[test]
fn no_control_character_of_a_record_reaches_a_terminal() {
    let repo = Repo::new();
    repo.commit("first");
    repo.write("a.log", HOSTILE);
    for line in "open X --ticket X --symptom X --environment X --file X --label X
        attempt start -H X --disproof X --title X --action X
        attempt note X
        link HEAD --as failed
        attempt end --failed -m X --result X --rules-out X
        next add X
        difference set X --working X --broken X --working-case X
        cause propose X
        repro set -- printf X
        evidence add a.log --name X
        try -H loud -- true X"
        .lines()
    {
        hostile(&repo, line).expect(0);
    }
    let view = repo.view("show");
    assert_eq!(view["title"], HOSTILE, "programs read the text as it was written");
    let quiet = |c: char| matches!(c, '\n' | '\t') || !(c.is_control() || c == '\u{202e}');
    for line in "list
        show
        status
        next
        difference
        cause
        repro
        evidence
        evidence verify
        budget
        show X
        list --label X
        cause reject -m X
        close --resolved -m X
        reopen -m X
        use X
        open X
        link X --as fix
        evidence show X -o /dev/null"
        .lines()
    {
        let ran = hostile(&repo, line);
        assert!(ran.stdout.chars().all(quiet), "{line} on stdout: {:?}", ran.stdout);
        assert!(ran.stderr.chars().all(quiet), "{line} on stderr: {:?}", ran.stderr);
        let ran = hostile(&repo, &format!("--json {line}"));
        assert!(ran.stdout.chars().all(quiet), "{line} as JSON: {:?}", ran.stdout);
    }
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let (repo, _) = worked_on();
    let piped = repo.typed("show").expect(0);
    assert!(!piped.stdout.contains('\u{1b}'), "colours in a pipe");
    if repo.run("sh", &["-c", "command -v script"]).status != 0 {
        return common::skipped("no script(1) of util-linux: colours on a terminal are not checked");
    }
    let on_terminal = |variable: &str| {
        let shell = format!("TERM=xterm GIT_PAGER=cat {variable} git-incident show");
        let ran = repo.run("script", &["-qec", &shell, "/dev/null"]).expect(0);
        ran.stdout.contains("\u{1b}[")
    };
    assert!(on_terminal(""), "no colours on a terminal");
    assert!(!on_terminal("NO_COLOR=1"), "colours in spite of NO_COLOR");
    assert!(!on_terminal("TERM=dumb"), "colours on a dumb terminal");
}

#[test]
fn a_closed_pipe_is_no_trouble() {
    let repo = Repo::new();
    repo.open("long");
    for n in 0..50 {
        repo.incident(&["next", "add", &format!("idea {n} {}", "x".repeat(3000))]).expect(0);
    }
    let mut command = repo.command("bash");
    let script = "set -o pipefail; git-incident show | head -1; echo \"${PIPESTATUS[0]}\"";
    command.args(["-c", script]);
    let ran = common::finish(command.output()).never_says("panicked");
    assert_eq!(ran.stdout.lines().count(), 2, "{}", ran.stdout);
    assert_eq!(ran.stdout.lines().nth(1), Some("0"));
}

#[test]
fn bash_completes_both_names_of_the_program() {
    let repo = Repo::new();
    let script = r#"
        eval "$(git-incident completions bash)"
        complete_git() { COMP_WORDS=(git incident "$@"); COMP_CWORD=$(($# + 1)); COMPREPLY=(); _git_incident; echo "${COMPREPLY[*]}"; }
        complete_git att
        complete_git attempt sta
        complete_git close --blo
        complete_git link HEAD --as ""
        COMP_WORDS=(git-incident sho); COMP_CWORD=1; COMPREPLY=(); _git__incident git-incident sho git-incident; echo "${COMPREPLY[*]}"
    "#;
    let said = repo.run("bash", &["-c", script]).expect(0);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert_eq!(
        lines,
        ["attempt", "start", "--blocked", "failed fix partial offending revert related", "show"]
    );
}
