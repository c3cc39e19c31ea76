//! Records that travel: signed here, believed there, or not, with real keys and the real `ssh-keygen`.

mod common;

use common::clones::{clone, hub, sync};
use common::gates::{counted, runs, with_gates};
use common::{Beside, LEDGER, Ran, Repo, finish};

/// A key pair beside the repository; its public half.
fn key(repo: &Repo, name: &str, passphrase: &str) -> String {
    let path = repo.root().join(name);
    let made = repo.run(
        "ssh-keygen",
        &["-q", "-t", "ed25519", "-N", passphrase, "-C", name, "-f", &path.display().to_string()],
    );
    assert_eq!(made.status, 0, "{}", made.stderr);
    std::fs::read_to_string(path.with_extension("pub")).expect("a public key").trim().to_owned()
}

fn signs_with(place: &Beside<'_>, key: &str) {
    place.git(&["config", "gpg.format", "ssh"]);
    place.git(&["config", "user.signingKey", key]);
}

/// A repository that signs with the key `ci`, whose record of its gate is in the remote with everything else. The
/// allowed signers are those lines, with `KEY` for the public half.
fn signed(signers: &str) -> Repo {
    let (repo, _) = with_gates("");
    let public = key(&repo, "ci", "");
    let text = format!("[records]\nsigners = \".allowed_signers\"\n{}", counted(&repo.root()));
    repo.write(".git-incident.toml", &text);
    repo.write(".allowed_signers", &signers.replace("KEY", &public));
    repo.write("good", "");
    repo.commit("Count");
    signs_with(&repo.here(), &repo.root().join("ci").display().to_string());
    repo.incident(&["trust", "--yes"]).expect(0);
    repo.incident(&["validate"]).expect(0).never_says("not signed");
    repo.git(&["push", "-q", "--no-verify", "origin", "topic"]);
    sync(&repo.here(), &[]);
    assert_eq!(runs(&repo), 1);
    repo
}

fn cloned<'r>(repo: &'r Repo, name: &str) -> Beside<'r> {
    let clone = clone(repo, name);
    clone.git(&["switch", "-q", "topic"]);
    sync(&clone, &[]);
    clone.incident(&["trust", "--yes"]).expect(0);
    clone
}

fn validated(clone: &Beside<'_>) -> (serde_json::Value, Ran) {
    let ran = clone.incident(&["--json", "validate", "--range", "origin/main..HEAD"]);
    (ran.json()["records"][0].clone(), ran)
}

/// It runs again in the clone, as the record counts for nothing; what was said of that.
#[track_caller]
fn distrusted(repo: &Repo, clone: &Beside<'_>, why: &str) {
    let before = runs(repo);
    clone.incident(&["validate", "--range", "origin/main..HEAD"]).expect(0).says("claims").says(why);
    assert_eq!(runs(repo), before + 1, "the gate has to run: {why}");
}

/// The record's line and its note's key.
fn record_of(repo: &Beside<'_>) -> (String, String, String) {
    let listed = repo.git(&["notes", "--ref=incidents", "list"]);
    let key = listed.split_whitespace().nth(1).expect("a note").to_owned();
    let note = repo.git(&["notes", "--ref=incidents", "show", &key]);
    let (descriptor, record) = note.split_once('\n').expect("two lines");
    let (descriptor, record) =
        if descriptor.contains("device_class") { (descriptor, record) } else { (record, descriptor) };
    (key, descriptor.to_owned(), record.to_owned())
}

/// Puts other lines under a key.
fn rewrite(place: &Beside<'_>, key: &str, lines: &[&str]) {
    let path = place.path().join("rewritten");
    std::fs::write(&path, format!("{}\n", lines.join("\n"))).expect("written");
    let blob = place.git(&["hash-object", "-w", &path.display().to_string()]);
    std::fs::remove_file(&path).expect("removed");
    place.git(&["notes", "--ref=incidents", "add", "-f", "-C", &blob, key]);
}

/// A clone that was made while a peer had put other lines into the remote.
fn forged<'r>(repo: &'r Repo, name: &str, key: &str, lines: &[&str]) -> Beside<'r> {
    let hub = hub(repo);
    let before = hub.git(&["rev-parse", LEDGER]);
    rewrite(&hub, key, lines);
    let clone = cloned(repo, name);
    hub.git(&["update-ref", LEDGER, &before]);
    clone
}

#[test]
fn a_record_signed_by_somebody_who_may_counts_and_nothing_runs() {
    let repo = signed("ci@example.org namespaces=\"git-incident-record\" KEY\n");
    let (_, _, record) = record_of(&repo.here());
    let record: serde_json::Value = serde_json::from_str(&record).expect("a record");
    for member in ["signature", "mac", "clone", "started", "commands", "output_sha256"] {
        assert!(!record[member].is_null(), "{member} in {record}");
    }
    let own = validated(&repo.here()).0;
    let fingerprint = own["signed_by"].as_str().expect("a fingerprint");
    let listed = repo.run("ssh-keygen", &["-l", "-f", &repo.root().join("ci.pub").display().to_string()]);
    assert!(listed.stdout.contains(fingerprint), "{fingerprint} in {}", listed.stdout);

    let clone = cloned(&repo, "laptop");
    let (view, _) = validated(&clone);
    assert_eq!((&view["cached"], &view["signed_by"]), (&true.into(), &"ci@example.org".into()), "{view}");
    clone.incident(&["validate"]).expect(0).says("recorded by ci@example.org");
    assert_eq!(runs(&repo), 1);
    // Its push goes out with it.
    clone.incident(&["init"]).expect(0);
    clone.run("git", &["push", "-q", "origin", "topic:refs/heads/again"]).expect(0);
    assert_eq!(runs(&repo), 1);
    assert_eq!(clone.incident(&["fsck"]).status, 0);
}

#[test]
fn the_persons_own_list_decides_where_the_team_has_none() {
    let (repo, _) = with_gates("");
    let public = key(&repo, "ci", "");
    repo.write(".git-incident.toml", &counted(&repo.root()));
    repo.write("good", "");
    repo.commit("Count");
    signs_with(&repo.here(), &repo.root().join("ci.pub").display().to_string());
    repo.incident(&["trust", "--yes"]).expect(0);
    repo.incident(&["validate"]).expect(0);
    repo.git(&["push", "-q", "--no-verify", "origin", "topic"]);
    sync(&repo.here(), &[]);
    let clone = cloned(&repo, "laptop");
    std::fs::write(repo.root().join("home/signers"), format!("me@example.org {public}\n")).expect("written");
    clone.git(&["config", "gpg.ssh.allowedSignersFile", "~/signers"]);
    let (view, _) = validated(&clone);
    assert_eq!((&view["cached"], &view["signed_by"]), (&true.into(), &"me@example.org".into()), "{view}");
    // A list of revoked keys that holds it, and one that is not there.
    let revoked = repo.root().join("revoked");
    std::fs::write(&revoked, format!("{public}\n")).expect("written");
    clone.git(&["config", "gpg.ssh.revocationFile", &revoked.display().to_string()]);
    distrusted(&repo, &clone, "not accepted");
    let other = cloned(&repo, "other");
    other.git(&["config", "gpg.ssh.allowedSignersFile", "~/signers"]);
    other.git(&["config", "gpg.ssh.revocationFile", "~/no-such-file"]);
    distrusted(&repo, &other, "revocationFile");
    let third = cloned(&repo, "third");
    distrusted(&repo, &third, "no signers are allowed");
}

#[test]
fn strangers_expired_and_revoked_signers_and_other_purposes_count_for_nothing() {
    for (name, signers, why) in [
        (
            "stranger",
            "other@example.org ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ4q0aZ2C5e5mDJzTq0nXkq9JqkQb0m1s0l9m3n4n5n6\n",
            "no allowed signer",
        ),
        ("expired", "ci@example.org valid-before=\"20200101Z\" KEY\n", "no allowed signer"),
        ("later", "ci@example.org valid-after=\"20990101Z\" KEY\n", "no allowed signer"),
        ("purpose", "ci@example.org namespaces=\"git\" KEY\n", "not accepted"),
    ] {
        let repo = signed(signers);
        distrusted(&repo, &cloned(&repo, name), why);
    }
    // Times that hold the moment of the record are no hindrance.
    let repo = signed("ci@example.org valid-after=\"20200101Z\",valid-before=\"20990101Z\" KEY\n");
    assert_eq!(validated(&cloned(&repo, "valid")).0["signed_by"], "ci@example.org");
}

#[test]
fn the_teams_list_of_revoked_keys_is_read_in_the_same_commit() {
    let repo = signed("ci@example.org KEY\n");
    let public = repo.root().join("ci.pub");
    repo.write(".revoked", &std::fs::read_to_string(public).expect("a key"));
    let text = repo.read(".git-incident.toml").replace("signers =", "revoked = \".revoked\"\nsigners =");
    repo.write(".git-incident.toml", &text);
    repo.commit("Revoke");
    repo.incident(&["trust", "--yes"]).expect(0);
    repo.incident(&["validate"]).expect(0);
    repo.git(&["push", "-q", "--no-verify", "origin", "topic"]);
    sync(&repo.here(), &[]);
    distrusted(&repo, &cloned(&repo, "laptop"), "not accepted");
}

#[test]
fn what_was_altered_moved_or_written_otherwise_counts_for_nothing() {
    let repo = signed("ci@example.org KEY\n");
    let (key, descriptor, record) = record_of(&repo.here());
    let altered = record.replace("\"reason\":\"\"", "\"reason\":\"all is well\"");
    let spaced = record.replacen("{\"at\"", "{ \"at\"", 1);
    assert!(altered != record && spaced != record);
    for (name, line) in [("altered", &altered), ("spaced", &spaced)] {
        let clone = forged(&repo, name, &key, &[&descriptor, line]);
        distrusted(&repo, &clone, if name == "spaced" { "not written as" } else { "altered" });
        let ran = clone.incident(&["fsck"]);
        assert_eq!(ran.status, 1, "{}", ran.stderr);
        ran.says("the signature of a record does not fit it");
    }
    // Moved: the tree of another commit has a descriptor of its own.
    repo.write("a.txt", "two\n");
    repo.commit("Change");
    repo.git(&["push", "-q", "--no-verify", "origin", "topic"]);
    let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
    let mut other: serde_json::Value = serde_json::from_str(&descriptor).expect("a descriptor");
    other["tree"] = tree.into();
    let other = other.to_string();
    let path = repo.root().join("descriptor");
    std::fs::write(&path, format!("{other}\n")).expect("written");
    let other_key = hub(&repo).git(&["hash-object", "-w", &path.display().to_string()]);
    let clone = forged(&repo, "moved", &other_key, &[&other, &record]);
    distrusted(&repo, &clone, "altered, or moved");
    // In the clone that made it, the code tells.
    rewrite(&repo.here(), &key, &[&descriptor, &altered]);
    repo.incident(&["fsck"]).says("its code says otherwise");
}

#[test]
fn of_records_that_contradict_each_other_the_newest_decides_and_it_is_said() {
    let repo = signed("ci@example.org KEY\n");
    let (key, descriptor, record) = record_of(&repo.here());
    // A failure that the same signer recorded later, elsewhere: made by hand and signed by the real program.
    let mut failed: serde_json::Value = serde_json::from_str(&record).expect("a record");
    let members = failed.as_object_mut().expect("members");
    members.remove("signature");
    members.remove("mac");
    members.insert("verdict".into(), "fail".into());
    members.insert("reason".into(), "exit status 1".into());
    members.insert("clone".into(), "0123456789abcdef".into());
    // Whole seconds: wait until one has passed since the record.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let now = finish(repo.command("date").args(["-u", "+%Y-%m-%dT%H:%M:%S.000Z"]).output());
    members.insert("at".into(), now.line().into());
    let payload = repo.root().join("payload");
    std::fs::write(&payload, format!("{key}\n{failed}\n")).expect("written");
    let path = payload.display().to_string();
    let secret = repo.root().join("ci").display().to_string();
    repo.run("ssh-keygen", &["-q", "-Y", "sign", "-n", "git-incident-record", "-f", &secret, &path])
        .expect(0);
    let armoured = std::fs::read_to_string(payload.with_extension("sig")).expect("a signature");
    let signature: String = armoured.lines().filter(|line| !line.starts_with("---")).collect();
    let members = failed.as_object_mut().expect("members");
    members.insert("signature".into(), signature.into());
    members.insert("mac".into(), "".into());
    let clone = forged(&repo, "second", &key, &[&descriptor, &record, &failed.to_string()]);
    // The failure is the newest, so the gate is tried again; then there are three words, and the newest is a pass.
    let before = runs(&repo);
    let (view, _) = validated(&clone);
    assert_eq!((&view["verdict"], &view["cached"]), (&"pass".into(), &false.into()), "{view}");
    assert_eq!(runs(&repo), before + 1);
    let ran = clone.incident(&["validate"]).expect(0);
    ran.says("contradict each other: fail of").says("by ci@example.org").says("the newest decides");
    assert_eq!(runs(&repo), before + 1);
}

#[test]
fn whoever_pushes_to_a_protected_branch_does_not_choose_who_vouches() {
    let (repo, _) = with_gates("");
    let good = key(&repo, "ci", "");
    let evil = key(&repo, "evil", "");
    let config = format!(
        "[pre-push]\nprotected = [\"refs/heads/main\"]\n[records]\nsigners = \".allowed_signers\"\n{}",
        counted(&repo.root())
    );
    repo.write(".git-incident.toml", &config);
    repo.write(".allowed_signers", &format!("ci@example.org {good}\n"));
    repo.write("good", "");
    repo.commit("Count");
    repo.git(&["push", "-q", "--no-verify", "origin", "topic:main"]);
    // Another clone adds its own key, and signs a pass with it.
    repo.write(".allowed_signers", &format!("ci@example.org {good}\nevil@example.org {evil}\n"));
    repo.commit("Let me in");
    signs_with(&repo.here(), &repo.root().join("evil").display().to_string());
    repo.incident(&["trust", "--yes"]).expect(0);
    repo.incident(&["validate"]).expect(0);
    repo.git(&["push", "-q", "--no-verify", "origin", "topic"]);
    sync(&repo.here(), &[]);
    let clone = cloned(&repo, "laptop");
    clone.incident(&["init"]).expect(0);
    let before = runs(&repo);
    // On a branch of no importance its own list is believed; on the protected one the list that stands there is.
    clone.run("git", &["push", "-q", "origin", "topic:refs/heads/free"]).expect(0);
    assert_eq!(runs(&repo), before);
    clone.run("git", &["push", "-q", "origin", "topic:main"]).says("no allowed signer");
    assert_eq!(runs(&repo), before + 1, "the protected branch believes nobody it does not know");
}

#[test]
fn no_key_is_said_once_and_other_formats_are_said_to_be_unsupported() {
    let (repo, _) = with_gates("");
    repo.write(".git-incident.toml", &counted(&repo.root()));
    repo.write("good", "");
    repo.commit("Count");
    repo.incident(&["trust", "--yes"]).expect(0);
    repo.incident(&["validate"]).expect(0).says("not signed").says("git config user.signingKey");
    repo.write("a.txt", "two\n");
    repo.commit("Two");
    repo.incident(&["validate"]).expect(0).never_says("not signed");
    repo.git(&["config", "user.signingKey", "0123ABCD"]);
    repo.write("a.txt", "three\n");
    repo.commit("Three");
    repo.incident(&["validate"]).expect(0).says("git signs with openpgp");
    // Not wanted: nothing is said.
    repo.git(&["config", "gpg.format", "ssh"]);
    repo.git(&["config", "incident.signRecords", "false"]);
    repo.write("a.txt", "four\n");
    repo.commit("Four");
    repo.incident(&["validate"]).expect(0).never_says("signed");
}

#[test]
fn a_key_that_asks_or_is_gone_leaves_the_record_unsigned() {
    let (repo, _) = with_gates("");
    key(&repo, "locked", "a passphrase");
    repo.write(".git-incident.toml", &counted(&repo.root()));
    repo.write("good", "");
    repo.commit("Count");
    repo.incident(&["trust", "--yes"]).expect(0);
    signs_with(&repo.here(), &repo.root().join("locked").display().to_string());
    let began = std::time::Instant::now();
    // On a terminal it could ask; a hook must not hang on it.
    let ran = repo.run("git", &["incident", "validate"]).expect(0);
    ran.says("could not be signed").says("ssh-add");
    assert!(began.elapsed().as_secs() < 15, "it waited for somebody");
    for (setting, value, says) in [
        ("user.signingKey", "/no/such/key", "could not be signed"),
        ("gpg.ssh.program", "/no/such/program", "cannot run"),
    ] {
        repo.git(&["config", setting, value]);
        repo.write("a.txt", setting);
        repo.commit("Again");
        repo.incident(&["validate"]).expect(0).says(says);
    }
    assert_eq!(validated(&repo.here()).0["signed_by"], serde_json::Value::Null);
}

#[test]
fn an_agent_signs_with_a_literal_key_and_with_the_default_one() {
    let (repo, _) = with_gates("");
    let public = key(&repo, "ci", "");
    repo.write(".git-incident.toml", &counted(&repo.root()));
    repo.write("good", "");
    repo.commit("Count");
    repo.incident(&["trust", "--yes"]).expect(0);
    let socket = repo.root().join("agent");
    let mut agent = repo.command("ssh-agent").arg("-D").arg("-a").arg(&socket).spawn().expect("an agent");
    while !socket.exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let with_agent = |program: &str, arguments: &[&str]| {
        finish(repo.command(program).args(arguments).env("SSH_AUTH_SOCK", &socket).output())
    };
    with_agent("ssh-add", &["-q", &repo.root().join("ci").display().to_string()]).expect(0);
    repo.git(&["config", "gpg.format", "ssh"]);
    for (n, (setting, value)) in [
        ("user.signingKey", format!("key::{public}")),
        ("gpg.ssh.defaultKeyCommand", "ssh-add -L".to_owned()),
    ]
    .iter()
    .enumerate()
    {
        let _ = repo.try_git(&["config", "--unset", "user.signingKey"]);
        repo.git(&["config", setting, value]);
        repo.write("a.txt", &n.to_string());
        repo.commit("Again");
        let view = with_agent("git", &["incident", "--json", "validate"]).expect(0).json();
        assert!(
            view["records"][0]["signed_by"].as_str().is_some_and(|by| by.starts_with("SHA256:")),
            "{view}"
        );
    }
    agent.kill().expect("ended");
    agent.wait().expect("waited for");
    assert!(repo.try_git(&["rev-parse", LEDGER]).status == 0);
}

#[test]
fn a_signed_record_ticks_the_box_of_a_pull_request() {
    let repo = signed("ci@example.org KEY\n");
    // The branch it is for names the signers.
    repo.git(&["push", "-q", "--no-verify", "origin", "topic:main"]);
    repo.write("a.txt", "two\n");
    repo.commit("Change");
    repo.incident(&["validate"]).expect(0);
    repo.git(&["push", "-q", "--no-verify", "origin", "topic"]);
    let id = repo.open("the value is bad");
    sync(&repo.here(), &[]);
    let clone = cloned(&repo, "laptop");
    let view = clone.incident_json(&["pr", &id]);
    let gates = view["gates"].as_array().expect("gates");
    assert!(
        gates.iter().any(|gate| gate["gate"] == "unit" && gate["ticked"] == serde_json::Value::Bool(true)),
        "{view}"
    );
}
