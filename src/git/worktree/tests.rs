use std::process::Command;

use super::*;
use crate::git::program::scrubbed_environment;

const ISOLATED: [(&str, &str); 8] = [
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_AUTHOR_NAME", "A"),
    ("GIT_AUTHOR_EMAIL", "a@example.org"),
    ("GIT_COMMITTER_NAME", "A"),
    ("GIT_COMMITTER_EMAIL", "a@example.org"),
    ("GIT_AUTHOR_DATE", "1700000000 +0000"),
    ("GIT_COMMITTER_DATE", "1700000000 +0000"),
];

struct Scene {
    root: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let scene = Self { root: tempfile::tempdir().unwrap() };
        scene.git("").call(["init", "-q", "-b", "main", "repo"]).run().unwrap();
        scene.write("repo/file", "one\n");
        scene.write("repo/dir/other", "o\n");
        scene.write("repo/.gitignore", "target\n*.log\n");
        scene.commit("repo", "first");
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    fn git(&self, name: &str) -> Git {
        let git = Git::at(self.path(name)).scrubbed().config("protocol.file.allow", "always");
        ISOLATED.iter().fold(git, |git, (key, value)| git.env(key, value))
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(path: &Path) -> String {
        fs::read_to_string(path).unwrap_or_default()
    }

    fn commit(&self, name: &str, message: &str) -> String {
        let git = self.git(name);
        git.call(["add", "-A"]).writes().run().unwrap();
        git.call(["commit", "-q", "--allow-empty", "-m", message]).writes().run().unwrap();
        git.call(["rev-parse", "HEAD"]).text().unwrap()
    }

    fn open(&self) -> ValidationWorktree {
        ValidationWorktree::open(&self.path("repo/.git"), &self.path("cache"), "gates").unwrap()
    }

    fn head(&self) -> String {
        self.git("repo").call(["rev-parse", "HEAD"]).text().unwrap()
    }

    /// What the user would notice: branch, index, status, configuration.
    fn state(&self) -> String {
        let git = self.git("repo");
        let run = |arguments: &[&str]| git.call(arguments).text().unwrap();
        [
            Self::read(&self.path("repo/.git/HEAD")),
            run(&["for-each-ref", "refs/heads"]),
            run(&["ls-files", "--stage"]),
            run(&["status", "--porcelain", "--ignored"]),
            run(&["stash", "list"]),
            Self::read(&self.path("repo/.git/config")),
        ]
        .join("\n--\n")
    }
}

#[test]
fn commits_are_checked_out_outside_and_the_user_notices_nothing() {
    let scene = Scene::new();
    let first = scene.head();
    scene.write("repo/file", "two\n");
    fs::remove_dir_all(scene.path("repo/dir")).unwrap();
    let second = scene.commit("repo", "second");
    scene.write("repo/file", "dirty\n");
    scene.write("repo/staged", "x\n");
    scene.git("repo").call(["add", "staged"]).writes().run().unwrap();
    let hook = scene.path("repo/.git/hooks/post-checkout");
    scene.write("repo/.git/hooks/post-checkout", "#!/bin/sh\ntouch hook-ran\n");
    fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
    let before = scene.state();

    let worktree = scene.open();
    for (commit, text, other) in [(&first, "one\n", true), (&second, "two\n", false), (&first, "one\n", true)]
    {
        let checkout = worktree.checkout(commit, &[]).unwrap();
        assert_eq!((checkout.freshness, checkout.missing.as_slice()), (Freshness::Fresh, &[][..]));
        assert!(checkout.path.starts_with(scene.path("cache")));
        assert_eq!(Scene::read(&checkout.path.join("file")), text);
        assert_eq!(checkout.path.join("dir/other").exists(), other);
        assert!(!checkout.path.join("hook-ran").exists() && !checkout.path.join("staged").exists());
    }
    assert_eq!(scene.state(), before);
    worktree.remove().unwrap();
    assert_eq!(scene.state(), before);
    assert_eq!(
        scene
            .git("repo")
            .call(["worktree", "list", "--porcelain"])
            .text()
            .unwrap()
            .matches("worktree ")
            .count(),
        1
    );
}

#[test]
fn left_overs_go_and_declared_caches_stay() {
    let scene = Scene::new();
    let commit = scene.head();
    let worktree = scene.open();
    let path = worktree.checkout(&commit, &[]).unwrap().path;
    for name in
        ["target/out", "sub/target/out", "build/deep/cache/x", "build/y", "run.log", "odd [x]/c", "odd x/c"]
    {
        fs::create_dir_all(path.join(name).parent().unwrap()).unwrap();
        fs::write(path.join(name), "old").unwrap();
    }
    fs::write(path.join("file"), "changed").unwrap();
    let nested = worktree.git().call(["init", "-q", "nested"]);
    nested.writes().run().unwrap();
    let checkout = worktree.checkout(&commit, &["target", "build/deep/cache/", "odd [x]"]).unwrap();
    assert_eq!(checkout.freshness, Freshness::Incremental);
    let there = |name: &str| path.join(name).exists();
    assert!(there("target/out") && there("build/deep/cache/x") && there("odd [x]/c"));
    assert!(!there("sub") && !there("build/y") && !there("run.log") && !there("nested") && !there("odd x"));
    assert_eq!(Scene::read(&path.join("file")), "one\n");
    assert_eq!(worktree.checkout(&commit, &[]).unwrap().freshness, Freshness::Fresh);
    for bad in ["..", "/etc", "", "a/../b", ".git", "a\nb"] {
        assert!(worktree.checkout(&commit, &[bad]).is_err(), "{bad:?}");
    }
}

#[test]
fn whatever_a_command_did_there_the_next_checkout_is_the_commit() {
    let scene = Scene::new();
    let commit = scene.head();
    let worktree = scene.open();
    let path = worktree.checkout(&commit, &[]).unwrap().path;
    let before = scene.state();
    let git = worktree.git().clone().config("user.name", "A").config("user.email", "a@example.org");
    let entry = PathBuf::from(git.call(["rev-parse", "--absolute-git-dir"]).text().unwrap());
    let damages: [(&str, &dyn Fn()); 10] = [
        ("assume-unchanged", &|| {
            git.call(["update-index", "--assume-unchanged", "file"]).writes().run().unwrap();
            fs::write(path.join("file"), "hidden").unwrap();
        }),
        ("skip-worktree", &|| {
            git.call(["update-index", "--skip-worktree", "file"]).writes().run().unwrap();
            fs::write(path.join("file"), "hidden").unwrap();
        }),
        ("commit", &|| {
            git.call(["commit", "-q", "--allow-empty", "-m", "x"]).writes().run().unwrap();
        }),
        ("lock", &|| fs::write(entry.join("index.lock"), "").unwrap()),
        ("index", &|| fs::write(entry.join("index"), "garbage").unwrap()),
        ("read-only", &|| {
            fs::create_dir_all(path.join("cache/inner")).unwrap();
            fs::write(path.join("cache/inner/x"), "").unwrap();
            fs::set_permissions(path.join("cache/inner"), fs::Permissions::from_mode(0o500)).unwrap();
        }),
        ("deleted", &|| fs::remove_dir_all(&path).unwrap()),
        ("pruned", &|| {
            fs::remove_dir_all(&path).unwrap();
            scene.git("repo").call(["worktree", "prune", "--expire=now"]).writes().run().unwrap();
        }),
        ("bent", &|| {
            let main = format!("gitdir: {}\n", scene.path("repo/.git").display());
            fs::write(path.join(".git"), main).unwrap();
        }),
        ("locked", &|| {
            let lock = scene.git("repo").call(["worktree", "lock"]).arg(&path);
            lock.writes().run().unwrap();
            fs::remove_dir_all(&path).unwrap();
        }),
    ];
    for (name, damage) in damages {
        damage();
        let checkout = worktree.checkout(&commit, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(checkout.freshness, Freshness::Fresh, "{name}");
        assert_eq!(Scene::read(&path.join("file")), "one\n", "{name}");
        assert!(!path.join("cache").exists());
        assert_eq!(git.call(["rev-parse", "HEAD"]).text().unwrap(), commit, "{name}");
        assert_eq!(git.call(["status", "--porcelain", "--ignored"]).text().unwrap(), "", "{name}");
        assert_eq!(scene.state(), before, "{name}");
    }
}

#[test]
fn two_processes_never_share_it() {
    let scene = Scene::new();
    let first = scene.open();
    let again =
        || ValidationWorktree::try_open(&scene.path("repo/.git"), &scene.path("cache"), "gates").unwrap();
    assert!(again().is_none());
    let other =
        ValidationWorktree::try_open(&scene.path("repo/.git"), &scene.path("cache"), "repro").unwrap();
    assert_ne!(other.unwrap().path(), first.path());
    drop(first);
    assert!(again().is_some());
    assert!(ValidationWorktree::open(&scene.path("repo/.git"), &scene.path("repo/.git/c"), "gates").is_err());
    assert!(ValidationWorktree::open(&scene.path("repo/.git"), &scene.path("cache"), "../x").is_err());
}

#[test]
fn moved_copied_and_cloned_anew() {
    let scene = Scene::new();
    let commit = scene.head();
    let old = scene.open().checkout(&commit, &[]).unwrap().path;
    // A copy: its entry goes, the original's directory stays.
    let copied =
        Command::new("cp").arg("-r").args([scene.path("repo"), scene.path("copy")]).status().unwrap();
    assert!(copied.success());
    let copy = ValidationWorktree::open(&scene.path("copy/.git"), &scene.path("cache"), "gates").unwrap();
    copy.checkout(&commit, &[]).unwrap();
    assert!(old.exists());
    assert_eq!(fs::read_dir(scene.path("copy/.git/worktrees")).unwrap().count(), 1);
    // A move: directory and entry go.
    fs::rename(scene.path("repo"), scene.path("moved")).unwrap();
    let moved = ValidationWorktree::open(&scene.path("moved/.git"), &scene.path("cache"), "gates").unwrap();
    moved.checkout(&commit, &[]).unwrap();
    assert!(!old.exists());
    assert_eq!(fs::read_dir(scene.path("moved/.git/worktrees")).unwrap().count(), 1);
    drop(moved);
    // Another clone at the same place finds a directory that is not its own.
    fs::remove_dir_all(scene.path("moved")).unwrap();
    scene.git("").call(["clone", "-q", "copy", "moved"]).run().unwrap();
    let clone = ValidationWorktree::open(&scene.path("moved/.git"), &scene.path("cache"), "gates").unwrap();
    clone.checkout(&commit, &[]).unwrap();
    assert_eq!(fs::read_dir(scene.path("moved/.git/worktrees")).unwrap().count(), 1);
}

#[test]
fn sparse_and_bare_repositories_give_all_files() {
    let scene = Scene::new();
    let commit = scene.head();
    scene.git("repo").call(["sparse-checkout", "set", "--cone", "nothing"]).writes().run().unwrap();
    assert!(!scene.path("repo/dir").exists());
    let path = scene.open().checkout(&commit, &[]).unwrap().path;
    assert!(path.join("dir/other").exists());
    scene.git("").call(["clone", "-q", "--bare", "repo", "bare"]).run().unwrap();
    let bare = ValidationWorktree::open(&scene.path("bare"), &scene.path("cache"), "gates").unwrap();
    assert!(bare.checkout(&commit, &[]).unwrap().path.join("dir/other").exists());
}

#[test]
fn submodules_come_from_local_clones_or_are_missed() {
    let scene = Scene::new();
    for name in ["inner", "middle"] {
        scene.git("").call(["init", "-q", "-b", "main", name]).run().unwrap();
        scene.write(&format!("{name}/{name}.txt"), name);
        scene.commit(name, "first");
    }
    let add = |into: &str, name: &str| {
        let url = scene.path(name);
        scene
            .git(into)
            .call(["submodule", "add", "-q", "--name", &format!("the {name}")])
            .arg(url)
            .arg(name)
            .writes()
            .run()
    };
    add("middle", "inner").unwrap();
    scene.commit("middle", "with inner");
    add("repo", "middle").unwrap();
    let with = scene.commit("repo", "with middle");
    let worktree = scene.open();
    // The inner one was never cloned below the outer one.
    let checkout = worktree.checkout(&with, &[]).unwrap();
    assert_eq!(checkout.missing, ["submodules missing: middle/inner"]);
    scene.git("repo").call(["submodule", "update", "-q", "--init", "--recursive"]).writes().run().unwrap();
    let before = scene.state();
    for _ in 0..2 {
        let checkout = worktree.checkout(&with, &[]).unwrap();
        assert_eq!((checkout.missing.len(), checkout.freshness), (0, Freshness::Fresh), "{checkout:?}");
        let file = checkout.path.join("middle/inner/inner.txt");
        assert_eq!(Scene::read(&file), "inner");
        fs::write(file, "dirty").unwrap();
        fs::write(checkout.path.join("middle/left-over"), "").unwrap();
    }
    let checkout = worktree.checkout(&with, &[]).unwrap();
    assert!(!checkout.path.join("middle/left-over").exists());
    assert_eq!(scene.state(), before);
    // A commit that the local clone does not have.
    scene.write("middle/middle.txt", "new");
    let new = scene.commit("middle", "not fetched");
    let link = format!("160000,{new},middle");
    scene.git("repo").call(["update-index", "--cacheinfo", &link]).writes().run().unwrap();
    scene.git("repo").call(["commit", "-q", "-m", "bump"]).writes().run().unwrap();
    let checkout = worktree.checkout(&scene.head(), &[]).unwrap();
    assert_eq!(checkout.missing, ["submodules missing: middle"]);
    // And back to a commit without any.
    let first = scene.git("repo").call(["rev-list", "--max-parents=0", "HEAD"]).text().unwrap();
    let checkout = worktree.checkout(&first, &[]).unwrap();
    assert!(!checkout.path.join("middle").exists() && checkout.freshness == Freshness::Fresh);
}

#[test]
fn pointer_files_are_reported() {
    let scene = Scene::new();
    for (key, value) in [("smudge", "false"), ("clean", "cat"), ("required", "true")] {
        scene.git("repo").call(["config", &format!("filter.lfs.{key}"), value]).writes().run().unwrap();
    }
    scene.write("repo/.gitattributes", "*.bin filter=lfs\n");
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
    for name in ["a.bin", "b.bin", "plain.txt"] {
        scene.write(&format!("repo/{name}"), pointer);
    }
    let commit = scene.commit("repo", "pointers");
    let checkout = scene.open().checkout(&commit, &[]).unwrap();
    assert_eq!(checkout.missing, ["git-lfs content missing: a.bin and 1 more"]);
}

#[test]
fn unknown_objects_are_refused() {
    let scene = Scene::new();
    let worktree = scene.open();
    assert!(worktree.checkout("HEAD", &[]).is_err());
    let error = worktree.checkout(&"1".repeat(40), &[]).unwrap_err();
    assert!(error.what().contains("is not in this repository"), "{error}");
    let tree = scene.git("repo").call(["rev-parse", "HEAD^{tree}"]).text().unwrap();
    assert!(worktree.checkout(&tree, &[]).unwrap_err().what().ends_with("is a tree, not a commit"));
}

/// Not a test of its own: what the hook of the test below runs, in this same program.
#[test]
fn as_a_hook() {
    let Some(root) = std::env::var_os("GIT_INCIDENT_TEST_ROOT").map(PathBuf::from) else {
        return;
    };
    let scrub = std::env::var_os("GIT_INCIDENT_TEST_SCRUB").is_some();
    let git = Git::at(".");
    let common = git.call(["rev-parse", "--path-format=absolute", "--git-common-dir"]).text().unwrap();
    let tip = git.call(["rev-parse", "HEAD"]).text().unwrap();
    let worktree = ValidationWorktree::open(Path::new(&common), &root.join("cache"), "gates").unwrap();
    let path = worktree.checkout(&tip, &[]).unwrap().path;
    let mut gate = Command::new("sh");
    gate.current_dir(&path).args(["-c", "git init -q x && cd x && git commit -q --allow-empty -m gate"]);
    if scrub {
        for name in scrubbed_environment() {
            gate.env_remove(name);
        }
    }
    assert!(gate.status().unwrap().success());
    fs::write(root.join("ran"), path.as_os_str().as_encoded_bytes()).unwrap();
}

#[test]
fn a_gate_that_commits_elsewhere_does_not_move_the_branch_being_pushed() {
    for scrub in [true, false] {
        let scene = Scene::new();
        scene.git("").call(["init", "-q", "--bare", "remote"]).run().unwrap();
        scene.git("repo").call(["remote", "add", "origin"]).arg(scene.path("remote")).writes().run().unwrap();
        scene.git("repo").call(["worktree", "add", "-q", "-b", "topic", "../linked"]).writes().run().unwrap();
        let exe = std::env::current_exe().unwrap();
        let hook =
            format!("#!/bin/sh\nexec '{}' --exact git::worktree::tests::as_a_hook >&2\n", exe.display());
        scene.write("repo/.git/hooks/pre-push", &hook);
        fs::set_permissions(scene.path("repo/.git/hooks/pre-push"), fs::Permissions::from_mode(0o755))
            .unwrap();
        let topic = scene.git("linked").call(["rev-parse", "topic"]).text().unwrap();
        let before = scene.state();
        let mut git = scene.git("linked").env("GIT_INCIDENT_TEST_ROOT", scene.path(""));
        if scrub {
            git = git.env("GIT_INCIDENT_TEST_SCRUB", "1");
        }
        // `git -c` exports GIT_CONFIG_PARAMETERS besides.
        let output = git.config("core.abbrev", "9").call(["push", "-q", "origin", "topic"]).output().unwrap();
        assert!(scene.path("ran").exists(), "{}", String::from_utf8_lossy(&output.stderr));
        let now = scene.git("linked").call(["rev-parse", "topic"]).text().unwrap();
        if scrub {
            assert_eq!(now, topic);
            assert_eq!(scene.state(), before);
            assert!(output.success(), "{}", String::from_utf8_lossy(&output.stderr));
        } else {
            // The trap is real: this is what the scrubbing is for.
            assert_ne!(now, topic);
        }
    }
}
