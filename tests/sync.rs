//! `git incident sync`: what many clones write reaches all of them, whatever git, a hub or a stranger does in between.

mod common;

use std::process::Stdio;

use common::clones::{clone, hub, sync, tips, with_hub};
use common::{Beside, EVIDENCE, LEDGER, Repo, finish, notes_in};

/// The view of an incident in a clone.
#[track_caller]
fn shown(clone: &Beside<'_>, id: &str) -> serde_json::Value {
    clone.incident_json(&["show", id])
}

#[test]
fn both_sides_end_with_the_same_bytes_and_see_the_same() {
    let repo = with_hub();
    let id = repo.open("row 17 is NaN");
    repo.write("a.log", "the log\n");
    repo.typed("evidence add a.log").expect(0);
    let here = repo.here();
    let first = sync(&here, &[]);
    assert_eq!(first["pushed"]["incidents"], 1);
    assert_eq!(first["pushed"]["evidence"], 1);
    assert_eq!(first["fetched"]["events"], 0);
    assert_eq!((first["remote"].as_str(), first["attempts"].as_u64()), (Some("origin"), Some(1)));

    let there = clone(&repo, "there");
    assert_eq!(sync(&there, &[])["fetched"]["incidents"], 1);
    assert_eq!(shown(&there, &id), shown(&here, &id));
    there.incident(&["evidence", "verify", "-i", &id]).expect(0).says("1 files intact");

    repo.note("written here");
    there.incident(&["attempt", "note", "written there", "-i", &id]).expect(0);
    there.incident(&["open", "another"]).expect(0);
    sync(&here, &[]);
    let second = sync(&there, &[]);
    assert_eq!(second["fetched"]["events"], 1);
    assert_eq!((&second["pushed"]["events"], &second["pushed"]["incidents"]), (&2.into(), &2.into()));
    assert_eq!(sync(&here, &[])["fetched"]["events"], 2);
    assert_eq!(tips(&here), tips(&there));
    assert_eq!(tips(&here), tips(&hub(&repo)));
    assert_eq!(notes_in(&shown(&here, &id)), ["written here", "written there"]);
    assert_eq!(shown(&there, &id), shown(&here, &id));
    let idle = sync(&here, &[]);
    assert_eq!((&idle["fetched"], &idle["pushed"]), (&idle["pushed"], &idle["fetched"]));
    assert_eq!(idle["fetched"]["bytes"], 0);
    here.incident(&["sync"]).expect(0).says("nothing new either way");
}

#[test]
fn plain_git_agrees_after_a_sync() {
    let repo = with_hub();
    let id = repo.open("row 17 is NaN");
    sync(&repo.here(), &[]);
    let there = clone(&repo, "there");
    there.fetch_notes();
    there.merge_notes();
    there.incident(&["attempt", "note", "written there", "-i", &id]).expect(0);
    there.push_notes();
    repo.note("written here");
    sync(&repo.here(), &[]);
    // The peer goes on with plain git.
    there.fetch_notes();
    there.merge_notes();
    let list = there.git(&["notes", "--ref=incidents", "list"]);
    assert_eq!(list, repo.git(&["notes", "--ref=incidents", "list"]));
    assert_eq!(
        there.git(&["notes", "--ref=incidents", "show", &id]),
        repo.git(&["notes", "--ref=incidents", "show", &id])
    );
    assert_eq!(shown(&there, &id), shown(&repo.here(), &id));
    repo.git(&["fsck", "--strict", "--no-progress"]);
}

#[test]
fn nothing_and_a_hub_without_notes_are_no_trouble() {
    let repo = with_hub();
    repo.incident(&["sync"]).expect(0).says("nothing new either way");
    assert_eq!(hub(&repo).git(&["for-each-ref", "refs/notes"]), "");
    let empty = repo.root().join("empty.git");
    repo.git(&["init", "-q", "--bare", &empty.display().to_string()]);
    repo.incident(&["sync", &empty.display().to_string()]).expect(0);
    repo.open("first");
    assert_eq!(sync(&repo.here(), &[&empty.display().to_string()])["pushed"]["incidents"], 1);
    assert_eq!(tips(&repo.at(&empty)), tips(&repo.here()));
    // An address leaves no refs behind.
    assert_eq!(repo.git(&["for-each-ref", "refs/incident/fetched"]), "");
}

#[test]
fn a_dry_run_tells_what_would_travel_and_moves_nothing() {
    let repo = with_hub();
    let there = clone(&repo, "there");
    there.incident(&["open", "theirs"]).expect(0);
    sync(&there, &[]);
    repo.open("mine");
    repo.write("a.log", "0123456789\n");
    repo.typed("evidence add a.log").expect(0);
    let before = (tips(&repo.here()), tips(&hub(&repo)));
    let told = sync(&repo.here(), &["--dry-run"]);
    assert_eq!((&told["fetched"]["incidents"], &told["pushed"]["incidents"]), (&1.into(), &1.into()));
    assert_eq!(told["pushed"]["evidence"], 1);
    assert!(told["pushed"]["bytes"].as_u64() > Some(500) && told["fetched"]["bytes"].as_u64() > Some(300));
    assert_eq!(told["dry_run"], true);
    assert_eq!((tips(&repo.here()), tips(&hub(&repo))), before);
    repo.incident(&["sync", "-n"]).expect(0).says("would push").says("would fetch");
    let done = sync(&repo.here(), &[]);
    assert_eq!((&done["fetched"], &done["pushed"]), (&told["fetched"], &told["pushed"]));
}

/// Eight clones, each with events of its own, sync at the same time until all agree.
#[test]
fn clones_that_sync_at_once_all_land() {
    let repo = with_hub();
    let id = repo.open("shared");
    sync(&repo.here(), &[]);
    let clones: Vec<Beside<'_>> = (0..8).map(|n| clone(&repo, &format!("clone{n}"))).collect();
    for (n, clone) in clones.iter().enumerate() {
        sync(clone, &[]);
        clone.incident(&["attempt", "note", &format!("note {n}"), "-i", &id]).expect(0);
        clone.incident(&["open", &format!("own {n}")]).expect(0);
    }
    let running: Vec<_> = clones
        .iter()
        .map(|clone| {
            let mut command = clone.command("git-incident");
            command.args(["--json", "sync"]).stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().expect("started")
        })
        .collect();
    for child in running {
        let ran = finish(child.wait_with_output()).expect(0);
        assert!(ran.json()["attempts"].as_u64() >= Some(1));
    }
    for clone in &clones {
        sync(clone, &[]);
    }
    sync(&repo.here(), &[]);
    let expected: Vec<String> = (0..8).map(|n| format!("note {n}")).collect();
    for clone in &clones {
        assert_eq!(notes_in(&shown(clone, &id)), expected);
        assert_eq!(clone.incident_json(&["list"])["incidents"].as_array().map(Vec::len), Some(9));
        assert_eq!(tips(clone), tips(&hub(&repo)));
    }
}

/// Writes a tree of `mktree` lines and moves a ref of the hub to a commit of it.
fn set_tree(place: &Beside<'_>, reference: &str, lines: &str) {
    use std::io::Write;
    let mut command = place.command("git");
    command.args(["mktree", "--missing"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("started");
    child.stdin.take().expect("a pipe").write_all(lines.as_bytes()).expect("written");
    let tree = finish(child.wait_with_output()).expect(0);
    let commit = place.git(&["commit-tree", "-m", "odd", tree.line()]);
    place.git(&["update-ref", reference, &commit]);
}

fn tree_of(place: &Beside<'_>, lines: &str) -> String {
    set_tree(place, "refs/odd/scratch", lines);
    place.git(&["rev-parse", "refs/odd/scratch^{tree}"])
}

/// A key at two depths with different lines, at a deep fan-out, with the mode of a program and of a link; paths that
/// are no notes.
#[test]
fn odd_trees_are_united_and_plain_git_takes_the_result() {
    let repo = with_hub();
    let id = repo.open("odd");
    repo.note("first");
    sync(&repo.here(), &[]);
    let there = clone(&repo, "there");
    sync(&there, &[]);
    let at_hub = hub(&repo);
    let short = at_hub.git(&["rev-parse", &format!("{LEDGER}:{}/{}", &id[..2], &id[2..])]);
    repo.note("second");
    let long = repo.git(&["rev-parse", &format!("{LEDGER}:{}/{}", &id[..2], &id[2..])]);
    repo.git(&["push", "-q", "origin", &format!("{long}:refs/odd/blob")]);
    there.incident(&["attempt", "note", "written there", "-i", &id]).expect(0);
    let readme = at_hub.git(&["rev-parse", "refs/heads/main^{tree}"]);
    for odd in ["100755", "120000", "100644"] {
        let deep = tree_of(&at_hub, &format!("{odd} blob {long}\t{}\n", &id[4..]));
        let fan =
            tree_of(&at_hub, &format!("040000 tree {deep}\t{}\n100644 blob {short}\tREADME\n", &id[2..4]));
        set_tree(
            &at_hub,
            LEDGER,
            &format!(
                "040000 tree {fan}\t{}\n100644 blob {short}\t{id}\n040000 tree {readme}\tdocs\n",
                &id[..2]
            ),
        );
        sync(&there, &[]);
        assert_eq!(notes_in(&shown(&there, &id)), ["first", "second", "written there"], "{odd}");
        let paths = there.git(&["ls-tree", "-r", LEDGER]);
        let standing: Vec<&str> = paths.lines().filter(|l| l.replace('/', "").ends_with(&id)).collect();
        assert_eq!(standing.len(), 1, "{paths}");
        assert!(standing[0].starts_with("100644 blob"), "{paths}");
        assert_eq!(tips(&at_hub), tips(&there));
        // What is no note is kept.
        there.git(&["rev-parse", &format!("{LEDGER}:docs")]);
        // Plain git reads it, and merges it with what stands elsewhere.
        there.git(&["notes", "--ref=incidents", "show", &id]);
        let plain = clone(&repo, &format!("plain{odd}"));
        plain.git(&["notes", "--ref=incidents", "add", "-m", "x", "HEAD"]);
        plain.fetch_notes();
        let theirs = "refs/notes/remotes/origin/incidents";
        plain.git(&["notes", "--ref=incidents", "merge", "-q", "-s", "cat_sort_uniq", theirs]);
    }
    sync(&repo.here(), &[]);
    assert_eq!(shown(&repo.here(), &id), shown(&there, &id));
}

#[test]
fn git_fanned_the_ref_out_anew_and_nothing_is_lost() {
    let repo = with_hub();
    let id = repo.open("fans");
    sync(&repo.here(), &[]);
    let plain = clone(&repo, "plain");
    plain.fetch_notes();
    plain.git(&["update-ref", LEDGER, "refs/notes/remotes/origin/incidents"]);
    // git writes few notes flat.
    plain.git(&["notes", "--ref=incidents", "append", "-m", "not an event", &id]);
    assert!(plain.git(&["ls-tree", "--name-only", LEDGER]).contains(&id), "git did not write it flat");
    plain.git(&["push", "-q", "origin", LEDGER]);
    repo.note("meanwhile");
    sync(&repo.here(), &[]);
    let lines = repo.git(&["notes", "--ref=incidents", "show", &id]);
    assert!(lines.contains("not an event") && lines.contains("meanwhile"), "{lines}");
    assert_eq!(repo.git(&["ls-tree", "-r", "--name-only", LEDGER]).matches(&id[2..]).count(), 1);
}

#[test]
fn a_forced_push_to_the_hub_is_undone_by_the_next_sync_and_said() {
    let repo = with_hub();
    let id = repo.open("precious");
    sync(&repo.here(), &[]);
    let old = tips(&repo.here());
    repo.note("newer");
    sync(&repo.here(), &[]);
    let other = clone(&repo, "other");
    sync(&other, &[]);
    for (name, old) in [LEDGER, EVIDENCE].iter().zip(&old) {
        hub(&repo).git(&["update-ref", name, old]);
    }
    let ran = other.incident(&["--json", "sync"]).expect(0).says("origin had lost");
    let mended = ran.json()["mended"].clone();
    assert_eq!((&mended[0]["where"], &mended[0]["notes"]), (&"origin".into(), &1.into()));
    assert_eq!(tips(&hub(&repo)), tips(&other));
    assert_eq!(notes_in(&shown(&other, &id)), ["newer"]);
    // Deleted altogether.
    hub(&repo).git(&["update-ref", "-d", LEDGER]);
    hub(&repo).git(&["update-ref", "-d", EVIDENCE]);
    repo.incident(&["sync"]).expect(0).says("it was deleted");
    assert_eq!(tips(&hub(&repo)), tips(&repo.here()));
    repo.incident(&["--json", "sync"]).expect(0).never_says("had lost");
}

#[test]
fn accidents_of_git_are_mended_by_the_next_sync() {
    let repo = with_hub();
    let id = repo.open("precious");
    sync(&repo.here(), &[]);
    repo.note("not pushed");
    repo.git(&["config", "--add", "remote.origin.fetch", "+refs/notes/*:refs/notes/*"]);
    repo.git(&["fetch", "-q", "--prune", "origin"]);
    let told = sync(&repo.here(), &[]);
    assert_eq!(told["mended"][0]["where"], "here");
    assert_eq!(notes_in(&shown(&repo.here(), &id)), ["not pushed"]);
    // The dangerous refspec does not take part in a sync.
    repo.note("again not pushed");
    let stranger = clone(&repo, "stranger");
    stranger.git(&["push", "-q", "--mirror", "origin"]);
    let told = repo.incident(&["--json", "sync"]).expect(0).says("it was deleted").json();
    assert_eq!(told["pushed"]["incidents"], 1);
    assert_eq!(notes_in(&shown(&repo.here(), &id)), ["again not pushed", "not pushed"]);
    assert_eq!(tips(&hub(&repo)), tips(&repo.here()));
}

#[test]
fn one_incident_comes_from_a_fork_and_nothing_goes_there() {
    let repo = with_hub();
    repo.open("mine alone");
    sync(&repo.here(), &[]);
    let contributor = clone(&repo, "contributor");
    sync(&contributor, &[]);
    let fork = repo.root().join("fork.git");
    repo.git(&["init", "-q", "--bare", &fork.display().to_string()]);
    contributor.git(&["remote", "add", "fork", &fork.display().to_string()]);
    contributor.git(&["config", "remote.pushDefault", "fork"]);
    let opened = contributor.incident_json(&["open", "found by a contributor"]);
    let id = opened["incident"].as_str().expect("an id");
    std::fs::write(contributor.path().join("c.log"), "their log\n").expect("written");
    contributor.incident(&["evidence", "add", "c.log"]).expect(0);
    let unrelated = contributor.incident_json(&["open", "unrelated"]);
    std::fs::write(contributor.path().join("u.log"), "unrelated log\n").expect("written");
    contributor.incident(&["evidence", "add", "u.log"]).expect(0);
    assert_eq!(sync(&contributor, &[])["remote"], "fork");

    let before = tips(&repo.at(&fork));
    let url = fork.display().to_string();
    let got = sync(&repo.here(), &[&url, "--incident", &id[..9]]);
    assert_eq!((&got["incident"], &got["fetched"]["incidents"]), (&id.into(), &1.into()));
    assert_eq!((&got["fetched"]["evidence"], &got["pushed"]["events"]), (&1.into(), &0.into()));
    assert_eq!(shown(&repo.here(), id), shown(&contributor, id));
    repo.incident(&["evidence", "verify", "-i", id]).expect(0).says("1 files intact");
    repo.incident(&["show", unrelated["incident"].as_str().expect("an id")]).expect(1);
    assert!(
        !repo
            .git(&["notes", "--ref=incidents-evidence", "list"])
            .contains(&contributor.git(&["hash-object", "u.log"]))
    );
    assert_eq!(tips(&repo.at(&fork)), before);
    repo.incident(&["sync", &url, "--incident", "0123456"]).refuses(1);
    repo.incident(&["sync", &url, "--incident", "nothex!"]).refuses(2);
    // What is only there in part is no merge: the rest still comes when it is wanted.
    assert_eq!(sync(&repo.here(), &[&url])["fetched"]["incidents"], 1);
    assert_eq!(tips(&repo.at(&fork)), tips(&repo.here()));
}

#[test]
fn an_incident_comes_with_its_segments() {
    let repo = with_hub();
    let id = repo.open("long");
    let text = "x".repeat(60_000);
    for _ in 0..6 {
        repo.note(&text);
    }
    sync(&repo.here(), &[]);
    let there = clone(&repo, "there");
    let got = sync(&there, &["--incident", &id]);
    assert_eq!(got["fetched"]["incidents"], 1);
    assert_eq!(shown(&there, &id), shown(&repo.here(), &id));
    assert_eq!(notes_in(&shown(&there, &id)).len(), 6);
}

#[test]
fn a_remote_that_says_no_is_quoted_without_its_controls_and_exits_with_6() {
    use std::os::unix::fs::PermissionsExt;
    let repo = with_hub();
    repo.open("secret plans");
    let hook = hub(&repo).path().join("hooks/update");
    let script =
        "#!/bin/sh\ncase $1 in refs/notes/*) printf '\\033[31mnotes are \\007closed\\n' >&2; exit 1;; esac\n";
    std::fs::write(&hook, script).expect("written");
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("executable");
    let ran = repo.incident(&["sync"]).refuses(6).says("notes are closed").says("hook declined");
    assert!(!ran.stderr.contains(['\u{1b}', '\u{7}']), "{:?}", ran.stderr);
    repo.incident(&["sync", "nowhere"]).refuses(6).says("nowhere");
    let ran = repo.incident(&["sync", "/nonexistent/x.git"]).refuses(6);
    assert!(ran.stderr.contains("does not"), "{}", ran.stderr);
    let password = ["pass", "word"].concat();
    let url = format!("http://ada:{password}@127.0.0.1:1/x.git");
    repo.incident(&["sync", &url]).refuses(6).never_says(&password);
    let error = repo.incident(&["--json", "sync", "nowhere"]).expect(6).json();
    assert_eq!(error["error"]["exit"], 6);
    repo.incident(&["sync", "--", "--upload-pack=true"]).refuses(2);
    let alone = Repo::new();
    alone.open("alone");
    alone.incident(&["sync"]).refuses(1).says("git remote add");
    alone.git(&["remote", "add", "one", "/a"]);
    alone.git(&["remote", "add", "two", "/b"]);
    alone.incident(&["sync"]).refuses(1).says("which remote");
}

#[test]
fn of_several_push_addresses_one_is_synced() {
    let repo = with_hub();
    let mirror = repo.root().join("mirror.git");
    repo.git(&["init", "-q", "--bare", &mirror.display().to_string()]);
    let origin = hub(&repo).path().display().to_string();
    repo.git(&["remote", "set-url", "--add", "--push", "origin", &origin]);
    repo.git(&["remote", "set-url", "--add", "--push", "origin", &mirror.display().to_string()]);
    repo.open("one");
    repo.incident(&["sync"]).expect(0).says("another push address");
    assert_eq!(repo.at(&mirror).git(&["for-each-ref"]), "");
    assert_eq!(tips(&hub(&repo)), tips(&repo.here()));
    let all = sync(&repo.here(), &["origin", &mirror.display().to_string()]);
    assert_eq!(all["remotes"].as_array().map(Vec::len), Some(2));
    assert_eq!(tips(&repo.at(&mirror)), tips(&repo.here()));
}

/// What is fetched from one place and pushed to another is united with both.
#[test]
fn a_push_address_of_its_own_is_merged_with_too() {
    let repo = with_hub();
    repo.open("at the fork");
    let fork = repo.root().join("fork.git");
    repo.git(&["init", "-q", "--bare", &fork.display().to_string()]);
    sync(&repo.here(), &[&fork.display().to_string()]);
    let upstream = clone(&repo, "upstream");
    upstream.incident(&["open", "upstream"]).expect(0);
    sync(&upstream, &[]);
    let third = clone(&repo, "third");
    third.git(&["remote", "set-url", "--push", "origin", &fork.display().to_string()]);
    third.incident(&["open", "third"]).expect(0);
    sync(&third, &[]);
    assert_eq!(third.incident_json(&["list"])["incidents"].as_array().map(Vec::len), Some(3));
    assert_eq!(tips(&repo.at(&fork)), tips(&third));
    assert_eq!(tips(&hub(&repo)), tips(&upstream));
}

#[test]
fn the_users_push_hooks_run_only_when_asked_for() {
    let repo = with_hub();
    repo.open("one");
    repo.write(".git/hooks/pre-push", "#!/bin/sh\ntouch \"$(git rev-parse --git-dir)/ran\"\nexit 1\n");
    repo.run("chmod", &["+x", ".git/hooks/pre-push"]).expect(0);
    sync(&repo.here(), &[]);
    assert!(!repo.path().join(".git/ran").exists());
    repo.open("two");
    repo.git(&["config", "incident.pushHooks", "true"]);
    repo.incident(&["sync"]).expect(6);
    assert!(repo.path().join(".git/ran").exists());
}

#[test]
fn a_push_syncs_when_it_is_asked_to_and_never_fails_for_it() {
    let repo = with_hub();
    repo.typed("init").expect(0);
    repo.open("one");
    repo.commit("second");
    repo.try_git(&["push", "origin", "main"]).expect(0).never_says("synced");
    assert_eq!(hub(&repo).git(&["for-each-ref", "refs/notes"]), "");
    repo.git(&["config", "incident.sync", "true"]);
    repo.commit("third");
    repo.try_git(&["push", "origin", "main"]).expect(0).says("synced");
    assert_eq!(tips(&hub(&repo)), tips(&repo.here()));
    // The team asks, the person declines.
    repo.git(&["config", "incident.sync", "false"]);
    repo.write(".git-incident.toml", "[pre-push]\nsync = true\n");
    repo.note("stays here");
    repo.commit("fourth");
    repo.try_git(&["push", "origin", "main"]).expect(0).never_says("synced");
    repo.git(&["config", "--unset", "incident.sync"]);
    repo.commit("fifth");
    repo.try_git(&["push", "origin", "main"]).expect(0).says("synced");
    assert_eq!(tips(&hub(&repo)), tips(&repo.here()));
    // A hub that is closed to notes, and one that never answers.
    let hook = hub(&repo).path().join("hooks/update");
    std::fs::write(&hook, "#!/bin/sh\ncase $1 in refs/notes/*) exit 1;; esac\n").expect("written");
    repo.run("chmod", &["+x", &hook.display().to_string()]).expect(0);
    repo.note("refused");
    repo.commit("sixth");
    repo.try_git(&["push", "origin", "main"]).expect(0).says("the push goes on");
    std::fs::write(&hook, "#!/bin/sh\ncase $1 in refs/notes/*) sleep 600;; esac\n").expect("written");
    repo.git(&["config", "incident.syncTimeout", "1"]);
    repo.commit("seventh");
    repo.try_git(&["push", "origin", "main"]).expect(0).says("longer than 1 seconds");
    assert_eq!(hub(&repo).git(&["rev-parse", "main"]), repo.git(&["rev-parse", "main"]));
}

#[test]
fn lines_on_commits_follow_what_arrived() {
    let repo = with_hub();
    let commit = repo.git(&["rev-parse", "HEAD"]);
    repo.open("the mask is wrong");
    repo.typed("link HEAD --as fix").expect(0);
    sync(&repo.here(), &[]);
    let there = clone(&repo, "there");
    sync(&there, &[]);
    let lines = there.git(&["notes", "--ref=incident-lines", "show", &commit]);
    assert!(lines.contains("the mask is wrong: fix"), "{lines}");
    assert_eq!(lines, repo.git(&["notes", "--ref=incident-lines", "show", &commit]));
    repo.typed("edit --title 'the tile is wrong'").expect(0);
    sync(&repo.here(), &[]);
    sync(&there, &[]);
    let lines = there.git(&["notes", "--ref=incident-lines", "show", &commit]);
    assert!(lines.contains("the tile is wrong: fix") && !lines.contains("mask"), "{lines}");
}

#[test]
fn shallow_partial_and_bare_clones_sync() {
    let repo = with_hub();
    hub(&repo).git(&["config", "uploadpack.allowFilter", "true"]);
    hub(&repo).git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let id = repo.open("everywhere");
    repo.write("big.log", &"a line of the log\n".repeat(2000));
    repo.typed("evidence add big.log").expect(0);
    sync(&repo.here(), &[]);
    let url = format!("file://{}", hub(&repo).path().display());
    for (name, options) in
        [("shallow", &["--depth=1"][..]), ("partial", &["--filter=blob:none"]), ("bare.git", &["--bare"])]
    {
        let place = repo.at(repo.root().join(name));
        repo.git(&[&["clone", "-q"], options, &[url.as_str(), &place.path().display().to_string()]].concat());
        if name == "partial" {
            // As `init` has it: what is fetched by the way comes without its blobs.
            place.git(&[
                "config",
                "--add",
                "remote.origin.fetch",
                "+refs/notes/incidents*:refs/notes/remotes/origin/incidents*",
            ]);
            place.git(&["fetch", "-q"]);
        }
        sync(&place, &[]);
        assert_eq!(shown(&place, &id), shown(&repo.here(), &id), "{name}");
        place.incident(&["attempt", "note", &format!("from {name}"), "-i", &id]).expect(0);
        assert_eq!(sync(&place, &[])["pushed"]["events"], 1, "{name}");
        sync(&repo.here(), &[]);
        assert_eq!(tips(&place), tips(&repo.here()), "{name}");
    }
    assert_eq!(notes_in(&shown(&repo.here(), &id)), ["from bare.git", "from partial", "from shallow"]);
}

#[test]
fn the_environment_of_a_hook_and_other_directories_lead_to_the_same_repository() {
    let repo = with_hub();
    repo.open("one");
    repo.write("sub/file", "");
    let mut command = repo.command("git");
    command
        .args(["--git-dir=../.git", "--work-tree=..", "incident", "sync"])
        .current_dir(repo.path().join("sub"));
    finish(command.output()).expect(0);
    assert_eq!(tips(&hub(&repo)), tips(&repo.here()));
    repo.note("two");
    let mut command = repo.command("git");
    command.args(["incident", "sync"]).env("GIT_NOTES_REF", "refs/notes/elsewhere");
    finish(command.output()).expect(0);
    assert_eq!(tips(&hub(&repo)), tips(&repo.here()));
}
