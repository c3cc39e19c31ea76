//! Which workflows of `.github/workflows` a change sets off, or should.
//!
//! Read from the files alone: what branch protection requires, and what a workflow does once it runs,
//! is not known here and not claimed.

mod filter;
mod yaml;

use filter::Filter;
use yaml::Node;

/// Larger workflow files are not read (GitHub's own limit for one is 512 KiB).
const LARGEST: usize = 512 << 10;

/// A workflow that a change sets off, or whose triggers could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workflow {
    /// Its name, or its file's name when it has none.
    pub name: String,
    /// Its path.
    pub file: String,
    /// Whether branch protection asks for it. Files do not say, so [`recommend`] leaves it `false`;
    /// a caller who asked the forge may know better.
    pub required: bool,
    /// Why it is named, in one line.
    pub reason: String,
}

/// The workflows that the change of `changed` (paths from the top) concerns, in the order of
/// `workflows` (path, bytes). Total.
pub fn recommend(workflows: &[(String, Vec<u8>)], changed: &[String]) -> Vec<Workflow> {
    workflows
        .iter()
        .filter_map(|(file, bytes)| {
            let document = if bytes.len() > LARGEST {
                Node::Unknown
            } else {
                yaml::parse(&String::from_utf8_lossy(bytes))
            };
            let reason = reason(file, &document, changed)?;
            let stem = file.rsplit('/').next().unwrap_or(file);
            let name = document.get("name").and_then(Node::text).filter(|n| !n.trim().is_empty());
            Some(Workflow {
                name: name.unwrap_or(stem).to_owned(),
                file: file.clone(),
                required: false,
                reason,
            })
        })
        .collect()
}

/// Why a workflow is named; `None` when the change does not concern it.
fn reason(file: &str, document: &Node, changed: &[String]) -> Option<String> {
    if changed.iter().any(|path| path == file) {
        return Some("this change edits it".to_owned());
    }
    let unreadable = || Some("its triggers could not be read here: look before relying on it".to_owned());
    let Some(triggers) = document.get("on") else {
        return unreadable();
    };
    let events = match triggers {
        Node::Text(event) => vec![(event.as_str(), &Node::Empty)],
        Node::List(items) => items.iter().filter_map(|i| Some((i.text()?, &Node::Empty))).collect(),
        Node::Map(entries) => entries.iter().map(|(k, v)| (k.as_str(), v)).collect(),
        Node::Empty | Node::Unknown => return unreadable(),
    };
    let mut unknown = false;
    for wanted in ["pull_request", "pull_request_target", "push"] {
        let Some((_, settings)) = events.iter().find(|(event, _)| *event == wanted) else {
            continue;
        };
        match triggered(wanted, settings, changed) {
            Ok(Some(reason)) => return Some(reason),
            Ok(None) => {}
            Err(()) => unknown = true,
        }
    }
    unknown.then(unreadable).flatten()
}

/// Whether and why an event with its settings concerns the change; an error when they cannot be read.
fn triggered(event: &str, settings: &Node, changed: &[String]) -> Result<Option<String>, ()> {
    let what = if event == "push" { "pushes" } else { "pull requests" };
    if matches!(settings, Node::Unknown | Node::Text(_)) {
        return Err(());
    }
    let list = |key: &str| -> Result<Option<Vec<&str>>, ()> {
        match settings.get(key) {
            None => Ok(None),
            Some(Node::Text(one)) => Ok(Some(vec![one.as_str()])),
            Some(Node::List(items)) => {
                items.iter().map(|i| i.text().ok_or(())).collect::<Result<_, _>>().map(Some)
            }
            Some(_) => Err(()),
        }
    };
    let mut limits = String::new();
    for (key, label) in [("branches", "for the branches"), ("types", "on the activities")] {
        if let Some(values) = list(key)? {
            limits = format!("{limits}, {label} {}", values.join(", "));
        }
    }
    if let Some(patterns) = list("paths")? {
        let filter = Filter::new(&patterns).ok_or(())?;
        return Ok(changed
            .iter()
            .find(|path| filter.matches(path))
            .map(|path| format!("runs on {what} that touch {path}{limits}")));
    }
    if let Some(patterns) = list("paths-ignore")? {
        let filter = Filter::new(&patterns).ok_or(())?;
        return Ok(changed
            .iter()
            .find(|path| !filter.matches(path))
            .map(|path| format!("runs on {what} that touch more than it ignores, here {path}{limits}")));
    }
    if event == "push" && ["branches", "tags"].iter().any(|key| settings.get(key).is_some()) {
        // It runs after the merge or on a release, which is no check of this change.
        return Ok(None);
    }
    Ok(Some(format!("runs on all {what}{limits}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one(text: &str, changed: &[&str]) -> Option<Workflow> {
        let changed: Vec<String> = changed.iter().map(|p| (*p).to_owned()).collect();
        let files = [(".github/workflows/w.yml".to_owned(), text.as_bytes().to_vec())];
        recommend(&files, &changed).pop()
    }

    fn why(text: &str, changed: &[&str]) -> String {
        one(text, changed).map(|w| w.reason).unwrap_or_default()
    }

    #[test]
    fn every_spelling_of_triggers_is_read() {
        for text in [
            "on: pull_request\n",
            "on: [push, pull_request]\n",
            "name: All\n'on':\n  - push\n  - pull_request\njobs: {}\n",
            "\"on\":\n  pull_request:\n  push:\n    branches: [main]\n",
            "on: {pull_request: {}, workflow_dispatch: null}\n",
            "# c\non:\n  workflow_dispatch:\n    inputs:\n      x:\n        default: 'a: b'\n  pull_request: # all\n",
        ] {
            assert_eq!(why(text, &["a.c"]), "runs on all pull requests", "{text}");
        }
    }

    #[test]
    fn paths_decide() {
        let text = "name: GPU tests\non:\n  pull_request:\n    branches: [main]\n    paths:\n      - 'kernels/**'\n      - \"!**/*.md\"\n";
        let found = one(text, &["README.md", "kernels/softmax.cu"]).unwrap();
        assert_eq!(found.name, "GPU tests");
        assert_eq!(
            found.reason,
            "runs on pull requests that touch kernels/softmax.cu, for the branches main"
        );
        assert!(!found.required);
        assert_eq!(one(text, &["kernels/notes.md", "src/a.c"]), None);
    }

    #[test]
    fn ignored_paths_decide() {
        let text = "on:\n  push:\n    paths-ignore: ['docs/**', '**.md']\n";
        assert_eq!(one(text, &["docs/a/b.png", "x/README.md"]), None);
        assert!(why(text, &["docs/a.md", "src/a.c"]).contains("here src/a.c"));
    }

    #[test]
    fn what_does_not_check_a_change_is_left_out() {
        for text in [
            "on:\n  push:\n    tags: ['v*']\n",
            "on:\n  push:\n    branches: [main]\n",
            "on: workflow_dispatch\n",
            "on:\n  schedule:\n    - cron: '0 3 * * *'\n",
        ] {
            assert_eq!(one(text, &["a.c"]), None, "{text}");
        }
        assert_eq!(why("on: workflow_dispatch\n", &[".github/workflows/w.yml"]), "this change edits it");
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        for text in [
            "on: *default\n",
            "on:\n  pull_request: &x\n    paths: [a]\n",
            "on:\n  pull_request:\n    paths: ['[']\n",
            "",
            "\u{0}{{{",
        ] {
            assert!(why(text, &["a.c"]).contains("could not be read"), "{text:?}");
        }
        assert_eq!(one("", &["a.c"]).unwrap().name, "w.yml");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(raw in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = recommend(&[("w.yml".to_owned(), raw)], &["a.c".to_owned()]);
        }

        #[test]
        fn any_text_like_yaml_is_read(text in "(on|push|pull_request|paths|name|[ \n:,'\"#&*|>-]|[\\[\\]{}]){0,40}") {
            let _ = recommend(&[("w.yml".to_owned(), text.into_bytes())], &["a.c".to_owned()]);
        }
    }
}
