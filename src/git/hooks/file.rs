//! Hooks in files: a marked block, or a wrapper around a hook that is no running shell script.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{Done, Event, Missing, config};
use crate::git::whole::{self, Access};
use crate::model::{Error, Result};

const BEGIN: &[u8] = b"# >>> git incident >>>\n";
const END: &[u8] = b"# <<< git incident <<<\n";
const BLOCK: &str = include_str!("../../../hooks/block.sh");
const BLOCK_STDIN: &str = include_str!("../../../hooks/block-stdin.sh");
const WRAPPER: &str = include_str!("../../../hooks/wrapper.sh");
const STATE: &str = "# state: ";

/// What has to be undone besides taking the block out, kept as words in the block itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Origin {
    /// We made the file.
    file: bool,
    /// We made its directory.
    directory: bool,
    /// The shebang had no line end, so we added one.
    newline: bool,
    /// The former hook stands beside.
    wrapped: bool,
}

impl Origin {
    fn words(self) -> String {
        let words: Vec<&str> = [
            (self.directory, "new-directory"),
            (self.file, "new-file"),
            (self.newline, "new-line-end"),
            (self.wrapped, "moved-aside"),
        ]
        .into_iter()
        .filter_map(|(set, word)| set.then_some(word))
        .collect();
        if words.is_empty() { "added".to_owned() } else { words.join(" ") }
    }

    fn parse(block: &[u8]) -> Self {
        let text = String::from_utf8_lossy(block);
        let line = text.lines().find_map(|line| line.strip_prefix(STATE)).unwrap_or_default();
        let has = |word: &str| line.split(' ').any(|found| found == word);
        Self {
            file: has("new-file"),
            directory: has("new-directory"),
            newline: has("new-line-end"),
            wrapped: has("moved-aside"),
        }
    }
}

/// The block for an event.
fn block(event: Event, missing: Missing, program: &str, origin: Origin) -> String {
    let blocks = missing == Missing::Block && event.decides();
    let text = if event.reads_stdin() { BLOCK_STDIN } else { BLOCK };
    text.replace("@PROGRAM@", &config::quote(program))
        .replace("@EVENT@", event.name())
        .replace("@STATE@", &origin.words())
        .replace("@FAIL@", if event.decides() { "exit $?" } else { ":" })
        .replace("@MISSING@", if blocks { "refuses" } else { "was skipped" })
        .replace("@ABSENT@", if blocks { "exit 1" } else { ":" })
}

/// Where a file keeps its moved-aside predecessor.
pub(super) fn aside(directory: &Path, event: Event) -> PathBuf {
    directory.join(format!("{}.before-git-incident", event.name()))
}

/// The file with our hook, or for it. `pre-commit install` moves the hook that it finds to
/// `<event>.legacy` and runs it from there.
pub(super) fn live(directory: &Path, event: Event) -> Result<PathBuf> {
    let path = directory.join(event.name());
    let legacy = directory.join(format!("{}.legacy", event.name()));
    let calls_legacy =
        || fs::read(&path).is_ok_and(|text| String::from_utf8_lossy(&text).contains("pre-commit"));
    Ok(if installed(&legacy)?.is_some() && calls_legacy() { legacy } else { path })
}

/// Installs the hook of an event in that directory.
pub(super) fn add(directory: &Path, event: Event, missing: Missing, program: &str) -> Result<Done> {
    let path = live(directory, event)?;
    let trouble = |error: std::io::Error| trouble(&path, &error);
    let mut origin = Origin::default();

    let kind = match fs::symlink_metadata(&path) {
        Ok(kind) => Some(kind),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
        Err(error) => return Err(trouble(error)),
    };
    let Some(kind) = kind else {
        origin.file = true;
        if !directory.is_dir() {
            fs::create_dir_all(directory).map_err(trouble)?;
            origin.directory = true;
        }
        let text = format!("#!/bin/sh\n{}", block(event, missing, program, origin));
        write(&path, text.as_bytes(), 0o755)?;
        return Ok(Done::Created(path));
    };

    if kind.is_file() {
        let bytes = fs::read(&path).map_err(trouble)?;
        if let Some((start, end)) = find(&bytes, &path)? {
            let origin = Origin::parse(&bytes[start..end]);
            let new =
                [&bytes[..start], block(event, missing, program, origin).as_bytes(), &bytes[end..]].concat();
            if new == bytes {
                return Ok(Done::Unchanged(path));
            }
            write(&path, &new, kind.permissions().mode())?;
            return Ok(Done::Block(path));
        }
        if kind.permissions().mode() & 0o111 != 0
            && let Some(at) = after_shebang(&bytes)
        {
            origin.newline = at > 0 && !bytes[..at].ends_with(b"\n");
            let line_end: &[u8] = if origin.newline { b"\n" } else { b"" };
            let text = block(event, missing, program, origin);
            let new = [&bytes[..at], line_end, text.as_bytes(), &bytes[at..]].concat();
            write(&path, &new, kind.permissions().mode())?;
            return Ok(Done::Block(path));
        }
    } else if kind.is_dir() {
        return Err(Error::refused(format!("the hook {} is a directory", path.display()))
            .hint("move it away, then run `git incident init` again"));
    }

    // A program, a symbolic link, a script of another language or a hook that is switched off.
    let before = aside(directory, event);
    if fs::symlink_metadata(&before).is_ok() {
        return Err(Error::refused(format!("{} is in the way", before.display()))
            .because("a former installation left it there, and the hook was replaced since")
            .hint("move it away, then run `git incident init` again"));
    }
    origin.wrapped = true;
    let wrapper = WRAPPER.replace("@EVENT@", event.name());
    let text = format!("#!/bin/sh\n{}{wrapper}", block(event, missing, program, origin));
    fs::rename(&path, &before).map_err(trouble)?;
    if let Err(error) = write(&path, text.as_bytes(), 0o755) {
        let _ = fs::rename(&before, &path);
        return Err(error);
    }
    Ok(Done::Wrapped(path, before))
}

/// Takes our hook out of that directory; false when there was none.
pub(super) fn remove(directory: &Path, event: Event) -> Result<bool> {
    let mut removed = false;
    // Where pre-commit and lefthook put hooks that they find.
    for end in ["", ".legacy", ".old"] {
        removed |= remove_from(directory, event, &directory.join(format!("{}{end}", event.name())))?;
    }
    Ok(removed)
}

fn remove_from(directory: &Path, event: Event, path: &Path) -> Result<bool> {
    let trouble = |error: std::io::Error| trouble(path, &error);
    if !fs::symlink_metadata(path).is_ok_and(|kind| kind.is_file()) {
        return Ok(false);
    }
    let bytes = fs::read(path).map_err(trouble)?;
    let Some((start, end)) = find(&bytes, path)? else {
        return Ok(false);
    };
    let origin = Origin::parse(&bytes[start..end]);
    let head = &bytes[..start - usize::from(origin.newline && start > 0)];
    let mut rest = [head, &bytes[end..]].concat();

    if origin.wrapped {
        let wrapper = WRAPPER.replace("@EVENT@", event.name());
        if rest == format!("#!/bin/sh\n{wrapper}").as_bytes() {
            let before = aside(directory, event);
            if fs::symlink_metadata(&before).is_ok() {
                fs::rename(&before, path).map_err(trouble)?;
            } else {
                fs::remove_file(path).map_err(trouble)?;
            }
            return Ok(true);
        }
        // Somebody added lines: they and the call of the former hook stay.
    } else if origin.file && rest == b"#!/bin/sh\n" {
        rest.clear();
        fs::remove_file(path).map_err(trouble)?;
    }
    if !rest.is_empty() || !origin.file {
        let mode = fs::metadata(path).map_err(trouble)?.permissions().mode();
        write(path, &rest, mode)?;
    }
    if origin.directory {
        // The last of our hooks to go takes the directory with it; others keep it.
        pass_on_directory(directory, event)?;
    }
    Ok(true)
}

/// Lets another hook of ours remember that the directory was made by us, or removes the directory.
fn pass_on_directory(directory: &Path, event: Event) -> Result<()> {
    for other in Event::ALL.into_iter().filter(|other| *other != event) {
        let path = directory.join(other.name());
        let Ok(bytes) = fs::read(&path) else { continue };
        let Some((start, end)) = find(&bytes, &path)? else {
            continue;
        };
        let mut origin = Origin::parse(&bytes[start..end]);
        let old = format!("{STATE}{}\n", origin.words());
        origin.directory = true;
        let block = String::from_utf8_lossy(&bytes[start..end]);
        let block = block.replacen(&old, &format!("{STATE}{}\n", origin.words()), 1);
        let mode = fs::metadata(&path).map_err(|error| trouble(&path, &error))?.permissions().mode();
        return write(&path, &[&bytes[..start], block.as_bytes(), &bytes[end..]].concat(), mode);
    }
    match fs::remove_dir(directory) {
        Err(error) if error.kind() != ErrorKind::DirectoryNotEmpty => Err(trouble(directory, &error)),
        _ => Ok(()),
    }
}

/// The text of our block in a file, if it has one.
pub(super) fn installed(path: &Path) -> Result<Option<Installed>> {
    let Ok(bytes) = fs::read(path) else {
        return Ok(None);
    };
    let Some((start, end)) = find(&bytes, path)? else {
        return Ok(None);
    };
    let executable = fs::metadata(path).is_ok_and(|kind| kind.permissions().mode() & 0o111 != 0);
    let head = &bytes[..start];
    let first = head.is_empty()
        || (head.starts_with(b"#!") && head.iter().position(|byte| *byte == b'\n') == Some(start - 1));
    let block = bytes[start..end].to_vec();
    Ok(Some(Installed { block, runs: executable && first }))
}

/// A block found in a file.
pub(super) struct Installed {
    block: Vec<u8>,
    /// Whether git will reach it: the file is executable and nothing stands before the block.
    pub(super) runs: bool,
}

impl Installed {
    /// Whether this is the block that an installation would write today.
    pub(super) fn is_current(&self, event: Event, program: &str) -> bool {
        let origin = Origin::parse(&self.block);
        [Missing::Allow, Missing::Block]
            .into_iter()
            .any(|missing| block(event, missing, program, origin).as_bytes() == self.block)
    }
}

/// Where our block stands. Markers that do not pair are an error: guessing would cut foreign lines.
fn find(bytes: &[u8], path: &Path) -> Result<Option<(usize, usize)>> {
    let at = |marker: &[u8]| -> Vec<usize> {
        let starts = bytes.windows(marker.len()).enumerate();
        starts
            .filter(|(at, window)| *window == marker && (*at == 0 || bytes[at - 1] == b'\n'))
            .map(|(at, _)| at)
            .collect()
    };
    match (at(BEGIN).as_slice(), at(END).as_slice()) {
        ([], []) => Ok(None),
        ([begin], [end]) if begin < end => Ok(Some((*begin, end + END.len()))),
        _ => Err(Error::refused(format!("the block of git incident in {} is damaged", path.display()))
            .because("its begin and end lines do not pair")
            .hint("remove the block by hand, then run `git incident init`")),
    }
}

/// Where the first line after the shebang of a shell script starts; `None` for anything else.
fn after_shebang(bytes: &[u8]) -> Option<usize> {
    let head = &bytes[..bytes.len().min(8000)];
    if head.contains(&0) {
        return None;
    }
    if !bytes.starts_with(b"#!") {
        // git falls back to sh for a text without a shebang.
        return std::str::from_utf8(head).is_ok().then_some(0);
    }
    let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
    let line = String::from_utf8_lossy(&bytes[2..end]);
    let mut words = line.split_whitespace();
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let mut shell = name(words.next()?);
    if shell == "env" {
        shell = name(words.find(|word| !word.starts_with('-') && !word.contains('='))?);
    }
    ["sh", "bash", "dash", "ash", "ksh", "mksh", "zsh"].contains(&shell.as_str()).then_some(end)
}

/// Replaces a file in one step, so that a hook never runs half-written.
fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let permissions = fs::Permissions::from_mode(mode & 0o7777);
    whole::replace(path, bytes, Access::As(permissions)).map_err(|error| trouble(path, &error))
}

fn trouble(path: &Path, error: &std::io::Error) -> Error {
    Error::refused(format!("cannot change the hook {}", path.display())).because(error)
}
