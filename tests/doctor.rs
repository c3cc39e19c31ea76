//! `doctor`: each fault is made in a real repository, found, and gone after the command that was printed has run.

mod common;

use std::path::Path;
use std::process::Command;

use common::{LEDGER, Repo, finish};
use serde_json::Value;

/// A repository with everything in place: hooks, settings, an incident that its remote has too.
fn healthy() -> Repo {
    let repo = Repo::new();
    repo.write("a.txt", "one\n");
    repo.commit("first");
    repo.with_remote();
    repo.incident(&["init"]).expect(0);
    repo.git(&["push", "-q", "origin", "main"]);
    let id = repo.open("row 17 is NaN");
    repo.write("run.log", "nan\n");
    repo.typed("evidence add run.log").expect(0);
    assert_eq!(id.len(), 40);
    repo.push_notes();
    repo.here().fetch_notes();
    repo
}

/// What `doctor --json` says in a directory, after a shell has run something.
fn after(repo: &Repo, directory: &Path, environment: &[(&str, &str)], script: &str) -> (i32, Vec<Value>) {
    let program = env!("CARGO_BIN_EXE_git-incident");
    let mut shell: Command = repo.at(directory).command("sh");
    shell.arg("-c").arg(format!("{script}\nexec {program} --json doctor"));
    for (name, value) in environment {
        if *value == "-" {
            shell.env_remove(name);
        } else {
            shell.env(name, value);
        }
    }
    let ran = finish(shell.output());
    assert!(ran.status < 2, "{}{}", ran.stdout, ran.stderr);
    assert!(!ran.stderr.contains("fatal:") && !ran.stderr.contains("panicked"), "{script}: {}", ran.stderr);
    // A mend may talk before the answer.
    let view: Value = serde_json::from_str(ran.stdout.lines().last().expect("an answer")).expect("JSON");
    assert_eq!(view["schema"], 1);
    (ran.status, view["checks"].as_array().expect("a list").clone())
}

fn bad<'c>(checks: &'c [Value], check: &str) -> Vec<&'c Value> {
    checks
        .iter()
        .filter(|c| c["check"] == check && (c["status"] == "warn" || c["status"] == "problem"))
        .collect()
}

/// Finds the fault, runs what is printed until nothing more is printed for this check, and finds it gone.
#[track_caller]
fn mends_at(repo: &Repo, directory: &Path, check: &str, status: &str, environment: &[(&str, &str)]) -> Value {
    let (exit, found) = after(repo, directory, environment, "");
    let first =
        (*bad(&found, check).first().unwrap_or_else(|| panic!("{check} is not in {found:#?}"))).clone();
    assert_eq!(first["status"], status, "{first}");
    assert_eq!(exit == 1, found.iter().any(|c| c["status"] == "problem"), "{found:#?}");
    for word in ["message", "why", "mend"] {
        assert!(first[word].as_str().is_some_and(|w| !w.is_empty()), "{word} is missing: {first}");
    }
    let mut script = String::new();
    for one in bad(&found, check) {
        let mend = one["mend"].as_str().expect("a command");
        if !script.contains(mend) {
            script = format!("{script}{mend} || exit 9\n");
        }
    }
    let (_, mended) = after(repo, directory, environment, &script);
    assert!(bad(&mended, check).is_empty(), "after {script}: {:#?}", bad(&mended, check));
    first
}

#[track_caller]
fn mends(repo: &Repo, check: &str, status: &str) -> Value {
    mends_at(repo, repo.path(), check, status, &[])
}

#[test]
fn a_healthy_repository_is_well() {
    let repo = healthy();
    let before = repo.git(&["for-each-ref"]);
    let (exit, checks) = after(&repo, repo.path(), &[], "");
    let told: Vec<&Value> = checks.iter().filter(|c| c["status"] != "ok").collect();
    assert_eq!((exit, told), (0, Vec::new()));
    assert!(checks.len() > 15, "{checks:#?}");
    let text = repo.typed("doctor").expect(0);
    text.says("0 problems, 0 warnings");
    repo.typed("doctor --all").expect(0).says("ok      identity").says("Ada Tester");
    assert_eq!(repo.git(&["for-each-ref"]), before);
    let below = repo.path().join("deep/er");
    std::fs::create_dir_all(&below).expect("directories");
    let (_, there) = after(&repo, &below, &[], "");
    assert!(there.iter().all(|c| c["status"] == "ok"), "{there:#?}");
    Repo::new().at("/").typed("doctor").refuses(1).says("no git repository");
}

#[test]
fn settings_of_remotes_that_lose_events() {
    let ours = "+refs/notes/incidents*:refs/notes/remotes/origin/incidents*";
    let faults: [(&str, &str, &[&str]); 9] = [
        ("fetch-overwrites", "problem", &["--add", "remote.origin.fetch", "+refs/notes/*:refs/notes/*"]),
        ("fetch-overwrites", "problem", &["--add", "remote.origin.fetch", "+refs/*:refs/*"]),
        (
            "fetch-overwrites",
            "problem",
            &["--add", "remote.origin.fetch", "refs/notes/incidents:refs/notes/incidents"],
        ),
        ("mirror", "problem", &["remote.origin.mirror", "true"]),
        ("forced-push", "problem", &["--add", "remote.origin.push", "+refs/notes/*:refs/notes/*"]),
        ("hidden-refs", "problem", &["--add", "transfer.hideRefs", "refs/notes"]),
        ("fetch-refspec", "warn", &["--fixed-value", "--unset-all", "remote.origin.fetch", ours]),
        ("push-urls", "warn", &["--add", "remote.origin.url", "../elsewhere.git"]),
        ("fetch-refspec", "warn", &["--add", "remote.odd.name/x y.url", "../elsewhere.git"]),
    ];
    for (check, status, setting) in faults {
        let repo = healthy();
        repo.git(&[&["config"], setting].concat());
        mends(&repo, check, status);
    }
    let repo = healthy();
    repo.git(&["config", "fetch.prune", "true"]);
    repo.git(&["config", "--add", "remote.origin.fetch", "+refs/notes/*:refs/notes/*"]);
    let found = mends(&repo, "fetch-overwrites", "problem");
    assert!(found["message"].as_str().expect("words").contains("prun"), "{found}");
    let repo = healthy();
    repo.git(&["remote", "set-url", "--add", "--push", "origin", "../one.git"]);
    repo.git(&["remote", "set-url", "--add", "--push", "origin", "../two.git"]);
    mends(&repo, "push-urls", "warn");
    let repo = healthy();
    repo.git(&["remote", "add", "--mirror=fetch", "all", "../origin.git"]);
    mends(&repo, "fetch-overwrites", "problem");
}

#[test]
fn settings_of_notes_that_reach_the_ledger() {
    for value in ["refs/notes/*", "refs/notes/inc*", LEDGER, "*"] {
        let repo = healthy();
        repo.git(&["config", "notes.rewriteRef", value]);
        mends(&repo, "rewrite-ref", "problem");
    }
    // Wherever it stands: in a file that is included, in the user's own, in a variable.
    let repo = healthy();
    std::fs::write(repo.root().join("extra"), "[notes]\n\trewriteRef = refs/notes/*\n").expect("written");
    repo.git(&["config", "include.path", "../../extra"]);
    mends(&repo, "rewrite-ref", "problem");
    let repo = healthy();
    let global = repo.root().join("home/gitconfig").display().to_string();
    std::fs::write(&global, "[notes]\n\trewriteRef = refs/notes/*\n").expect("written");
    mends_at(&repo, repo.path(), "rewrite-ref", "problem", &[("GIT_CONFIG_GLOBAL", &global)]);
    let repo = healthy();
    let variable = ("GIT_NOTES_REWRITE_REF", "refs/notes/x:refs/notes/*");
    mends_at(&repo, repo.path(), "rewrite-ref", "problem", &[variable]);
    let variables = [
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "notes.rewriteRef"),
        ("GIT_CONFIG_VALUE_0", "refs/notes/*"),
    ];
    mends_at(&repo, repo.path(), "rewrite-ref", "problem", &variables);
    mends_at(&repo, repo.path(), "notes-ref", "problem", &[("GIT_NOTES_REF", LEDGER)]);
    repo.git(&["config", "core.notesRef", "refs/notes/incidents"]);
    mends(&repo, "notes-ref", "problem");
    repo.git(&["config", "--unset-all", "notes.displayRef"]);
    mends(&repo, "display-ref", "warn");
    // And what is none of ours is none of our business.
    repo.git(&["config", "notes.rewriteRef", "refs/notes/commits"]);
    repo.git(&["config", "core.notesRef", "refs/notes/mine"]);
    let (_, checks) = after(&repo, repo.path(), &[], "");
    assert!(checks.iter().all(|c| c["status"] == "ok"), "{checks:#?}");
}

#[test]
fn hooks_that_are_gone_changed_or_passed_by() {
    let hook = |repo: &Repo, name: &str| repo.path().join(".git/hooks").join(name);
    let repo = healthy();
    std::fs::remove_file(hook(&repo, "pre-push")).expect("a hook");
    mends(&repo, "hooks", "warn");
    repo.incident(&["init", "--uninstall"]).expect(0);
    mends(&repo, "hooks", "warn");
    let text = std::fs::read_to_string(hook(&repo, "commit-msg")).expect("a hook");
    std::fs::write(hook(&repo, "commit-msg"), text.replace("hook commit-msg", "hook  commit-msg"))
        .expect("written");
    mends(&repo, "hooks", "warn");
    repo.run("chmod", &["-x", &hook(&repo, "commit-msg").display().to_string()]).expect(0);
    mends(&repo, "hooks", "problem");
    for place in [".githooks", ".husky/_"] {
        let repo = healthy();
        std::fs::create_dir_all(repo.path().join(place)).expect("directories");
        repo.git(&["config", "core.hooksPath", place]);
        mends(&repo, "hooks", "warn");
    }
    let repo = healthy();
    for (file, word) in [
        ("lefthook.yml", "lefthook"),
        (".pre-commit-config.yaml", "pre-commit"),
        (".overcommit.yml", "overcommit"),
    ] {
        repo.write(file, "");
        let (_, checks) = after(&repo, repo.path(), &[], "");
        let named = |c: &&Value| {
            c["check"] == "hook-managers" && c["message"].as_str().expect("words").contains(word)
        };
        assert!(checks.iter().any(|c| named(&c)), "{word}: {checks:#?}");
    }
}

#[test]
fn programs_that_are_not_found_or_are_of_two_versions() {
    let repo = healthy();
    let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".into());
    mends_at(&repo, repo.path(), "program", "problem", &[("PATH", &path)]);
    let other = repo.root().join("other");
    std::fs::create_dir(&other).expect("a folder");
    let (mine, odd) = (repo.git(&["version"]), other.join("git"));
    let version = if mine.contains("2.5") || mine.contains("2.6") { "2.40.0" } else { "2.99.0" };
    // It has another version, and is the same git otherwise.
    let real = repo.run("sh", &["-c", "command -v git"]).line().to_owned();
    std::fs::write(&odd, format!("#!/bin/sh\nfor a; do test \"$a\" = version && {{ echo git version {version}; exit; }}; done\nexec {real} \"$@\"\n")).expect("written");
    repo.run("chmod", &["+x", &odd.display().to_string()]).expect(0);
    let path = format!("{}:{path}:{}", repo.root().join("bin").display(), other.display());
    mends_at(&repo, repo.path(), "several-gits", "warn", &[("PATH", &path)]);
    let (_, checks) = after(&repo, repo.path(), &[("DISPLAY", ":0")], "");
    if !Path::new("/usr/local/bin/git-incident").exists() && !Path::new("/usr/bin/git-incident").exists() {
        assert_eq!(bad(&checks, "desktop-path").len(), 1, "{checks:#?}");
    }
}

#[test]
fn nobody_to_write() {
    let repo = healthy();
    let nobody = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];
    let environment: Vec<(&str, &str)> = nobody.iter().map(|n| (*n, "-")).collect();
    mends_at(&repo, repo.path(), "identity", "problem", &environment);
}

#[test]
fn the_configuration_trust_and_signers() {
    let repo = healthy();
    repo.write(".git-incident.toml", "[pre-push]\nmode = \"warn\"\n");
    repo.commit("Configure");
    repo.write(".git-incident.toml", "[pre-push]\nmod = \"warn\"\n");
    let found = mends(&repo, "configuration", "problem");
    assert!(found["message"].as_str().expect("words").contains("mod"), "{found}");

    repo.write(".git-incident.toml", "[[gate]]\nid = \"unit\"\nkind = \"command\"\nrun = \"true\"\n");
    let (_, checks) = after(&repo, repo.path(), &[], "");
    let found = bad(&checks, "trust");
    assert_eq!((found.len(), &found[0]["mend"]), (1, &"git incident trust".into()), "{found:?}");
    // A person looks; here nobody is there to be asked.
    let (_, checks) = after(&repo, repo.path(), &[], "git incident trust --yes");
    assert!(bad(&checks, "trust").is_empty(), "{checks:#?}");
    let state = repo.root().join("state/git-incident/trust");
    repo.run("chmod", &["go+w", &state.display().to_string()]).expect(0);
    mends(&repo, "trust", "problem");

    let key = repo.root().join("home/key");
    std::fs::write(key.with_extension("pub"), format!("ssh-ed25519 {} ada\n", "A".repeat(68)))
        .expect("written");
    repo.git(&["config", "user.email", "ada@example.org"]);
    repo.write(".git-incident.toml", "[records]\nsigners = \".allowed_signers\"\n");
    mends(&repo, "signing", "warn");
    repo.git(&["config", "user.signingKey", &key.display().to_string()]);
    repo.git(&["config", "gpg.format", "openpgp"]);
    mends(&repo, "signing", "warn");
    mends(&repo, "signers", "problem");
    repo.write(".allowed_signers", &format!("{}nobody at all\n", repo.read(".allowed_signers")));
    let found = mends(&repo, "signers", "problem");
    assert!(found["message"].as_str().expect("words").contains("line 2"), "{found}");
    repo.write(".allowed_signers", "# nobody yet\n");
    mends(&repo, "signers", "warn");
}

#[test]
fn a_device_that_is_not_here() {
    let repo = healthy();
    repo.write(
        ".git-incident.toml",
        "[[gate]]\nid = \"g\"\nkind = \"command\"\ndevice = \"hip\"\ngpus = 8\nrun = \"true\"\n",
    );
    let (exit, checks) = after(&repo, repo.path(), &[], "");
    let found: Vec<&Value> = checks.iter().filter(|c| c["check"] == "devices").collect();
    assert_eq!((exit, found.len()), (0, 1), "{found:?}");
    repo.write(
        ".git-incident.toml",
        "[[gate]]\nid = \"g\"\nkind = \"command\"\ndevice = \"custom:touch ../ran\"\nrun = \"true\"\n",
    );
    let (_, checks) = after(&repo, repo.path(), &[], "");
    let found: Vec<&Value> = checks.iter().filter(|c| c["check"] == "devices").collect();
    assert_eq!(found[0]["status"], "unknown", "{found:?}");
    assert!(!repo.root().join("ran").exists(), "doctor ran a command of the repository");
}

#[test]
fn objects_that_are_replaced_or_elsewhere() {
    let repo = healthy();
    let id = repo.view("show")["incident"].as_str().expect("an id").to_owned();
    let note = repo.git(&["notes", "--ref=incidents", "list", &id]);
    repo.git(&["replace", "-f", &note, &repo.git(&["rev-parse", "HEAD:a.txt"])]);
    mends(&repo, "replace", "problem");
    repo.git(&["clone", "-q", "--shared", ".", "../sharing"]);
    let sharing = repo.root().join("sharing");
    mends_at(&repo, &sharing, "alternates", "warn", &[]);
    std::fs::write(sharing.join(".git/objects/info/alternates"), "/nowhere/at/all\n").expect("written");
    mends_at(&repo, &sharing, "alternates", "problem", &[]);
}

#[test]
fn clones_that_are_not_whole() {
    let repo = healthy();
    repo.commit("second");
    repo.git(&["push", "-q", "origin", "main"]);
    let bare = repo.root().join("origin.git").display().to_string();
    repo.git(&["-C", &bare, "config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{bare}");
    repo.git(&["clone", "-q", "--depth=1", &url, "../shallow"]);
    mends_at(&repo, &repo.root().join("shallow"), "shallow", "warn", &[]);
    repo.git(&["clone", "-q", "--filter=blob:none", &url, "../partial"]);
    mends_at(&repo, &repo.root().join("partial"), "partial", "warn", &[]);
}

#[test]
fn refs_that_lost_events_and_events_nobody_else_has() {
    let repo = healthy();
    repo.git(&["update-ref", "-d", LEDGER]);
    mends(&repo, "kept", "problem");
    std::fs::write(repo.path().join(".git").join(LEDGER), "").expect("written");
    mends(&repo, "kept", "problem");
    repo.note("not pushed yet");
    let (exit, checks) = after(&repo, repo.path(), &[], "");
    let found = bad(&checks, "shared");
    assert_eq!(
        (exit, found.len(), &found[0]["mend"]),
        (0, 1, &"git incident sync origin".into()),
        "{checks:#?}"
    );
    // As `sync` does it, in plain git.
    repo.push_notes();
    repo.here().fetch_notes();
    let (_, checks) = after(&repo, repo.path(), &[], "");
    assert!(bad(&checks, "shared").is_empty(), "{checks:#?}");
    repo.git(&["update-ref", "-d", "refs/notes/remotes/origin/incidents"]);
    let (_, checks) = after(&repo, repo.path(), &[], "");
    assert!(bad(&checks, "shared")[0]["message"].as_str().expect("words").contains("never"), "{checks:#?}");
}

#[test]
fn what_dead_programs_left() {
    let repo = healthy();
    let git_dir = repo.path().join(".git");
    for name in ["packed-refs.lock", "refs/notes/incidents.lock"] {
        let lock = git_dir.join(name);
        std::fs::write(&lock, "").expect("written");
        let (_, young) = after(&repo, repo.path(), &[], "");
        assert!(bad(&young, "locks").is_empty(), "a lock of this instant");
        repo.run("touch", &["-d", "2020-01-01", &lock.display().to_string()]).expect(0);
        mends(&repo, "locks", "problem");
    }
    let background = git_dir.join("incident/background");
    std::fs::create_dir_all(&background).expect("a folder");
    for end in ["lock", "json", "log"] {
        let file = background.join(format!("{}.{end}", "1".repeat(40)));
        std::fs::write(&file, "").expect("written");
        repo.run("touch", &["-d", "2020-01-01", &file.display().to_string()]).expect(0);
    }
    mends(&repo, "background", "warn");
    repo.git(&["worktree", "add", "-q", "--detach", "../git-incident-x-validate"]);
    std::fs::remove_dir_all(repo.root().join("git-incident-x-validate")).expect("removed");
    mends(&repo, "worktrees", "warn");
}

#[test]
fn local_state_that_cannot_be_written() {
    let repo = healthy();
    let state = repo.path().join(".git/incident");
    std::fs::remove_dir_all(&state).expect("removed");
    std::fs::write(&state, "in the way").expect("written");
    mends(&repo, "writable", "problem");
}

#[test]
fn an_event_of_the_future() {
    use git_incident::event::NextAdded;
    use git_incident::event::line::seal;
    use git_incident::model::Timestamp;
    use git_incident::model::incident::Author;

    let repo = healthy();
    let id = repo.view("show")["incident"].as_str().expect("an id").to_owned();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time").as_millis()
        as i64;
    for (ahead, check) in [(3_600_000, "clock"), (10 * 86_400_000, "future-event")] {
        let idea = NextAdded { text: format!("in {ahead} ms") }.into();
        let event =
            seal(Timestamp::from_millis(now + ahead), &Author::default(), &idea, &[], &"5".repeat(32))
                .expect("sealed");
        repo.git(&[
            "notes",
            "--ref=incidents",
            "append",
            "-m",
            &String::from_utf8(event.raw).expect("text"),
            &id,
        ]);
        let (exit, checks) = after(&repo, repo.path(), &[], "");
        assert_eq!((exit, bad(&checks, check).len()), (0, 1), "{checks:#?}");
    }
}

#[test]
fn a_repository_of_somebody_else() {
    if !rustix::process::geteuid().is_root() {
        common::skipped("only root can give a directory away");
        return;
    }
    let repo = healthy();
    let global = repo.root().join("home/.gitconfig").display().to_string();
    std::fs::write(&global, "").expect("written");
    repo.run("chown", &["-R", "12345:12345", &repo.path().display().to_string()]).expect(0);
    mends_at(&repo, repo.path(), "repository", "problem", &[("GIT_CONFIG_GLOBAL", &global)]);
}
