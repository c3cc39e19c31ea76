use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::*;

/// A repository with a bare remote, and a `git-incident` that writes down how it was called.
struct Scene {
    root: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let scene = Self { root: tempfile::tempdir().unwrap() };
        fs::create_dir(scene.path("bin")).unwrap();
        scene.script(
            "bin/git-incident",
            "#!/bin/sh\n{ echo \"$*\"; case $2 in pre-push|post-rewrite) cat;; esac; } >>\"$LOG\"\nexit ${STATUS:-0}\n",
        );
        let git = scene.git_in(scene.root.path());
        git.call(["init", "-q", "--bare", "remote"]).run().unwrap();
        git.call(["init", "-q", "-b", "main", "repo"]).run().unwrap();
        let git = scene.git();
        git.call(["remote", "add", "origin", "../remote"]).run().unwrap();
        git.call(["commit", "-q", "--allow-empty", "-m", "first"]).run().unwrap();
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn git_in(&self, directory: &Path) -> Git {
        let path = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap());
        Git::at(directory)
            .scrubbed()
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "A")
            .env("GIT_AUTHOR_EMAIL", "a@example.org")
            .env("GIT_COMMITTER_NAME", "A")
            .env("GIT_COMMITTER_EMAIL", "a@example.org")
            .env("GIT_AUTHOR_DATE", "1700000000 +0000")
            .env("GIT_COMMITTER_DATE", "1700000000 +0000")
            .env("LOG", self.path("log"))
            .env("PATH", path)
    }

    fn git(&self) -> Git {
        self.git_in(&self.path("repo"))
    }

    fn script(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    fn push(git: &Git) -> i32 {
        git.call(["push", "-q", "origin", "HEAD:main"]).output().unwrap().status
    }

    /// Every file of the git directory that hooks or configuration may touch.
    fn snapshot(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let mut files = BTreeMap::new();
        let mut stack = vec![self.path("repo/.git/hooks"), self.path("repo/.git/config")];
        while let Some(path) = stack.pop() {
            let Ok(kind) = fs::symlink_metadata(&path) else {
                continue;
            };
            if kind.is_dir() {
                files.insert(path.clone(), (0, Vec::new()));
                stack.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            } else if kind.is_symlink() {
                let target = fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes();
                files.insert(path, (1, target));
            } else {
                files.insert(path.clone(), (kind.permissions().mode(), fs::read(&path).unwrap()));
            }
        }
        files
    }

    fn install(&self, git: &Git) -> Report {
        let report = install(git, &HookSet::default(), "git-incident").unwrap();
        let once = self.snapshot();
        let again = install(git, &HookSet::default(), "git-incident").unwrap();
        assert_eq!(self.snapshot(), once, "the second installation changed something");
        let calm = |done: &Done| matches!(done, Done::Unchanged(_) | Done::Manual { .. });
        assert!(again.events.iter().all(|(_, done)| calm(done)), "{again:?}");
        report
    }
}

fn old(git: Git) -> Git {
    git.assume_version(Version::new(2, 53, 0))
}

#[test]
fn every_event_reaches_the_program_and_leaves_no_trace() {
    let scene = Scene::new();
    for with_directory in [true, false] {
        if !with_directory {
            fs::remove_dir_all(scene.path("repo/.git/hooks")).unwrap();
        }
        let _ = fs::remove_file(scene.path("log"));
        let before = scene.snapshot();
        let git = old(scene.git());
        let report = scene.install(&git);
        assert!(report.events.iter().all(|(_, done)| matches!(done, Done::Created(_))), "{report:?}");
        assert!(inspect(&git, "git-incident").unwrap().iter().all(|found| found.state == State::File));
        assert!(inspect(&git, "other").unwrap().iter().all(|found| found.state == State::Outdated));

        git.call(["commit", "-q", "--allow-empty", "-m", "second"]).run().unwrap();
        git.call(["commit", "-q", "--allow-empty", "--amend", "-m", "again"]).run().unwrap();
        assert_eq!(Scene::push(&git), 0);
        let log = scene.log();
        assert!(log.contains("hook commit-msg .git/COMMIT_EDITMSG\nhook post-commit\n"), "{log}");
        assert!(log.contains("hook post-rewrite amend\n"), "{log}");
        assert!(log.contains("hook pre-push origin ../remote\nHEAD "), "{log}");
        // Nothing to push: an empty input stays empty.
        assert_eq!(Scene::push(&git), 0);
        assert!(scene.log().ends_with("hook pre-push origin ../remote\n"), "{}", scene.log());

        let report = uninstall(&git).unwrap();
        assert!(report.events.iter().all(|(_, done)| matches!(done, Done::Removed(_))));
        assert_eq!(scene.snapshot(), before);
        assert!(uninstall(&git).unwrap().events.iter().all(|(_, done)| *done == Done::Absent));
    }
}

#[test]
fn only_the_hooks_that_decide_stop_the_user() {
    let scene = Scene::new();
    let git = old(scene.git());
    scene.install(&git);
    let failing = git.clone().env("STATUS", "4");
    assert_ne!(Scene::push(&failing), 0);
    assert!(!failing.call(["commit", "-q", "--allow-empty", "-m", "x"]).output().unwrap().success());
    assert!(
        failing
            .call(["commit", "-q", "--allow-empty", "-n", "--amend", "-m", "x"])
            .output()
            .unwrap()
            .success()
    );
    assert_eq!(Scene::push(&git), 0);
}

#[test]
fn a_missing_program_says_so_and_follows_the_policy() {
    let scene = Scene::new();
    let git = old(scene.git());
    scene.install(&git);
    fs::remove_file(scene.path("bin/git-incident")).unwrap();
    let push = |name: &str| git.call(["push", "-q", "origin", &format!("HEAD:{name}")]).output().unwrap();
    let output = push("one");
    assert!(output.success());
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("is not installed: its pre-push hook was skipped")
    );
    install(&git, &HookSet { missing: Missing::Block, ..HookSet::default() }, "git-incident").unwrap();
    let output = push("two");
    assert!(!output.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("its pre-push hook refuses"));
}

#[test]
fn a_shell_hook_keeps_its_bytes_its_input_and_its_status() {
    for (name, text) in [
        ("sh", "#!/bin/sh\nread -r line\necho \"theirs $1 $line\" >>\"$LOG\"\nexit 3\n"),
        ("strict", "#!/bin/sh -eu\nread -r line\necho \"theirs $1 $line\" >>\"$LOG\"\nfalse\n"),
        ("bash", "#!/usr/bin/env bash\nset -euo pipefail\necho \"theirs $1 $(cat)\" >>\"$LOG\"; exec false"),
        ("none", "read -r line\necho \"theirs $1 $line\" >>\"$LOG\"\nexit 7"),
    ] {
        let scene = Scene::new();
        scene.script("repo/.git/hooks/pre-push", text);
        scene.script("repo/.git/hooks/commit-msg", "#!/bin/sh");
        let mode = fs::Permissions::from_mode(0o750);
        fs::set_permissions(scene.path("repo/.git/hooks/pre-push"), mode).unwrap();
        let before = scene.snapshot();
        let git = old(scene.git());
        let report = scene.install(&git);
        assert_eq!(report.events.iter().filter(|(_, done)| matches!(done, Done::Block(_))).count(), 2);
        assert_ne!(Scene::push(&git), 0, "{name}: the status of their hook was lost");
        let log = scene.log();
        assert!(log.starts_with("hook pre-push origin ../remote\nHEAD "), "{name}: {log}");
        assert!(log.contains("\ntheirs origin HEAD "), "{name}: {log}");
        uninstall(&git).unwrap();
        assert_eq!(scene.snapshot(), before, "{name}");
    }
}

#[test]
fn other_hooks_are_moved_aside_and_still_run() {
    let scene = Scene::new();
    scene.script("theirs", "#!/bin/sh\necho \"theirs $1 $(cat)\" >>\"$LOG\"\nexit 3\n");
    symlink("../../../theirs", scene.path("repo/.git/hooks/pre-push")).unwrap();
    scene.script("repo/.git/hooks/commit-msg", "#!/usr/bin/awk -f\nBEGIN { exit 1 }\n");
    fs::write(scene.path("repo/.git/hooks/post-commit"), "#!/bin/sh\necho never >>\"$LOG\"\n").unwrap();
    let before = scene.snapshot();
    let git = old(scene.git());
    let report = scene.install(&git);
    assert_eq!(
        report.events.iter().filter(|(_, done)| matches!(done, Done::Wrapped(..))).count(),
        3,
        "{report:?}"
    );
    assert_ne!(Scene::push(&git), 0);
    assert!(scene.log().contains("\ntheirs origin HEAD "), "{}", scene.log());
    assert!(!git.call(["commit", "-q", "--allow-empty", "-m", "x"]).output().unwrap().success());
    git.call(["commit", "-q", "-n", "--allow-empty", "-m", "x"]).run().unwrap();
    assert!(scene.log().contains("hook post-commit") && !scene.log().contains("never"));
    uninstall(&git).unwrap();
    assert_eq!(scene.snapshot(), before);
}

#[test]
fn lines_added_to_our_file_survive_the_removal() {
    let scene = Scene::new();
    let git = old(scene.git());
    scene.install(&git);
    let path = scene.path("repo/.git/hooks/pre-push");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}echo mine\n")).unwrap();
    uninstall(&git).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "#!/bin/sh\necho mine\n");
    fs::write(&path, text.replace("# <<< git incident <<<\n", "")).unwrap();
    assert!(uninstall(&git).unwrap_err().to_string().contains("damaged"));
}

#[test]
fn a_hooks_path_is_never_written_to() {
    let scene = Scene::new();
    let git = old(scene.git());
    scene.install(&git);
    for (value, owner, path) in [
        (".husky/_", "husky", "repo/.husky/pre-push"),
        (".husky", "husky", "repo/.husky/pre-push"),
        ("../shared", "core.hooksPath", "shared/pre-push"),
    ] {
        let folder = scene.path("repo").join(value);
        fs::create_dir_all(&folder).unwrap();
        git.call(["config", "core.hooksPath", value]).run().unwrap();
        let report = scene.install(&git);
        let Done::Manual { owner: who, path: file, lines } = &report.events[3].1 else {
            panic!("{report:?}")
        };
        assert_eq!(who, owner);
        // The directory above may be named through `..`.
        let parent = file.parent().unwrap().canonicalize().unwrap();
        assert_eq!(
            parent.join(file.file_name().unwrap()),
            scene.root.path().canonicalize().unwrap().join(path)
        );
        assert!(lines.contains("git-incident hook pre-push \"$@\" || exit $?"));
        assert!(report.notes[0].contains(value));
        assert_eq!(
            fs::read_dir(&folder).unwrap().filter(|e| e.as_ref().unwrap().path().is_file()).count(),
            0
        );
        let found = inspect(&git, "git-incident").unwrap();
        assert!(matches!(&found[0].state, State::Unreachable(why) if why.contains("hooksPath")));
    }
    // The blocks from before go, though git does not look there now.
    uninstall(&git).unwrap();
    assert!(!scene.path("repo/.git/hooks/pre-push").exists());
}

#[test]
fn a_newer_git_gets_sections_in_its_configuration() {
    let scene = Scene::new();
    let before = scene.snapshot();
    scene.install(&old(scene.git()));
    let git = scene.git().assume_version(Version::new(2, 54, 0));
    let report = scene.install(&git);
    assert_eq!(report.events[3].1, Done::Config("git-incident-pre-push".into()));
    assert!(!scene.path("repo/.git/hooks/pre-push").exists(), "the block would run a second time");
    assert!(inspect(&git, "git-incident").unwrap().iter().all(|found| found.state == State::Config));
    let get = |key: &str| git.call(["config", "--local", "--get", key]).text().unwrap();
    assert_eq!(get("hook.git-incident-pre-push.event"), "pre-push");

    // As git does it: a shell, the command, the arguments appended.
    let command = get("hook.git-incident-pre-push.command");
    let run = |path: &str| {
        let mut shell = std::process::Command::new("/bin/sh");
        shell.arg("-c").arg(format!("{command} \"$@\"")).args([command.as_str(), "origin", "url"]);
        shell.env("LOG", scene.path("log")).env("PATH", path).stdin(std::process::Stdio::null());
        shell.output().unwrap()
    };
    assert!(run(&format!("{}:/usr/bin:/bin", scene.path("bin").display())).status.success());
    assert_eq!(scene.log(), "hook pre-push origin url\n");
    let output = run("/usr/bin:/bin");
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("was skipped"));

    let report = install(&old(git.clone()), &HookSet::default(), "git-incident").unwrap();
    assert!(matches!(report.events[0].1, Done::Created(_)));
    assert!(git.call(["config", "--local", "--get-regexp", "^hook"]).text_if_any().unwrap().is_none());
    install(&git, &HookSet::default(), "git-incident").unwrap();
    uninstall(&git).unwrap();
    assert_eq!(scene.snapshot(), before);
}

#[test]
fn hooks_run_in_a_linked_worktree_too() {
    let scene = Scene::new();
    let git = old(scene.git());
    git.call(["worktree", "add", "-q", "../linked"]).run().unwrap();
    let linked = old(scene.git_in(&scene.path("linked")));
    scene.install(&linked);
    assert_eq!(Scene::push(&linked), 0);
    assert!(scene.log().starts_with("hook pre-push origin"));
}

#[test]
fn managers_that_write_the_same_files_are_named() {
    let scene = Scene::new();
    fs::write(scene.path("repo/lefthook.yml"), "").unwrap();
    fs::write(scene.path("repo/.pre-commit-config.yaml"), "").unwrap();
    scene.script("repo/.git/hooks/pre-push", "#!/bin/sh\ngit lfs pre-push \"$@\"\n");
    let report = scene.install(&old(scene.git()));
    assert_eq!(report.notes.len(), 3);
    assert!(report.notes[0].contains("run: git-incident hook pre-push {0}\n      use_stdin: true"));
}

#[test]
fn a_hook_that_pre_commit_moved_is_still_ours() {
    let scene = Scene::new();
    let before = scene.snapshot();
    let git = old(scene.git());
    scene.install(&git);
    let hook = scene.path("repo/.git/hooks/pre-push");
    fs::rename(&hook, scene.path("repo/.git/hooks/pre-push.legacy")).unwrap();
    scene.script(
        "repo/.git/hooks/pre-push",
        "#!/usr/bin/env bash\n# File generated by pre-commit\nexec \"$0.legacy\" \"$@\"\n",
    );
    scene.install(&git);
    assert!(inspect(&git, "git-incident").unwrap().iter().all(|found| found.state == State::File));
    assert_eq!(Scene::push(&git), 0);
    assert_eq!(scene.log().matches("hook pre-push").count(), 1);
    uninstall(&git).unwrap();
    fs::remove_file(hook).unwrap();
    assert_eq!(scene.snapshot(), before);
}
