use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::*;

struct Scene {
    root: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let scene = Self { root: tempfile::tempdir().unwrap() };
        scene.git().call(["init", "-q", "-b", "main", "."]).run().unwrap();
        scene
    }

    fn git(&self) -> Git {
        Git::at(self.root.path())
            .scrubbed()
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_COMMITTER_NAME", "C")
            .env("GIT_COMMITTER_EMAIL", "c@example.org")
            .env("GIT_COMMITTER_DATE", "1700000000 +0000")
            .env("GIT_AUTHOR_DATE", "1600000000 +0200")
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn commit(&self, author: &str, message: &str) -> String {
        let git = self
            .git()
            .env("GIT_AUTHOR_NAME", author)
            .env("GIT_AUTHOR_EMAIL", format!("{author}@example.org"));
        git.call(["add", "-A"]).writes().run().unwrap();
        git.call(["commit", "-q", "--allow-empty", "-m", message]).writes().run().unwrap();
        git.call(["rev-parse", "HEAD"]).text().unwrap()
    }
}

#[test]
fn the_dirty_diff_rebuilds_the_tree_whatever_the_user_configured() {
    let scene = Scene::new();
    scene.write("new.txt", "staged\n");
    scene.git().call(["add", "new.txt"]).run().unwrap();
    let unborn = dirty_diff(&scene.git()).unwrap();
    assert!(
        unborn.starts_with(b"diff --git a/new.txt b/new.txt\nnew file mode 100644\n"),
        "{}",
        text(&unborn)
    );

    scene.write("sub/bin", [0, 1, 2, 255]);
    scene.commit("a", "first");
    assert_eq!(dirty_diff(&scene.git()).unwrap(), b"");
    scene.write("new.txt", "changed\n");
    scene.write("sub/bin", [0, 9, 9, 255]);
    let plain = dirty_diff(&scene.git()).unwrap();
    assert!(text(&plain).contains("GIT binary patch"));
    let mut loud = Git::at(scene.root.path().join("sub")).env("GIT_CONFIG_GLOBAL", "/dev/null");
    for (key, value) in [
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.external", "false"),
        ("color.ui", "always"),
        ("diff.relative", "true"),
        ("diff.algorithm", "histogram"),
        ("diff.context", "9"),
    ] {
        loud = loud.config(key, value);
    }
    assert_eq!(dirty_diff(&loud).unwrap(), plain);
    scene.git().call(["stash", "-q"]).writes().run().unwrap();
    scene.git().call(["apply", "--binary", "-"]).writes().stdin(plain.clone()).run().unwrap();
    assert_eq!(dirty_diff(&scene.git()).unwrap(), plain);
}

#[test]
fn untracked_paths_are_told_apart() {
    let scene = Scene::new();
    scene.write(".gitignore", "*.o\n");
    scene.commit("a", "first");
    scene.write("x.o", "ignored");
    scene.write("sub/odd\nname", "12345");
    symlink("/etc/passwd", scene.root.path().join("link")).unwrap();
    scene.git().call(["init", "-q", "nested"]).run().unwrap();
    scene.write("nested/file", "");
    let from_below = Git::at(scene.root.path().join("sub"));
    let list = untracked(&from_below, 10).unwrap();
    let entry = |name: &str, kind| Untracked { path: name.into(), kind };
    assert_eq!(
        list.entries,
        [
            entry("link", UntrackedKind::Symlink),
            entry("nested", UntrackedKind::Repository),
            entry("sub/odd\nname", UntrackedKind::File(5)),
        ]
    );
    let list = untracked(&scene.git(), 1).unwrap();
    assert_eq!((list.entries.len(), list.more), (1, 2));
}

#[test]
fn patch_ids_follow_the_change_and_see_white_space() {
    let scene = Scene::new();
    let git = scene.git();
    scene.write("f.py", "if x:\n    a()\n");
    let root = scene.commit("a", "root");
    scene.write("f.py", "if x:\n    a()\n    b()\n");
    let inside = scene.commit("a", "inside");
    let empty = scene.commit("a", "empty");
    git.call(["checkout", "-q", "--detach", &root]).writes().run().unwrap();
    scene.write("f.py", "if x:\n    a()\nb()\n");
    let outside = scene.commit("a", "outside");
    git.call(["checkout", "-q", "--detach", &root]).writes().run().unwrap();
    scene.write("other", "");
    scene.commit("b", "moves the base");
    scene.write("f.py", "if x:\n    a()\n    b()\n");
    let picked = scene.commit("b", "picked");
    let id = |commit: &str| patch_id(&git, commit).unwrap();
    assert_eq!(id(&inside), id(&picked));
    assert_ne!(id(&inside), id(&outside));
    assert_eq!(id(&empty), None);
    assert!(id(&root).is_some() && id("main~1") == id(&inside));
    let all = patch_ids(&git, &[&root, &empty, &inside]).unwrap();
    assert_eq!(all, [(root.clone(), id(&root).unwrap()), (inside.clone(), id(&inside).unwrap())]);
    // As the design names the commands.
    let patch =
        git.call(["diff-tree", "-p", "--no-renames", "--full-index", "-U3", &inside]).bytes().unwrap();
    let by_hand = git.call(["patch-id", "--verbatim"]).stdin(patch).text().unwrap();
    assert_eq!(by_hand.split(' ').next(), id(&inside).as_deref());
    assert!(patch_ids(&git, &["--all"]).is_err());
    assert!(
        patch_ids(&git, &[&"0".repeat(40)]).is_err()
            || patch_ids(&git, &[&"0".repeat(40)]).unwrap().is_empty()
    );
}

#[test]
fn trees_are_compared_by_path_and_by_line() {
    let scene = Scene::new();
    scene.write("old name", "1\n2\n3\n4\n5\n");
    scene.write("bin", [0, 1]);
    let base = scene.commit("a", "base");
    fs::rename(scene.root.path().join("old name"), scene.root.path().join("new\tname")).unwrap();
    scene.write("bin", [0, 2]);
    scene.write("more", "x\ny\n");
    let tip = scene.commit("a", "tip");
    let git = scene.git();
    let paths = changed_paths(&git, &base, &tip).unwrap();
    assert_eq!(paths, [Path::new("bin"), Path::new("more"), Path::new("new\tname"), Path::new("old name")]);
    let stats = diff_stat(&git, &base, &tip).unwrap();
    let binary = stats.iter().find(|stat| stat.path == Path::new("bin")).unwrap();
    assert_eq!((binary.added, binary.deleted), (None, None));
    let renamed = stats.iter().find(|stat| stat.path == Path::new("new\tname")).unwrap();
    assert_eq!((renamed.renamed_from.as_deref(), renamed.added), (Some(Path::new("old name")), Some(0)));
    assert_eq!(stats.len(), 3);
    assert_eq!(diff_stat(&git, &base, &base).unwrap(), []);
    assert_eq!(merge_base(&git, &base, &tip).unwrap(), Some(base.clone()));
    git.call(["checkout", "-q", "--orphan", "lone"]).writes().run().unwrap();
    let lone = scene.commit("a", "lone");
    assert_eq!(merge_base(&git, &lone, &tip).unwrap(), None);
    assert!(changed_paths(&git, "--output=x", &tip).is_err());
}

#[test]
fn the_people_who_know_the_lines_come_first() {
    let scene = Scene::new();
    scene.write("a file", "1\n2\n3\n4\n");
    scene.write("sub/keep", "x\n");
    scene.commit("ann", "first");
    scene.write("a file", "1\n2\n3\nfour\n");
    scene.write("\u{e4}", "u\n");
    let base = scene.commit("bob", "second");
    scene.write("a file", "one\ntwo\n3\n");
    fs::remove_file(scene.root.path().join("\u{e4}")).unwrap();
    scene.write("new", "no author\n");
    let tip = scene.commit("cyd", "third");
    let below = Git::at(scene.root.path().join("sub")).env("GIT_CONFIG_GLOBAL", "/dev/null");
    for git in [scene.git(), below] {
        let authors = log_authors_of_lines(&git, &base, &tip, BlameLimits::default()).unwrap();
        let short: Vec<_> = authors.iter().map(|one| (one.name.as_str(), one.lines, one.files)).collect();
        assert_eq!(short, [("ann", 2, 1), ("bob", 2, 2)]);
        assert_eq!(authors[0].email, "ann@example.org");
    }
    let one = BlameLimits { files: 1, hunks: 1 };
    assert_eq!(log_authors_of_lines(&scene.git(), &base, &tip, one).unwrap().len(), 1);
}

#[test]
fn a_commit_is_described() {
    let scene = Scene::new();
    scene.write("f", "1");
    let first = scene.commit("ann", "subject\ngoes on\n\nbody\n\nIncident: 1");
    let git = scene.git().config("log.showSignature", "true").config("color.ui", "always");
    let info = commit_info(&git, "HEAD").unwrap();
    assert_eq!((info.oid.as_str(), info.parents.len()), (first.as_str(), 0));
    assert_eq!((info.subject.as_str(), info.author.seconds), ("subject goes on", 1_600_000_000));
    assert_eq!((info.author.name.as_str(), info.committer.email.as_str()), ("ann", "c@example.org"));
    assert_eq!(info.message, "subject\ngoes on\n\nbody\n\nIncident: 1\n");
    scene.git().call(["tag", "-a", "-m", "t", "v1"]).writes().run().unwrap();
    assert_eq!(commit_info(&git, "v1").unwrap().oid, first);
    let error = commit_info(&git, "nowhere").unwrap_err();
    assert_eq!(error.what(), "`nowhere` names no commit");
    assert!(commit_info(&git, "HEAD^{tree}").is_err() && commit_info(&git, "-x").is_err());
    assert!(object_exists(&git, &first).unwrap() && !object_exists(&git, &"1".repeat(40)).unwrap());
}
