//! Bad input: a clear error with a hint and the documented exit code, nothing lost, never a panic.

mod common;

use std::os::unix::fs::symlink;

use common::{LEDGER, Ran, Repo, finish, notes_in};

/// A repository that `git init` makes with these options, beside an ordinary one; `None` where this git cannot.
fn made_with(repo: &Repo, options: &[&str]) -> bool {
    let all = [&["init", "-q"], options, &["../special"]].concat();
    repo.try_git(&all).status == 0
}

/// Commands that read, and commands that write.
const EVERY_KIND: [&str; 8] = [
    "list",
    "show 1234567",
    "status",
    "open title",
    "attempt note x",
    "evidence add /dev/null",
    "export",
    "link HEAD --as fix",
];

#[test]
fn outside_of_a_repository_it_says_where_to_go() {
    let repo = Repo::new();
    let outside = repo.at(repo.root().join("home"));
    for line in EVERY_KIND {
        let said = outside.typed(line).refuses(1);
        said.says("no git repository").says("git init");
    }
    outside.typed("try -- true").refuses(125).says("no git repository");
    outside.typed("repro run").refuses(125);
}

#[test]
fn an_empty_repository_is_no_error() {
    let repo = Repo::new();
    repo.typed("list").expect(0).says("no incidents here");
    repo.typed("status").expect(0).says("no incident is active here");
    assert_eq!(repo.git(&["for-each-ref"]), "", "looking wrote something");
    let id = repo.open("before the first commit");
    repo.note("seen");
    assert_eq!(notes_in(&repo.incident_json(&["show", &id])), ["seen"]);
    repo.typed("link HEAD --as fix").refuses(1).says("names no commit");
    repo.typed("repro set -- true").expect(0);
    repo.typed("repro run").expect(0);
    repo.typed("repro run --at HEAD").expect(125).says("names no commit");
}

#[test]
fn in_a_bare_repository_what_needs_files_says_so() {
    let repo = Repo::new();
    let bare = repo.with_remote();
    let bare = repo.at(bare);
    bare.typed("list").expect(0);
    bare.typed("open 'in the bare one'").expect(0);
    bare.typed("attempt note x").expect(0);
    for line in EVERY_KIND {
        bare.typed(line).never_says("panicked");
    }
}

#[test]
fn a_sha256_repository_is_refused_with_a_way_out() {
    let repo = Repo::new();
    if !made_with(&repo, &["--object-format=sha256"]) {
        return common::skipped("this git makes no SHA-256 repositories");
    }
    let special = repo.at(repo.root().join("special"));
    for line in EVERY_KIND {
        special.typed(line).refuses(1).says("SHA-256");
    }
    special.typed("try -- true").refuses(125).says("SHA-256");
}

#[test]
fn a_reftable_repository_is_refused_with_a_way_out() {
    let repo = Repo::new();
    if !made_with(&repo, &["--ref-format=reftable"]) {
        return common::skipped("this git makes no reftable repositories");
    }
    let special = repo.at(repo.root().join("special"));
    for line in EVERY_KIND {
        let said = special.typed(line).refuses(1);
        said.says("reftable").says("git refs migrate --ref-format=files");
    }
}

#[test]
fn a_shallow_clone_works_and_says_what_it_lacks() {
    let repo = Repo::new();
    let old = repo.commit("first");
    repo.commit("second");
    repo.with_remote();
    repo.git(&["push", "-q", "origin", "main"]);
    let url = format!("file://{}", repo.root().join("origin.git").display());
    repo.git(&["clone", "-q", "--depth=1", &url, "../shallow"]);
    let shallow = repo.at(repo.root().join("shallow"));
    shallow.typed("open 'in a shallow clone'").expect(0);
    shallow.typed("try -H why -- true").expect(0);
    shallow.typed("link HEAD --as fix").expect(0);
    shallow.incident(&["link", &old, "--as", "offending"]).refuses(1).says("names no commit here");
    shallow.typed("show").expect(0).says("in a shallow clone");
    shallow.git(&["fsck", "--strict", "--no-progress"]);
}

/// Runs `git incident …` without any identity in the environment.
fn nameless(repo: &Repo, line: &str) -> Ran {
    let mut command = repo.command("git-incident");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env_remove(format!("GIT_{role}_NAME")).env_remove(format!("GIT_{role}_EMAIL"));
    }
    command.args(shlex::split(line).expect("a line"));
    finish(command.output())
}

#[test]
fn without_a_name_nothing_is_written_and_reading_works() {
    let repo = Repo::new();
    let id = repo.open("whose");
    for line in ["open title", "attempt note x", "attempt start -H x", "next add x", "close --resolved"] {
        let said = nameless(&repo, line).refuses(1);
        said.says("does not know who you are").says("git config --global user.name");
    }
    nameless(&repo, "try -- touch ran").refuses(125).says("who you are");
    assert!(!repo.path().join("ran").exists(), "it ran what it could not record");
    nameless(&repo, "show").expect(0).says("whose");
    // Mending is for everybody.
    repo.git(&["update-ref", "-d", LEDGER]);
    nameless(&repo, "list").expect(0).says("mended").says("whose");
    repo.git(&["config", "user.name", "Grace"]);
    repo.git(&["config", "user.email", "grace@example.org"]);
    nameless(&repo, "attempt note signed").expect(0);
    assert_eq!(notes_in(&repo.incident_json(&["show", &id])), ["signed"]);
}

#[test]
fn unknown_names_say_how_to_find_the_right_one() {
    let repo = Repo::new();
    repo.open("known");
    for (line, hint) in [
        ("show 0123456789", "git incident list"),
        ("show '../../etc'", "git incident list"),
        ("use nobody", "git incident list"),
        ("attempt note x -n 7", "git incident show"),
        ("attempt end --failed -m x", "git incident attempt start"),
        ("next done 3", "git incident next"),
        ("evidence show none.log", "git incident evidence list"),
        ("link no-such-branch --as fix", "git log"),
        ("link HEAD --remove", "git "),
        ("cause confirm", "git incident cause propose"),
        ("repro run", "git incident repro set"),
    ] {
        let ran = repo.typed(line);
        let status = if line.starts_with("repro") { 125 } else { 1 };
        ran.refuses(status).says(hint);
    }
}

#[test]
fn what_is_no_regular_file_is_no_evidence() {
    let repo = Repo::new();
    repo.open("files");
    repo.write("real.log", "text\n");
    symlink("real.log", repo.path().join("link.log")).expect("a link");
    symlink("/etc/passwd", repo.path().join("outside.log")).expect("a link");
    repo.run("mkfifo", &["fifo"]).expect(0);
    std::fs::create_dir(repo.path().join("folder")).expect("a folder");
    for (name, why) in [
        ("link.log", "is a symbolic link"),
        ("outside.log", "is a symbolic link"),
        ("fifo", "is not a regular file"),
        ("folder", "is not a regular file"),
        ("/dev/zero", "is not a regular file"),
        ("gone.log", "cannot be read"),
    ] {
        let said = repo.incident(&["evidence", "add", name]).refuses(1);
        said.says(why).never_says("root:");
        // All of them or none.
        repo.incident(&["evidence", "add", "real.log", name]).refuses(1);
    }
    assert_eq!(repo.view("show")["evidence"], serde_json::json!([]));
    // An untracked fifo or link holds no run up.
    repo.typed("try -- true").expect(0).says("untracked paths were not stored");
}

#[test]
fn a_configuration_that_is_wrong_is_shown_by_line_and_column() {
    let repo = Repo::new();
    let id = repo.open("configured");
    repo.note("before");
    for (text, place, suggestion) in [
        ("[budget]\nattemps = 2\n", ":2:1", "\"attempts\""),
        ("[budgett]\nattempts = 2\n", ":1:2", "\"budget\""),
        ("[budget]\nattempts = \"two\"\n", ":2:", ""),
        ("[budget\n", ":1:", ""),
        ("[blocked]\nrequire = [\"profiles\"]\n", ":2:", "profile"),
        ("[evidence]\nmax = \"90MiB\"\n", ":2:", ""),
    ] {
        repo.write(".git-incident.toml", text);
        let said = repo.typed("status").expect(2).never_says("panicked");
        said.says(".git-incident.toml").says(place).says(suggestion);
        // What needs no configuration works.
        assert_eq!(notes_in(&repo.incident_json(&["show", &id])), ["before"]);
    }
    std::fs::write(repo.path().join(".git-incident.toml"), b"\xff\xfe").expect("a file");
    repo.typed("status").expect(2).never_says("panicked");
    std::fs::remove_file(repo.path().join(".git-incident.toml")).expect("no file");
    symlink("/etc/passwd", repo.path().join(".git-incident.toml")).expect("a link");
    repo.typed("status").refuses(2).says("not a regular file");
}

/// Shell words before a command: a mount namespace of its own, where something can be mounted; `None` where not.
fn namespace(repo: &Repo) -> Option<&'static str> {
    ["-m", "-rm"].into_iter().find(|how| {
        let probe = "mount --make-rprivate / && mount -t tmpfs none /mnt";
        repo.run("unshare", &[how, "sh", "-c", probe]).status == 0
    })
}

#[test]
fn a_read_only_repository_is_read_and_refuses_to_be_written() {
    let repo = Repo::new();
    repo.commit("first");
    let id = repo.open("read only");
    repo.note("before");
    let Some(how) = namespace(&repo) else {
        return common::skipped("no mount namespace for tests here: read-only repositories are not checked");
    };
    let locked = |line: &str| {
        let script = format!(
            "mount --bind . . && mount -o remount,bind,ro . && cd \"$PWD\" && exec git-incident {line}"
        );
        repo.run("unshare", &[how, "sh", "-c", &script])
    };
    assert_eq!(notes_in(&locked("--json show").expect(0).json()), ["before"]);
    locked("list").expect(0).says("read only").never_says("could not be checked");
    for line in [
        "attempt note x",
        "open title",
        "attempt start -H x",
        "next add x",
        "link HEAD --as fix",
        "use --none",
    ] {
        locked(line).refuses(1).says("cannot be written");
    }
    locked("try -- true").refuses(125).says("cannot be written");
    assert_eq!(notes_in(&repo.incident_json(&["show", &id])), ["before"]);
}

#[test]
fn a_full_disk_loses_nothing_and_says_so() {
    let repo = Repo::new();
    let Some(how) = namespace(&repo) else {
        return common::skipped("no mount namespace for tests here: full disks are not checked");
    };
    let script = r#"
        set -e
        mount -t tmpfs -o size=600k none "$HOME"
        cd "$HOME"
        git init -q .
        git incident --json open full | sed 's/.*"incident":"\([0-9a-f]*\)".*/\1/' > /dev/null
        n=0
        while git incident attempt note "acknowledged $n: $(head -c 6000 /dev/urandom | base64 -w0)" > said 2> err; do
            n=$((n + 1)); test $n -lt 500
        done
        status=0
        git incident attempt note again > /dev/null 2>&1 || status=$?
        echo "acknowledged=$n status=$status"
        cat err
        rm -f said err filler
        git incident --json show > "$XDG_CACHE_HOME/view"
        git fsck --strict --no-progress
        mount -o remount,size=8m "$HOME"
        git incident attempt note "room again"
        git incident --json show > "$XDG_CACHE_HOME/after"
        git fsck --strict --no-progress
    "#;
    let ran = repo.run("unshare", &[how, "sh", "-c", script]).expect(0).never_says("panicked");
    let said = &ran.stdout;
    let number = |name: &str| -> usize {
        let rest = said.split(name).nth(1).expect(name);
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().expect(name)
    };
    let (acknowledged, status) = (number("acknowledged="), number("status="));
    assert!(acknowledged > 3, "{said}");
    assert!(status == 0 || status == 1, "{said}");
    assert!(said.contains("error: ") && said.contains("hint: "), "{said}");
    for name in ["view", "after"] {
        let text = std::fs::read_to_string(repo.root().join("cache").join(name)).expect("a view");
        let there = notes_in(&serde_json::from_str(&text).expect("JSON"));
        for n in 0..acknowledged {
            let start = format!("acknowledged {n}: ");
            assert!(there.iter().any(|t| t.starts_with(&start)), "{start} is lost in {name}");
        }
        assert_eq!(there.contains(&"room again".to_owned()), name == "after");
    }
}

/// The same without any privilege: no file of the process may grow beyond a limit.
#[test]
fn a_file_size_limit_is_an_error_and_no_crash() {
    let repo = Repo::new();
    let id = repo.open("limited");
    repo.note("before");
    let noise = "git incident attempt note \"$(head -c 90000 /dev/urandom | base64 -w0)\"";
    let script = format!("trap '' XFSZ; ulimit -f 20; {noise}");
    repo.run("bash", &["-c", &script]).refuses(1);
    assert_eq!(notes_in(&repo.incident_json(&["show", &id])), ["before"]);
    repo.note("after");
    repo.git(&["fsck", "--strict", "--no-progress"]);
}

#[test]
fn arguments_and_file_names_that_are_no_text_are_no_trouble() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let repo = Repo::new();
    repo.open("bytes");
    let name = OsStr::from_bytes(b"a\xff.log");
    std::fs::write(repo.path().join(name), "text\n").expect("a file");
    let run = |words: &[&OsStr]| {
        let mut command = repo.command("git-incident");
        finish(command.args(words).output()).never_says("panicked")
    };
    run(&["open".as_ref(), name]).expect(2);
    run(&["evidence".as_ref(), "add".as_ref(), name]).expect(0);
    run(&["try".as_ref(), "--".as_ref(), "cat".as_ref(), name]).expect(0).says("text");
    run(&["import".as_ref(), name]).expect(1);
    repo.typed("evidence verify").expect(0);
}

#[test]
fn a_text_too_long_for_a_line_of_the_ledger_is_refused_before_anything_is_written() {
    let repo = Repo::new();
    let log = format!("### Big\n\n**Status:** Open\n\n**Symptom:** {}\n", "word ".repeat(500_000));
    repo.write("big.md", &log);
    repo.typed("import big.md").refuses(1).says("1048576");
    assert_eq!(repo.view("list")["incidents"], serde_json::json!([]));
}
