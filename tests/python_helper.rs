//! The helper for Python projects: what it promises, on numpy, and that its files are what readers of tensors expect.
//!
//! With `GIT_INCIDENT_TESTS_TORCH` set to an interpreter that has torch, the same is tried on torch (on the processor).

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use common::{Ran, Repo, finish, skipped};

const HELPER: &str = include_str!("../templates/git_incident_gate.py");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// An interpreter with numpy; `None` where none can be had, which is said.
fn python() -> Option<PathBuf> {
    static PYTHON: OnceLock<Option<PathBuf>> = OnceLock::new();
    PYTHON
        .get_or_init(|| {
            let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
            let ran = finish(Command::new(root().join("tests/python/install")).arg(place).output());
            if ran.status == 0 {
                return Some(PathBuf::from(ran.line()));
            }
            assert!(
                std::env::var_os("GIT_INCIDENT_TESTS_NEED_PYTHON").is_none(),
                "tests/python/install: {}",
                ran.stderr
            );
            skipped("numpy cannot be installed here: the Python helper was not tested");
            None
        })
        .clone()
}

fn logic(python: &Path, backend: &str) -> Ran {
    let mut command = Command::new(python);
    command.arg(root().join("tests/python/logic.py")).arg(root().join("templates")).arg(backend);
    finish(command.env("PYTHONDONTWRITEBYTECODE", "1").output())
}

#[test]
fn its_promises_hold_on_numpy() {
    let Some(python) = python() else { return };
    logic(&python, "numpy").expect(0).says("hold on numpy");
}

#[test]
fn its_promises_hold_on_torch() {
    match std::env::var_os("GIT_INCIDENT_TESTS_TORCH") {
        Some(python) => drop(logic(Path::new(&python), "torch").expect(0).says("hold on torch")),
        None => {
            skipped(
                "GIT_INCIDENT_TESTS_TORCH names no interpreter: the Python helper was not tried on torch",
            );
        }
    }
}

#[test]
fn its_files_are_safetensors() {
    let Some(python) = python() else { return };
    let scratch = tempfile::tempdir().expect("a folder");
    let script = "import numpy as np\nfrom git_incident_gate import Gate\ngate = Gate(backend='numpy')\n\
                  gate.check('small', lambda x: x * 2, lambda x: x + x, lambda: (np.arange(6, dtype='float32').reshape(2, 3),),\n\
                  \x20          seeds=(0, 7), baseline=lambda x: x)\ngate.finish()\n";
    let mut command = Command::new(python);
    command
        .args(["-B", "-c", script])
        .env("PYTHONPATH", root().join("templates"))
        .env("GATE_OUT", scratch.path());
    finish(command.output()).expect(0).says("2 cases written");
    for (case, seed) in [("small-seed0", "0"), ("small-seed7", "7")] {
        let bytes = std::fs::read(scratch.path().join(case).join("output.safetensors")).expect("the file");
        let file = safetensors::SafeTensors::deserialize(&bytes).expect("a safetensors file");
        let mut names = file.names();
        names.sort_unstable();
        assert_eq!(names, ["baseline", "candidate", "reference"]);
        let candidate = file.tensor("candidate").expect("the candidate");
        assert_eq!((candidate.dtype(), candidate.shape()), (safetensors::Dtype::F32, &[2, 3][..]));
        let expected: Vec<u8> = (0..6_u8).flat_map(|n| (f32::from(n) * 2.0).to_le_bytes()).collect();
        assert_eq!(candidate.data(), expected);
        let (_, metadata) = safetensors::SafeTensors::read_metadata(&bytes).expect("its header");
        let said = metadata.metadata().as_ref().expect("what was recorded");
        assert_eq!((said["case"].as_str(), said["seed"].as_str()), (case, seed));
    }
    let device =
        std::fs::read_to_string(scratch.path().join("git-incident-device.json")).expect("the report");
    let device: serde_json::Value = serde_json::from_str(&device).expect("JSON");
    assert_eq!(device["backend"], "cpu");
    assert!(device["pid"].as_u64().is_some() && device["uuid"].is_null());
}

#[test]
fn init_writes_it_and_overwrites_nothing() {
    let repo = Repo::new();
    repo.typed("init --python-helper").expect(0).says("wrote git_incident_gate.py");
    assert_eq!(repo.read("git_incident_gate.py"), HELPER);
    repo.typed("init --python-helper").expect(0).says("in place");
    std::fs::create_dir(repo.path().join("checks")).expect("a folder");
    repo.typed("init --python-helper checks").expect(0).says("wrote checks/git_incident_gate.py");
    repo.typed("init --python-helper tools/deep/gate.py").expect(0);
    assert_eq!(repo.read("tools/deep/gate.py"), HELPER);
    repo.write("mine.py", "print('mine')\n");
    repo.typed("init --python-helper mine.py").refuses(1).says("is not the helper of this version");
    assert_eq!(repo.read("mine.py"), "print('mine')\n");
    std::os::unix::fs::symlink("mine.py", repo.path().join("link.py")).expect("a link");
    repo.typed("init --python-helper link.py").refuses(1).says("is no regular file");
    let view = repo.view("init --python-helper again.py");
    assert_eq!((view["helper"].as_str(), view["written"].as_bool()), (Some("again.py"), Some(true)));
    // Nothing else was done: no hook, no setting.
    assert!(!repo.path().join(".git/hooks/pre-push").exists());
    repo.typed("init --help").expect(0).says("--python-helper");
    // A project that is no repository yet.
    let beside = repo.root().join("data");
    let mut outside = repo.at(&beside).command("git-incident");
    outside.args(["init", "--python-helper"]);
    finish(outside.output()).expect(0);
    assert!(beside.join("git_incident_gate.py").is_file());
}
