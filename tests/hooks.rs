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
    let id = repo.incident_json(&all)["incident"].as_str().expect("an id").to_owned();
    repo.incident(&["init"]).expect(0);
    (repo, id)
}

fn trailers(repo: &Repo, key: &str) -> Vec<String> {
    let format = format!("--format=%(trailers:key={key},valueonly)");
    repo.git(&["log", "-1", &format]).lines().filter(|l| !l.is_empty()).map(str::to_owned).collect()
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
        repo.write("message", "Subject\n\nBody\n\nReviewed-by: Bob <bob@example.org>\n");
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
        finish(repo.command("git").args(["commit", "-q", "-v"]).env("GIT_EDITOR", &editor).output())
            .expect(0);
        assert_eq!(
            repo.git(&["log", "-1", "--format=%B"]),
            format!("From the editor\n\nIncident: {}", &id[..12])
        );
    }

    #[test]
    fn comment_lines_are_content_when_nobody_edits() {
        let (repo, id) = with_incident(&[]);
        repo.git(&["commit", "-q", "--allow-empty", "-m", "Subject", "-m", "#12 is mentioned"]);
        let message = repo.git(&["log", "-1", "--format=%B"]);
        assert_eq!(message, format!("Subject\n\n#12 is mentioned\n\nIncident: {}", &id[..12]));
    }

    #[test]
    fn an_editor_that_does_nothing_leaves_an_empty_message_empty() {
        let (repo, id) = with_incident(&[]);
        let ran =
            finish(repo.command("git").args(["commit", "--allow-empty"]).env("GIT_EDITOR", ":").output());
        assert_ne!(ran.status, 0, "an empty message must still end the commit: {ran:?}");
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
        assert_eq!(repo.git(&["log", "-1", "--format=%B"]), format!("Second\n\nIncident: {}", &id[..12]));
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
        let ran = repo.try_git(&["commit", "-q", "--allow-empty", "-m", "S\n\nIncident: 0123456789ab"]);
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
    fn the_outcome_of_an_attempt_replaces_the_link_that_said_nothing() {
        let (repo, id) = with_incident(&[]);
        repo.incident(&["attempt", "start", "-H", "the mask is wrong"]).expect(0);
        repo.write("a.txt", "two\n");
        let commit = repo.commit("Mask the tail");
        repo.incident(&["attempt", "end", "--failed", "-m", "the mask was right"]).expect(0);
        let links = repo.incident_json(&["show", &id])["links"].clone();
        assert_eq!(links.as_array().unwrap().len(), 1, "{links}");
        assert_eq!(
            (links[0]["role"].as_str(), links[0]["commit"].as_str()),
            (Some("failed"), Some(commit.as_str()))
        );
        let line = repo.git(&["notes", "--ref=incident-lines", "show", &commit]);
        assert!(
            line.contains("failed (attempt 1: the mask was right)") && !line.contains("related"),
            "{line}"
        );
        repo.incident(&["link", &commit, "--as", "partial"]).expect(0);
        let links = repo.incident_json(&["show", &id])["links"].clone();
        assert_eq!(
            links.as_array().unwrap().len(),
            2,
            "two roles that say something stand together: {links}"
        );
    }

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
        assert!(repo.git(&["notes", "--ref=incident-lines", "show", &second]).contains("related"));
        assert_ne!(repo.try_git(&["notes", "--ref=incident-lines", "show", &first]).status, 0);
        let links = repo.incident_json(&["show", &id])["links"].clone();
        let links: Vec<&str> =
            links.as_array().unwrap().iter().map(|l| l["commit"].as_str().unwrap()).collect();
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
            assert!(repo.git(&["notes", "--ref=incident-lines", "show", commit]).contains("related"));
        }
        let before = repo.git(&["rev-parse", "refs/notes/incidents"]);
        let mut hook = repo.command("git-incident");
        hook.args(["hook", "post-rewrite", "rebase"]).stdin(std::process::Stdio::piped());
        hook.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let mut child = hook.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), format!("{old} {new}\n").as_bytes())
            .unwrap();
        finish(child.wait_with_output()).expect(0);
        assert_eq!(repo.git(&["rev-parse", "refs/notes/incidents"]), before);
        let links = repo.incident_json(&["show", &id])["links"].as_array().unwrap().len();
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
        assert!(again["hooks"].as_array().unwrap().iter().all(|h| h["done"] == "unchanged"), "{again}");
        assert!(repo.read(".git/config").contains("refs/notes/remotes/origin/incidents*"));
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
            assert!(view["hooks"].as_array().unwrap().iter().all(|h| h["done"] == "manual"), "{view}");
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
        repo.try_git(&["push", "-q", "origin", "main"]).expect(0).says("not installed");
    }
}
