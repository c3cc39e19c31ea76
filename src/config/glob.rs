//! Path globs in the manner of `.gitignore`, in time proportional to pattern × path.
//!
//! - `*` and `?` stay inside one component, `[a-z]`, `[!a]` are character classes, `\` quotes.
//! - `**` as a whole component stands for any number of directories; at the end, for everything inside.
//! - A pattern without a slash before its last character matches at any depth (`*.cu`).
//! - A pattern with one (also a leading one) is relative to the root (`/a`, `a/b`).
//! - A pattern that matches a directory matches everything below it; a trailing slash asks for that.

/// A compiled pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    components: Vec<Component>,
    inside_only: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Component {
    AnyDirectories,
    Name(Vec<Token>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Star,
    Any,
    Exactly(char),
    Class { negated: bool, ranges: Vec<(char, char)> },
}

/// Does the pattern match the path? A pattern that is no glob matches nothing.
///
/// Paths are relative to the root, with forward slashes.
pub fn matches(pattern: &str, path: &str) -> bool {
    Glob::new(pattern).is_ok_and(|glob| glob.matches(path))
}

impl Glob {
    /// Compiles a pattern; the error says what is wrong with it ("has an unclosed …").
    pub fn new(pattern: &str) -> Result<Self, &'static str> {
        if pattern.starts_with('!') {
            return Err("is negated, which is not supported");
        }
        let inside_only = pattern.ends_with('/');
        let body = pattern.strip_suffix('/').unwrap_or(pattern);
        let anchored = body.contains('/');
        let mut components = Vec::new();
        if !anchored {
            components.push(Component::AnyDirectories);
        }
        for part in body.strip_prefix('/').unwrap_or(body).split('/') {
            match part {
                "" => return Err("has an empty component"),
                "**" if components.last() == Some(&Component::AnyDirectories) => {}
                "**" => components.push(Component::AnyDirectories),
                name => components.push(Component::Name(tokens(name)?)),
            }
        }
        Ok(Self { components, inside_only })
    }

    /// Does it match this path, or a directory that the path lies in?
    pub fn matches(&self, path: &str) -> bool {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let (mut at, mut part) = (0, 0);
        // Where the last `**` would resume if what follows it does not fit here. Only the last one
        // matters: an earlier one has matched as early as it can.
        let mut resume: Option<(usize, usize)> = None;
        loop {
            match self.components.get(at) {
                None if part < parts.len() || !self.inside_only => return true,
                Some(Component::AnyDirectories) if at + 1 == self.components.len() => {
                    return part < parts.len();
                }
                Some(Component::AnyDirectories) => {
                    at += 1;
                    resume = Some((at, part));
                    continue;
                }
                Some(Component::Name(tokens))
                    if parts.get(part).is_some_and(|name| name_matches(tokens, name)) =>
                {
                    at += 1;
                    part += 1;
                    continue;
                }
                _ => {}
            }
            match resume {
                Some((component, from)) if from < parts.len() => {
                    resume = Some((component, from + 1));
                    at = component;
                    part = from + 1;
                }
                _ => return false,
            }
        }
    }
}

fn tokens(name: &str) -> Result<Vec<Token>, &'static str> {
    let mut tokens = Vec::new();
    let mut rest = name.chars();
    while let Some(first) = rest.next() {
        tokens.push(match first {
            '*' if tokens.last() == Some(&Token::Star) => continue,
            '*' => Token::Star,
            '?' => Token::Any,
            '[' => class(&mut rest)?,
            '\\' => Token::Exactly(rest.next().ok_or("ends in a backslash")?),
            plain => Token::Exactly(plain),
        });
    }
    Ok(tokens)
}

/// Reads a character class after its `[`.
fn class(rest: &mut std::str::Chars<'_>) -> Result<Token, &'static str> {
    const OPEN: &str = "has an unclosed [";
    let mut ranges = Vec::new();
    let mut next = rest.next().ok_or(OPEN)?;
    let negated = next == '!' || next == '^';
    if negated {
        next = rest.next().ok_or(OPEN)?;
    }
    // A bracket that comes first stands for itself.
    let mut first = true;
    while first || next != ']' {
        first = false;
        let low = if next == '\\' { rest.next().ok_or(OPEN)? } else { next };
        next = rest.next().ok_or(OPEN)?;
        let mut ahead = rest.clone();
        if next == '-' && ahead.next().is_some_and(|c| c != ']') {
            let mut high = rest.next().ok_or(OPEN)?;
            if high == '\\' {
                high = rest.next().ok_or(OPEN)?;
            }
            if high < low {
                return Err("has a range that runs backwards");
            }
            ranges.push((low, high));
            next = rest.next().ok_or(OPEN)?;
        } else {
            ranges.push((low, low));
        }
    }
    Ok(Token::Class { negated, ranges })
}

impl Token {
    fn takes(&self, c: char) -> bool {
        match self {
            Self::Star => false,
            Self::Any => true,
            Self::Exactly(exactly) => *exactly == c,
            Self::Class { negated, ranges } => {
                ranges.iter().any(|&(low, high)| (low..=high).contains(&c)) != *negated
            }
        }
    }
}

/// One component against its tokens, going back to the last star only.
fn name_matches(tokens: &[Token], name: &str) -> bool {
    let mut rest = name.chars();
    let mut at = 0;
    let mut resume: Option<(usize, std::str::Chars<'_>)> = None;
    loop {
        if tokens.get(at) == Some(&Token::Star) {
            at += 1;
            resume = Some((at, rest.clone()));
            continue;
        }
        let mut ahead = rest.clone();
        match (tokens.get(at), ahead.next()) {
            (None, None) => return true,
            (Some(token), Some(c)) if token.takes(c) => {
                at += 1;
                rest = ahead;
                continue;
            }
            _ => {}
        }
        let Some((star, from)) = &mut resume else {
            return false;
        };
        if from.next().is_none() {
            return false;
        }
        at = *star;
        rest = from.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_what_gitignore_readers_expect() {
        let yes = [
            ("kernels/**", "kernels/a.cu"),
            ("kernels/**", "kernels/deep/er/a.cu"),
            ("*.cu", "a.cu"),
            ("*.cu", "kernels/deep/a.cu"),
            ("a/b", "a/b"),
            ("a/b", "a/b/c"),
            ("/a", "a/x"),
            ("**/x", "x"),
            ("**/x", "p/q/x"),
            ("a/**/b", "a/b"),
            ("a/**/b", "a/p/q/b"),
            ("a/**/b/*.rs", "a/b/p/b/c.rs"),
            ("bench/", "bench/run.py"),
            ("src", "lib/src/main.rs"),
            ("v[0-9].c[uc]", "v3.cu"),
            ("[!a-c]x", "dx"),
            ("[]]x", "]x"),
            ("[a-]x", "-x"),
            ("a?c", "aäc"),
            ("a\\*c", "a*c"),
            ("*a*b*c", "xxaxxbxxbxxc"),
            ("**", "anything/at/all"),
            ("refs/heads/release/*", "refs/heads/release/1.2"),
        ];
        for (pattern, path) in yes {
            assert!(matches(pattern, path), "{pattern} should match {path}");
        }
        let no = [
            ("kernels/**", "kernels"),
            ("kernels/**", "other/kernels/a.cu"),
            ("*.cu", "a.cuh"),
            ("a/b", "x/a/b"),
            ("a/b", "a/bc"),
            ("/a", "x/a"),
            ("bench/", "bench"),
            ("a/*", "b/c"),
            ("a/*.rs", "a/b/c.rs"),
            ("[!a-c]x", "ax"),
            ("a\\*c", "abc"),
            ("a?c", "a/c"),
            ("a", ""),
            ("refs/heads/main", "refs/heads/mainline"),
            ("[a", "a"),
        ];
        for (pattern, path) in no {
            assert!(!matches(pattern, path), "{pattern} should not match {path}");
        }
    }

    #[test]
    fn says_what_is_wrong_with_a_pattern() {
        for wrong in ["[a", "a//b", "", "/", "!a", "a\\", "[z-a]", "[", "[!", "[a/b]", "[a-\\"] {
            assert!(Glob::new(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn hostile_patterns_do_not_explode() {
        let stars = "*a".repeat(2000);
        let many = "a".repeat(4000) + "b";
        assert!(!matches(&format!("x/{stars}c"), &format!("x/{many}")));
        let directories = "**/a/".repeat(1000) + "c";
        let deep = "a/".repeat(3000) + "b";
        assert!(!matches(&directories, &deep));
    }

    proptest::proptest! {
        #[test]
        fn never_panics(pattern in "[a-c/*?\\[\\]\\\\!^äö-]{0,24}", path in "[a-c/äö-]{0,24}") {
            let _ = matches(&pattern, &path);
        }

        #[test]
        fn a_plain_path_matches_itself_and_what_is_below(path in "[a-z]{1,4}(/[a-z.]{1,4}){1,4}") {
            proptest::prop_assert!(matches(&path, &path));
            let below = format!("{path}/below");
            proptest::prop_assert!(matches(&path, &below));
        }
    }
}
