//! Comparing tensors with the real program: the command in any directory, the gate in real repositories.

mod common;

use std::path::Path;

use common::gates::with_gates;
use common::tensors::{bf16s, f32s, f64s, noise, npy, safetensors};
use common::{Beside, Repo};
use serde_json::Value;

fn put(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    std::fs::write(path, bytes).expect("a file");
}

/// A directory that is in no repository.
fn outside(repo: &Repo) -> Beside<'_> {
    let place = repo.root().join("data");
    repo.at(place)
}

fn narrow(values: &[f64]) -> Vec<f32> {
    values.iter().map(|value| *value as f32).collect()
}

const SHAPE: [u64; 3] = [4, 64, 64];

fn values() -> Vec<f64> {
    noise(1, 4 * 64 * 64, 1.0)
}

#[test]
fn the_answer_comes_in_both_forms() {
    let repo = Repo::new();
    let place = outside(&repo);
    let right = narrow(&values());
    let mut wrong = right.clone();
    // The last 16 rows of each matrix, and a NaN.
    for (at, value) in wrong.iter_mut().enumerate() {
        *value *= if at / 64 % 64 >= 48 { 0.9 } else { 1.0 + 1e-7 };
    }
    let near: Vec<f32> = right.iter().map(|value| value * (1.0 + 1e-7)).collect();
    for (name, values) in [("r.npy", &right), ("near.npy", &near), ("wrong.npy", &wrong)] {
        put(place.path(), name, &npy("<f4", &SHAPE, &f32s(values)));
    }
    wrong[5] = f32::NAN;
    wrong[9] = f32::INFINITY;
    put(place.path(), "nan.npy", &npy("<f4", &SHAPE, &f32s(&wrong)));

    place.typed("compare r.npy near.npy").expect(0).says("match: all 16384 elements match");
    place
        .typed("compare r.npy wrong.npy")
        .expect(4)
        .says("of 16384 elements do not match")
        .says("worst at")
        .says("axis 1");
    place.typed("compare r.npy near.npy --policy bitwise").expect(4);
    place.typed("compare r.npy r.npy --policy bitwise").expect(0);
    place.typed("compare r.npy near.npy --norm 1e-9").expect(4).says("is the most that passes");
    place.typed("compare r.npy near.npy --details").expect(0);
    place.typed("compare r.npy wrong.npy --rtol 0.2").expect(0);

    let ran = place.typed("--json compare r.npy nan.npy --worst 3").expect(4);
    let view = ran.json();
    assert_eq!(view["schema"], 1);
    assert_eq!(view["verdict"], "fail");
    assert_eq!(view["elements"], 16384);
    assert!(view["mismatches"].as_u64().expect("a count") >= 4000);
    assert!(view["max_abs"].is_number() && view["max_rel"].is_number() && view["rmse"].is_number());
    assert_eq!(view["nan"]["candidate"], 1);
    assert_eq!(view["nan"]["reference"], 0);
    assert_eq!(view["nan"]["first"], serde_json::json!([0, 0, 5]));
    assert_eq!(view["inf"]["first"], serde_json::json!([0, 0, 9]));
    let worst = view["worst"].as_array().expect("the worst");
    assert_eq!(worst.len(), 3);
    for key in ["index", "reference", "candidate", "abs"] {
        assert!(!worst[0][key].is_null(), "{key} in {worst:?}");
    }
    assert_eq!(worst[0]["index"].as_array().expect("an index").len(), 3);
    let view = place.view("compare r.npy near.npy");
    assert_eq!(view["nan"]["first"], Value::Null);
    assert_eq!(view["worst"], serde_json::json!([]));
    // What is not finite is a text.
    put(place.path(), "one.npy", &npy("<f4", &[1], &f32s(&[f32::NAN])));
    put(place.path(), "inf.npy", &npy("<f4", &[1], &f32s(&[f32::NEG_INFINITY])));
    let view = place.typed("--json compare one.npy inf.npy").expect(4).json();
    assert_eq!(
        (&view["worst"][0]["reference"], &view["worst"][0]["candidate"]),
        (&"nan".into(), &"-inf".into())
    );
    place.typed("compare one.npy one.npy").expect(4);
    place.typed("compare one.npy one.npy --equal-nan").expect(0);
}

#[test]
fn several_tensors_are_compared_by_their_names() {
    let repo = Repo::new();
    let place = outside(&repo);
    let (one, two) = (f32s(&[1.0, 2.0, 3.0, 4.0]), f32s(&[1.0, 2.5, 3.0, 4.0]));
    put(
        place.path(),
        "r.safetensors",
        &safetensors(&[("q", "F32", &[4], &one), ("k", "F32", &[2, 2], &one)]),
    );
    put(
        place.path(),
        "c.safetensors",
        &safetensors(&[("k", "F32", &[2, 2], &two), ("q", "F32", &[4], &one)]),
    );
    put(place.path(), "less.safetensors", &safetensors(&[("q", "F32", &[4], &one)]));
    put(place.path(), "q.npy", &npy("<f4", &[4], &one));
    let ran = place.typed("compare r.safetensors c.safetensors").expect(4);
    ran.says("mismatch: 1 of 2 tensors").says("fail  k").says("pass  q").says("[0, 1]");
    let view = place.typed("--json compare r.safetensors c.safetensors").expect(4).json();
    assert_eq!((view["elements"].as_u64(), view["mismatches"].as_u64()), (Some(8), Some(1)));
    assert_eq!(view["max_abs"], 0.5);
    assert_eq!(view["worst"][0]["index"], serde_json::json!([0, 1]));
    assert_eq!(view["worst"][0]["tensor"], "k");
    assert_eq!(view["tensors"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        (&view["tensors"][1]["tensor"], &view["tensors"][1]["verdict"]),
        (&"q".into(), &"pass".into())
    );
    place.typed("compare r.safetensors:q c.safetensors:q").expect(0);
    place.typed("compare r.safetensors:q q.npy").expect(0);

    // A name may hold anything: colons are found, and a line end makes no line of its own.
    let odd = |of: &[u8]| safetensors(&[("a:b", "F32", &[4], of), ("x\\n  pass  z", "F32", &[4], of)]);
    put(place.path(), "odd.safetensors", &odd(&one));
    put(place.path(), "off.safetensors", &odd(&two));
    place.typed("compare odd.safetensors:a:b off.safetensors:a:b").expect(4);
    let ran = place.typed("compare odd.safetensors off.safetensors").expect(4);
    ran.says("fail  x\\n  pass  z").never_says("\n  pass  z");
    place.typed("compare r.safetensors less.safetensors").refuses(1).says("less.safetensors lacks \"k\"");
    place.typed("compare less.safetensors r.safetensors").refuses(1).says("less.safetensors lacks \"k\"");
    place.typed("compare r.safetensors q.npy").refuses(1).says("choose it: r.safetensors:TENSOR");
    place.typed("compare r.safetensors:v q.npy").refuses(1).says("there are: \"k\", \"q\"");
    // A file of that very name wins.
    put(place.path(), "r.safetensors:q", &npy("<f4", &[4], &two));
    place.typed("compare q.npy r.safetensors:q").expect(4);
}

#[test]
fn narrow_floats_have_types_and_factors_of_their_own() {
    let repo = Repo::new();
    let place = outside(&repo);
    let bytes = bf16s(&[1.0, -2.0, 0.5, 3.0]);
    put(place.path(), "v2.npy", &npy("|V2", &[4], &bytes));
    put(place.path(), "u2.npy", &npy("<u2", &[4], &bytes));
    put(place.path(), "o.bin", &bytes);
    place.typed("compare v2.npy u2.npy").refuses(1).says("--dtype bf16");
    place.typed("compare v2.npy u2.npy --dtype bf16").expect(0).says("bf16 [4]");
    place.typed("compare v2.npy o.bin --dtype torch.bfloat16 --shape 4").expect(0);
    place.typed("compare o.bin o.bin --dtype bf16 --shape 2,2").expect(0).says("bf16 [2, 2]");
    place
        .typed("compare o.bin o.bin --dtype bf16 --shape 3")
        .refuses(1)
        .says("goes on after its last element");

    // 1.0 and 2.0 in e4m3, in blocks of two with a factor each; the same in f32.
    put(
        place.path(),
        "c.safetensors",
        &safetensors(&[
            ("o", "F8_E4M3", &[1, 4], &[0x38, 0x40, 0x38, 0x40]),
            ("s", "F32", &[1, 2], &f32s(&[0.5, 4.0])),
            ("e", "F8_E8M0", &[1, 2], &[126, 129]),
        ]),
    );
    put(place.path(), "r.npy", &npy("<f4", &[1, 4], &f32s(&[0.5, 1.0, 4.0, 8.0])));
    place.typed("compare r.npy c.safetensors:o --scale c.safetensors:s --block 1,2").expect(0);
    place.typed("compare r.npy c.safetensors:o --scale c.safetensors:e").expect(0);
    place.typed("compare c.safetensors:o r.npy --reference-scale c.safetensors:s").expect(0);
    place.typed("compare r.npy c.safetensors:o").refuses(1).says("the reference is f32, the candidate f8");
    place.typed("compare r.npy c.safetensors:o --scale c.safetensors:s --block 1,3").expect(4);
    place
        .typed("compare r.npy c.safetensors:o --scale c.safetensors:s --block 1,4")
        .refuses(1)
        .says("need factors");
    place.typed("compare r.npy r.npy --scale c.safetensors:s").refuses(1).says("have no factors");

    // The declared type is the raw side's alone where the other says its own; bytes that say none are what was declared.
    put(place.path(), "z.bin", &[0x40, 0x48, 0x40, 0x48]);
    put(place.path(), "z.npy", &npy("|u1", &[1, 4], &[0x40, 0x48, 0x40, 0x48]));
    put(place.path(), "n.npy", &npy("<i4", &[1, 4], &[0; 16]));
    let fnuz = "--dtype f8_e4m3fnuz --shape 1,4";
    place.typed(&format!("compare r.npy z.bin {fnuz} --scale c.safetensors:s")).expect(0).says("f8_e4m3fnuz");
    place.typed(&format!("compare z.bin r.npy {fnuz} --reference-scale c.safetensors:s")).expect(0);
    let both = "--scale c.safetensors:s --reference-scale c.safetensors:s";
    place.typed(&format!("compare z.npy z.bin {fnuz} {both}")).expect(0).says("f8_e4m3fnuz [1, 4]");
    place.typed(&format!("compare n.npy z.bin {fnuz} --scale c.safetensors:s")).refuses(1).says("is i32");
    place.typed(&format!("compare r.npy z.bin {fnuz}")).refuses(1).says("f8_e4m3fnuz was declared");
}

#[test]
fn a_baseline_allows_its_own_error_twice() {
    let repo = Repo::new();
    let place = outside(&repo);
    let exact = noise(7, 4096, 1.0);
    let off = |by: f64| -> Vec<u8> {
        let values: Vec<f64> =
            exact.iter().enumerate().map(|(n, v)| v + if n % 7 == 0 { by } else { 0.0 }).collect();
        bf16s(&values)
    };
    put(place.path(), "exact.npy", &npy("<f8", &[64, 64], &f64s(&exact)));
    for (name, by) in [("theirs", 0.02), ("ours", 0.03), ("bad", 0.2)] {
        put(place.path(), &format!("{name}.npy"), &npy("|V2", &[64, 64], &off(by)));
    }
    let compare = |candidate: &str, more: &str| {
        place.typed(&format!(
            "compare exact.npy {candidate}.npy --policy baseline --baseline theirs.npy --dtype bf16 {more}"
        ))
    };
    compare("ours", "").expect(0).says("twice the baseline's own");
    compare("bad", "").expect(4);
    compare("ours", "--norm 1e-6").expect(4);
    let view =
        place.typed("--json compare exact.npy bad.npy --policy baseline --baseline theirs.npy --dtype bf16");
    assert!(view.expect(4).json()["baseline"]["max_abs"].is_number());
    place
        .typed("compare exact.npy ours.npy --dtype bf16")
        .refuses(1)
        .says("the tensor is f64, and bf16 was declared");
    place.typed("compare exact.npy ours.npy --policy baseline").refuses(2).says("needs --baseline");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let repo = Repo::new();
    let place = outside(&repo);
    put(place.path(), "a.npy", &npy("<f4", &[4], &f32s(&[1.0; 4])));
    put(place.path(), "b.npy", &npy("<f4", &[2, 2], &f32s(&[1.0; 4])));
    put(place.path(), "d.npy", &npy("<f8", &[4], &f64s(&[1.0; 4])));
    put(place.path(), "o.npy", &npy("|O", &[4], &[0; 32]));
    put(place.path(), "cut.npy", &npy("<f4", &[4], &[0; 15]));
    put(place.path(), "w.pt", b"PK\x03\x04");
    put(place.path(), "x.safetensors", b"\x05\x00\x00\x00\x00\x00\x00\x00{}\x1b[31m");
    let one = f32s(&[1.0; 4]);
    let strange = safetensors(&[("\\u001b[31ma", "F32", &[4], &one), ("b", "F32", &[4], &one)]);
    put(place.path(), "strange.safetensors", &strange);
    put(place.path(), "empty", b"");
    std::fs::create_dir(place.path().join("folder.npy")).expect("a folder");
    repo.run("mkfifo", &[&place.path().join("pipe.npy").display().to_string()]).expect(0);
    for (line, exit, says) in [
        ("compare a.npy b.npy", 1, "the shapes differ: the reference's is [4], the candidate's [2, 2]"),
        ("compare a.npy d.npy", 1, "the types differ: the reference is f32, the candidate f64"),
        ("compare a.npy none.npy", 1, "cannot read none.npy"),
        ("compare none.npy a.npy", 1, "no such file"),
        ("compare a.npy folder.npy", 1, "it is a folder"),
        ("compare a.npy pipe.npy", 1, "no regular file"),
        ("compare a.npy o.npy", 1, "can run code"),
        ("compare a.npy cut.npy", 1, "is truncated"),
        ("compare a.npy w.pt", 1, "safetensors.torch.save_file"),
        ("compare a.npy x.safetensors", 1, "the header cannot be read"),
        ("compare a.npy strange.safetensors", 1, "choose it"),
        ("compare a.npy empty", 1, "it is empty"),
        ("compare a.npy a.npy:x", 1, "one tensor without a name"),
        ("compare a.npy a.npy --dtype bf16", 1, "and bf16 was declared"),
        ("compare a.npy a.npy --shape 4", 2, "--shape needs --dtype"),
        ("compare a.npy a.npy --block 4", 2, "--block needs"),
        ("compare a.npy a.npy --slack 1", 2, "--policy baseline only"),
        ("compare a.npy a.npy --policy bitwise --rtol 0", 2, "--policy allclose only"),
    ] {
        place.typed(line).refuses(exit).says(says).never_says("\u{1b}");
    }
    for (line, says) in [
        ("compare a.npy", "required"),
        ("compare a.npy a.npy --atol -1", "not negative"),
        ("compare a.npy a.npy --rtol nan", "finite"),
        ("compare a.npy a.npy --dtype flot32", "did you mean float32"),
        ("compare a.npy a.npy --dtype f32 --shape 2,x", "whole numbers"),
        ("compare a.npy a.npy --policy close", "allclose"),
        ("compare a.npy a.npy --worst 1001", "1000"),
    ] {
        place.typed(line).expect(2).says(says).never_says("panicked");
    }
    let view = place.typed("--json compare a.npy b.npy").expect(1).json();
    assert_eq!(view["error"]["exit"], 1);
}

/// A gate that copies what the tree holds under `outputs`, as a command would write it.
fn gate(keys: &str) -> String {
    format!("[[gate]]\nid = \"g\"\nkind = \"compare\"\nrun = \"cp -r outputs/. $GATE_OUT/\"\n{keys}\n")
}

/// Commits these outputs and this gate and validates; what it said.
fn validated(repo: &Repo, keys: &str, outputs: &[(&str, Vec<u8>)]) -> common::Ran {
    let _ = std::fs::remove_dir_all(repo.path().join("outputs"));
    for (name, bytes) in outputs {
        put(&repo.path().join("outputs"), name, bytes);
    }
    repo.write(".git-incident.toml", &gate(keys));
    repo.commit("Other outputs");
    repo.incident(&["trust", "--yes"]).expect(0);
    repo.incident(&["--json", "validate"])
}

fn record(ran: &common::Ran) -> Value {
    ran.json()["records"][0].clone()
}

/// One stage of a case: reference and candidate in one file.
fn stage(reference: &[f64], candidate: &[f64]) -> Vec<u8> {
    let (reference, candidate) = (f32s(&narrow(reference)), f32s(&narrow(candidate)));
    safetensors(&[("reference", "F32", &[64, 64], &reference), ("candidate", "F32", &[64, 64], &candidate)])
}

#[test]
fn a_wrong_kernel_is_refused_on_push_until_it_is_right() {
    let (repo, bare) = with_gates("");
    let (right, other) = (noise(3, 4096, 1.0), noise(4, 4096, 1.0));
    let mut wrong = right.clone();
    for value in &mut wrong[48 * 64..] {
        *value = 0.0;
    }
    let push = |candidate: &[f64]| {
        put(&repo.path().join("outputs"), "s512/O.safetensors", &stage(&right, candidate));
        put(&repo.path().join("outputs"), "s512-causal/O.safetensors", &stage(&other, &other));
        repo.write(".git-incident.toml", &gate("cases = [\"*\"]\nstages = [\"O\"]"));
        repo.commit("Outputs");
        repo.incident(&["trust", "--yes"]).expect(0);
        repo.try_git(&["push", "-q", "origin", "topic"])
    };
    let ran = push(&wrong);
    assert_ne!(ran.status, 0);
    ran.says("fail").says("case s512: O is the first stage that diverges").says("1024 of 4096 elements");
    assert_eq!(common::gates::on_remote(&repo, &bare, "refs/heads/topic"), "");
    push(&right).expect(0).says("pass");
    assert_ne!(common::gates::on_remote(&repo, &bare, "refs/heads/topic"), "");

    let view = repo.incident_json(&["validate"]);
    let details = &view["records"][0]["details"];
    assert_eq!(details["compared"], 2);
    let first = &details["comparisons"][0];
    assert_eq!(
        (&first["case"], &first["stage"], &first["verdict"]),
        (&"s512".into(), &"O".into(), &"pass".into())
    );
    assert_eq!(first["candidate_file"]["path"], "s512/O.safetensors");
    assert_eq!(first["candidate_file"]["sha256"].as_str().map(str::len), Some(64));
    assert_eq!(first["max_abs"], "0", "decimals are strings in records");
    assert!(details["mutants"]["caught"].as_u64().expect("a count") >= 8, "{details}");
}

#[test]
fn the_first_stage_that_diverges_is_named_and_all_are_checked() {
    let (repo, _bare) = with_gates("");
    let (s, p, o) = (noise(1, 4096, 1.0), noise(2, 4096, 1.0), noise(3, 4096, 1.0));
    let off = |values: &[f64]| values.iter().map(|v| v * 1.01).collect::<Vec<_>>();
    let outputs = |wrong: bool| {
        let (p2, o2) = if wrong { (off(&p), off(&o)) } else { (p.clone(), o.clone()) };
        vec![
            ("a/S.safetensors", stage(&s, &s)),
            ("a/P.safetensors", stage(&p, &p2)),
            ("a/O.safetensors", stage(&o, &o2)),
            ("b/S.safetensors", stage(&s, &s)),
            ("b/P.safetensors", stage(&p, &p)),
            ("b/O.safetensors", stage(&o, &o)),
        ]
    };
    let keys = "cases = [\"a\", \"b\"]\nstages = [\"S\", \"P\", \"O\"]";
    let ran = validated(&repo, keys, &outputs(true)).expect(4);
    let record = record(&ran);
    let reason = record["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("case a: P is the first stage that diverges: "), "{reason}");
    assert!(reason.ends_with("(2 of 6 comparisons fail)"), "{reason}");
    assert_eq!(record["details"]["first"], "case a, stage P");
    let verdicts: Vec<&str> = record["details"]["comparisons"]
        .as_array()
        .expect("all")
        .iter()
        .filter_map(|c| c["verdict"].as_str())
        .collect();
    assert_eq!(verdicts, ["pass", "fail", "fail", "pass", "pass", "pass"]);
    let text = repo.incident(&["validate"]).expect(4);
    text.says("fail  case a, stage P").says("pass  case b, stage O").says("worst at");
    validated(&repo, keys, &outputs(false)).expect(0);
}

#[test]
fn a_tolerance_that_lets_a_mutant_pass_is_too_loose() {
    let (repo, _bare) = with_gates("");
    // What an attention gives over 512 keys: small numbers, and the tolerance of many a test.
    let o = noise(5, 4096, 0.04);
    let outputs = [("s512/O.safetensors", stage(&o, &o))];
    let keys = "cases = [\"s512\"]\nstages = [\"O\"]\n";
    let ran = validated(&repo, &format!("{keys}atol = 1e-2\nrtol = 5e-2"), &outputs).expect(5);
    let found = record(&ran);
    assert_eq!(found["verdict"], "inconclusive");
    let reason = found["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("too loose: case s512, stage O"), "{reason}");
    assert!(reason.ends_with("scaled by 0.95"), "{reason}");
    assert_eq!(found["details"]["mutants"]["passed"]["mutant"], "scaled by 0.95");
    // A cap on the norm makes it strict again; so does a tolerance that fits.
    validated(&repo, &format!("{keys}atol = 1e-2\nrtol = 5e-2\nnorm = 1e-2"), &outputs).expect(0);
    validated(&repo, &format!("{keys}atol = 1e-5\nrtol = 1e-3"), &outputs).expect(0);
    // Two cases of which one result is the other's: a stale buffer says nothing there.
    let both = [("eager/O.safetensors", stage(&o, &o)), ("graph/O.safetensors", stage(&o, &o))];
    validated(&repo, "cases = [\"*\"]\nstages = [\"O\"]", &both).expect(0);
    // Nothing at all was computed, and nothing shows that it would be seen.
    let empty = safetensors(&[("reference", "F32", &[0], &[]), ("candidate", "F32", &[0], &[])]);
    let ran = validated(&repo, "cases = [\"a\"]", &[("a.safetensors", empty)]).expect(5);
    assert!(record(&ran)["reason"].as_str().expect("a reason").starts_with("too loose: no mutant"));
}

#[test]
fn only_whole_new_files_of_the_run_count() {
    let (repo, _bare) = with_gates("");
    let good = f32s(&narrow(&noise(9, 4096, 1.0)));
    let tensor = npy("<f4", &[64, 64], &good);
    let files = "reference = \"r.npy\"\ncandidate = \"c.npy\"";
    let both = |candidate: Vec<u8>| vec![("r.npy", tensor.clone()), ("c.npy", candidate)];
    validated(&repo, files, &both(tensor.clone())).expect(0);
    let mut hostile = tensor.clone();
    hostile.truncate(100);
    for (keys, outputs, says) in [
        (files, vec![("r.npy", tensor.clone())], "cannot read c.npy: there is no such file"),
        (files, both(hostile), "is truncated"),
        (files, both(b"not numpy".to_vec()), "does not begin"),
        (files, both(npy("<f4", &[4096], &good)), "the shapes differ"),
        (files, both(npy("<f8", &[64, 32], &good)), "the shapes differ"),
        (
            files,
            both(npy("<i4", &[64, 64], &good)),
            "the types differ: the reference is f32, the candidate i32",
        ),
        ("cases = [\"*\"]\nstages = [\"O\"]", vec![("r.npy", tensor.clone())], "no folder in $GATE_OUT"),
        ("cases = [\"*\"]\nstages = [\"O\"]", vec![("-x/r.npy", tensor.clone())], "cannot be a case"),
        (
            "cases = [\"a\"]\nstages = [\"O\"]",
            vec![("a/P.safetensors", tensor.clone())],
            "cannot read a/O.safetensors",
        ),
    ] {
        let ran = validated(&repo, keys, &outputs).expect(4);
        let reason = record(&ran)["reason"].as_str().expect("a reason").to_owned();
        assert!(reason.contains(says), "{keys}: {reason}");
    }
    // What the command leaves in place of a file.
    let run = |command: &str| {
        let keys = format!("[[gate]]\nid = \"g\"\nkind = \"compare\"\nrun = \"{command}\"\n{files}\n");
        repo.write(".git-incident.toml", &keys);
        repo.commit(command);
        repo.incident(&["trust", "--yes"]).expect(0);
        repo.incident(&["--json", "validate"])
    };
    std::fs::remove_dir_all(repo.path().join("outputs")).expect("the outputs of before");
    put(repo.path(), "outputs/c.npy", &tensor);
    put(repo.path(), "outputs/r.npy", &tensor);
    repo.commit("Good outputs");
    for (command, exit, says) in [
        ("cp outputs/* $GATE_OUT", 0, ""),
        ("cp outputs/* $GATE_OUT; exit 3", 4, "exit status 3"),
        ("cp outputs/* $GATE_OUT; exit 125", 5, "cannot decide"),
        ("cp outputs/r.npy $GATE_OUT; ln -s r.npy $GATE_OUT/c.npy", 4, "it is a link"),
        ("cp outputs/r.npy $GATE_OUT; ln $GATE_OUT/r.npy $GATE_OUT/c.npy", 4, "another name of a file"),
        ("cp outputs/* $GATE_OUT; touch -d 2020-01-01 $GATE_OUT/c.npy", 4, "before this run began"),
        ("cp outputs/r.npy $GATE_OUT; mkfifo $GATE_OUT/c.npy", 4, "no regular file"),
        ("cp outputs/r.npy $GATE_OUT; mkdir $GATE_OUT/c.npy", 4, "it is a folder"),
        ("mv $GATE_OUT $GATE_OUT.old; ln -s $PWD/outputs $GATE_OUT", 4, "link"),
    ] {
        let ran = run(command).expect(exit);
        let reason = record(&ran)["reason"].as_str().expect("a reason").to_owned();
        assert!(reason.contains(says), "{command}: {reason}");
    }
}

#[test]
fn every_rank_has_to_have_written() {
    let (repo, _bare) = with_gates("");
    let tensor = npy("<f4", &[64, 64], &f32s(&narrow(&noise(2, 4096, 1.0))));
    let keys = "device = \"custom:true\"\ngpus = 2\nreference = \"r.npy\"\ncandidate = \"c{rank}.npy\"";
    let mut outputs = vec![("r.npy", tensor.clone()), ("c0.npy", tensor.clone())];
    let ran = validated(&repo, keys, &outputs).expect(4);
    let reason = record(&ran)["reason"].as_str().expect("a reason").to_owned();
    assert!(reason.starts_with("rank 1: cannot read c1.npy: there is no such file"), "{reason}");
    outputs.push(("c1.npy", tensor));
    validated(&repo, keys, &outputs).expect(0);
}

#[test]
fn a_gate_may_allow_a_baselines_error_twice() {
    let (repo, _bare) = with_gates("");
    let exact = noise(7, 4096, 1.0);
    let rounded = |by: f64| bf16s(&exact.iter().map(|v| v + by).collect::<Vec<_>>());
    let outputs = |by: f64| {
        let file = safetensors(&[
            ("reference", "F64", &[64, 64], &f64s(&exact)),
            ("candidate", "BF16", &[64, 64], &rounded(by)),
            ("baseline", "BF16", &[64, 64], &rounded(0.002)),
        ]);
        [("s512/O.safetensors", file)]
    };
    let keys = "policy = \"baseline\"\ncases = [\"s512\"]\nstages = [\"O\"]";
    validated(&repo, keys, &outputs(0.003)).expect(0);
    let ran = validated(&repo, keys, &outputs(0.2)).expect(4);
    assert!(record(&ran)["details"]["comparisons"][0]["baseline"]["max_abs"].is_string());
}
