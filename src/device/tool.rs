//! What version of a tool is installed, in the tool's own words.

use super::bounded::{LIMIT, ask, on_path};
use super::{Tool, one_line};

/// The most tools that are asked; a longer list is a mistake in somebody's configuration.
const MOST: usize = 32;

/// A tool that does not answer to `--version`, or not on its first line.
struct Exception {
    name: &'static str,
    arguments: &'static [&'static str],
    /// The line wanted is the first that holds this word; the first line at all when empty.
    word: &'static str,
}

/// Sorted by name. Tools that print a banner first have a word, tools with other manners arguments.
const EXCEPTIONS: &[Exception] = &[
    Exception { name: "compute-sanitizer", arguments: &["--version"], word: "Version" },
    Exception { name: "cuobjdump", arguments: &["--version"], word: "release" },
    Exception { name: "ffmpeg", arguments: &["-version"], word: "" },
    Exception { name: "go", arguments: &["version"], word: "" },
    Exception { name: "helm", arguments: &["version", "--short"], word: "" },
    Exception { name: "java", arguments: &["-version"], word: "" },
    Exception { name: "javac", arguments: &["-version"], word: "" },
    Exception { name: "kubectl", arguments: &["version", "--client"], word: "" },
    Exception { name: "lua", arguments: &["-v"], word: "" },
    Exception { name: "ncu", arguments: &["--version"], word: "Version" },
    Exception { name: "nvcc", arguments: &["--version"], word: "release" },
    Exception { name: "nvdisasm", arguments: &["--version"], word: "release" },
    Exception { name: "openssl", arguments: &["version"], word: "" },
    Exception { name: "perl", arguments: &["--version"], word: "This is" },
    Exception { name: "ptxas", arguments: &["--version"], word: "release" },
    Exception { name: "ssh", arguments: &["-V"], word: "" },
    Exception { name: "terraform", arguments: &["version"], word: "" },
    Exception { name: "tmux", arguments: &["-V"], word: "" },
    Exception { name: "zig", arguments: &["version"], word: "" },
];

/// Asks every tool once, all at the same time.
pub(super) fn probe(names: &[String]) -> Vec<Tool> {
    let mut asked: Vec<&String> = Vec::new();
    for name in names {
        if !asked.contains(&name) && asked.len() < MOST {
            asked.push(name);
        }
    }
    std::thread::scope(|scope| {
        let answers: Vec<_> = asked.iter().map(|name| scope.spawn(|| version(name))).collect();
        let versions = answers.into_iter().map(|answer| answer.join().unwrap_or_default());
        asked.iter().zip(versions).map(|(name, version)| Tool { name: one_line(name), version }).collect()
    })
}

fn version(name: &str) -> Option<String> {
    if !is_bare_name(name) {
        return None;
    }
    let program = on_path(name)?;
    let exception = EXCEPTIONS.iter().find(|exception| exception.name == name);
    let arguments = exception.map_or(&["--version"][..], |exception| exception.arguments);
    let answer = ask(&program, arguments, LIMIT)?;
    version_line(&answer, exception.map_or("", |exception| exception.word))
}

/// Whether `name` can only mean a program on the path: letters, digits and `._+-`, no folder, and
/// nothing that a program would take for an option.
fn is_bare_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && !name.starts_with(['-', '.'])
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._+-".contains(&b))
}

/// The first line holding `word`, else the first line with anything on it.
fn version_line(answer: &str, word: &str) -> Option<String> {
    let mut lines = answer.lines().map(one_line).filter(|line| !line.is_empty());
    let first = lines.next()?;
    if word.is_empty() || first.contains(word) {
        return Some(first);
    }
    Some(lines.find(|line| line.contains(word)).unwrap_or(first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_banner_is_skipped() {
        let nvcc = "nvcc: NVIDIA (R) Cuda compiler driver\nCopyright (c) somebody\n\
                    Cuda compilation tools, release 12.4, V12.4.131\nBuild cuda_12.4\n";
        assert_eq!(
            version_line(nvcc, "release").as_deref(),
            Some("Cuda compilation tools, release 12.4, V12.4.131")
        );
    }

    #[test]
    fn the_first_line_that_says_something() {
        assert_eq!(
            version_line("\n\n  cmake version 3.31\nmore\n", "").as_deref(),
            Some("cmake version 3.31")
        );
        assert_eq!(version_line("tool 2\n", "release").as_deref(), Some("tool 2"), "the word is a wish");
        assert_eq!(version_line(" \n\n", ""), None);
        assert_eq!(version_line("\u{1b}[31mred\u{7} 1.0\n", "").as_deref(), Some("[31mred 1.0"));
    }

    #[test]
    fn only_bare_names_are_run() {
        for good in ["git", "clang++-18", "python3.12", "x86_64-linux-gnu-gcc"] {
            assert!(is_bare_name(good), "{good}");
        }
        for bad in ["", "./git", "/bin/sh", "a/b", "-rf", "..", ".", "a b", "git;id", "gït", "a\n"] {
            assert!(!is_bare_name(bad), "{bad}");
        }
    }

    #[test]
    fn exceptions_are_sorted_and_bare() {
        assert!(EXCEPTIONS.is_sorted_by(|a, b| a.name < b.name));
        assert!(EXCEPTIONS.iter().all(|exception| is_bare_name(exception.name)));
    }

    proptest! {
        #[test]
        fn any_answer_gives_a_line_or_none(answer in any::<String>(), word in "[a-z]{0,3}") {
            if let Some(line) = version_line(&answer, &word) {
                prop_assert!(!line.is_empty() && line.chars().count() <= 200);
            }
        }

        #[test]
        fn a_bare_name_never_leaves_its_folder(name in any::<String>()) {
            if is_bare_name(&name) {
                let joined = std::path::Path::new("/x").join(&name);
                prop_assert_eq!(joined.parent(), Some(std::path::Path::new("/x")));
            }
        }
    }
}
