//! How plain `git diff`, `git log -p` and `git show` show post-mortems, in this repository alone.
//!
//! A marked block in `info/attributes` names the diff driver of the documents. It stands first in the file, so that
//! the user's own lines win, and taking it out restores the file to the byte. Either git's built-in `markdown` driver,
//! whose hunk headers name the section; or one of ours, whose command shows the review (`git diff`, and `git log`,
//! `git show` with `--ext-diff`) and whose textconv puts each sentence on a line of its own (`git log -p`, `git show`).

use std::fs;
use std::path::PathBuf;

use super::program::Git;
use super::whole::{self, Access};
use crate::model::{Error, Result};

/// The name of our driver in the configuration.
pub const DRIVER: &str = "git-incident";

const BEGIN: &str = "# git-incident: begin\n";
const END: &str = "# git-incident: end\n";

/// Which driver shows the documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// git's own `markdown` driver: hunk headers name the section.
    Headings,
    /// The review diff.
    Review,
    /// Whatever git does by itself.
    Plain,
}

impl Look {
    /// The word in options and views.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Headings => "headings",
            Self::Review => "review",
            Self::Plain => "none",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Headings, Self::Review, Self::Plain].into_iter().find(|look| look.name() == word)
    }
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    /// The documents are shown this way now.
    Set(Look),
    /// They were before.
    Unchanged(Look),
    /// The project's own `.gitattributes` names another driver, which stays.
    Theirs(String),
}

/// Sets the look of the Markdown files below `folder`, a path from the top of the working tree. `None` sets headings
/// where nothing was chosen before. `program` is how the shell finds us.
///
/// # Errors
/// The git directory cannot be written.
pub fn set(git: &Git, folder: &str, look: Option<Look>, program: &str) -> Result<Done> {
    let file = place(git)?;
    let text = read(&file)?;
    let (before, rest) = split(&text);
    let current =
        before.as_ref().map(|block| if block.contains("=markdown") { Look::Headings } else { Look::Review });
    let look = match (look, current) {
        (None, Some(current)) => current,
        (None, None) => Look::Headings,
        (Some(look), _) => look,
    };
    if current.is_none() && look != Look::Plain {
        let probe = format!("{folder}/git-incident.md");
        let bytes = git.call(["check-attr", "-z", "diff", "--", &probe]).bytes()?;
        let value = bytes.split(|b| *b == 0).nth(2).map(|v| String::from_utf8_lossy(v).into_owned());
        if let Some(theirs) = value.filter(|v| v != "unspecified") {
            return Ok(Done::Theirs(theirs));
        }
    }
    let driver = match look {
        Look::Headings => "markdown",
        Look::Review => DRIVER,
        Look::Plain => "",
    };
    let block = if look == Look::Plain {
        String::new()
    } else {
        format!("{BEGIN}{} diff={driver}\n{END}", pattern(folder))
    };
    configure(git, look == Look::Review, program)?;
    if before.unwrap_or_default() == block {
        return Ok(Done::Unchanged(look));
    }
    write(&file, &format!("{block}{rest}"))?;
    Ok(Done::Set(look))
}

/// Takes the block and our driver out again. Returns whether there was one.
///
/// # Errors
/// The git directory cannot be written.
pub fn unset(git: &Git) -> Result<bool> {
    let file = place(git)?;
    let text = read(&file)?;
    let (block, rest) = split(&text);
    configure(git, false, "")?;
    if block.is_none() {
        return Ok(false);
    }
    if rest.is_empty() {
        fs::remove_file(&file).map_err(|e| trouble(&file, &e))?;
        return Ok(true);
    }
    write(&file, &rest)?;
    Ok(true)
}

fn place(git: &Git) -> Result<PathBuf> {
    let path = git.call(["rev-parse", "--path-format=absolute", "--git-path", "info/attributes"]).text()?;
    Ok(PathBuf::from(path))
}

fn trouble(file: &std::path::Path, error: &std::io::Error) -> Error {
    Error::refused(format!("{} cannot be changed", file.display())).because(error)
}

fn read(file: &PathBuf) -> Result<String> {
    match fs::read(file) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| {
            Error::refused(format!("{} is not UTF-8", file.display()))
                .hint("leave it alone: git incident init --diff-driver none")
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(trouble(file, &error)),
    }
}

fn write(file: &PathBuf, text: &str) -> Result<()> {
    let done = || -> std::io::Result<()> {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        let access = fs::metadata(file).map_or(Access::Umask, |meta| Access::As(meta.permissions()));
        whole::replace(file, text.as_bytes(), access)
    };
    done().map_err(|e| trouble(file, &e))
}

/// Our block, and the file without it.
fn split(text: &str) -> (Option<String>, String) {
    let Some(start) = text.find(BEGIN) else { return (None, text.to_owned()) };
    let Some(end) = text[start..].find(END).map(|at| start + at + END.len()) else {
        return (None, text.to_owned());
    };
    (Some(text[start..end].to_owned()), format!("{}{}", &text[..start], &text[end..]))
}

/// A pattern of gitattributes(5) for the Markdown files below a folder.
fn pattern(folder: &str) -> String {
    let mut escaped = String::new();
    for c in folder.trim_matches('/').chars() {
        if matches!(c, '*' | '?' | '[' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    let pattern =
        if escaped.is_empty() || escaped == "." { "*.md".to_owned() } else { format!("/{escaped}/**/*.md") };
    if pattern.contains([' ', '\t', '"']) {
        return format!("\"{}\"", pattern.replace('\\', "\\\\").replace('"', "\\\""));
    }
    pattern
}

fn configure(git: &Git, wanted: bool, program: &str) -> Result<()> {
    let keys = ["command", "textconv", "xfuncname"].map(|key| format!("diff.{DRIVER}.{key}"));
    if !wanted {
        if git.call(["config", "--local", "--get", &keys[0]]).text_if_any()?.is_some() {
            git.call(["config", "--local", "--remove-section", &format!("diff.{DRIVER}")]).writes().run()?;
        }
        return Ok(());
    }
    let quoted = shlex::try_quote(program)
        .map_err(|_| Error::refused("the program's path holds a NUL byte"))?
        .into_owned();
    // A driver that is not found would end every `git diff`: then git's own is shown.
    let values = [
        format!(
            "f() {{ if command -v {quoted} >/dev/null 2>&1; then {quoted} postmortem diff --driver \"$@\"; \
             else git --no-pager diff --no-ext-diff --no-textconv --no-index -- \"$2\" \"$5\" || :; fi; }}; f"
        ),
        format!(
            "f() {{ if command -v {quoted} >/dev/null 2>&1; then {quoted} postmortem diff --textconv \"$1\"; \
             else cat \"$1\"; fi; }}; f"
        ),
        "^#{1,6} .*$".to_owned(),
    ];
    for (key, value) in keys.iter().zip(&values) {
        git.call(["config", "--local", "--replace-all", key, value]).writes().run()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_quoted_as_git_reads_them() {
        let folder = tempfile::tempdir().unwrap();
        let git = Git::at(folder.path())
            .scrubbed()
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        git.call(["init", "-q"]).run().unwrap();
        for odd in ["docs/postmortems", "post mortems", "a[b]*c", "quo\"te"] {
            fs::write(folder.path().join(".git/info/attributes"), "").ok();
            assert_eq!(
                set(&git, odd, Some(Look::Headings), "git-incident").unwrap(),
                Done::Set(Look::Headings)
            );
            for (path, matches) in [
                (format!("{odd}/x.md"), true),
                (format!("{odd}/deep/x.md"), true),
                ("other/x.md".into(), false),
            ] {
                let said = git.call(["check-attr", "-z", "diff", "--", &path]).bytes().unwrap();
                let value = said.split(|b| *b == 0).nth(2).unwrap().to_vec();
                assert_eq!(value == b"markdown", matches, "{path}");
            }
            assert!(unset(&git).unwrap());
        }
    }

    #[test]
    fn the_users_file_comes_back_to_the_byte() {
        let folder = tempfile::tempdir().unwrap();
        let git = Git::at(folder.path())
            .scrubbed()
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        git.call(["init", "-q"]).run().unwrap();
        let file = folder.path().join(".git/info/attributes");
        let config = fs::read(folder.path().join(".git/config")).unwrap();
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        for before in ["*.c diff=cpp", "# mine\n"] {
            fs::write(&file, before).unwrap();
            for look in [Look::Headings, Look::Review, Look::Review] {
                set(&git, "docs", Some(look), "git-incident").unwrap();
            }
            assert_eq!(set(&git, "docs", None, "git-incident").unwrap(), Done::Unchanged(Look::Review));
            assert!(unset(&git).unwrap() && !unset(&git).unwrap());
            assert_eq!(fs::read_to_string(&file).unwrap(), before);
            assert_eq!(fs::read(folder.path().join(".git/config")).unwrap(), config);
        }
        fs::write(folder.path().join(".gitattributes"), "*.md diff=theirs\n").unwrap();
        assert_eq!(set(&git, "docs", None, "git-incident").unwrap(), Done::Theirs("theirs".into()));
    }
}
