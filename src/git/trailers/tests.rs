//! Real commits through a real `commit-msg` hook, which is this program again.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::*;
use crate::git::program::{Git, installed_for_tests};

struct Scene {
    root: tempfile::TempDir,
    program: &'static str,
}

impl Scene {
    fn new(program: &'static str) -> Self {
        let scene = Self { root: tempfile::tempdir().unwrap(), program };
        scene.git().call(["init", "-q", "-b", "main"]).run().unwrap();
        let exe = std::env::current_exe().unwrap();
        let text = format!(
            "#!/bin/sh\nMESSAGE=$1 exec '{}' --exact git::trailers::tests::as_a_hook >/dev/null\n",
            exe.display()
        );
        scene.script(".git/hooks/commit-msg", &text);
        // The editor puts its argument's text in front of what git wrote.
        scene.script(
            ".git/editor",
            "#!/bin/sh\n{ printf \"$TYPED\"; cat \"$1\"; } >\"$1.new\" && mv \"$1.new\" \"$1\"\n",
        );
        scene.commit(&["-m", "root"], &[]);
        scene
    }

    fn script(&self, name: &str, text: &str) {
        let path = self.root.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn git(&self) -> Git {
        Git::at(self.root.path())
            .program(self.program)
            .scrubbed()
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "A")
            .env("GIT_AUTHOR_EMAIL", "a@example.org")
            .env("GIT_COMMITTER_NAME", "A")
            .env("GIT_COMMITTER_EMAIL", "a@example.org")
            .env("GIT_INCIDENT_TEST_GIT", self.program)
            .env("GIT_EDITOR", self.root.path().join(".git/editor"))
    }

    fn commit(&self, arguments: &[&str], config: &[(&str, &str)]) -> bool {
        let git = config.iter().fold(self.git(), |git, (key, value)| git.config(key, *value));
        git.call(["commit", "-q", "--allow-empty"]).args(arguments).writes().output().unwrap().success()
    }

    fn type_and_commit(&self, typed: &str, arguments: &[&str], config: &[(&str, &str)]) -> bool {
        let git = config.iter().fold(self.git(), |git, (key, value)| git.config(key, *value));
        let call = git.call(["commit", "-q", "--allow-empty"]).args(arguments).env("TYPED", typed);
        call.writes().output().unwrap().success()
    }

    fn message(&self) -> String {
        self.git().call(["log", "-1", "--format=%B"]).text().unwrap()
    }

    fn trailers(&self) -> String {
        self.git()
            .call(["log", "-1", "--format=%(trailers:key=Incident,valueonly,separator=%x2C)"])
            .text()
            .unwrap()
    }
}

/// Not a test of its own: what the hook above runs.
#[test]
fn as_a_hook() {
    let Some(file) = std::env::var_os("MESSAGE").map(PathBuf::from) else {
        return;
    };
    let git = Git::at(".").program(std::env::var_os("GIT_INCIDENT_TEST_GIT").unwrap());
    let get = |key: &str| git.call(["config", "--get", key]).text_if_any().unwrap();
    let (comment, mode) =
        (get("core.commentString").or_else(|| get("core.commentChar")), get("commit.cleanup"));
    let template = get("commit.template").map(|path| fs::read(path).unwrap());
    let cleanup = Cleanup {
        comment: comment.as_deref(),
        mode: mode.as_deref(),
        editor: Cleanup::edited(std::env::var_os("GIT_EDITOR").as_deref()),
        template: template.as_deref(),
    };
    let file: &Path = &file;
    add_trailers(&git, file, &cleanup, &[("Incident", "abc1234")]).unwrap();
}

#[test]
fn commits_of_every_kind_end_in_one_trailer() {
    for program in installed_for_tests() {
        let scene = Scene::new(program);
        assert_eq!(scene.message(), "root\n\nIncident: abc1234\n");

        // Nobody edits: lines with a number sign are text.
        assert!(scene.commit(&["-m", "subject\n\n# text\n#12"], &[]));
        assert_eq!(scene.message(), "subject\n\n# text\n#12\n\nIncident: abc1234\n");

        // An editor, with and without the diff below the scissors.
        fs::write(scene.root.path().join("file"), "Incident: in the diff\n\nIncident: abc1234\n").unwrap();
        scene.git().call(["add", "file"]).writes().run().unwrap();
        assert!(scene.type_and_commit("typed\n\nbody\n", &["-v"], &[]));
        assert_eq!(scene.message(), "typed\n\nbody\n\nIncident: abc1234\n");
        assert!(scene.type_and_commit("typed", &["-s"], &[]));
        assert_eq!(scene.message(), "typed\n\nSigned-off-by: A <a@example.org>\nIncident: abc1234\n");
        assert!(scene.type_and_commit("typed\n\n# kept\n", &["-v"], &[("commit.cleanup", "scissors")]));
        assert_eq!(scene.message(), "typed\n\n# kept\n\nIncident: abc1234\n");
        for (key, value) in [("core.commentChar", ";"), ("core.commentChar", "auto")] {
            for verbose in [&["-e", "-m", "#12 fixed"][..], &["-v", "-e", "-m", "#12 fixed"]] {
                assert!(scene.type_and_commit("", verbose, &[(key, value)]));
                assert_eq!(scene.message(), "#12 fixed\n\nIncident: abc1234\n", "{key}={value} {verbose:?}");
            }
        }

        // Aborted commits stay aborted.
        assert!(!scene.type_and_commit("", &[], &[]));
        assert!(!scene.type_and_commit("", &["-s"], &[]));
        let template = scene.root.path().join(".git/template");
        fs::write(&template, "Why:\n\n# how to\n").unwrap();
        let template = [("commit.template", template.to_str().unwrap())];
        assert!(!scene.type_and_commit("", &[], &template));
        assert!(scene.type_and_commit("subject\n\n", &[], &template));
        assert_eq!(scene.trailers(), "abc1234");

        // Amending, files, other blocks.
        assert!(scene.commit(&["--amend", "--no-edit"], &[]));
        assert_eq!(scene.trailers(), "abc1234");
        fs::write(scene.root.path().join(".git/msg"), "crlf\r\n\r\nbody\r\n").unwrap();
        assert!(scene.commit(&["-F", ".git/msg"], &[]));
        assert_eq!(scene.message(), "crlf\n\nbody\n\nIncident: abc1234\n");
        assert!(scene.commit(&["-F", ".git/msg", "--cleanup=verbatim"], &[]));
        assert_eq!(scene.message(), "crlf\r\n\r\nbody\r\n\r\nIncident: abc1234\r\n");
    }
}

#[test]
fn merges_and_autosquash_keep_one_trailer() {
    let scene = Scene::new("git");
    let git = scene.git();
    git.call(["checkout", "-q", "-b", "side"]).writes().run().unwrap();
    scene.commit(&["-m", "side"], &[]);
    git.call(["checkout", "-q", "main"]).writes().run().unwrap();
    scene.commit(&["-m", "main"], &[]);
    git.call(["merge", "-q", "--no-edit", "side"]).writes().run().unwrap();
    assert_eq!(scene.message(), "Merge branch 'side'\n\nIncident: abc1234\n");

    fs::write(scene.root.path().join("file"), "1\n").unwrap();
    git.call(["add", "file"]).writes().run().unwrap();
    scene.commit(&["-m", "target\n\nbody"], &[]);
    for kind in ["--fixup=HEAD", "--squash=HEAD"] {
        fs::write(scene.root.path().join("file"), kind).unwrap();
        assert!(scene.commit(&["-a", kind, "--no-edit"], &[]));
        assert_eq!(scene.trailers(), "", "{kind}");
        let rebase = git.call(["rebase", "-q", "-i", "--autosquash", "HEAD~2"]).env("GIT_EDITOR", "true");
        rebase.env("GIT_SEQUENCE_EDITOR", "true").writes().run().unwrap();
        assert!(scene.message().starts_with("target\n\nbody\n"));
        assert_eq!(scene.trailers(), "abc1234", "{kind}: {}", scene.message());
    }
}
