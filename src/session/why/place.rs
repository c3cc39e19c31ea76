//! From what a person types to a place in a file, and to what git knows of that place's past.

use std::path::{Component, Path};

use crate::git::diff::{content_of, function_around};
use crate::git::line_history::{self, Kind, Lines, Past};
use crate::links::place::Today;
use crate::model::{Error, Result, command_line};
use crate::session::Session;

/// A larger file is not read for its lines.
const MOST_BYTES: usize = 64 << 20;

/// A place in the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// Path from the top of the repository, with `/`; empty for the top itself.
    pub path: String,
    /// Whether it is a folder: everything below it counts.
    pub folder: bool,
    /// Whether it is there no more.
    pub gone: bool,
    /// The lines that were asked for; for a function those it has.
    pub lines: Option<(u64, u64)>,
    /// The function around the lines, where git sees one.
    pub function: Option<(u64, u64)>,
    /// The text of today.
    pub content: Option<Vec<u8>>,
}

impl Spot {
    /// The lines that count: those of the function around them, else those that were asked for.
    pub fn range(&self) -> Option<(u64, u64)> {
        match (self.function, self.lines) {
            (Some(f), Some(l)) => Some((f.0.min(l.0), f.1.max(l.1))),
            (_, lines) => lines,
        }
    }
}

/// What a person asks for behind the path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Asked {
    All,
    Lines(u64, u64),
    Function(String),
}

/// Parts `PATH:10`, `PATH:10,20`, `PATH:10-20`, `PATH:/name/`. A file that has the whole as its name is that file.
fn parse(text: &str, exists: &dyn Fn(&str) -> bool) -> Result<(String, Asked)> {
    let all = || Ok((text.to_owned(), Asked::All));
    if exists(text) {
        return all();
    }
    if let Some(rest) = text.strip_suffix('/')
        && let Some((path, name)) = rest.split_once(":/")
        && !name.is_empty()
    {
        return Ok((path.to_owned(), Asked::Function(name.to_owned())));
    }
    let Some((path, lines)) = text.rsplit_once(':').filter(|(path, _)| !path.is_empty()) else {
        return all();
    };
    let wrong = || {
        Error::usage(format!("{lines:?} is no line"))
            .hint("a line: PATH:10; some: PATH:10,20; a function: PATH:/name/")
    };
    let (first, last) = lines.split_once([',', '-']).unwrap_or((lines, lines));
    let number = |text: &str| text.trim().parse::<u64>().ok().filter(|n| *n > 0);
    let (first, last) = (number(first).ok_or_else(wrong)?, number(last).ok_or_else(wrong)?);
    Ok((path.to_owned(), Asked::Lines(first.min(last), first.max(last))))
}

impl Session {
    /// Finds a place, and asks git for its past.
    pub(super) fn spot(&self, text: &str) -> Result<(Spot, Past)> {
        let git = self.git();
        let top = self.repo.workdir().map(Path::to_path_buf);
        let kind = |path: &str| line_history::kind_of(&git, top.as_deref(), path);
        let exists = |typed: &str| self.below_top(typed).is_ok_and(|path| kind(&path) != Kind::Missing);
        let (typed, asked) = parse(text, &exists)?;
        let path = self.below_top(&typed)?;
        let kind = kind(&path);
        let has_head = self.repo.head_commit()?.is_some();
        let mut spot = Spot {
            path: path.clone(),
            folder: kind == Kind::Folder,
            gone: kind == Kind::Missing,
            lines: None,
            function: None,
            content: None,
        };
        if kind == Kind::Folder && asked != Asked::All {
            return Err(Error::usage(format!("{} is a folder, which has no lines", shown(&path)))
                .hint("name a file, or leave the line out"));
        }
        if matches!(kind, Kind::File | Kind::New) {
            spot.content = content_of(&git, top.as_deref(), &path).filter(|c| c.len() <= MOST_BYTES);
        }
        let text = spot.content.clone().unwrap_or_default();
        let binary = text.iter().take(8000).any(|b| *b == 0);
        if kind == Kind::Missing {
            let past = if has_head { line_history::past(&git, &path, None, false)? } else { Past::default() };
            if asked != Asked::All && !past.commits.is_empty() {
                return Err(Error::refused(format!("{path} is no longer there, and has no lines"))
                    .hint(ask_for_all(&typed)));
            }
            return Ok((spot, past));
        }
        if binary && asked != Asked::All {
            return Err(
                Error::refused(format!("{path} is no text, and has no lines")).hint(ask_for_all(&typed))
            );
        }
        let count = Today::of(&text).len();
        if let Asked::Lines(first, last) = asked {
            if first > count {
                return Err(Error::refused(format!("{path} has {count} lines, and no line {first}"))
                    .hint(ask_for_all(&typed)));
            }
            spot.lines = Some((first, last.min(count)));
        }
        if kind != Kind::File || !has_head {
            if let Asked::Function(_) = asked {
                return Err(Error::refused(format!(
                    "{path} was never committed, so git names no function in it"
                ))
                .hint("name a line: PATH:10"));
            }
            return Ok((
                spot,
                if has_head { line_history::past(&git, &path, None, false)? } else { Past::default() },
            ));
        }
        if let Some((first, last)) = spot.lines {
            let around = |line| function_around(&git, &path, &text, line);
            spot.function = match (around(first)?, if last > first { around(last)? } else { None }) {
                (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
                (one, other) => one.or(other),
            };
        }
        let lines = match (&asked, spot.range()) {
            (Asked::Function(name), _) => Lines::Function(name.clone()),
            (_, Some((first, last))) => Lines::Range(first, last.min(count)),
            _ => Lines::All,
        };
        // Of a file that is no text, blame would name lines that nobody sees.
        let blame = (!binary && count > 0).then_some(&lines);
        let past = line_history::past(&git, &path, blame, top.is_none()).map_err(|e| {
            e.hint("see the file's history: git log --follow -- PATH")
                .hint("a function is named as `git log -L :NAME:PATH` takes it")
        })?;
        if let Asked::Function(_) = asked {
            let all = past.blamed.values().flatten();
            let range = all
                .fold(None, |r: Option<(u64, u64)>, l| Some(r.map_or(*l, |r| (r.0.min(l.0), r.1.max(l.1)))));
            spot.lines = range;
        }
        Ok((spot, past))
    }

    /// A path from the top of the repository, of one that was typed in the current directory.
    fn below_top(&self, typed: &str) -> Result<String> {
        let outside = || {
            Error::usage(format!("{typed:?} is outside of the repository"))
                .hint("name a file of this repository, from where you are")
        };
        let path = Path::new(typed);
        let full = match self.repo.workdir() {
            Some(top) if path.is_absolute() => {
                let top = std::fs::canonicalize(top).unwrap_or_else(|_| top.to_path_buf());
                path.strip_prefix(&top).map(Path::to_path_buf).map_err(|_| outside())?
            }
            Some(_) => Path::new(&self.directory_below_top()?).join(path),
            None => path.to_path_buf(),
        };
        let mut parts: Vec<&str> = Vec::new();
        for part in full.components() {
            match part {
                Component::Normal(name) => parts.push(name.to_str().ok_or_else(outside)?),
                Component::CurDir => {}
                Component::ParentDir => {
                    parts.pop().ok_or_else(outside)?;
                }
                Component::RootDir | Component::Prefix(_) => return Err(outside()),
            }
        }
        Ok(parts.join("/"))
    }
}

/// A path as it is said.
fn shown(path: &str) -> &str {
    if path.is_empty() { "the top of the repository" } else { path }
}

/// The command for the whole file, from where one is.
fn ask_for_all(typed: &str) -> String {
    let dash = if typed.starts_with('-') { "-- " } else { "" };
    format!("ask for all of it: git incident why {dash}{}", command_line::join(&[typed]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn places_are_parted() {
        let of = |text: &str| parse(text, &|t| t == "odd:12").ok();
        let whole = |path: &str, asked| Some((path.to_owned(), asked));
        assert_eq!(of("a/b.c"), whole("a/b.c", Asked::All));
        assert_eq!(of("a/b.c:12"), whole("a/b.c", Asked::Lines(12, 12)));
        assert_eq!(of("a/b.c:20,12"), whole("a/b.c", Asked::Lines(12, 20)));
        assert_eq!(of("a/b.c:12-20"), whole("a/b.c", Asked::Lines(12, 20)));
        assert_eq!(of("a/b.c:/soft.*max/"), whole("a/b.c", Asked::Function("soft.*max".into())));
        assert_eq!(of("odd:12"), whole("odd:12", Asked::All));
        for wrong in ["a:0", "a:x", "a:1,", "a:1,x", "a:-3"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in any::<String>()) {
            let _ = parse(&text, &|_| false);
        }
    }
}
