//! Secrets: whatever is recorded is scanned first, so that no object, no index and no temporary file holds one, also
//! when a command dies half-way.

mod common;

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::faults::{Dice, age_locks};
use common::{Ran, Repo, finish, notes_in};

/// Characters that look random and are the same in every run.
fn noise(length: usize, seed: usize) -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    (0..length).map(|i| char::from(alphabet[(i * 37 + 11 * seed + i * i * seed) % alphabet.len()])).collect()
}

/// A token that no rule takes for a stand-in, built here so that no file holds it.
fn token() -> String {
    ["gh", "p_", &noise(36, 1)].concat()
}

/// A program whose temporary files stand where the test can search them.
fn with_own_tmp(repo: &Repo, mut command: Command) -> Command {
    let place = repo.root().join("tmp");
    std::fs::create_dir_all(&place).expect("a folder");
    command.env("TMPDIR", place);
    command
}

fn incident(repo: &Repo, words: &[&str]) -> Ran {
    let mut command = with_own_tmp(repo, repo.command("git-incident"));
    finish(command.args(words).output())
}

/// Neither an object, loose or packed, reachable or not, nor any file below `.git`, `$TMPDIR`, the cache or the
/// state holds the text, also not compressed.
#[track_caller]
fn is_nowhere(repo: &Repo, secret: &str) {
    let holds = |bytes: &[u8]| bytes.windows(secret.len()).any(|w| w == secret.as_bytes());
    let mut all = repo.command("git");
    all.args(["cat-file", "--batch-all-objects", "--batch", "--unordered"]);
    assert!(!holds(&all.output().expect("git cat-file").stdout), "an object holds the secret");
    let mut folders: Vec<_> =
        [".git", "../tmp", "../cache", "../state", "../home"].map(|name| repo.path().join(name)).into();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if let Ok(bytes) = std::fs::read(&path) {
                assert!(!holds(&bytes), "{} holds the secret", path.display());
                // What a killed writer left of a loose object.
                let mut inflated = Vec::new();
                let _ = flate2::read::ZlibDecoder::new(&bytes[..]).take(1 << 24).read_to_end(&mut inflated);
                assert!(!holds(&inflated), "{} holds the secret, compressed", path.display());
            }
        }
    }
}

#[test]
fn a_secret_reaches_no_object_of_the_repository() {
    let repo = Repo::new();
    repo.open("row 17 is NaN");
    let token = token();
    repo.write("tracked.txt", "one\n");
    repo.commit("second");
    repo.write("tracked.txt", &format!("token = {token}\n"));
    repo.write("untracked.txt", &format!("{token}\n"));
    let script = format!("echo {token}");
    let ran = incident(
        &repo,
        &["try", "-H", &format!("with {token}"), "-m", &format!("with {token}"), "--", "sh", "-c", &script],
    )
    .expect(0);
    assert_eq!(ran.stdout, format!("{token}\n"), "the terminal sees what the command prints");
    assert!(ran.stderr.contains("cut 1 secrets out of output.log"), "{}", ran.stderr);
    for line in [
        "open T --symptom T --environment T --label T --ticket T --file T",
        "attempt note T",
        "attempt start -H T -d T -a T -t T",
        "attempt end --failed -m T -r T --rules-out T",
        "next add T",
        "next done 1 -m T",
        "next add other",
        "next drop 2 -m T",
        "difference set T -w T -b T",
        "cause propose T --mechanism T",
        "cause reject -m T",
        "edit --symptom T --label T",
        "budget spend --minutes 1 -m T",
        "close --wont-fix -m T",
        "reopen -m T",
        "evidence add untracked.txt --name T",
        "evidence add untracked.txt --external --name T",
        "repro set -- echo T",
        "repro set --fails-when output --pattern T -- echo x",
    ] {
        let words = line.split(' ').map(|w| if w == "T" { token.as_str() } else { w });
        let ran = incident(&repo, &words.collect::<Vec<_>>());
        assert!(ran.status != 2, "{line}: {}", ran.stderr);
        assert_eq!(ran.status, i32::from(line.starts_with("repro")), "{line}: {}", ran.stderr);
    }
    for _ in ["loose", "packed"] {
        let mut all = repo.command("git");
        all.args(["cat-file", "--batch-all-objects", "--batch"]);
        let bytes = all.output().expect("git cat-file").stdout;
        assert!(
            bytes.len() > 1000 && bytes.windows(17).any(|w| w == b"[redacted:github-"),
            "nothing was cut"
        );
        is_nowhere(&repo, &token);
        repo.git(&["gc", "-q"]);
    }
}

/// Where a secret comes in beside texts: words of a command line, subjects of commits, addresses of remotes, names of
/// branches and files, versions of tools, Markdown logs.
#[test]
fn secrets_in_arguments_commits_remotes_branches_tools_and_logs_are_cut_out() {
    let repo = Repo::new();
    repo.commit("first");
    let token = token();
    let password = ["hunter2-", &noise(12, 5)].concat();
    // A word that only the one before it gives away.
    let id = repo.open("where they come in");
    incident(&repo, &["try", "-H", "why", "--", "true", "--password", &password]).expect(0);
    incident(&repo, &["repro", "set", "--", "tool", "--token", &password]).refuses(1).says("$TOKEN");
    incident(&repo, &["try", "--", "no-such-program", "--password", &password]).expect(127);
    // Subjects, also through hooks; branches; remotes.
    repo.git(&["remote", "add", "up", &format!("https://user:{password}@example.org/x.git")]);
    incident(&repo, &["init"]).expect(0);
    repo.git(&["checkout", "-q", "-b", &format!("fix-{token}")]);
    for line in ["status", "list", "show", "pr", "--json status"] {
        let ran = incident(&repo, &line.split(' ').collect::<Vec<_>>());
        ran.never_says(&password);
    }
    repo.git(&["checkout", "-q", "-b", "main-again"]);
    repo.git(&["branch", "-q", "-D", &format!("fix-{token}")]);
    std::fs::remove_dir_all(repo.path().join(".git/logs")).expect("git's own reflogs name branches");
    // A tool that prints one as its version.
    repo.write("../bin/leaky", &format!("#!/bin/sh\necho leaky 1.0 {token}\n"));
    repo.run("chmod", &["+x", "../bin/leaky"]).expect(0);
    incident(&repo, &["try", "--tool", "leaky", "--", "true"]).expect(0);
    // A log that somebody wrote by hand.
    let log = format!(
        "# Bug {token}\n\n**Status:** Open\n**Ticket:** {token}\n\n**Symptom:** with {token}\n\n\
         **Files:**\n- `src/{token}.c`: read {token}\n\n## Attempt 1: {token}\n\n**Hypothesis:** {token}\n\n\
         **Result:** {token}\n\n## Key differences\n\n| Factor | {token} | broken |\n|---|---|---|\n| {token} | {token} | {token} |\n\n\
         ## Next\n\n- [ ] {token}\n\n## Other\n\n{token}\n"
    );
    repo.write("../log.md", &log);
    incident(&repo, &["import", "../log.md"]).expect(0);
    std::fs::remove_file(repo.root().join("log.md")).expect("ours");
    repo.git(&["config", "--unset", "remote.up.url"]);
    is_nowhere(&repo, &token);
    is_nowhere(&repo, &password);
    let argv = &repo.incident_json(&["show", &id])["attempts"][0]["notes"][0]["run"]["argv"];
    assert_eq!(argv[2], "[redacted:command-line-secret]", "{argv}");
}

#[test]
fn a_commits_subject_is_cut_in_the_ledger() {
    let repo = Repo::new();
    let token = token();
    let commit = repo.commit(&format!("Remove {token}"));
    let id = repo.open("linked");
    repo.incident(&["link", &commit, "--as", "offending"]).expect(0);
    let view = repo.incident_json(&["show", &id]);
    assert!(view["links"][0].to_string().contains("offending"));
    let ledger = repo.incident(&["export", &id, "-f", "ledger"]).expect(0).never_says(&token);
    ledger.says("[redacted:github-token]");
    repo.git(&["log", "-1", "--format=%N", "--notes=incident-lines"]);
    let lines = repo.git(&["notes", "--ref=incident-lines", "show", &commit]);
    assert!(!lines.contains(&token), "{lines}");
}

#[test]
fn the_event_says_what_was_cut_where_and_only_the_exact_finding_is_allowed() {
    let repo = Repo::new();
    let id = repo.open("counted");
    let begin = ["-----BEGIN ", "OPENSSH PRIVATE KEY-----"].concat();
    let end = ["-----END ", "OPENSSH PRIVATE KEY-----"].concat();
    let secrets = [
        ("github-token", token()),
        ("aws-access-key-id", ["AK", "IA", "QZ3XW5RT7PLM2NKJ"].concat()),
        ("openai-key", ["sk", "-proj-", &noise(40, 3)].concat()),
        ("anthropic-key", ["sk", "-ant-", &noise(60, 4)].concat()),
        ("huggingface-token", ["hf", "_", &noise(34, 5)].concat()),
        ("slack-token", ["xo", "xb-123456789012-", &noise(24, 6)].concat()),
        ("gitlab-token", ["gl", "pat-", &noise(20, 7)].concat()),
        ("google-api-key", ["AI", "za", &noise(35, 8)].concat()),
        ("npm-token", ["np", "m_", &noise(36, 9)].concat()),
        ("jwt", ["ey", "J", &noise(20, 1), ".ey", "J", &noise(30, 2), ".", &noise(40, 3)].concat()),
    ];
    let mut text = String::from("a log\n");
    for (_, secret) in &secrets {
        text.push_str(&format!("using {secret} now\n"));
    }
    let url = ["pass", &noise(10, 4)].concat();
    text.push_str(&format!("postgres://user:{url}@db.example.org/x\n"));
    let assigned = noise(32, 7);
    text.push_str(&format!("export DB_PASSWORD=\"{assigned}\"\n"));
    text.push_str(&format!("{begin}\n{}\n{}\n{end}\nthe end\n", noise(70, 2), noise(70, 3)));
    repo.write("../run.log", &text);
    let added = incident(&repo, &["--json", "evidence", "add", "../run.log"]).expect(0);
    let redacted = added.json()["evidence"][0]["redacted"].clone();
    let found: Vec<(String, u64)> = redacted
        .as_array()
        .expect("findings")
        .iter()
        .map(|r| (r["rule"].as_str().expect("a rule").to_owned(), r["line"].as_u64().expect("a line")))
        .collect();
    let mut wanted: Vec<(String, u64)> =
        secrets.iter().zip(2..).map(|((rule, _), line)| ((*rule).to_owned(), line)).collect();
    wanted.push(("url-password".to_owned(), 12));
    wanted.push(("assigned-secret".to_owned(), 13));
    wanted.push(("private-key".to_owned(), 14));
    assert_eq!(found, wanted);
    assert_eq!(repo.incident_json(&["show", &id])["evidence"][0]["redacted"], redacted, "the event says it");
    assert!(added.stderr.contains("cut 13 secrets out of run.log"), "{}", added.stderr);
    for (_, secret) in &secrets {
        is_nowhere(&repo, secret);
    }
    is_nowhere(&repo, &url);
    is_nowhere(&repo, &assigned);
    is_nowhere(&repo, &noise(70, 3));
    // Nearly the right name of a finding is none.
    let secret = &secrets[0].1;
    for near in ["github-token:2:8", "github-token:3:7", "github-pat:2:7", "github-token:2"] {
        let ran =
            incident(&repo, &["evidence", "add", "../run.log", "--name", "near", "--allow-secret", near]);
        assert!(matches!(ran.status, 0 | 2), "{near}: {}", ran.stderr);
        is_nowhere(&repo, secret);
    }
    incident(
        &repo,
        &["evidence", "add", "../run.log", "--name", "allowed", "--allow-secret", "github-token:2:7"],
    )
    .expect(0);
    let shown = repo.incident(&["evidence", "show", "allowed"]).expect(0).stdout;
    assert!(shown.contains(secret) && !shown.contains(&secrets[1].1), "one finding, and no other");
}

/// A command that is killed with us leaves nothing: what it printed stands in memory only.
#[test]
fn a_try_that_is_killed_leaves_no_secret_behind() {
    let repo = Repo::new();
    repo.open("killed");
    let token = token();
    repo.run("mkfifo", &["../release"]).expect(0);
    repo.write("tracked.txt", "one\n");
    repo.commit("second");
    repo.write("tracked.txt", &format!("{token}\n"));
    repo.write("untracked.txt", &format!("{token}\n"));
    let mut command = with_own_tmp(&repo, repo.command("git-incident"));
    let script = format!("echo {token}; cat ../release");
    command
        .args(["try", "-H", &token, "--", "sh", "-c", &script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut running = command.spawn().expect("a try");
    let mut said = vec![0; token.len()];
    running.stdout.as_mut().expect("a pipe").read_exact(&mut said).expect("its output");
    assert_eq!(said, token.as_bytes());
    is_nowhere(&repo, &token);
    running.kill().expect("a signal");
    running.wait().expect("its end");
    // Lets the command go, which outlives us.
    std::fs::write(repo.root().join("release"), "").expect("the fifo");
    is_nowhere(&repo, &token);
    repo.typed("show").expect(0).never_says(&token);
}

#[test]
fn writers_killed_anywhere_leave_no_secret_behind() {
    let repo = Repo::new();
    let id = repo.open("killed");
    let token = token();
    repo.write("tracked.txt", "one\n");
    repo.commit("second");
    repo.write("tracked.txt", &format!("token = {token}\n"));
    repo.write("untracked.txt", &format!("{token}\n{}", "more\n".repeat(2000)));
    let mut dice = Dice(11);
    let mut range = 30_000_u64;
    let mut killed = 0;
    for n in 0..400 {
        let mut command = with_own_tmp(&repo, repo.command("git-incident"));
        match n % 3 {
            0 => command.args(["try", "-H", &token, "-i", &id, "--", "cat", "untracked.txt", "tracked.txt"]),
            1 => command.args(["evidence", "add", "untracked.txt", "-i", &id]),
            _ => command.args(["attempt", "note", &token, "-i", &id]),
        };
        let mut writer = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a writer");
        std::thread::sleep(Duration::from_micros(dice.below(range)));
        writer.kill().expect("a signal");
        let died = !writer.wait().expect("its end").success();
        killed += usize::from(died);
        range = if died { range * 9 / 8 } else { range * 7 / 8 }.clamp(500, 2_000_000);
        age_locks(&repo);
        if killed >= 60 {
            break;
        }
    }
    assert!(killed >= 60, "only {killed} were killed");
    is_nowhere(&repo, &token);
    repo.incident(&["attempt", "note", "after all", "-i", &id]).expect(0);
    assert!(notes_in(&repo.incident_json(&["show", &id])).contains(&"after all".to_owned()));
    assert!(Path::new(&repo.path().join("untracked.txt")).exists());
}
