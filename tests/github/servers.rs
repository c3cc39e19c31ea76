//! Prism with GitHub's own API description, started once per test program.

#![allow(unreachable_pub, reason = "`pub` says what the tests may use")]

use std::io::{BufRead, BufReader, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

fn script() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/github/start")
}

/// The script, looking where `tests/run` put things.
fn start(arguments: &[&str]) -> Command {
    let mut command = Command::new(script());
    command.args(arguments);
    if std::env::var_os("CARGO_TARGET_DIR").is_none() {
        let target = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("target");
        command.env("CARGO_TARGET_DIR", target);
    }
    command
}

/// Where the description is; `None`, loudly, when it was not installed.
pub fn description() -> Option<PathBuf> {
    let out = start(&["where"]).output().expect("the script starts");
    if out.status.success() {
        let place = String::from_utf8(out.stdout).expect("UTF-8");
        return Some(PathBuf::from(place.trim()).join("github.json"));
    }
    assert!(
        std::env::var_os("GIT_INCIDENT_TESTS_NEED_GITHUB").is_none(),
        "GitHub's API description is not installed: tests/github/start install"
    );
    crate::common::skipped(
        "GitHub's own API description is not installed, so requests are not held to it: tests/github/start install",
    );
    None
}

/// A server; it ends with this program, when the pipe to it closes.
pub struct Prism {
    /// Its address.
    pub address: String,
    child: Child,
}

impl Prism {
    /// Answers with the description's own examples.
    pub fn mock() -> Self {
        Self::start("mock", None)
    }

    /// Holds everything that goes to and comes from a server to the description.
    pub fn proxy(upstream: &str) -> Self {
        Self::start("proxy", Some(upstream))
    }

    fn start(mode: &str, upstream: Option<&str>) -> Self {
        let port = {
            let free = TcpListener::bind("127.0.0.1:0").expect("a port");
            free.local_addr().expect("its address").port().to_string()
        };
        let mut command = start(&[mode, &port]);
        command.args(upstream).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("the script starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
        let mut said = Vec::new();
        let ready = |line: &String| line.contains("Prism is listening");
        said.extend(lines.by_ref().take_while(|line| !ready(line)));
        // Without a line there is no server any more, and then there is an exit status.
        if let Ok(Some(status)) = child.try_wait() {
            panic!("Prism did not start ({status}):\n{}", said.join("\n"));
        }
        // GitHub's own examples break its description here and there; what we send and answer must not. And what it
        // says must be read, or it would wait for that.
        let told = upstream.is_some();
        std::thread::spawn(move || {
            for line in lines.filter(|line| told && line.contains("Violation")) {
                // Not eprintln!: which test it belongs to is not known here.
                let _ = writeln!(std::io::stderr(), "{line}");
            }
        });
        Self { address: format!("http://127.0.0.1:{port}"), child }
    }
}

impl Drop for Prism {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
