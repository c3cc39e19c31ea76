//! The wall of the house: which module may use which, who may start processes, how long a file may be.
//!
//! When a rule here is in the way, the house is to be changed openly: in `docs/ARCHITECTURE.md`, in `src/lib.rs`
//! and here, in one commit that says why.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Rows from the ground up. A module may use its own files and rows above it (with a lower number); modules of
/// one row do not meet. Row 0 is a stair: each step may use those before it. The doors are one room.
const ROWS: &[(u32, &str)] = &[
    (0, "model"),
    (1, "event"),
    (2, "fold"),
    (10, "config"),
    (10, "document"),
    (10, "links"),
    (10, "redact"),
    (10, "report"),
    (10, "search"),
    (10, "validate"),
    (20, "git"),
    (30, "device"),
    (30, "forge"),
    (30, "runner"),
    (30, "store"),
    (40, "session"),
    (50, "cli"),
    (50, "hook"),
];

/// Modules that may start processes.
const MAY_SPAWN: &[&str] = &["git", "device", "runner"];

/// Nobody wants to read more at once.
const MOST_LINES: usize = 600;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(below: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![below.to_path_buf()];
    while let Some(directory) = todo.pop() {
        for entry in fs::read_dir(&directory).expect("the directory is there") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                todo.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The first part of a path below src: `src/git/notes.rs` is of `git`.
fn module_of(path: &Path) -> String {
    let below = path.strip_prefix(root().join("src")).expect("below src");
    let first = below.components().next().expect("a name").as_os_str().to_string_lossy().into_owned();
    first.trim_end_matches(".rs").to_owned()
}

/// Lines that are code of the program: comments and everything from a test module on left out.
fn code(path: &Path) -> Vec<(usize, String)> {
    let text = fs::read_to_string(path).expect("readable");
    let in_tests = path.file_name().is_some_and(|n| n == "tests.rs")
        || path.components().any(|c| c.as_os_str() == "tests");
    if in_tests {
        return Vec::new();
    }
    text.lines()
        .enumerate()
        .take_while(|(_, line)| !line.trim_start().starts_with("#[cfg(test)]"))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .map(|(n, line)| (n + 1, line.to_owned()))
        .collect()
}

/// Modules named after `crate::` in a line, also in `use crate::{a, b::c}`.
fn used(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in line.match_indices("crate::") {
        let rest = &line[at + 7..];
        if let Some(group) = rest.strip_prefix('{') {
            let mut depth = 0;
            let mut word = String::new();
            let mut taking = true;
            for c in group.chars() {
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => {
                        found.push(std::mem::take(&mut word));
                        taking = true;
                    }
                    ':' if depth == 0 => taking = false,
                    c if depth == 0 && taking && (c.is_alphanumeric() || c == '_') => word.push(c),
                    _ => {}
                }
            }
            found.push(word);
        } else {
            found.push(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
        }
    }
    found
}

#[test]
fn rows_hold() {
    let rows: BTreeMap<&str, u32> = ROWS.iter().map(|(row, name)| (*name, *row)).collect();
    let mut holes = Vec::new();
    for path in rust_files(&root().join("src")) {
        let own = module_of(&path);
        let Some(own_row) = rows.get(own.as_str()) else {
            assert!(own == "lib" || own == "main", "{} stands in no row", path.display());
            continue;
        };
        for (line, text) in code(&path) {
            for other in used(&text) {
                let Some(row) = rows.get(other.as_str()) else {
                    continue;
                };
                let doors = *own_row == 50 && *row == 50;
                if other != own && row >= own_row && !doors {
                    holes.push(format!("{}:{line}: {own} uses {other}", path.display()));
                }
            }
        }
    }
    assert!(holes.is_empty(), "holes in the wall:\n{}", holes.join("\n"));
}

#[test]
fn only_some_modules_start_processes() {
    let mut found = Vec::new();
    for path in rust_files(&root().join("src")) {
        let own = module_of(&path);
        if MAY_SPAWN.contains(&own.as_str()) {
            continue;
        }
        for (line, text) in code(&path) {
            if text.contains("process::Command")
                || text.contains("Command::new(") && !text.contains("runner::Command::new(")
            {
                found.push(format!("{}:{line}: {}", path.display(), text.trim()));
            }
        }
    }
    assert!(found.is_empty(), "processes started outside of {MAY_SPAWN:?}:\n{}", found.join("\n"));
}

#[test]
fn files_stay_readable() {
    let mut long = Vec::new();
    for folder in ["src", "tests"] {
        for path in rust_files(&root().join(folder)) {
            let lines = fs::read_to_string(&path).expect("readable").lines().count();
            if lines > MOST_LINES && !path.components().any(|c| c.as_os_str() == "target") {
                long.push(format!("{}: {lines} lines", path.display()));
            }
        }
    }
    assert!(long.is_empty(), "files past {MOST_LINES} lines:\n{}", long.join("\n"));
}

#[test]
fn every_subcommand_is_documented() {
    use clap::CommandFactory;
    let readme = fs::read_to_string(root().join("README.md")).expect("README.md");
    for command in git_incident::cli::Cli::command().get_subcommands().filter(|c| !c.is_hide_set()) {
        let name = command.get_name();
        assert!(
            readme.contains(&format!("`{name}`")) || readme.contains(&format!("`{name} ")),
            "README.md does not name `{name}`"
        );
        assert!(command.get_about().is_some(), "{name} has no help");
    }
}

/// The one module that asks anything of GitHub.
const REQUESTS: &str = "src/forge/routes.rs";

#[test]
fn nothing_merges_or_approves() {
    // No code path merges, closes, approves or un-drafts a pull request. The words of such a request must not
    // appear anywhere, however it would be sent.
    for path in rust_files(&root().join("src")) {
        for (line, text) in code(&path) {
            // An option of ours says that a person read a repro command; that is no pull request's.
            let text = text.to_lowercase().replace(' ', "").replace("reprorun--approve", "");
            for word in [
                "/merge\"",
                "/merge`",
                ".merge(",
                "mergepullrequest(",
                "automerge",
                "ready_for_review",
                "readyforreview",
                "approve\"",
                "graphql",
                "/reviews",
                "\"draft\":false",
                "draft(false",
                "\"state\":\"",
                "/merges",
                "/update-branch",
            ] {
                // `git notes` and sets of events are united, too; those words are not a forge's.
                let ours = word == ".merge(" && !text.contains("pull");
                assert!(ours || !text.contains(word), "{}:{line}: {word}", path.display());
            }
        }
    }
}

#[test]
fn one_module_asks_github() {
    // Neither the client nor a path of the API is named anywhere else, nor any other way to the network.
    let mut found = Vec::new();
    for path in rust_files(&root().join("src")) {
        if path == root().join(REQUESTS) {
            continue;
        }
        for (line, text) in code(&path) {
            for word in [
                "octocrab",
                "\"/repos",
                "\"/user",
                "\"/pulls",
                "\"/issues",
                "\"/orgs",
                "hyper::",
                "reqwest",
                "TcpStream",
                "http_body_util",
                "tokio::",
                "\"curl\"",
                "[\"api\",",
            ] {
                if text.contains(word) {
                    found.push(format!("{}:{line}: {word}", path.display()));
                }
            }
        }
    }
    assert!(found.is_empty(), "only {REQUESTS} talks to GitHub:\n{}", found.join("\n"));
    // It sends through one function, and that one holds the request against the list first.
    let text = fs::read_to_string(root().join(REQUESTS)).expect("readable");
    for (call, times) in [("._get(", 1), ("._post(", 1), ("._patch(", 1), ("request.permitted()", 1)] {
        assert_eq!(text.matches(call).count(), times, "{call} in {REQUESTS}");
    }
    for other in ["._put(", "._delete(", ".pulls(", ".execute(", ".graphql("] {
        assert!(!text.contains(other), "{other} in {REQUESTS}");
    }
    let send = text.find("pub fn send(").expect("the function that sends");
    let checked = text[send..].find("request.permitted()").expect("it looks");
    let sent = text[send..].find("self.exchange(").expect("and sends");
    assert!(checked < sent, "it looks before it sends");
}

#[test]
fn the_requests_are_those_that_were_agreed_on() {
    // A new one is a decision: it is written into tests/github/routes.txt and docs/SECURITY.md as well.
    let agreed = fs::read_to_string(root().join("tests/github/routes.txt")).expect("the list");
    let agreed: Vec<&str> = agreed.lines().filter(|l| !l.is_empty() && !l.starts_with('#')).collect();
    let mut routes: Vec<String> = Vec::new();
    for route in git_incident::forge::routes::ALLOWED {
        routes.push(format!("{} {}", route.method, route.path));
        let writes = route.method != git_incident::forge::routes::Method::Get;
        assert_eq!(writes, !route.body.is_empty(), "{route:?}");
        for never in ["state", "event", "merge_method", "maintainer_can_modify", "issue"] {
            assert!(!route.body.contains(&never), "{route:?}");
        }
        // Where it goes and what it is called are set once, when a draft is opened.
        let opens = route.body.contains(&"draft");
        assert!(opens || !route.body.contains(&"base") && !route.body.contains(&"title"), "{route:?}");
    }
    let mut sorted = (agreed.iter().map(|r| (*r).to_owned()).collect::<Vec<_>>(), routes);
    sorted.0.sort();
    sorted.1.sort();
    assert_eq!(sorted.0, sorted.1);
    assert!(
        agreed
            .iter()
            .all(|r| !r.contains("merge") && !r.contains("review") || r.ends_with("/requested_reviewers"))
    );
}

#[test]
fn the_used_modules_are_read_right() {
    assert_eq!(used("use crate::model::{Error, Oid};"), ["model"]);
    assert_eq!(used("use crate::{git::Repo, store::{ledger, guard}, model};"), ["git", "store", "model"]);
    assert_eq!(used("let x = crate::runner::run(&c);"), ["runner"]);
}
