//! The hooks in real repositories: what they add, what they stop, what they leave alone.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use common::{Repo, finish};

/// A repository with the hooks, a remote, and an incident that is active.
fn with_incident(arguments: &[&str]) -> (Repo, String) {
    let repo = Repo::new();
    repo.write("a.txt", "one\n");
    repo.commit("First");
    let mut all = vec!["open", "softmax gives NaN"];
    all.extend(arguments);
    let id = repo.incident_json(&all)["incident"]
        .as_str()
        .expect("an id")
        .to_owned();
    repo.incident(&["init"]).expect(0);
    (repo, id)
}

fn trailers(repo: &Repo, key: &str) -> Vec<String> {
    let format = format!("--format=%(trailers:key={key},valueonly)");
    repo.git(&["log", "-1", &format])
        .lines()
        .filter(|l| !l.is_empty())
        .map(str::to_owned)
        .collect()
}

fn script(repo: &Repo, name: &str, text: &str) -> String {
    let path = repo.root().join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a script");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("executable");
    path.display().to_string()
}

/// Every file below a directory with its bytes and mode.
fn snapshot(directory: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut all = Vec::new();
    let mut stack = vec![directory.to_owned()];
    while let Some(at) = stack.pop() {
        let Ok(entries) = std::fs::read_dir(&at) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let meta = path.symlink_metadata().expect("metadata");
            if meta.is_dir() {
                stack.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap_or_default();
                all.push((path, meta.permissions().mode(), bytes));
            }
        }
    }
    all.sort();
    all
}

mod messages {
    use super::*;

    #[test]
    fn a_plain_message_gets_the_trailers_once() {
        let (repo, id) = with_incident(&[]);
        repo.write("a.txt", "two\n");
        repo.commit("Second");
        assert_eq!(trailers(&repo, "Incident"), [&id[..12]]);
        repo.git(&["commit", "-q", "--amend", "--no-edit"]);
        repo.git(&["commit", "-q", "--amend", "-m", "Another message"]);
        assert_eq!(trailers(&repo, "Incident"), [&id[..12]]);
    }

    #[test]
    fn the_ticket_is_preferred_and_the_footer_is_joined() {
        let (repo, _) = with_incident(&["--ticket", "GPU-123"]);
        repo.write(
            "message",
            "Subject\n\nBody\n\nReviewed-by: Bob <bob@example.org>\n",
        );
        repo.git(&["commit", "-q", "--allow-empty", "-F", "message"]);
        assert_eq!(trailers(&repo, "Incident"), ["GPU-123"]);
        assert_eq!(trailers(&repo, "Reviewed-by"), ["Bob <bob@example.org>"]);
    }

    #[test]
    fn editors_see_no_difference() {
        let (repo, id) = with_incident(&[]);
        let editor = script(
            &repo,
            "editor",
            "printf 'From the editor\\n' > \"$1.new\" && cat \"$1\" >> \"$1.new\" && mv \"$1.new\" \"$1\"",
        );
        repo.write("a.txt", "two\n");
        repo.git(&["add", "-A"]);
        finish(
            repo.command("git")
                .args(["commit", "-q", "-v"])
                .env("GIT_EDITOR", &editor)
                .output(),
        )
        .expect(0);
        assert_eq!(
            repo.git(&["log", "-1", "--format=%B"]),
            format!("From the editor\n\nIncident: {}", &id[..12])
        );
    }

    #[test]
    fn comment_lines_are_content_when_nobody_edits() {
        let (repo, id) = with_incident(&[]);
        repo.git(&[
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "Subject",
            "-m",
            "#12 is mentioned",
        ]);
        let message = repo.git(&["log", "-1", "--format=%B"]);
        assert_eq!(
            message,
            format!("Subject\n\n#12 is mentioned\n\nIncident: {}", &id[..12])
        );
    }

    #[test]
    fn an_editor_that_does_nothing_leaves_an_empty_message_empty() {
        let (repo, id) = with_incident(&[]);
        let ran = finish(
            repo.command("git")
                .args(["commit", "--allow-empty"])
                .env("GIT_EDITOR", ":")
                .output(),
        );
        assert_ne!(
            ran.status, 0,
            "an empty message must still end the commit: {ran:?}"
        );
        assert_eq!(repo.git(&["rev-list", "--count", "HEAD"]), "1");
        // And one that is kept as it is keeps one trailer.
        repo.git(&["commit", "-q", "--allow-empty", "-m", "Second"]);
        finish(
            repo.command("git")
                .args(["commit", "-q", "--amend", "--allow-empty"])
                .env("GIT_EDITOR", ":")
                .output(),
        )
        .expect(0);
        assert_eq!(
            repo.git(&["log", "-1", "--format=%B"]),
            format!("Second\n\nIncident: {}", &id[..12])
        );
    }

    #[test]
    fn merges_get_them_and_fixups_do_not() {
        let (repo, id) = with_incident(&[]);
        repo.git(&["checkout", "-q", "-b", "topic"]);
        repo.write("b.txt", "b\n");
        repo.commit("On topic");
        repo.git(&["checkout", "-q", "main"]);
        repo.git(&["merge", "-q", "--no-ff", "-m", "Merge topic", "topic"]);
        assert_eq!(trailers(&repo, "Incident"), [&id[..12]]);
        repo.git(&["commit", "-q", "--allow-empty", "--fixup", "HEAD"]);
        assert!(trailers(&repo, "Incident").is_empty());
    }

    #[test]
    fn an_id_that_is_unknown_stops_the_commit_and_a_word_does_not() {
        let (repo, id) = with_incident(&[]);
        let ran = repo.try_git(&[
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "S\n\nIncident: 0123456789ab",
        ]);
        ran.expect(1).says("names no incident here").says(&id[..12]);
        let ran = repo.try_git(&["commit", "-q", "--allow-empty", "-m", "S\n\nIncident: elsewhere"]);
        ran.expect(0).says("names no incident here");
        assert_eq!(trailers(&repo, "Incident"), ["elsewhere"]);
        // In the body it is a word like any other.
        repo.git(&[
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "S\n\nIncident: 0123456789ab\n\nThe last paragraph",
        ]);
        assert_eq!(trailers(&repo, "Incident"), [&id[..12]]);
    }

    #[test]
    fn nothing_is_added_when_nothing_is_active() {
        let repo = Repo::new();
        repo.incident(&["init"]).expect(0);
        repo.git(&["commit", "-q", "--allow-empty", "-m", "Subject"]);
        assert_eq!(repo.git(&["log", "-1", "--format=%B"]), "Subject");
    }
}

mod links {
    use super::*;

    #[test]
    fn a_commit_with_our_trailer_has_a_line_and_an_amend_moves_it() {
        let (repo, id) = with_incident(&[]);
        repo.write("a.txt", "two\n");
        let first = repo.commit("Second");
        let log = repo.git(&["log", "-1", "--notes=incident-lines"]);
        assert!(log.contains("softmax gives NaN: related"), "{log}");
        repo.write("a.txt", "three\n");
        repo.git(&["commit", "-q", "--amend", "-a", "--no-edit"]);
        let second = repo.git(&["rev-parse", "HEAD"]);
        assert!(
            repo.git(&["notes", "--ref=incident-lines", "show", &second])
                .contains("related")
        );
        assert_ne!(
            repo.try_git(&["notes", "--ref=incident-lines", "show", &first])
                .status,
            0
        );
        let links = repo.incident_json(&["show", &id])["links"].clone();
        let links: Vec<&str> = links
            .as_array()
            .unwrap()
            .iter()
            .map(|l| l["commit"].as_str().unwrap())
            .collect();
        assert_eq!(links, [second]);
    }

    #[test]
    fn a_rebase_moves_every_line_and_twice_is_once() {
        let (repo, id) = with_incident(&[]);
        repo.git(&["checkout", "-q", "-b", "topic"]);
        for name in ["b", "c"] {
            repo.write(name, "x\n");
            repo.commit(&format!("Add {name}"));
        }
        let old = repo.git(&["rev-parse", "HEAD"]);
        repo.git(&["checkout", "-q", "main"]);
        repo.write("d", "x\n");
        repo.commit("Meanwhile");
        repo.git(&["checkout", "-q", "topic"]);
        repo.git(&["rebase", "-q", "main"]);
        let new = repo.git(&["rev-parse", "HEAD"]);
        for commit in [&new, &format!("{new}~1")] {
            assert!(
                repo.git(&["notes", "--ref=incident-lines", "show", commit])
                    .contains("related")
            );
        }
        let before = repo.git(&["rev-parse", "refs/notes/incidents"]);
        let mut hook = repo.command("git-incident");
        hook.args(["hook", "post-rewrite", "rebase"])
            .stdin(std::process::Stdio::piped());
        hook.stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        let mut child = hook.spawn().unwrap();
        std::io::Write::write_all(
            &mut child.stdin.take().unwrap(),
            format!("{old} {new}\n").as_bytes(),
        )
        .unwrap();
        finish(child.wait_with_output()).expect(0);
        assert_eq!(repo.git(&["rev-parse", "refs/notes/incidents"]), before);
        let links = repo.incident_json(&["show", &id])["links"]
            .as_array()
            .unwrap()
            .len();
        assert_eq!(links, 3);
    }
}

mod install {
    use super::*;

    #[test]
    fn what_is_there_keeps_running_and_uninstall_leaves_no_trace() {
        let repo = Repo::new();
        let hook = repo.path().join(".git/hooks/commit-msg");
        std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
        std::fs::write(&hook, "#!/bin/sh\necho ran >> ../ran\n").unwrap();
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
        repo.with_remote();
        let hooks = snapshot(&repo.path().join(".git/hooks"));
        let config = repo.read(".git/config");

        repo.incident(&["init"]).expect(0).says("commit-msg");
        let again = repo.incident_json(&["init"]);
        assert!(
            again["hooks"]
                .as_array()
                .unwrap()
                .iter()
                .all(|h| h["done"] == "unchanged"),
            "{again}"
        );
        assert!(
            repo.read(".git/config")
                .contains("refs/notes/remotes/origin/incidents*")
        );
        assert_eq!(repo.try_git(&["config", "core.hooksPath"]).status, 1);
        repo.incident(&["open", "x"]).expect(0);
        repo.commit("First");
        assert_eq!(std::fs::read_to_string(repo.root().join("ran")).unwrap(), "ran\n");
        assert_eq!(trailers(&repo, "Incident").len(), 1);

        repo.incident(&["init", "--uninstall"]).expect(0);
        assert_eq!(snapshot(&repo.path().join(".git/hooks")), hooks);
        assert_eq!(repo.read(".git/config"), config);
    }

    #[test]
    fn a_directory_of_somebody_else_is_not_written_to() {
        let repo = Repo::new();
        repo.git(&["config", "core.hooksPath", ".husky"]);
        repo.write(".husky/pre-commit", "#!/bin/sh\n");
        let before = snapshot(&repo.path().join(".husky"));
        let view = repo.incident_json(&["init"]);
        if repo.git(&["version"]).contains("2.4") {
            assert!(
                view["hooks"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|h| h["done"] == "manual"),
                "{view}"
            );
        }
        assert_eq!(snapshot(&repo.path().join(".husky")), before);
        repo.incident(&["init"]).expect(0).says("git-incident");
    }

    #[test]
    fn a_machine_without_the_program_commits_and_pushes() {
        let repo = Repo::new();
        repo.with_remote();
        repo.incident(&["init"]).expect(0);
        std::fs::remove_file(repo.root().join("bin/git-incident")).unwrap();
        repo.commit("First");
        repo.try_git(&["push", "-q", "origin", "main"])
            .expect(0)
            .says("not installed");
    }
}

mod push {
    use super::*;

    /// A repository with hooks, a remote that has `main`, and a configuration with these gates, on the
    /// branch `topic`.
    pub(super) fn with_gates(configuration: &str) -> (Repo, PathBuf) {
        let repo = Repo::new();
        let bare = repo.with_remote();
        repo.write("a.txt", "one\n");
        repo.commit("First");
        repo.git(&["push", "-q", "origin", "main"]);
        repo.incident(&["init"]).expect(0);
        repo.git(&["checkout", "-q", "-b", "topic"]);
        repo.write(".git-incident.toml", configuration);
        repo.commit("Add gates");
        (repo, bare)
    }

    pub(super) fn on_remote(repo: &Repo, bare: &Path, name: &str) -> String {
        repo.try_git(&[
            "-C",
            &bare.display().to_string(),
            "rev-parse",
            "-q",
            "--verify",
            name,
        ])
        .line()
        .to_owned()
    }

    /// A gate that notes each of its runs beside the repository, and passes when `good` is in the tree.
    pub(super) fn counted(repo_root: &Path) -> String {
        let runs = repo_root.join("runs").display().to_string();
        format!(
            "[[gate]]\nid = \"unit\"\nkind = \"command\"\nrun = \"echo ran >> {runs}; echo looking for good; test -e good\"\n"
        )
    }

    pub(super) fn runs(repo: &Repo) -> usize {
        std::fs::read_to_string(repo.root().join("runs")).map_or(0, |text| text.lines().count())
    }

    #[test]
    fn untrusted_failing_fixed_cached_and_changed() {
        let scratch = Repo::new();
        drop(scratch);
        let (repo, bare) = with_gates("");
        repo.write(".git-incident.toml", &counted(&repo.root()));
        repo.commit("Count");

        // Nobody has approved the commands.
        let ran = repo.try_git(&["push", "-q", "origin", "topic"]);
        assert_ne!(ran.status, 0);
        let tip = repo.git(&["rev-parse", "HEAD"]);
        ran.says("git incident trust").says(&tip[..12]);
        assert_eq!(
            (on_remote(&repo, &bare, "refs/heads/topic"), runs(&repo)),
            (String::new(), 0)
        );
        repo.incident(&["validate"]).expect(1).says("git incident trust");
        repo.incident(&["trust"]).expect(1).says("test -e good");
        assert_eq!(runs(&repo), 0);
        repo.incident(&["trust", "--yes"]).expect(0);

        // The gate fails, also when an untracked file would make it pass in the working tree.
        repo.write("good", "");
        let ran = repo.try_git(&["push", "-q", "origin", "topic"]);
        assert_ne!(ran.status, 0);
        ran.says("fail")
            .says("unit")
            .says("looking for good")
            .says(&format!("git incident validate {} --gate unit", &tip[..12]));
        assert_eq!(
            (on_remote(&repo, &bare, "refs/heads/topic"), runs(&repo)),
            (String::new(), 1)
        );
        repo.incident(&["validate"]).expect(4);

        // Fixed: passes, and the record serves whoever asks again.
        repo.commit("Fix");
        let fixed = repo.git(&["rev-parse", "HEAD"]);
        let before = runs(&repo);
        repo.try_git(&["push", "-q", "origin", "topic"])
            .expect(0)
            .says("pass");
        assert_eq!(on_remote(&repo, &bare, "refs/heads/topic"), fixed);
        assert_eq!(runs(&repo), before + 1);
        repo.try_git(&["push", "-q", "origin", "topic:refs/heads/other"])
            .expect(0);
        repo.git(&["commit", "-q", "--allow-empty", "-m", "Same tree"]);
        repo.try_git(&["push", "-q", "origin", "topic"])
            .expect(0)
            .says("recorded before");
        assert_eq!(runs(&repo), before + 1);
        let view = repo.incident_json(&["validate"]);
        assert_eq!(
            (view["verdict"].as_str(), view["records"][0]["cached"].as_bool()),
            (Some("pass"), Some(true))
        );
        for key in ["gate", "verdict", "device", "tree", "record"] {
            assert!(view["records"][0][key].is_string(), "{key} in {view}");
        }

        // Other bytes need a new approval.
        repo.write(
            ".git-incident.toml",
            &format!("# changed\n{}", counted(&repo.root())),
        );
        repo.commit("Change the configuration");
        let ran = repo.try_git(&["push", "-q", "origin", "topic"]);
        assert_ne!(ran.status, 0);
        ran.says("not the one that was approved");
        repo.incident(&["trust", "--revoke"]).expect(0);
        repo.incident(&["validate"]).expect(1).says("nobody has approved");
    }

    #[test]
    fn deletions_tags_and_the_notebook_pass() {
        let (repo, bare) = with_gates("[[gate]]\nid = \"never\"\nkind = \"command\"\nrun = \"false\"\n");
        repo.incident(&["trust", "--yes"]).expect(0);
        repo.git(&["push", "-q", "--no-verify", "origin", "topic"]);
        repo.git(&["tag", "-a", "v1", "-m", "Version 1"]);
        repo.git(&["tag", "light"]);
        repo.incident(&["open", "x"]).expect(0);
        repo.try_git(&[
            "push",
            "-q",
            "origin",
            "v1",
            "light",
            "refs/notes/incidents",
            ":topic",
        ])
        .expect(0);
        assert_eq!(on_remote(&repo, &bare, "refs/heads/topic"), "");
        assert_ne!(on_remote(&repo, &bare, "refs/notes/incidents"), "");
        // A tag that brings commits of its own is judged like a branch.
        repo.git(&["commit", "-q", "--allow-empty", "-m", "Only on a tag"]);
        repo.git(&["tag", "v2"]);
        assert_ne!(repo.try_git(&["push", "-q", "origin", "v2"]).status, 0);
        assert_eq!(on_remote(&repo, &bare, "refs/tags/v2"), "");
    }

    #[test]
    fn paths_and_linked_fixes_make_a_gate_due() {
        let (repo, _bare) = with_gates(
            "[[gate]]\nid = \"kernels\"\nkind = \"command\"\npaths = [\"kernels/**\"]\nrun = \"false\"\n",
        );
        repo.incident(&["trust", "--yes"]).expect(0);
        repo.write("docs.md", "words\n");
        repo.commit("Words");
        repo.try_git(&["push", "-q", "origin", "topic"]).expect(0);
        repo.write("kernels/a.cu", "code\n");
        repo.commit("Code");
        let ran = repo.try_git(&["push", "-q", "origin", "topic"]);
        assert_ne!(ran.status, 0);
        ran.says("kernels/a.cu changed");
    }

    #[test]
    fn modes_and_kinds_of_later_versions() {
        for (mode, passes) in [("enforce", false), ("warn", true), ("off", true)] {
            let gate = "[[gate]]\nid = \"g\"\nkind = \"sanitizer\"\nrun = \"true\"\n";
            let (repo, bare) = with_gates(&format!("[pre-push]\nmode = \"{mode}\"\n{gate}"));
            repo.incident(&["trust", "--yes"]).expect(0);
            let ran = repo.try_git(&["push", "-q", "origin", "topic"]);
            assert_eq!(ran.status == 0, passes, "{mode}: {ran:?}");
            assert_eq!(on_remote(&repo, &bare, "refs/heads/topic").is_empty(), !passes);
            match mode {
                "off" => assert_eq!(ran.stderr, ""),
                _ => drop(ran.says("kind sanitizer comes with a later one")),
            }
            repo.incident(&["validate"]).expect(5);
        }
    }

    #[test]
    fn a_missing_device_waits_on_a_branch_and_refuses_on_a_protected_one() {
        let gate = "[[gate]]\nid = \"gpu\"\nkind = \"command\"\ndevice = \"custom:false\"\nrun = \"true\"\n";
        let (repo, bare) = with_gates(gate);
        repo.incident(&["trust", "--yes"]).expect(0);
        repo.incident(&["validate"]).expect(5).says("no such device here");
        repo.try_git(&["push", "-q", "origin", "topic"])
            .expect(0)
            .says("pending");
        assert_ne!(on_remote(&repo, &bare, "refs/heads/topic"), "");
        let pending = repo.read(".git/incident/pending");
        assert!(pending.contains("\"gate\":\"gpu\""), "{pending}");
        let ran = repo.try_git(&["push", "-q", "origin", "topic:main"]);
        assert_ne!(ran.status, 0);
        ran.says("no such device here");
        assert_ne!(
            on_remote(&repo, &bare, "refs/heads/main"),
            repo.git(&["rev-parse", "topic"])
        );
    }

    #[test]
    fn a_protected_branch_keeps_its_gate() {
        let strict =
            "[[gate]]\nid = \"unit\"\nkind = \"command\"\noracle = [\"check.sh\"]\nrun = \"sh check.sh\"\n";
        let (repo, bare) = with_gates(strict);
        repo.write("check.sh", "test \"$(cat a.txt)\" = one\n");
        repo.commit("A check");
        repo.incident(&["trust", "--yes"]).expect(0);
        repo.try_git(&["push", "-q", "origin", "topic:main"])
            .expect(0)
            .says("pass");
        // Weaker in the oracle: the protected version of it decides.
        repo.write("a.txt", "two\n");
        repo.write("check.sh", "true\n");
        repo.commit("Weaken the oracle");
        let ran = repo.try_git(&["push", "-q", "origin", "topic:main"]);
        assert_ne!(ran.status, 0, "{ran:?}");
        ran.says("this push changes the protected gate unit").says("fail");
        // Elsewhere the branch's own version does.
        repo.try_git(&["push", "-q", "origin", "topic"]).expect(0);
        // Removed altogether, and the hook turned off: the same.
        repo.write(
            ".git-incident.toml",
            "[pre-push]\nmode = \"off\"\nprotected = []\n",
        );
        repo.commit("Remove the gate");
        let ran = repo.try_git(&["push", "-q", "origin", "topic:main"]);
        assert_ne!(ran.status, 0);
        ran.says("removes the protected gate unit")
            .says("git incident trust");
        repo.incident(&["trust", "--yes"]).expect(0);
        let ran = repo.try_git(&["push", "-q", "origin", "topic:main"]);
        assert_ne!(ran.status, 0);
        ran.says("fail");
        assert_ne!(
            on_remote(&repo, &bare, "refs/heads/main"),
            repo.git(&["rev-parse", "topic"])
        );
    }

    #[test]
    fn a_gate_that_commits_somewhere_touches_nothing_of_the_user() {
        let gate = "[[gate]]\nid = \"nested\"\nkind = \"command\"\n\
                    run = \"git init -q x && cd x && git commit -q --allow-empty -m inner && test $(git rev-list --count HEAD) = 1\"\n";
        let (repo, bare) = with_gates(gate);
        repo.incident(&["trust", "--yes"]).expect(0);
        let linked = repo.root().join("linked");
        repo.git(&[
            "worktree",
            "add",
            "-q",
            "-b",
            "side",
            &linked.display().to_string(),
        ]);
        let beside = repo.at(&linked);
        let commit = beside.run("git", &["commit", "-q", "--allow-empty", "-m", "On side"]);
        commit.expect(0);
        let tip = beside.git(&["rev-parse", "HEAD"]);
        beside
            .run("git", &["-c", "user.name=Other", "push", "-q", "origin", "side"])
            .expect(0)
            .says("pass");
        assert_eq!(
            beside.git(&["rev-parse", "HEAD", "side"]),
            format!("{tip}\n{tip}")
        );
        assert_eq!(on_remote(&repo, &bare, "refs/heads/side"), tip);
        assert_eq!(beside.git(&["status", "--porcelain"]), "");
    }

    #[test]
    fn what_takes_longer_than_a_connection_goes_to_the_background() {
        let (repo, bare) = with_gates("");
        // Waits until this test says so, which is after the push was refused.
        let go = repo.root().join("go").display().to_string();
        let gate = format!(
            "[pre-push]\ninline = \"700ms\"\n[[gate]]\nid = \"slow\"\nkind = \"command\"\n\
             run = \"while ! test -e {go}; do sleep 0.05; done\"\n"
        );
        repo.write(".git-incident.toml", &gate);
        repo.commit("A slow gate");
        repo.incident(&["trust", "--yes"]).expect(0);
        let ran = repo.try_git(&["push", "-q", "origin", "topic"]);
        assert_ne!(ran.status, 0);
        ran.says("git incident validate --wait && git push");
        // A second push joins it.
        assert_ne!(repo.try_git(&["push", "-q", "origin", "topic"]).status, 0);
        assert_eq!(on_remote(&repo, &bare, "refs/heads/topic"), "");
        std::fs::write(&go, "").unwrap();
        repo.incident(&["validate", "--wait"]).expect(0).says("pass");
        repo.try_git(&["push", "-q", "origin", "topic"])
            .expect(0)
            .says("recorded before");
        assert_ne!(on_remote(&repo, &bare, "refs/heads/topic"), "");
    }

    #[test]
    fn a_gate_that_fails_in_the_background_is_told_and_not_run_for_ever() {
        let (repo, _bare) = with_gates("");
        let (go, runs_file) = (
            repo.root().join("go").display().to_string(),
            repo.root().join("runs").display().to_string(),
        );
        let gate = format!(
            "[pre-push]\ninline = \"700ms\"\n[[gate]]\nid = \"slow\"\nkind = \"command\"\n\
             run = \"while ! test -e {go}; do sleep 0.05; done; echo ran >> {runs_file}; sleep 1; exit 3\"\n"
        );
        repo.write(".git-incident.toml", &gate);
        repo.commit("A slow gate");
        repo.incident(&["trust", "--yes"]).expect(0);
        assert_ne!(repo.try_git(&["push", "-q", "origin", "topic"]).status, 0);
        std::fs::write(&go, "").unwrap();
        repo.incident(&["validate", "--wait"])
            .expect(4)
            .says("exit status 3");
        let ran = repo.try_git(&["push", "-q", "origin", "topic"]);
        assert_ne!(ran.status, 0);
        ran.says("exit status 3").says("recorded before");
        assert_eq!(runs(&repo), 1);
    }

    #[test]
    fn an_interruption_leaves_no_process_and_no_lock() {
        let (repo, _bare) = with_gates("");
        let mark = repo.root().join("started");
        let gate = format!(
            "[[gate]]\nid = \"slow\"\nkind = \"command\"\nrun = \"echo $$ > {0}.new; mv {0}.new {0}; sleep 1000\"\n",
            mark.display()
        );
        repo.write(".git-incident.toml", &gate);
        repo.commit("A slow gate");
        repo.incident(&["trust", "--yes"]).expect(0);
        let mut command = repo.command("git-incident");
        command
            .arg("validate")
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        let child = command.spawn().unwrap();
        while !mark.exists() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let gate_pid = std::fs::read_to_string(&mark).unwrap().trim().to_owned();
        repo.run("kill", &["-INT", &child.id().to_string()]).expect(0);
        let ran = finish(child.wait_with_output());
        assert_ne!(ran.status, 0);
        ran.says("interrupted");
        assert!(
            !Path::new(&format!("/proc/{gate_pid}/status")).exists(),
            "the gate lives on"
        );
        // The lock is free, and nothing was recorded.
        repo.write(
            ".git-incident.toml",
            "[[gate]]\nid = \"slow\"\nkind = \"command\"\nrun = \"true\"\n",
        );
        repo.commit("A fast gate");
        repo.incident(&["trust", "--yes"]).expect(0);
        repo.incident(&["validate"]).expect(0).says("pass");
        let locks: Vec<_> = snapshot(&repo.path().join(".git"))
            .into_iter()
            .filter(|(path, ..)| path.ends_with("index.lock") || path.ends_with("HEAD.lock"))
            .collect();
        assert!(locks.is_empty());
    }

    #[test]
    fn results_are_told_to_the_incidents_of_the_commits() {
        let (repo, _bare) = with_gates(
            "[[gate]]\nid = \"unit\"\nkind = \"repeat\"\nrepeat = 3\nrun = \"echo $GATE_OUT; ls -A $GATE_OUT | wc -l | grep -qx 0\"\n",
        );
        repo.incident(&["trust", "--yes"]).expect(0);
        let id = repo.incident_json(&["open", "x"])["incident"]
            .as_str()
            .unwrap()
            .to_owned();
        repo.write("a.txt", "two\n");
        repo.commit("Belongs to it");
        repo.try_git(&["push", "-q", "origin", "topic"]).expect(0);
        let ledger = repo.git(&["notes", "--ref=incidents", "show", &id]);
        assert!(ledger.contains("\"type\":\"gate.recorded\""), "{ledger}");
        repo.git(&["fsck", "--strict"]);
    }

    #[test]
    fn a_wrong_configuration_and_nothing_to_do_say_so() {
        let (repo, bare) = with_gates("[[gate]]\nid = \"x\"\nkind = \"comand\"\nrun = \"true\"\n");
        let ran = repo.try_git(&["push", "-q", "origin", "topic"]);
        assert_ne!(ran.status, 0);
        ran.says("command");
        assert_eq!(on_remote(&repo, &bare, "refs/heads/topic"), "");
        repo.write(".git-incident.toml", "");
        repo.commit("No gates");
        repo.incident(&["validate"])
            .expect(0)
            .says("no gates are configured");
        repo.incident(&["validate", "--require"]).expect(5);
        repo.incident(&["validate", "--gate", "nope"]).expect(2);
        repo.incident(&["validate", "no-such-commit"]).expect(1);
        repo.try_git(&["push", "-q", "origin", "topic"]).expect(0);
    }

    #[test]
    fn nothing_that_a_repository_sets_gets_around_trust() {
        let (repo, _bare) = with_gates("");
        repo.write(".git-incident.toml", &counted(&repo.root()));
        repo.write("good", "");
        repo.commit("Count");
        for setting in [
            "incident.trust=true",
            "trust.all=true",
            "safe.directory=*",
            "incident.trustdir=/tmp",
        ] {
            assert_ne!(
                repo.try_git(&["-c", setting, "push", "-q", "origin", "topic"])
                    .status,
                0
            );
        }
        // An approval that others could have written is none.
        repo.incident(&["trust", "--yes"]).expect(0);
        let folder = repo.root().join("state/git-incident/trust");
        let file = std::fs::read_dir(&folder)
            .unwrap()
            .flatten()
            .next()
            .unwrap()
            .path();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
        repo.incident(&["validate"]).expect(1).says("written by others");
        std::fs::remove_file(&file).unwrap();
        assert_eq!(runs(&repo), 0);
    }
}
