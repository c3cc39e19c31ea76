//! The emulated CUDA device, built once for each target directory.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Where its libraries lie: what `LD_LIBRARY_PATH` has to name for a program that is to find them.
pub fn folder() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulator");
        build(&folder, &[]);
        folder
    })
}

/// One that lacks what a driver for CUDA 12 lacks.
pub fn old() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulator-old");
    build(&folder, &["--old"]);
    folder
}

fn build(folder: &Path, options: &[&str]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/emulator/build");
    let ran = Command::new(script).arg(folder).args(options).output().expect("tests/emulator/build starts");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// Has a program find the emulated device.
pub fn on(command: &mut Command) -> &mut Command {
    command.env("LD_LIBRARY_PATH", folder())
}
