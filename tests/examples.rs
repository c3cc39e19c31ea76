//! The projects of docs/examples: their gates fail before the fix and pass after it, as far as that can be tried without
//! a GPU.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use common::{Ran, Repo, finish, skipped};
use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn example(name: &str) -> PathBuf {
    root().join("docs/examples").join(name)
}

/// A tool that a script of the tests installs; `None` where it cannot, which is said.
fn installed(script: &str, place: &str, must: &str) -> Option<PathBuf> {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(place);
    let ran = finish(Command::new(root().join(script)).arg(place).output());
    if ran.status == 0 {
        return Some(PathBuf::from(ran.line()));
    }
    assert!(std::env::var_os(must).is_none(), "{script}: {}", ran.stderr);
    skipped(&format!("{script} cannot install here: a part of docs/examples was not tried"));
    None
}

fn python() -> Option<PathBuf> {
    static PLACE: OnceLock<Option<PathBuf>> = OnceLock::new();
    PLACE
        .get_or_init(|| installed("tests/python/install", "python", "GIT_INCIDENT_TESTS_NEED_PYTHON"))
        .clone()
}

/// A repository with the files of an example.
fn copied(name: &str) -> Repo {
    let repo = Repo::new();
    for entry in std::fs::read_dir(example(name)).expect("the example") {
        let path = entry.expect("an entry").path();
        let file = path.file_name().expect("a name").to_string_lossy().into_owned();
        repo.write(&file, &std::fs::read_to_string(&path).expect("a text"));
    }
    repo
}

/// The one gate of an example's configuration, with its arguments and cases.
fn only(repo: &Repo, id: &str) -> String {
    let all = repo.read(".git-incident.toml");
    let mut gates = all.split("[[gate]]\n").skip(1);
    let gate = gates.find(|gate| gate.contains(&format!("id = \"{id}\""))).expect("the gate");
    // What follows belongs to the next gate.
    let end = gate.rfind("\n# ").unwrap_or(gate.len());
    format!("[[gate]]\n{}\n", &gate[..end])
}

fn judge(repo: &Repo, gate: &str, environment: &[(&str, &Path)]) -> (Ran, Value) {
    repo.commit("State");
    repo.incident(&["trust", "--yes"]).expect(0);
    let mut command = repo.command("git-incident");
    command.envs(environment.iter().map(|(name, path)| (*name, path.as_os_str())));
    let ran = finish(command.args(["--json", "validate", "--gate", gate]).output());
    let record = ran.json()["records"][0].clone();
    (ran, record)
}

fn fix(repo: &Repo) {
    repo.git(&["apply", "fix.patch"]);
    repo.git(&["rm", "-q", "--cached", "fix.patch"]);
}

#[test]
fn the_cuda_build_passes_its_limits_before_and_after() {
    let Some(bin) = installed("tests/python/cuda", "cuda", "GIT_INCIDENT_TESTS_NEED_CUDA_TOOLS") else {
        return;
    };
    let repo = copied("reduction-cuda");
    // nvcc finds its parts beside itself, and not beside a link to it.
    let nvcc = repo.root().join("bin/nvcc");
    std::fs::write(&nvcc, format!("#!/bin/sh\nexec '{}' \"$@\"\n", bin.join("nvcc").display()))
        .expect("a program");
    std::fs::set_permissions(&nvcc, std::fs::Permissions::from_mode(0o755)).expect("that runs");
    let gate = only(&repo, "reduce-build");
    repo.write(".git-incident.toml", &gate);
    let (ran, record) = judge(&repo, "reduce-build", &[]);
    assert_eq!(record["verdict"], "pass", "{record}\n{}", ran.stderr);
    let kernel = &record["details"]["kernels"][0];
    assert_eq!((kernel["name"].as_str(), kernel["shared_bytes"].as_u64()), (Some("reduce_sum"), Some(1024)));
    fix(&repo);
    assert_eq!(judge(&repo, "reduce-build", &[]).1["verdict"], "pass");
    // Half of what it needs, and it says what it needs.
    repo.write(".git-incident.toml", &gate.replace("\"1KiB\"", "512"));
    let (_, record) = judge(&repo, "reduce-build", &[]);
    assert_eq!(record["verdict"], "fail");
    assert_eq!(record["reason"], "reduce_sum (sm_90): 1024 bytes of shared memory, limit 512");
}

#[test]
fn the_cuda_sums_are_wrong_before_the_fix_and_right_after_it() {
    let build = root().join("tests/emulator/build");
    if !build.is_file() {
        return skipped("this tree has no emulated device: the kernel gate of docs/examples was not tried");
    }
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulator");
    finish(Command::new(build).arg(&place).output()).expect(0);
    let repo = copied("reduction-cuda");
    // The one change: the device that is emulated says what it is.
    let gate = only(&repo, "reduce-sums").replace("device = \"cuda\"", "device = \"emulated\"");
    assert!(gate.contains("[[gate.case]]\nname = \"tail\""), "{gate}");
    repo.write(".git-incident.toml", &gate);
    let emulated = [("LD_LIBRARY_PATH", place.as_path())];
    let (_, before) = judge(&repo, "reduce-sums", &emulated);
    assert_eq!(before["verdict"], "fail", "{before}");
    fix(&repo);
    let (ran, after) = judge(&repo, "reduce-sums", &emulated);
    assert_eq!(after["verdict"], "pass", "{after}\n{}", ran.stderr);
    assert!(after["device"].as_str().expect("a device").contains("emulated"), "{after}");
}

#[test]
fn the_triton_rows_are_wrong_before_the_fix_and_right_after_it() {
    let Some(python) = python() else { return };
    let repo = copied("reduction-triton");
    let out = repo.root().join("out");
    std::fs::create_dir(&out).expect("a folder");
    let run = |more: &[&str], python: &Path| {
        let mut command = repo.command(python);
        command.env("GATE_OUT", &out).arg(root().join("tests/python/example.py"));
        finish(command.arg(repo.path()).arg(root().join("templates")).args(more).output())
    };
    let torch = std::env::var_os("GIT_INCIDENT_TESTS_TORCH").map(PathBuf::from);
    run(&[], &python).expect(1).says("case tail-seed1: stage sums: run 2 differs from run 1");
    if let Some(torch) = &torch {
        run(&["torch"], torch).expect(1).says("run 2 differs from run 1");
    }
    assert!(!out.join("tail-seed1").exists());
    repo.git(&["apply", "fix.patch"]);
    run(&[], &python).expect(0).says("6 cases written");
    match torch {
        Some(torch) => drop(run(&["torch"], &torch).expect(0).says("9 cases written")),
        None => skipped("GIT_INCIDENT_TESTS_TORCH names no interpreter: check.py itself was not run"),
    }
}

/// The example's own gate, on the stand-in for Triton: what it runs and where are the only changes.
#[test]
fn the_triton_gate_compares_what_the_helper_left() {
    let Some(python) = python() else { return };
    let repo = copied("reduction-triton");
    repo.write(
        "git_incident_gate.py",
        &std::fs::read_to_string(root().join("templates/git_incident_gate.py")).expect("it"),
    );
    let run = format!("{} {} . .", python.display(), root().join("tests/python/example.py").display());
    let gate = only(&repo, "row-sums").replace("python3 check.py", &run).replace("device = \"cuda\"\n", "");
    assert!(gate.contains(&run) && !gate.contains("cuda"), "{gate}");
    repo.write(".git-incident.toml", &gate);
    let (ran, before) = judge(&repo, "row-sums", &[]);
    assert_eq!(
        (before["verdict"].as_str(), before["reason"].as_str()),
        (Some("fail"), Some("exit status 1"))
    );
    ran.says("run 2 differs from run 1");
    fix(&repo);
    let (ran, after) = judge(&repo, "row-sums", &[]);
    assert_eq!(after["verdict"], "pass", "{after}\n{}", ran.stderr);
}

#[test]
fn the_triton_files_are_python() {
    let Some(python) = python() else { return };
    for file in ["check.py", "reduce.py"] {
        let code = format!("compile(open({file:?}).read(), {file:?}, 'exec')");
        let mut command = Command::new(&python);
        finish(command.args(["-c", &code]).current_dir(example("reduction-triton")).output()).expect(0);
    }
}

#[test]
fn what_the_readmes_name_is_there() {
    for name in ["reduction-cuda", "reduction-triton"] {
        let repo = copied(name);
        repo.git(&["apply", "--check", "fix.patch"]);
        let readme = repo.read("README.md");
        for entry in std::fs::read_dir(example(name)).expect("the example") {
            let file = entry.expect("an entry").file_name().to_string_lossy().into_owned();
            assert!(file == "README.md" || readme.contains(&format!("`{file}`")), "{name}: {file}");
        }
        let configuration = repo.read(".git-incident.toml");
        for line in configuration.lines().filter_map(|line| line.strip_prefix("id = ")) {
            assert!(readme.contains(line.trim_matches('"')), "{name}: {line}");
        }
    }
}
