//! Programs whose writes fail, or that die, at a chosen point: `tests/faults/faults.c`, compiled by the first test
//! that needs it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use super::{Ran, Repo, finish};

/// The library for `LD_PRELOAD`.
///
/// # Panics
/// There is no C compiler, or it does not take the source.
pub fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let place = folder.join("faults.so");
        let own = folder.join(format!("faults-{}.so", std::process::id()));
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/faults.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-o"]).arg(&own).arg(source);
        let said = finish(compiler.output());
        assert_eq!(said.status, 0, "cc does not compile tests/faults/faults.c:\n{}", said.stderr);
        // Several test programs may be at it at once.
        std::fs::rename(&own, &place).expect("the library takes its place");
        place
    })
}

/// What a program did below the repository, and whether the chosen operation was reached.
#[derive(Debug)]
pub struct Traced {
    /// How it ended.
    pub ran: Ran,
    /// The words and paths of its operations, in order.
    pub operations: Vec<Vec<String>>,
    /// Whether the chosen operation was reached.
    pub hit: bool,
}

/// Runs a program in the repository, with a fault of this kind at its `at`-th operation (none for 0).
pub fn traced(repo: &Repo, program: &str, arguments: &[&str], fault: &str, at: usize) -> Traced {
    let log = repo.root().join("operations");
    let _ = std::fs::remove_file(&log);
    let mut command = repo.command(program);
    command
        .args(arguments)
        .env("LD_PRELOAD", library())
        .env("FAULTS_PROGRAM", program)
        .env("FAULTS_UNDER", format!("{}/", repo.path().display()))
        .env("FAULTS_DO", fault)
        .env("FAULTS_AT", at.to_string())
        .env("FAULTS_LOG", &log);
    let ran = finish(command.output());
    let text = std::fs::read_to_string(&log).unwrap_or_default();
    let all: Vec<Vec<String>> =
        text.lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect();
    let hit = all.iter().any(|words| words[0] == "hit");
    Traced { ran, operations: all.into_iter().filter(|words| words[0] != "hit").collect(), hit }
}

/// Every ref that a writer locks.
pub const LOCKED: [&str; 5] = [
    "refs/notes/incidents",
    "refs/notes/incidents-evidence",
    "refs/notes/incident-lines",
    "refs/incident/kept/ledger",
    "refs/incident/kept/evidence",
];

/// Makes the ref locks that a dead writer left look old: nobody waits ten seconds for each in a test.
pub fn age_locks(repo: &Repo) {
    let long_ago = SystemTime::now() - Duration::from_mins(1);
    for name in LOCKED {
        let lock = repo.path().join(format!(".git/{name}.lock"));
        if let Ok(file) = std::fs::File::options().write(true).open(lock) {
            file.set_modified(long_ago).expect("the time of a lock");
        }
    }
}

/// Numbers that look random and are the same in every run.
#[derive(Debug)]
pub struct Dice(pub u64);

impl Dice {
    /// A number below the limit.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }
}
