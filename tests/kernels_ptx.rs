//! The committed PTX is what the pinned compiler makes of the kernels, byte for byte, and no device spills.
//!
//! The tools come from Python's package index. Where that cannot be reached nothing is checked, and this says so; where
//! `GIT_INCIDENT_TESTS_NEED_CUDA_TOOLS` is set, that is a failure.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

/// What the scripts exit with where their tools cannot be had.
const UNAVAILABLE: i32 = 75;

/// Runs a script of `kernels/`; what it printed, or nothing where its tools cannot be had.
fn run(script: &str, arguments: &[&str]) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels").join(script);
    let ran = Command::new(path)
        .args(arguments)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("python3 starts");
    let (out, error) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    if ran.status.code() == Some(UNAVAILABLE) {
        assert!(std::env::var_os("GIT_INCIDENT_TESTS_NEED_CUDA_TOOLS").is_none(), "{error}");
        // Past the capture of output, so that it is seen.
        let _ =
            writeln!(std::io::stderr(), "SKIPPED: kernels/{script}: its tools cannot be had here\n{error}");
        return None;
    }
    assert!(ran.status.success(), "kernels/{script}:\n{out}\n{error}");
    Some(out.into_owned())
}

#[test]
fn the_ptx_is_what_the_compiler_makes() {
    if let Some(said) = run("build", &["--check"]) {
        assert!(said.contains("kernels: PTX is as committed"), "{said}");
    }
}

#[test]
fn nothing_spills() {
    if let Some(said) = run("assemble", &[]) {
        for device in ["sm_80", "sm_90", "sm_100"] {
            assert!(said.lines().filter(|l| l.starts_with(device)).count() >= 31, "{said}");
        }
        assert!(said.contains("without spills"), "{said}");
    }
}

#[test]
fn the_ptx_runs_on_old_drivers_and_names_no_place() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/ptx");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("kernels/ptx") {
        let path = entry.expect("a file").path();
        let text = std::fs::read_to_string(&path).expect("text");
        assert!(text.contains(".version 8.0\n") && text.contains(".target sm_75\n"), "{}", path.display());
        for word in
            [".file", "/home", "/root", "/tmp", "/work", "fma.rn.f32", ".ftz", "div.full", "div.approx"]
        {
            assert!(!text.contains(word), "{word} in {}", path.display());
        }
        count += 1;
    }
    assert_eq!(count, 4);
}
