//! GitHub's path filters: `*` within a name, `**` across names, `?` and `+` after a character, `[…]`,
//! a leading `!`; the last pattern that matches decides.

use regex::{Regex, RegexBuilder};

/// Patterns in their order.
pub(super) struct Filter(Vec<(bool, Regex)>);

impl Filter {
    /// Reads patterns; `None` when one of them cannot be read.
    pub(super) fn new(patterns: &[&str]) -> Option<Self> {
        patterns
            .iter()
            .map(|pattern| {
                let (wanted, pattern) = match pattern.strip_prefix('!') {
                    Some(rest) => (false, rest),
                    None => (true, *pattern),
                };
                Some((wanted, compile(pattern)?))
            })
            .collect::<Option<_>>()
            .map(Self)
    }

    /// Whether a path is meant.
    pub(super) fn matches(&self, path: &str) -> bool {
        self.0.iter().rev().find(|(_, pattern)| pattern.is_match(path)).is_some_and(|(wanted, _)| *wanted)
    }
}

fn compile(pattern: &str) -> Option<Regex> {
    if pattern.len() > 400 {
        return None;
    }
    let mut out = String::from(r"\A");
    let mut chars = pattern.chars().peekable();
    let mut at_start = true;
    // What `?` and `+` may follow: a character or a set, not a star.
    let mut single = false;
    while let Some(c) = chars.next() {
        let started = std::mem::replace(&mut at_start, c == '/');
        let was_single = std::mem::replace(&mut single, true);
        match c {
            '*' => {
                single = false;
                if chars.next_if_eq(&'*').is_none() {
                    out.push_str("[^/]*");
                } else if started && chars.next_if_eq(&'/').is_some() {
                    // `**/` at the start of a name also stands for no folder at all.
                    out.push_str("(?:.*/)?");
                    at_start = true;
                } else {
                    out.push_str(".*");
                }
            }
            '?' | '+' if was_single => {
                out.push(c);
                single = false;
            }
            '[' => {
                let set: String = chars.by_ref().take_while(|c| *c != ']').collect();
                let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
                if set.is_empty() || !set.chars().all(plain) {
                    return None;
                }
                out.push('[');
                out.push_str(&set.replace('.', r"\."));
                out.push(']');
            }
            '\\' => out.push_str(&regex::escape(&chars.next()?.to_string())),
            c => out.push_str(&regex::escape(&c.to_string())),
        }
    }
    out.push_str(r"\z");
    RegexBuilder::new(&out).size_limit(1 << 20).dot_matches_new_line(true).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_documented() {
        for (pattern, yes, no) in [
            ("*", &["README.md"][..], &["docs/a.md"][..]),
            ("**", &["a", "a/b/c"], &[]),
            ("*.js", &["app.js"], &["js/app.js"]),
            ("**.js", &["app.js", "js/app.js"], &["app.jsx"]),
            ("docs/*", &["docs/a.md"], &["docs/x/a.md"]),
            ("docs/**/*.md", &["docs/a.md", "docs/x/y/a.md"], &["a.md"]),
            ("**/docs/**", &["docs/a", "x/docs/a/b"], &["docs"]),
            ("**/*-post.md", &["my-post.md", "x/my-post.md"], &["post.md"]),
            ("*.jsx?", &["a.js", "a.jsx"], &["a.jsxx"]),
            ("v[12].[0-9]+", &["v1.10"], &["v3.1", "v1."]),
            (r"a\*b", &["a*b"], &["axb"]),
        ] {
            let filter = Filter::new(&[pattern]).unwrap();
            for path in yes {
                assert!(filter.matches(path), "{pattern} should match {path}");
            }
            for path in no {
                assert!(!filter.matches(path), "{pattern} should not match {path}");
            }
        }
    }

    #[test]
    fn the_last_match_decides() {
        let filter = Filter::new(&["sub/**", "!sub/docs/**", "sub/docs/keep.md"]).unwrap();
        assert!(filter.matches("sub/a") && filter.matches("sub/docs/keep.md"));
        assert!(!filter.matches("sub/docs/a") && !filter.matches("other"));
        assert!(Filter::new(&["a["]).is_none());
    }
}
