//! Evidence: files are kept as they are, travel, stay reachable, and are checked against what was recorded.

mod common;

use std::path::Path;

use common::{EVIDENCE, Repo};
use serde_json::{Value, json};

fn opened() -> Repo {
    let repo = Repo::new();
    repo.open("files");
    repo
}

/// Bytes that do not compress, the same in every run.
fn noise(size: usize) -> Vec<u8> {
    let mut state = 42_u64;
    std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    })
    .take(size)
    .collect()
}

fn put(repo: &Repo, name: &str, bytes: &[u8]) {
    std::fs::write(repo.path().join(name), bytes).expect("a file");
}

fn shown(repo: &Repo, named: &str) -> Vec<u8> {
    let mut command = repo.command("git-incident");
    let output = command.args(["evidence", "show", named]).output().expect("the program");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn files_are_kept_byte_for_byte() {
    let repo = opened();
    let all: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    let cases: [(&str, &[u8]); 6] = [
        ("all.bin", &all),
        ("noise.npy", &noise(300_000)),
        ("crlf.txt", b"one\r\ntwo\r\n"),
        ("no-end.log", b"no end of line"),
        ("empty.out", b""),
        ("nul.dat", b"\0\0\0"),
    ];
    for (name, bytes) in cases {
        put(&repo, name, bytes);
        let added = repo.incident_json(&["evidence", "add", name]);
        let row = &added["evidence"][0];
        assert_eq!(row["bytes"], bytes.len(), "{name}");
        assert_eq!(row["oid"], repo.git(&["hash-object", "--no-filters", name]).as_str(), "{name}");
        let sum = repo.run("sha256sum", &[name]).expect(0).stdout;
        assert!(sum.starts_with(row["sha256"].as_str().expect("a digest")), "{name}");
        assert_eq!(shown(&repo, name), bytes, "{name}");
        assert_eq!(shown(&repo, &row["oid"].as_str().expect("an oid")[..10]), bytes, "{name}");
    }
    repo.typed("evidence verify").expect(0).says("6 files intact");
    repo.typed("evidence show all.bin -o copy.bin").expect(0);
    assert_eq!(std::fs::read(repo.path().join("copy.bin")).expect("a copy"), all);
}

#[test]
fn kinds_are_guessed_or_said() {
    let repo = opened();
    for (name, kind) in
        [("a.log", "log"), ("b.patch", "diff"), ("c.npy", "tensor"), ("d.ncu-rep", "profile"), ("e", "file")]
    {
        repo.write(name, name);
        let added = repo.incident_json(&["evidence", "add", name]);
        assert_eq!(added["evidence"][0]["kind"], kind, "{name}");
    }
    let said = repo.view("evidence add e --kind samples --name runs.txt");
    assert_eq!(
        (&said["evidence"][0]["kind"], &said["evidence"][0]["name"]),
        (&json!("samples"), &json!("runs.txt"))
    );
    repo.typed("evidence add e --kind opinion").expect(2);
    repo.typed("evidence add a.log e --name one").expect(2);
    repo.typed("evidence").expect(0).says("tensor").says("runs.txt");
}

#[test]
fn standard_input_is_a_file_too() {
    let repo = opened();
    repo.run("sh", &["-c", "printf 'a\\000b' | git incident evidence add - --name in.bin"]).expect(0);
    assert_eq!(shown(&repo, "in.bin"), b"a\0b");
}

#[test]
fn what_stays_outside_is_recorded_by_digest_size_and_place() {
    let repo = opened();
    put(&repo, "large.bin", &noise(1000));
    let added = repo.view("evidence add --external large.bin");
    let row = &added["evidence"][0];
    assert_eq!((&row["oid"], &row["bytes"]), (&Value::Null, &json!(1000)));
    assert!(Path::new(row["location"].as_str().expect("a place")).is_absolute());
    let blob = repo.git(&["hash-object", "large.bin"]);
    assert_eq!(repo.try_git(&["cat-file", "-e", &blob]).status, 1, "it was stored after all");
    repo.typed("evidence show large.bin").expect(1).says("was not stored").says("large.bin");
    repo.typed("evidence verify").expect(0);
}

#[test]
fn a_secret_is_cut_out_and_may_be_kept_by_name_only() {
    let repo = opened();
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let body: String = (0..36_usize).map(|i| char::from(alphabet[(i * 41 + 5) % alphabet.len()])).collect();
    let token = ["gh", "p_", &body].concat();
    repo.write("run.log", &format!("start\nusing {token}\nend\n"));
    let said = repo.typed("--json evidence add run.log").expect(0);
    let finding = said.stderr.split("before storing it: ").nth(1).expect("a finding").trim().to_owned();
    let view = said.json();
    assert_eq!(view["evidence"][0]["redacted"][0]["line"], 2, "{view}");
    let kept = String::from_utf8(shown(&repo, "run.log")).expect("text");
    assert!(kept.starts_with("start\nusing [redacted:") && kept.ends_with("end\n"), "{kept}");
    repo.run("grep", &["-rqF", &token, ".git"]).expect(1);

    repo.typed("evidence add run.log --allow-secret nonsense")
        .expect(2)
        .says("--allow-secret RULE:LINE:COLUMN");
    repo.incident(&["evidence", "add", "run.log", "--name", "whole.log", "--allow-secret", &finding])
        .expect(0);
    assert!(String::from_utf8(shown(&repo, "whole.log")).expect("text").contains(&token), "{finding}");
}

#[test]
fn a_missing_blob_and_an_altered_one_are_noticed() {
    let repo = opened();
    repo.write("a.log", "one\n");
    repo.write("b.log", "two\n");
    repo.typed("evidence add a.log b.log").expect(0);
    let object = |name: &str| {
        let oid = repo.git(&["hash-object", name]);
        repo.path().join(format!(".git/objects/{}/{}", &oid[..2], &oid[2..]))
    };
    std::fs::remove_file(object("a.log")).expect("the blob of a.log");
    repo.typed("evidence verify").expect(1).says("missing").says("a.log").never_says("b.log");
    repo.typed("evidence show a.log").refuses(1);
    // The bytes of another object in the place of b's.
    repo.write("c.log", "six\n");
    let other = repo.git(&["hash-object", "-w", "c.log"]);
    let other = repo.path().join(format!(".git/objects/{}/{}", &other[..2], &other[2..]));
    std::fs::remove_file(object("b.log")).expect("the blob of b.log");
    std::fs::copy(other, object("b.log")).expect("another blob");
    let view = repo.typed("--json evidence verify").expect(1).json();
    assert_eq!(view["problems"], 2, "{view}");
    repo.typed("show").expect(0).says("a.log");
}

#[test]
fn a_name_never_leads_out_of_its_place() {
    let repo = opened();
    repo.write("a.log", "text\n");
    for (given, kept) in [
        ("../../x", "x"),
        ("/etc/passwd", "etc/passwd"),
        ("..\\..\\x.exe", "x.exe"),
        ("a/./../b", "a/b"),
        ("..", "unnamed"),
        ("new\nline\u{1b}[2J", "newline[2J"),
    ] {
        let added = repo.incident_json(&["evidence", "add", "a.log", "--name", given]);
        assert_eq!(added["evidence"][0]["name"], kept, "{given:?}");
    }
    let long = "n".repeat(5000);
    let added = repo.incident_json(&["evidence", "add", "a.log", "--name", &long]);
    assert!(added["evidence"][0]["name"].as_str().expect("a name").len() <= 240);
    assert!(!repo.root().join("x").exists() && !repo.path().join("etc").exists());
}

#[test]
fn files_of_one_name_are_told_apart_by_their_digits() {
    let repo = opened();
    for text in ["one\n", "two\n"] {
        repo.write("a.log", text);
        repo.typed("evidence add a.log").expect(0);
    }
    repo.typed("evidence show a.log").refuses(1).says("means 2 files");
    let oid = repo.git(&["hash-object", "a.log"]);
    assert_eq!(shown(&repo, &oid[..8]), b"two\n");
    // The same file twice is one object and means one thing.
    repo.typed("evidence add a.log --name again.log").expect(0);
    assert_eq!(shown(&repo, "again.log"), b"two\n");
}

#[test]
fn evidence_outlives_collection_and_travels() {
    let repo = opened();
    repo.commit("first");
    repo.with_remote();
    put(&repo, "noise.bin", &noise(50_000));
    repo.typed("evidence add noise.bin").expect(0);
    let blob = repo.git(&["hash-object", "--no-filters", "noise.bin"]);
    repo.git(&["reflog", "expire", "--expire=now", "--all"]);
    repo.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(shown(&repo, "noise.bin"), noise(50_000));
    let listed = repo.git(&["ls-tree", "-r", EVIDENCE]);
    let path = format!("{}/{}", &blob[..2], &blob[2..]);
    assert!(listed.contains(&format!("100644 blob {blob}\t{path}")), "{listed}");
    repo.push_notes();
    let clone = repo.clone_of_remote("clone");
    clone.merge_notes();
    let id = repo.view("show")["incident"].as_str().expect("an id").to_owned();
    clone.incident(&["evidence", "verify", "-i", &id]).expect(0).says("1 files intact");
}

#[test]
fn a_file_is_stored_up_to_ten_mebibytes_compressed() {
    let repo = opened();
    put(&repo, "zeros.bin", &vec![0; 30 << 20]);
    repo.typed("evidence add zeros.bin").expect(0);
    put(&repo, "noise.bin", &noise((10 << 20) + 4096));
    let said = repo.typed("evidence add noise.bin").refuses(1);
    said.says("too large").says("--external noise.bin").says("max = \"20MiB\"");
    put(&repo, "huge.bin", &vec![0; (50 << 20) + 1]);
    repo.typed("evidence add huge.bin").refuses(1).says("the limit is 52428800");
    assert_eq!(repo.view("show")["evidence"].as_array().expect("files").len(), 1);
    // The team may say otherwise, within what forges take.
    repo.write(".git-incident.toml", "[evidence]\nmax = \"20MiB\"\n");
    repo.typed("evidence add noise.bin").expect(0);
    repo.write(".git-incident.toml", "[evidence]\nmax = \"1KiB\"\n");
    put(&repo, "small.bin", &noise(3000));
    repo.typed("evidence add small.bin").refuses(1);
    repo.write(".git-incident.toml", "[evidence]\nhard-max = \"60MiB\"\n");
    repo.typed("evidence add small.bin").expect(2).says("50MiB");
}

#[test]
fn output_above_the_limit_is_cut_in_the_middle_and_the_run_is_recorded() {
    let repo = opened();
    let script = "echo the start; head -c 12000000 /dev/zero | tr '\\0' x | fold -w 100; echo the end";
    repo.try_sh(&[], script).expect(0);
    let kept = shown(&repo, "output.log");
    assert!(kept.len() < 9 << 20, "{} bytes", kept.len());
    assert!(kept.starts_with(b"the start\n") && kept.ends_with(b"the end\n"));
}
