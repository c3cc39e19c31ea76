//! The `kernel` gate through its real path: `validate`, our own process, cudarc, and the emulated driver and compiler
//! of tests/emulator. tests/kernels holds wrong kernels that it must catch and right ones that it must pass.

mod common;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use common::{Ran, Repo, emulator, finish};
use serde_json::Value;

/// `git-incident …` with the emulated device.
fn emulated(repo: &Repo, arguments: &[&str]) -> Ran {
    let mut command = repo.command("git-incident");
    emulator::on(&mut command).args(arguments);
    finish(command.output())
}

/// Commits what is there, approves it, and judges it: the records by the gates' names.
fn judged(repo: &Repo) -> Vec<Value> {
    repo.commit("Kernels");
    repo.incident(&["trust", "--yes"]).expect(0);
    let ran = emulated(repo, &["--json", "validate"]);
    let view = ran.json();
    view["records"].as_array().unwrap_or_else(|| panic!("no records in {view}\n{}", ran.stderr)).clone()
}

/// The record of the only gate.
fn judged_one(repo: &Repo) -> Value {
    judged(repo).remove(0)
}

fn reason(record: &Value) -> &str {
    record["reason"].as_str().unwrap_or_default()
}

/// A kernel of the set.
struct Member {
    id: String,
    wrong: bool,
    /// The kinds of finding that name what is wrong.
    expected: Vec<String>,
    gate: String,
}

/// The members of a family, with the family's declarations and what a file changes of them.
fn members(folder: &Path) -> Vec<Member> {
    let family = folder.file_name().expect("a name").to_string_lossy().into_owned();
    let declared = std::fs::read_to_string(folder.join("gate.toml")).expect("gate.toml");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    let mut members = Vec::new();
    for file in files {
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        let wrong = name.starts_with("wrong_");
        if !wrong && !name.starts_with("right_") {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("a source");
        let said = |word: &str| -> Vec<String> {
            text.lines()
                .filter_map(|line| line.strip_prefix(&format!("// {word}: ")).map(str::to_owned))
                .collect()
        };
        let mut lines: Vec<String> = declared.lines().map(str::to_owned).collect();
        for change in said("gate") {
            let key = change.split(" = ").next().expect("a key").to_owned();
            lines.retain(|line| !line.starts_with(&format!("{key} = ")));
            lines.insert(0, change);
        }
        let id = format!("{family}-{name}").replace('_', "-");
        let gate = format!(
            "[[gate]]\nid = \"{id}\"\nkind = \"kernel\"\ndevice = \"emulated\"\nsource = \"{family}/{name}.cu\"\n{}\n",
            lines.join("\n")
        );
        let expected: Vec<String> =
            said("expect").iter().flat_map(|line| line.split(' ')).map(str::to_owned).collect();
        assert_eq!(wrong, !expected.is_empty(), "{id} says what is expected of it exactly if it is wrong");
        members.push(Member { id, wrong, expected, gate });
    }
    members
}

/// One row of the table.
struct Row {
    id: String,
    wrong: bool,
    caught: bool,
    as_expected: bool,
    text: String,
}

fn family(folder: &Path) -> Vec<Row> {
    let members = members(folder);
    let repo = Repo::new();
    let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
    for file in std::fs::read_dir(folder).expect("a folder") {
        let path = file.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a source");
        repo.write(&format!("{name}/{}", path.file_name().expect("a name").to_string_lossy()), &text);
    }
    let gates: Vec<&str> = members.iter().map(|member| member.gate.as_str()).collect();
    repo.write(".git-incident.toml", &gates.join("\n"));
    let records = judged(&repo);
    assert_eq!(records.len(), members.len(), "{name}");
    members
        .iter()
        .zip(&records)
        .map(|(member, record)| {
            assert_eq!(record["gate"], member.id.as_str());
            let verdict = record["verdict"].as_str().expect("a verdict");
            let kind = reason(record).split(':').next().unwrap_or_default();
            Row {
                id: member.id.clone(),
                wrong: member.wrong,
                caught: verdict == "fail",
                as_expected: if member.wrong {
                    verdict == "fail" && member.expected.iter().any(|expected| expected == kind)
                } else {
                    verdict == "pass"
                },
                text: format!("{verdict}: {}", reason(record)),
            }
        })
        .collect()
}

#[test]
fn wrong_kernels_are_caught_and_right_ones_pass() {
    let only = std::env::var("KERNEL_FAMILY").ok();
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels"))
            .expect("the set")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.join("gate.toml").is_file())
            .filter(|path| only.as_ref().is_none_or(|only| path.ends_with(only)))
            .collect();
    folders.sort();
    emulator::folder();
    let (todo, rows) = (Mutex::new(folders), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let Some(next) = todo.lock().expect("the list").pop() else {
                        break;
                    };
                    let found = family(&next);
                    rows.lock().expect("the table").extend(found);
                }
            });
        }
    });
    let mut rows = rows.into_inner().expect("the table");
    rows.sort_by(|a, b| a.id.cmp(&b.id));
    for row in &rows {
        let mark = if row.as_expected { "ok " } else { "NOT" };
        println!("{mark} {:<40} {}", row.id, row.text.chars().take(150).collect::<String>());
    }
    let (wrong, right): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.wrong);
    let caught = wrong.iter().filter(|row| row.caught).count();
    println!("{caught} of {} wrong kernels caught, {} right ones", wrong.len(), right.len());
    let failed: Vec<&str> = right.iter().filter(|row| !row.as_expected).map(|row| row.id.as_str()).collect();
    assert!(failed.is_empty(), "right kernels that do not pass: {failed:?}");
    let mistaken: Vec<&str> =
        wrong.iter().filter(|row| row.caught && !row.as_expected).map(|row| row.id.as_str()).collect();
    assert!(mistaken.is_empty(), "caught for another reason than what is wrong: {mistaken:?}");
    assert!(caught * 100 >= wrong.len() * 95, "only {caught} of {} caught", wrong.len());
    if only.is_none() {
        assert!(wrong.len() >= 40 && right.len() >= 15);
    }
}

/// A gate around one kernel that doubles its input, with keys of the gate in place of the usual ones.
fn doubling(changes: &[(&str, &str)], source: &str) -> Repo {
    let repo = Repo::new();
    repo.write("double.cu", source);
    repo.write("right.cu", DOUBLE);
    let mut gate = DOUBLING.to_owned();
    for (from, to) in changes {
        assert!(gate.contains(from), "{from} is not in the gate");
        gate = gate.replacen(from, to, 1);
    }
    repo.write(".git-incident.toml", &gate);
    repo
}

const DOUBLE: &str = "extern \"C\" __global__ void run(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * x[i];
}
";

const DOUBLING: &str = r#"
[[gate]]
id = "double"
kind = "kernel"
device = "emulated"
source = "double.cu"
entry = "run"
grid = ["ceil(n / 64)"]
block = [64]
reference = { source = "right.cu", entry = "run", grid = ["ceil(n / 64)"], block = [64] }
[[gate.arg]]
name = "x"
dtype = "f32"
shape = ["n"]
role = "in"
fill = "normal(0, 1)"
[[gate.arg]]
name = "out"
dtype = "f32"
shape = ["n"]
role = "out"
[[gate.arg]]
name = "n"
scalar = "i32"
value = "n"
[[gate.case]]
n = 100
"#;

/// The reference of [`DOUBLING`].
const REFERENCE: &str =
    "reference = { source = \"right.cu\", entry = \"run\", grid = [\"ceil(n / 64)\"], block = [64] }";

#[track_caller]
fn says(record: &Value, verdict: &str, words: &[&str]) {
    assert_eq!(record["verdict"], verdict, "{record:#}");
    for word in words {
        assert!(reason(record).contains(word), "{word:?} is not in {:?}", reason(record));
    }
}

#[test]
fn a_record_says_what_was_compared_and_where() {
    let record = judged_one(&doubling(&[], DOUBLE));
    says(&record, "pass", &[]);
    let details = &record["details"];
    assert_eq!(details["device"]["name"], "git-incident emulated device");
    assert_eq!(details["launches"], 3);
    assert_eq!(details["outputs"].as_array().map(Vec::len), Some(2), "{details:#}");
    assert!(details["mutants"].as_u64().is_some_and(|caught| caught > 0));
}

#[test]
fn the_emulated_device_stands_in_for_no_gpu() {
    let repo = doubling(&[("\"emulated\"", "\"cuda\"")], DOUBLE);
    says(&judged_one(&repo), "not-run", &["no such device here"]);
}

#[test]
fn without_a_driver_nothing_is_judged() {
    let repo = doubling(&[], DOUBLE);
    repo.commit("Kernels");
    repo.incident(&["trust", "--yes"]).expect(0);
    let mut command = repo.command("git-incident");
    // An empty folder, so that no driver of this machine is found before it.
    let empty = repo.root().join("data");
    command.env("LD_LIBRARY_PATH", &empty).args(["--json", "validate"]);
    let view = finish(command.output()).json();
    let record = &view["records"][0];
    assert!(record["verdict"] == "not-run" || record["verdict"] == "inconclusive", "{record:#}");
    assert!(!reason(record).is_empty());
}

#[test]
fn a_tolerance_that_passes_anything_decides_nothing() {
    let repo = doubling(&[("block = [64]\n", "block = [64]\natol = 100\nrtol = 1\n")], DOUBLE);
    says(&judged_one(&repo), "inconclusive", &["too loose", "zeros"]);
}

#[test]
fn a_reference_may_be_a_file() {
    let copy = DOUBLE.replace("2.0f * x[i]", "x[i]");
    let file = "reference = { file = \"right-{seed}.npy\" }";
    let repo =
        doubling(&[(REFERENCE, file), ("normal(0, 1)", "sequence(1, 1)"), ("n = 100", "n = 4")], &copy);
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (4,), }";
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{header:<117}\n").as_bytes());
    for number in [1.0_f64, 2.0, 3.0, 4.0] {
        bytes.extend(number.to_le_bytes());
    }
    std::fs::write(repo.path().join("right-1.npy"), &bytes).expect("a file");
    says(&judged_one(&repo), "inconclusive", &["the reference", "right-2.npy"]);
    std::fs::write(repo.path().join("right-2.npy"), &bytes).expect("a file");
    says(&judged_one(&repo), "pass", &[]);
    let last = bytes.len() - 8;
    bytes[last..].copy_from_slice(&5.0_f64.to_le_bytes());
    std::fs::write(repo.path().join("right-2.npy"), &bytes).expect("a file");
    says(&judged_one(&repo), "fail", &["mismatch", "seed 2", "4 instead of 5 at [3]"]);
    std::fs::write(repo.path().join("right-2.npy"), &bytes[..last]).expect("a file");
    says(&judged_one(&repo), "inconclusive", &["right-2.npy"]);
}

#[test]
fn a_reference_may_be_a_command() {
    // What is copied is what the command of a project would compute.
    let copy = DOUBLE.replace("2.0f * x[i]", "x[i]");
    let command = |run: &str| format!("reference = {{ run = \"{run}\" }}");
    let each = "for i in $GATE_OUT/inputs/*; do cp $i/x.npy $GATE_OUT/reference/${i##*/}/out.npy; done";
    says(&judged_one(&doubling(&[(REFERENCE, &command(each))], &copy)), "pass", &[]);
    says(&judged_one(&doubling(&[(REFERENCE, &command(each))], DOUBLE)), "fail", &["mismatch"]);
    let none = doubling(&[(REFERENCE, &command("true"))], &copy);
    says(&judged_one(&none), "inconclusive", &["the reference", "out.npy"]);
    let failing = doubling(&[(REFERENCE, &command("exit 3"))], &copy);
    says(&judged_one(&failing), "inconclusive", &["the reference's command: exit status 3"]);
    let linked =
        "for i in $GATE_OUT/inputs/*; do ln -s /etc/passwd $GATE_OUT/reference/${i##*/}/out.npy; done";
    says(&judged_one(&doubling(&[(REFERENCE, &command(linked))], &copy)), "inconclusive", &["leads out"]);
}

#[test]
fn a_wrong_reference_is_not_the_candidates_fault() {
    for (wrong, words) in [
        (DOUBLE.replace("2.0f * x[i]", "oops"), "does not compile"),
        (DOUBLE.replace("i < n", "i <= n"), "writes outside of out"),
        (DOUBLE.replace("i < n", "i + 1 < n"), "unwritten"),
        (DOUBLE.replace("(const", "(").replace("out[i] =", "out[i] = x[i] ="), "changes its input x"),
        (DOUBLE.replace("x[i]", "x[i + 1000000 * n]"), "CUDA_ERROR_ILLEGAL_ADDRESS"),
        (DOUBLE.replace(", int n)", ", int n, int m)"), "4 parameters"),
    ] {
        let repo = doubling(&[], DOUBLE);
        repo.write("right.cu", &wrong);
        says(&judged_one(&repo), "inconclusive", &["the reference", words]);
    }
}

#[test]
fn a_gate_that_does_not_fit_its_kernel_says_so() {
    let record = judged_one(&doubling(&[], &DOUBLE.replace("int n)", "long long n)")));
    says(&record, "fail", &["takes 3 parameters of 8, 8, 8 bytes", "declares 3 of 8, 8, 4"]);
    assert_eq!(record["details"]["findings"][0]["kind"], "declaration", "{record:#}");
    assert_eq!(record["details"]["findings"][0]["case"], "n=100");
    let repo = doubling(&[("\"double.cu\"", "\"other.cu\"")], DOUBLE);
    says(&judged_one(&repo), "fail", &["other.cu cannot be read"]);
    let repo = doubling(&[("\"double.cu\"", "\"link.cu\"")], DOUBLE);
    std::os::unix::fs::symlink("/etc/hostname", repo.path().join("link.cu")).expect("a link");
    says(&judged_one(&repo), "fail", &["link.cu leads out of its folder"]);
}

#[test]
fn an_input_that_does_not_fit_is_named() {
    let repo = doubling(&[("fill = \"normal(0, 1)\"", "file = \"x.npy\"")], DOUBLE);
    for bytes in [&b"not numpy"[..], b"\x93NUMPY\x01\x00"] {
        std::fs::write(repo.path().join("x.npy"), bytes).expect("a file");
        let record = judged_one(&repo);
        says(&record, "fail", &["declaration: case n=100: x: x.npy: "]);
        assert_eq!(record["details"]["findings"][0]["kind"], "declaration");
    }
}

#[test]
fn a_number_that_its_type_cannot_hold_is_refused_before_anything_runs() {
    let repo = doubling(&[("value = \"n\"", "value = \"n * 100000000\"")], DOUBLE);
    repo.commit("Kernels");
    repo.incident(&["trust", "--yes"]).expect(2).says("argument n: 10000000000 is no i32");
}

#[test]
fn a_refused_launch_says_its_geometry() {
    let record = judged_one(&doubling(&[("block = [64]", "block = [2048]")], DOUBLE));
    says(&record, "fail", &["launch: ", "block (2048, 1, 1), 0 bytes of shared memory"]);
    assert_eq!(record["details"]["findings"][0]["details"]["block"][0], 2048);
}

#[test]
fn outputs_that_are_zero_everywhere_try_nothing() {
    let repo = doubling(&[("normal(0, 1)", "constant(0)")], &DOUBLE.replace("2.0f * x[i]", "0.0f"));
    says(&judged_one(&repo), "inconclusive", &["too loose", "zeros (every output is zero everywhere)"]);
    // One case that is not zero is enough to tell.
    let repo =
        doubling(&[("normal(0, 1)", "integers(0, 1)"), ("n = 100", "n = 1\n[[gate.case]]\nn = 100")], DOUBLE);
    says(&judged_one(&repo), "pass", &[]);
}

#[test]
fn macros_of_one_letter_leave_the_emulator_alone() {
    let letters = "block = [64]\noptions = [\"-DA=1\", \"-DB=1\", \"-DC=1\", \"-DF=1\", \"-DI=1\", \"-DN=1\", \"-DT=2\"]\n";
    let source = DOUBLE.replace("2.0f *", "(float)(A * B * C * F * I * N * T) *");
    says(&judged_one(&doubling(&[("block = [64]\n", letters)], &source)), "pass", &[]);
}

#[test]
fn compilers_speak_in_the_lines() {
    let repo = doubling(&[], &DOUBLE.replace("x[i]", "missing[i]"));
    let record = judged_one(&repo);
    says(&record, "fail", &["compile: case n=100: double.cu does not compile"]);
    let lines = record["details"]["findings"][0]["lines"].to_string();
    assert!(lines.contains("missing") && lines.contains("double.cu"), "{lines}");
}

#[test]
fn another_process_may_see_other_bytes() {
    // Where its own code lies is the same for every launch of a process, and another in the next.
    let source = "__device__ float here;
extern \"C\" __global__ void run(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float shade = 5e-5f * (float)(((unsigned long long)&here >> 12) % 997) / 997.0f;
    if (i < n) out[i] = 2.0f * x[i] * (1.0f + shade);
}
";
    let tolerant = ("block = [64]\n", "block = [64]\natol = 1e-5\nrtol = 1e-4\n");
    let record = judged_one(&doubling(&[tolerant], source));
    says(&record, "fail", &["nondeterministic", "second process"]);
    let free = "block = [64]\natol = 1e-5\nrtol = 1e-4\ndeterministic = false\nnondeterministic-because = \"shades\"\n";
    says(&judged_one(&doubling(&[("block = [64]\n", free)], source)), "pass", &[]);
}

#[test]
fn every_type_goes_through() {
    for (dtype, kind) in [
        ("f64", "double"),
        ("f16", "__half"),
        ("bf16", "__nv_bfloat16"),
        ("i64", "long long"),
        ("u16", "unsigned short"),
        ("i8", "signed char"),
        ("bool", "bool"),
    ] {
        let source = format!(
            "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n{}",
            DOUBLE.replace("float", kind).replace("2.0f * x[i]", "x[i]").replace(".0f", "")
        );
        let repo = doubling(
            &[
                ("\"f32\"", &format!("\"{dtype}\"")),
                ("\"f32\"", &format!("\"{dtype}\"")),
                ("normal(0, 1)", "integers(0, 1)"),
            ],
            &source,
        );
        repo.write("right.cu", &source);
        says(&judged_one(&repo), "pass", &[]);
    }
}

#[test]
fn trust_shows_what_is_launched() {
    let repo = doubling(&[(REFERENCE, "reference = { run = \"python3 ref.py\" }")], DOUBLE);
    repo.write("ref.py", "print('reference of the gate')\n");
    repo.commit("Kernels");
    emulated(&repo, &["validate"]).expect(1).says("git incident trust");
    let shown = repo.incident(&["trust"]).expect(1);
    shown
        .says("launch run of double.cu")
        .says("double.cu  sha256")
        .says("python3 ref.py")
        .says("ref.py  sha256");
}
