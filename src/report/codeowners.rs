//! Who GitHub's CODEOWNERS file names for a path, and who to ask about a change.
//!
//! Written from GitHub's documentation of the file: patterns are almost those of `.gitignore`, the
//! last one that matches decides, a pattern without owners takes the owners away, `!`, `[…]` and
//! `\#` do not exist, and a line that is not right is passed over.

/// Where the file may stand; the first that exists counts.
pub const PLACES: [&str; 3] = [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"];

/// GitHub reads no larger file.
const LARGEST: usize = 3 << 20;

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Codeowners {
    rules: Vec<Rule>,
    problems: Vec<(usize, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    segments: Vec<String>,
    owners: Vec<String>,
}

impl Codeowners {
    /// Reads a file. Total: what is not right is passed over and shown by [`Codeowners::problems`].
    pub fn parse(bytes: &[u8]) -> Self {
        let mut file = Self::default();
        if bytes.len() > LARGEST {
            file.problems.push((1, "the file is larger than 3 MB, so GitHub ignores it".to_owned()));
            return file;
        }
        for (i, line) in String::from_utf8_lossy(bytes).lines().enumerate() {
            match rule(line) {
                Ok(rule) => file.rules.extend(rule),
                Err(problem) => file.problems.push((i + 1, problem)),
            }
        }
        file
    }

    /// The owners of a path (from the top of the repository, with `/`): `@name`, `@org/team` or an
    /// address. Empty when nobody owns it.
    pub fn owners(&self, path: &str) -> &[String] {
        let path: Vec<&str> = path.split('/').collect();
        self.rules.iter().rev().find(|rule| matches(&rule.segments, &path)).map_or(&[], |rule| &rule.owners)
    }

    /// Lines that were passed over: number from 1, reason.
    pub fn problems(&self) -> &[(usize, String)] {
        &self.problems
    }
}

fn rule(line: &str) -> Result<Option<Rule>, String> {
    let (pattern, owners) = words(line);
    let Some(pattern) = pattern else { return Ok(None) };
    if pattern.starts_with('!') {
        return Err("patterns cannot be negated".to_owned());
    }
    if pattern.contains(['[', ']']) {
        return Err("character ranges are not supported".to_owned());
    }
    if let Some(odd) = owners.iter().find(|o| !is_owner(o)) {
        return Err(format!("{odd:?} is no owner"));
    }
    let segments = segments(&pattern);
    if segments.is_empty() {
        return Err("the pattern names nothing".to_owned());
    }
    Ok(Some(Rule { segments, owners }))
}

/// The pattern (with escapes resolved) and the owners; a `#` that starts a word starts a comment.
fn words(line: &str) -> (Option<String>, Vec<String>) {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => word.extend(chars.next()),
            '#' if word.is_empty() => break,
            c if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    let mut words = words.into_iter();
    (words.next(), words.collect())
}

fn is_owner(word: &str) -> bool {
    let name = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
    };
    match word.strip_prefix('@') {
        Some(handle) => match handle.split_once('/') {
            Some((org, team)) => name(org) && name(team),
            None => name(handle),
        },
        None => word.split_once('@').is_some_and(|(user, host)| {
            !user.is_empty()
                && user.bytes().all(|b| b.is_ascii_alphanumeric() || b".+-_%".contains(&b))
                && name(host)
                && host.contains('.')
        }),
    }
}

/// A pattern as segments from the top: `**` stands for any number of them, and a last `**` for at
/// least one, so that `docs/` names what is in the folder.
fn segments(pattern: &str) -> Vec<String> {
    let anchored = pattern.trim_end_matches('/').contains('/');
    let folder = pattern.ends_with('/');
    let mut segments: Vec<String> = pattern.split('/').filter(|s| !s.is_empty()).map(str::to_owned).collect();
    if segments.is_empty() {
        return segments;
    }
    if !anchored && segments[0] != "**" {
        segments.insert(0, "**".to_owned());
    }
    // A name at the end may be a folder's, then everything below it is meant; `*` names files only.
    let last = segments.last().map_or("", String::as_str);
    if folder && last != "**" {
        segments.push("**".to_owned());
    } else if !folder && last != "**" && (last != "*" || !anchored) {
        segments.push("**?".to_owned());
    }
    segments
}

/// Whether segments match a path from its first to its last name: the table of a dynamic programme,
/// so that no pattern takes more than its length times that of the path.
fn matches(segments: &[String], path: &[&str]) -> bool {
    let mut reach = vec![false; path.len() + 1];
    reach[0] = true;
    for (i, segment) in segments.iter().enumerate() {
        let mut next = vec![false; path.len() + 1];
        if segment == "**" || segment == "**?" {
            // Zero or more names; at the very end `**` needs one.
            let least = usize::from(segment == "**" && i + 1 == segments.len());
            let first = reach.iter().position(|r| *r).map_or(path.len() + 1, |at| at + least);
            for slot in next.iter_mut().skip(first) {
                *slot = true;
            }
        } else {
            for (at, name) in path.iter().enumerate() {
                next[at + 1] = reach[at] && glob(segment, name);
            }
        }
        reach = next;
    }
    reach[path.len()]
}

/// `*` any characters, `?` one, within a name.
fn glob(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p, n));
            p += 1;
        } else if pattern.get(p).is_some_and(|c| *c == '?' || *c == name[n]) {
            p += 1;
            n += 1;
        } else if let Some((at, taken)) = star {
            star = Some((at, taken + 1));
            p = at + 1;
            n = taken + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// Someone to ask about a change, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Developer {
    /// `@name`, `@org/team`, an address, or a plain name from the history.
    pub name: String,
    /// What they have to do with it.
    pub reason: String,
}

/// Owners of the changed paths first (those who own most of them first), then authors of the lines
/// that were there before (`(name, lines)`, most lines first).
pub fn developers(owners: &Codeowners, changed: &[String], authors: &[(String, u32)]) -> Vec<Developer> {
    let mut owned: Vec<(&String, Vec<&String>)> = Vec::new();
    for path in changed {
        for owner in owners.owners(path) {
            match owned.iter_mut().find(|(known, _)| *known == owner) {
                Some((_, paths)) if paths.last() == Some(&path) => {}
                Some((_, paths)) => paths.push(path),
                None => owned.push((owner, vec![path])),
            }
        }
    }
    owned.sort_by_key(|(_, paths)| std::cmp::Reverse(paths.len()));
    let mut authors: Vec<&(String, u32)> = authors.iter().filter(|(name, _)| !name.is_empty()).collect();
    authors.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    owned
        .into_iter()
        .map(|(owner, paths)| Developer {
            name: owner.clone(),
            reason: match paths.as_slice() {
                [one] => format!("owns {one}"),
                [first, rest @ ..] => format!("owns {first} and {} more of the changed files", rest.len()),
                [] => String::new(),
            },
        })
        .chain(authors.into_iter().map(|(name, lines)| Developer {
            name: name.clone(),
            reason: format!("wrote {lines} of the lines it touches"),
        }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn owners(file: &str, path: &str) -> String {
        Codeowners::parse(file.as_bytes()).owners(path).join(" ")
    }

    fn hits(pattern: &str, path: &str) -> bool {
        owners(&format!("{pattern} @x"), path) == "@x"
    }

    #[test]
    fn the_last_match_wins() {
        let file = "* @all\n/kernels/ @gpu @org/team # the fast ones\n*.md docs@example.org\n/kernels/gen/\n";
        assert_eq!(owners(file, "src/a.rs"), "@all");
        assert_eq!(owners(file, "kernels/x/softmax.cu"), "@gpu @org/team");
        assert_eq!(owners(file, "kernels/README.md"), "docs@example.org");
        assert_eq!(owners(file, "kernels/gen/a.cu"), "", "owners are taken away");
    }

    #[test]
    fn patterns_match_as_documented() {
        for (pattern, yes, no) in [
            ("*", &["a", "a/b"][..], &[][..]),
            ("*.js", &["a.js", "x/y/a.js"], &["a.jsx"]),
            ("/build/logs/", &["build/logs/x", "build/logs/y/z"], &["a/build/logs/x", "build/logs"]),
            ("docs/*", &["docs/start.md"], &["docs/app/trouble.md", "a/docs/start.md"]),
            ("apps/", &["apps/a", "x/apps/a/b"], &["apps"]),
            ("/docs/", &["docs/a"], &["x/docs/a"]),
            ("/apps/github", &["apps/github", "apps/github/x"], &["apps/github2", "x/apps/github"]),
            ("**/logs", &["logs", "build/logs", "a/b/logs/x"], &["logs2"]),
            ("a/**/b", &["a/b", "a/x/y/b", "a/b/c"], &["x/a/b", "a/bc"]),
            ("docs/**", &["docs/a", "docs/a/b"], &["docs"]),
            ("file?.c", &["file1.c"], &["file.c"]),
            ("/src/a*", &["src/ab", "src/ab/c"], &["src/b"]),
            (r"with\ space.c", &["with space.c"], &["with"]),
        ] {
            for path in yes {
                assert!(hits(pattern, path), "{pattern} should match {path}");
            }
            for path in no {
                assert!(!hits(pattern, path), "{pattern} should not match {path}");
            }
        }
    }

    #[test]
    fn lines_that_are_not_right_are_passed_over() {
        let file = Codeowners::parse(b"* @all\n!a @x\n[ab] @x\n*.c nobody\n/ @x\n# note\n\n");
        assert_eq!(file.owners("a.c"), ["@all"]);
        assert_eq!(file.problems().iter().map(|p| p.0).collect::<Vec<_>>(), [2, 3, 4, 5]);
    }

    #[test]
    fn owners_come_before_authors() {
        let file = Codeowners::parse(b"*.cu @gpu\n*.py @py\nb.cu @gpu @bea\n");
        let changed = ["t.py", "a.cu", "b.cu"].map(str::to_owned);
        let authors = [("Ada".to_owned(), 1), ("Bea".to_owned(), 9)];
        let found = developers(&file, &changed, &authors);
        let names: Vec<&str> = found.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(names, ["@gpu", "@py", "@bea", "Bea", "Ada"]);
        assert_eq!(found[0].reason, "owns a.cu and 1 more of the changed files");
        assert_eq!(found[4].reason, "wrote 1 of the lines it touches");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(raw in proptest::collection::vec(any::<u8>(), 0..300), path in "[a-z/*]{0,20}") {
            let _ = Codeowners::parse(&raw).owners(&path);
        }

        #[test]
        fn many_stars_stay_cheap(stars in "[*a/]{1,60}", path in "[a/]{1,200}") {
            let _ = hits(&stars, &path);
        }
    }
}
