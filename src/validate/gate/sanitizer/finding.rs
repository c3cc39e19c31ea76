//! One thing that compute-sanitizer found.

use serde_json::{Value, json};

/// The longest text of a finding that is kept, in characters.
const LONGEST: usize = 400;

/// A place in a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Site {
    /// `Write` or `Read`, where a race says so.
    pub access: Option<String>,
    /// The function, as the tool demangles it.
    pub function: String,
    /// The source file, without the directories of the machine that built it.
    pub file: Option<String>,
    /// The line in it.
    pub line: Option<u64>,
    /// The thread, `(x,y,z)`.
    pub thread: Option<String>,
}

impl Site {
    /// Reads `kernel(float *)+0x90 in file.cu:41`, with or without its parts; older versions of the tool write
    /// `file.cu:41:kernel(float *)+0x90`.
    pub(super) fn read(text: &str) -> Self {
        let text = text.trim();
        let text =
            text.split_once(" [").filter(|(_, rest)| rest.ends_with(" hazards]")).map_or(text, |p| p.0);
        let place = text.rsplit_once(" in ").and_then(|(function, place)| {
            let (file, line) = place.rsplit_once(':')?;
            Some((function, file, line.trim().parse().ok()?))
        });
        let (function, file, line) = match place.or_else(|| older(text)) {
            Some((function, file, line)) => (function, Some(bare(file)), Some(line)),
            None => (text, None, None),
        };
        let offset = function.rfind("+0x").or_else(|| function.rfind(":0x"));
        let function = offset
            .filter(|at| function[at + 3..].bytes().all(|byte| byte.is_ascii_hexdigit()))
            .map_or(function, |at| &function[..at]);
        Self { function: short(function), file, line, ..Self::default() }
    }

    fn said(&self) -> String {
        let mut said = self.function.clone();
        if let Some(file) = &self.file {
            let line = self.line.map_or(String::new(), |line| format!(":{line}"));
            said.push_str(&format!(" ({file}{line})"));
        }
        said
    }

    fn json(&self) -> Value {
        json!({
            "access": self.access, "function": self.function, "file": self.file,
            "line": self.line.map(fitting), "thread": self.thread,
        })
    }
}

/// The function, file and line of `file.cu:41:kernel(float *)+0x90`.
fn older(text: &str) -> Option<(&str, &str, u64)> {
    let (file, rest) = text.split_once(':')?;
    let (line, function) = rest.split_once(':')?;
    let named = file.contains('.') && !file.contains(['(', '<']) && !function.starts_with(':');
    Some((function, file, line.parse().ok()?)).filter(|_| named && !function.is_empty())
}

/// What was found, and where.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Finding {
    /// What sort of thing it is, in a word or two of ours.
    pub kind: &'static str,
    /// What the tool says of it, in its own words.
    pub text: String,
    /// The kernel that was launched.
    pub kernel: Option<String>,
    /// Where in its code.
    pub site: Option<Site>,
    /// The other side of a race.
    pub other: Option<Site>,
    /// The block, `(x,y,z)`.
    pub block: Option<String>,
    /// The address and what lies around it.
    pub address: Option<String>,
    /// How many bytes were accessed.
    pub bytes: Option<u64>,
    /// How many hazards a race has.
    pub hazards: Option<u64>,
}

impl Finding {
    /// A finding that begins with this line.
    pub(super) fn new(kind: &'static str, text: &str) -> Self {
        let bytes = text.split_once("of size ").and_then(|(_, rest)| number(rest));
        let block = text.split_once("in block ").and_then(|(_, rest)| position(rest));
        Self { kind, text: short(text), bytes, block, ..Self::default() }
    }

    /// What makes two findings the same one, seen by different threads.
    pub(super) fn place(&self) -> [Option<&str>; 4] {
        let site = self.site.as_ref();
        [
            Some(self.kind),
            self.kernel.as_deref(),
            site.map(|site| site.function.as_str()),
            site.and_then(|site| site.file.as_deref()),
        ]
    }

    /// The line, which belongs to the place as well.
    pub(super) fn line(&self) -> Option<u64> {
        self.site.as_ref().and_then(|site| site.line)
    }

    /// The kernel that was launched: where the tool names no frames, nothing was called, and the site is in it.
    fn launched(&self) -> Option<&str> {
        self.kernel.as_deref().or_else(|| {
            let function = self.site.as_ref()?.function.as_str();
            Some(function).filter(|function| !function.is_empty() && !function.starts_with("0x"))
        })
    }

    /// The finding as one line.
    pub fn said(&self) -> String {
        let mut said = match (&self.site, &self.other) {
            (Some(one), Some(other)) => {
                let access =
                    |site: &Site| site.access.clone().unwrap_or_else(|| "access".into()).to_lowercase();
                format!(
                    "{} between {} at {} and {} at {}",
                    self.kind,
                    access(one),
                    one.said(),
                    access(other),
                    other.said()
                )
            }
            (Some(site), None) => format!("{} at {}", self.text, site.said()),
            _ => self.text.clone(),
        };
        let innermost = self.site.as_ref().map(|site| site.function.as_str());
        if let Some(kernel) = self.kernel.as_deref().filter(|kernel| Some(*kernel) != innermost) {
            said.push_str(&format!(", in {kernel}"));
        }
        if let Some(thread) = self.site.as_ref().and_then(|site| site.thread.as_ref()) {
            said.push_str(&format!(", thread {thread}"));
        }
        if let Some(block) = self.block.as_ref().filter(|block| !self.text.contains(block.as_str())) {
            said.push_str(&format!(", block {block}"));
        }
        if let Some(address) = &self.address {
            said.push_str(&format!(": {address}"));
        }
        if let Some(hazards) = self.hazards {
            said.push_str(&format!(", {hazards} hazards"));
        }
        said
    }

    /// The finding for a record.
    pub fn json(&self, tool: &str) -> Value {
        let site = |site: &Option<Site>| site.as_ref().map(Site::json);
        json!({
            "tool": tool, "kind": self.kind, "text": self.text, "kernel": self.launched(), "site": site(&self.site),
            "other": site(&self.other), "block": self.block, "address": self.address,
            "bytes": self.bytes.map(fitting), "hazards": self.hazards.map(fitting),
        })
    }
}

/// How findings begin, and what sort they are.
const BEGINNINGS: [(&str, &str); 16] = [
    ("Invalid ", "invalid access"),
    ("Potential invalid ", "invalid access"),
    ("Access to ", "invalid access"),
    ("Race reported ", "race"),
    ("Uninitialized ", "uninitialized read"),
    ("Host API ", "API access"),
    ("Barrier error", "barrier error"),
    ("Barrier ", "barrier error"),
    ("Deadlock detected", "deadlock"),
    ("Malloc/Free error", "allocation error"),
    ("Leaked ", "leak"),
    ("Program hit", "API error"),
    ("CUDA API ", "API error"),
    ("Unused ", "unused memory"),
    ("Tensor Memory ", "tensor memory"),
    ("Stack overflow", "stack overflow"),
];

/// What sort of finding begins with this line; `None` for a line that begins none.
pub(super) fn kind(text: &str) -> Option<&'static str> {
    let text = without_severity(text);
    let hazards = [("RAW hazard", "hazard RAW"), ("WAR hazard", "hazard WAR"), ("WAW hazard", "hazard WAW")];
    if let Some((_, kind)) = hazards.iter().find(|(words, _)| text.contains(words)) {
        return Some(kind);
    }
    if let Some((_, kind)) = BEGINNINGS.iter().find(|(words, _)| text.starts_with(words)) {
        return Some(kind);
    }
    let others = [
        (" hazard detected", "hazard"),
        ("error detected", "other error"),
        (" encountered", "other error"),
        ("tcgen05", "tensor memory"),
        ("is potentially accessed", "invalid access"),
    ];
    others.iter().find(|(words, _)| text.contains(words)).map(|(_, kind)| *kind)
}

/// The text without `Error: ` or `Warning: ` before it.
pub(super) fn without_severity(text: &str) -> &str {
    let text = text.trim();
    match text.split_once(": ") {
        Some((word, rest)) if ["error", "warning"].contains(&word.to_ascii_lowercase().as_str()) => {
            rest.trim_start_matches("(Warp Level Programming) ").trim()
        }
        _ => text,
    }
}

/// The number a text begins with, whose thousands may be parted by commas.
pub(super) fn number(text: &str) -> Option<u64> {
    let digits: String = text
        .trim_start()
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == ',')
        .filter(|c| *c != ',')
        .collect();
    digits.parse().ok()
}

/// `(x,y,z)` at the beginning of a text.
pub(super) fn position(text: &str) -> Option<String> {
    let end = text.strip_prefix('(')?.find(')')? + 2;
    let inside = &text[1..end - 1];
    let fits =
        !inside.is_empty() && inside.bytes().all(|byte| byte.is_ascii_digit() || b", ".contains(&byte));
    (fits && end < 64).then(|| text[..end].to_owned())
}

/// A path without its directories: they are those of the machine that built it.
pub(super) fn bare(path: &str) -> String {
    short(path.rsplit(['/', '\\']).next().unwrap_or(path))
}

pub(super) fn short(text: &str) -> String {
    text.trim().chars().take(LONGEST).collect()
}

/// A record holds no integer of 2^53 or more; nothing true is that large.
pub(super) fn fitting(value: u64) -> u64 {
    value.min(crate::model::canonical::MAX_INTEGER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_read_with_and_without_their_parts() {
        for (text, function, file, line) in [
            ("sum(int *, int *)+0x90 in /home/ada/k.cu:41", "sum(int *, int *)", Some("k.cu"), Some(41)),
            ("sum():0x160 in demo.cu:6", "sum()", Some("demo.cu"), Some(6)),
            ("sum()+0x50", "sum()", None, None),
            ("sum()+0x100 in k.cu:51 [508 hazards]", "sum()", Some("k.cu"), Some(51)),
            ("a in b", "a in b", None, None),
            ("k.cu:17:sum(int *)+0x90", "sum(int *)", Some("k.cu"), Some(17)),
            ("k.cu:27:sum(int *)+0x100 [508 hazards]", "sum(int *)", Some("k.cu"), Some(27)),
            ("ns::sum(int *)+0x90", "ns::sum(int *)", None, None),
            ("a.b::sum:4:x", "a.b::sum:4:x", None, None),
            ("0x79d8", "0x79d8", None, None),
        ] {
            let site = Site::read(text);
            assert_eq!(
                (site.function.as_str(), site.file.as_deref(), site.line),
                (function, file, line),
                "{text}"
            );
        }
    }

    #[test]
    fn the_kernel_is_the_site_where_no_frame_names_it() {
        let mut finding = Finding::new("race", "Race reported");
        assert!(finding.json("racecheck")["kernel"].is_null());
        finding.site = Some(Site::read("sum(int *)+0x90 in k.cu:41"));
        assert_eq!(finding.json("racecheck")["kernel"], "sum(int *)");
        finding.kernel = Some("outer()".into());
        assert_eq!(finding.json("racecheck")["kernel"], "outer()");
        finding = Finding::new("race", "Race reported");
        finding.site = Some(Site::read("0x79d8"));
        assert!(finding.json("racecheck")["kernel"].is_null());
    }

    #[test]
    fn kinds_have_a_word() {
        for (text, expected) in [
            ("Invalid __global__ write of size 4 bytes", Some("invalid access")),
            ("Error: Race reported between Write access at k", Some("race")),
            ("WARNING: Race reported between Write access at k", Some("race")),
            (
                "Warning: (Warp Level Programming) Potential RAW hazard detected at __shared__ 0x8c",
                Some("hazard RAW"),
            ),
            ("Uninitialized __global__ memory read of size 4 bytes", Some("uninitialized read")),
            ("Barrier error detected. Divergent thread(s) in block.", Some("barrier error")),
            ("Host API memory access error at host access to 0x7f00 of size 1,024 bytes", Some("API access")),
            ("Program hit invalid copy direction for memcpy (error 21)", Some("API error")),
            ("Generating coredump file", None),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
        assert_eq!(number("1,024 bytes"), Some(1024));
        assert_eq!(position("(1,2,3) and"), Some("(1,2,3)".into()));
        assert_eq!(position("(a)"), None);
    }
}
