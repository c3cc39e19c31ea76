//! Sentences for people who do not read code: names of products, tickets and pull requests stay; functions, paths,
//! commits, line numbers and code go.

use std::ops::Range;

use super::super::page::{Prose, SpanKind};
use super::super::render::tree::tame;
use super::system;

/// A sentence that says what it says without code; `None` when it cannot.
///
/// Round brackets with code in them are taken out whole: what stands in them is an aside. Anything else that is code
/// would leave a hole, and whoever fills it must know what is meant.
pub(super) fn plain(prose: &Prose, sentence: Range<usize>) -> Option<String> {
    let text = prose.text.get(sentence.clone())?;
    let mut code = vec![false; text.len()];
    for span in prose.spans.iter().filter(|s| s.kind == SpanKind::Code) {
        let from = span.plain.start.clamp(sentence.start, sentence.end) - sentence.start;
        let to = span.plain.end.clamp(sentence.start, sentence.end) - sentence.start;
        code[from..to].fill(true);
    }
    mark(text, &mut code);
    if sentence_is_code(text) {
        return None;
    }
    let cut = without_asides(text, &code);
    let tidy = tidied(&tame(&cut?));
    let words = tidy.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).count();
    // Taking an aside out may have joined what was apart.
    (words >= 2 && !holds_code(&tidy)).then_some(tidy)
}

/// Whether a text holds anything that is code, marked as such or not.
pub fn holds_code(text: &str) -> bool {
    let mut code = vec![false; text.len()];
    mark(text, &mut code);
    sentence_is_code(text) || code.contains(&true)
}

/// What is left when brackets that hold code are gone; `None` when code is left.
fn without_asides(text: &str, code: &[bool]) -> Option<String> {
    let mut gone = vec![false; text.len()];
    let mut open: Vec<usize> = Vec::new();
    for (at, c) in text.char_indices().filter(|(at, _)| !code[*at]) {
        match c {
            '(' => open.push(at),
            ')' => {
                if let Some(start) = open.pop()
                    && code[start..at].contains(&true)
                {
                    gone[start..=at].fill(true);
                }
            }
            _ => {}
        }
    }
    if code.iter().zip(&gone).any(|(code, gone)| *code && !*gone) {
        return None;
    }
    Some(text.char_indices().filter(|(at, _)| !gone[*at]).map(|(_, c)| c).collect())
}

fn tidied(text: &str) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    [(" .", "."), (" ,", ","), (" ;", ";"), (" :", ":"), (" !", "!"), (" ?", "?")]
        .into_iter()
        .fold(joined, |t, (from, to)| t.replace(from, to))
        .trim_start_matches([',', ';', '.', ' '])
        .to_owned()
}

/// Operators that only code has.
fn sentence_is_code(text: &str) -> bool {
    ["::", "->", "=>", "==", "!=", "&&", "||", "()", "{", "}", "`", "\\", "</", "<<<"]
        .iter()
        .any(|o| text.contains(o))
        || QUERIES
            .iter()
            .any(|(verb, object)| text.find(verb).is_some_and(|at| text[at + verb.len()..].contains(object)))
}

/// Words of SQL that follow each other.
const QUERIES: &[(&str, &str)] = &[
    ("SELECT ", "FROM "),
    ("INSERT ", "INTO "),
    ("DELETE ", "FROM "),
    ("UPDATE ", "SET "),
    ("ALTER ", "TABLE "),
    ("CREATE ", "TABLE "),
    ("DROP ", "TABLE "),
];

/// Commands of git that are no everyday words behind its name.
const GIT: &[&str] = &[
    "revert",
    "bisect",
    "rebase",
    "push",
    "pull",
    "checkout",
    "reset",
    "cherry-pick",
    "merge",
    "stash",
    "log",
    "diff",
    "clone",
    "fetch",
    "blame",
    "show",
    "grep",
    "worktree",
];

/// Marks the words that are code.
fn mark(text: &str, code: &mut [bool]) {
    let mut before = "";
    let mut last: Option<Range<usize>> = None;
    for word in words(text) {
        let bare = &text[word.clone()];
        let line = bare.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | '–'))
            && bare.starts_with(|c: char| c.is_ascii_digit())
            && matches!(before.to_ascii_lowercase().as_str(), "line" | "lines" | "ln");
        let commit =
            matches!(before.to_ascii_lowercase().as_str(), "commit" | "sha" | "revision" | "changeset")
                && bare.len() >= 7
                && bare.bytes().all(|b| b.is_ascii_hexdigit());
        let git = before == "git" && GIT.contains(&bare);
        if line || commit || git || is_code(bare) {
            code[word.clone()].fill(true);
            if line && let Some(last) = last {
                code[last].fill(true);
            }
        }
        before = bare;
        last = Some(word);
    }
}

/// Words, without the punctuation around them.
fn words(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = None;
    let ends = text.char_indices().map(|(at, c)| (at, c.is_whitespace() || "()[]\"“”‘,;<>|".contains(c)));
    for (at, between) in ends.chain([(text.len(), true)]) {
        match (start, between) {
            (None, false) => start = Some(at),
            (Some(from), true) => {
                let word = &text[from..at];
                let trimmed = word.trim_end_matches(['.', ':', '!', '?', '\'', '’', '*', '…']);
                let lead = trimmed.len() - trimmed.trim_start_matches(['\'', '’', '*']).len();
                if trimmed.len() > lead {
                    found.push(from + lead..from + trimmed.len());
                }
                start = None;
            }
            _ => {}
        }
    }
    found
}

/// Whether a word is code by its own look.
fn is_code(word: &str) -> bool {
    let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
    is_hash(word) || is_path(word) || is_name(word) || is_tag(word) || is_line(word) || system::is_term(word)
}

/// Digits of an object: 7 to 64 hexadecimal ones, letters and figures among them.
fn is_hash(word: &str) -> bool {
    let hash = |part: &str| {
        (7..=64).contains(&part.len())
            && part.bytes().all(|b| b.is_ascii_hexdigit())
            && part.bytes().any(|b| b.is_ascii_digit())
            && part.bytes().any(|b| b.is_ascii_alphabetic())
    };
    word.split(|c: char| !c.is_ascii_alphanumeric()).any(hash)
}

/// `DBG-` and letters or digits: what instrumentation leaves in code.
fn is_tag(word: &str) -> bool {
    word.strip_prefix("DBG-").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// `L12`, `L12-L20`, `:12`, `x:12`: lines of a file. A time of day is none.
fn is_line(word: &str) -> bool {
    let number = |w: &str| !w.is_empty() && w.bytes().all(|b| b.is_ascii_digit());
    let marked = word.split(['-', '–']).all(|part| part.strip_prefix('L').is_some_and(number));
    let after = word.rsplit_once(':').is_some_and(|(file, line)| {
        number(line) && !file.chars().all(|c| c.is_ascii_digit() || matches!(c, ':' | '-' | 'T'))
    });
    marked || after
}

/// Endings of files that hold code, configuration or data.
const ENDINGS: &[&str] = &[
    "rs",
    "py",
    "pyx",
    "c",
    "h",
    "cc",
    "cpp",
    "cxx",
    "hpp",
    "cu",
    "cuh",
    "hip",
    "go",
    "js",
    "ts",
    "tsx",
    "jsx",
    "mjs",
    "java",
    "kt",
    "rb",
    "php",
    "sh",
    "bash",
    "md",
    "toml",
    "yaml",
    "yml",
    "json",
    "txt",
    "log",
    "npy",
    "npz",
    "cfg",
    "conf",
    "ini",
    "lock",
    "sql",
    "html",
    "css",
    "proto",
    "tf",
    "lua",
    "swift",
    "scala",
    "ex",
    "erl",
    "hs",
    "ml",
    "cs",
    "vue",
    "xml",
    "csv",
    "patch",
    "diff",
    "so",
    "dll",
    "pt",
    "onnx",
    "safetensors",
    "env",
    "mk",
    "cmake",
];

/// First parts of paths within repositories and machines.
const FOLDERS: &[&str] = &[
    "src",
    "lib",
    "libs",
    "doc",
    "docs",
    "test",
    "tests",
    "bin",
    "include",
    "kernels",
    "bench",
    "benches",
    "scripts",
    "cmd",
    "pkg",
    "internal",
    "tools",
    "etc",
    "usr",
    "var",
    "tmp",
    "home",
    "opt",
    "app",
    "apps",
    "api",
    "refs",
    "crates",
    "packages",
    "modules",
    "config",
    "hooks",
    "templates",
    "vendor",
    "build",
    "target",
    "deploy",
    "infra",
];

fn is_path(word: &str) -> bool {
    if is_tracker(word) {
        return false;
    }
    if word.contains("://") {
        return true;
    }
    let file = word.rsplit('/').next().unwrap_or_default();
    // The version of a shared library: `libz.so.1.3`.
    let file = match file.find(".so.") {
        Some(at) if file[at + 4..].bytes().all(|b| b.is_ascii_digit() || b == b'.') => &file[..at + 3],
        _ => file,
    };
    let ended = file.rsplit_once('.').is_some_and(|(name, ending)| {
        let product = name.starts_with(char::is_uppercase) && matches!(ending, "js" | "ai" | "io" | "md");
        !name.is_empty() && !product && ENDINGS.contains(&ending.to_ascii_lowercase().as_str())
    });
    let parts: Vec<&str> = word.split('/').collect();
    let rooted = word.len() > 1
        && (word.starts_with('/')
            || word.starts_with("./")
            || word.starts_with("../")
            || word.starts_with("~/"));
    let dated = parts.iter().all(|p| p.bytes().all(|b| b.is_ascii_digit()));
    ended
        || rooted
        || parts.len() > 2 && !dated
        || parts.len() == 2 && (FOLDERS.contains(&parts[0]) || parts[1].is_empty() && parts[0].len() > 1)
}

/// `org/repo#12`, and the addresses of issues and pull requests: names that readers of any kind can follow.
fn is_tracker(word: &str) -> bool {
    let number = |w: &str| !w.is_empty() && w.bytes().all(|b| b.is_ascii_digit());
    let name = |w: &str| !w.is_empty() && w.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b));
    if let Some((repository, issue)) = word.split_once('#') {
        return number(issue) && repository.split('/').count() <= 2 && repository.split('/').all(name);
    }
    let Some(rest) = word.strip_prefix("https://") else {
        return false;
    };
    let mut parts = rest.rsplit('/');
    let (last, kind) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let key =
        last.split_once('-').is_some_and(|(k, n)| k.bytes().all(|b| b.is_ascii_uppercase()) && number(n));
    matches!(kind, "pull" | "issues" | "merge_requests") && number(last) && parts.all(name)
        || kind == "browse" && key && rest.split('/').count() == 3
}

/// How names in code begin; and how they end.
const HEADS: &[&str] = &[
    "get", "set", "is", "has", "num", "max", "min", "init", "launch", "device", "host", "scratch", "on",
    "handle", "make", "create", "read", "write", "send", "recv", "wait", "sync", "async", "load", "store",
    "to", "from", "use", "add", "remove", "update", "delete", "find", "parse", "check", "run", "start",
    "stop", "open", "close", "buf", "ptr", "idx", "cur", "prev", "next", "tmp", "new", "old", "my", "should",
    "do", "the",
];
const TAILS: &[&str] = &[
    "Buf", "Buffer", "Stream", "Streams", "Ptr", "Id", "Ids", "Idx", "Index", "Count", "Size", "Len",
    "Length", "Handle", "Ctx", "Context", "Mutex", "Lock", "Queue", "Pool", "Map", "List", "Set", "Node",
    "Event", "Callback", "Handler", "Manager", "Fn", "Func", "Kernel", "Launch", "Init", "Start", "Stop",
    "Peer", "Sync", "Prepare", "Finish", "Config", "Params", "Args", "Type", "Data", "Info", "State",
    "Status", "Flag", "Flags", "Mode", "Value", "Key", "Name", "File", "Path", "Dir", "Url", "Error", "Err",
    "Msg", "Request", "Response", "Client", "Conn", "Thread", "Worker", "Task", "Job", "Timer", "Timeout",
    "Cache", "Loop", "Table", "Page", "Block", "Field",
];

/// Names as programs spell them. A single hump after a small letter is as often a product (`dumbModel`, `macOS`), so it
/// counts only with a word that names in code have.
fn is_name(word: &str) -> bool {
    let core = word.trim_end_matches("()");
    let lettered = core.chars().any(char::is_alphabetic);
    if !lettered || !core.is_ascii() {
        return false;
    }
    if core.contains('_')
        || core.contains('=') && core.len() > 1
        || core.starts_with("--")
        || core.contains('$')
    {
        return true;
    }
    // `tada.launch.prepare`, `Repo.blob`: dots between names, not between figures.
    let dotted: Vec<&str> = core.split('.').collect();
    let names =
        |parts: &[&str]| parts.iter().all(|p| p.len() > 1 && p.bytes().all(|b| b.is_ascii_alphabetic()));
    if dotted.len() > 1 && names(&dotted) && !core.starts_with("www.") && !host(&dotted) {
        return true;
    }
    let letters: Vec<char> = core.chars().filter(char::is_ascii_alphabetic).collect();
    let humps = letters.windows(2).filter(|w| w[0].is_lowercase() && w[1].is_uppercase()).count();
    if !letters.first().is_some_and(char::is_ascii_lowercase) || core.contains(['-', '/', '@']) {
        return false;
    }
    let head: String = core.chars().take_while(char::is_ascii_lowercase).collect();
    humps >= 2 || humps == 1 && (HEADS.contains(&head.as_str()) || TAILS.iter().any(|t| core.ends_with(t)))
}

/// `example.org` and the like: names of services.
fn host(parts: &[&str]) -> bool {
    const TOPS: &[&str] =
        &["com", "org", "net", "io", "dev", "ai", "cloud", "app", "js", "edu", "gov", "NET", "co"];
    parts.last().is_some_and(|top| TOPS.contains(top))
}
