//! Adds trailers to the message file of a commit, as the `commit-msg` hook sees it.
//!
//! What a `#` line is depends on how git will clean the message afterwards: a comment after an
//! editor session, text when nobody edits. git does the editing, away from the repository's
//! configuration, so that a user's own `trailer.*` settings neither run nor move anything.

use std::ffi::OsStr;
use std::path::Path;

use super::read::{complete, read, scissors};
use crate::git::program::Git;
use crate::git::whole::{self, Access};
use crate::model::{Error, Result};

/// The characters git chooses from when `core.commentChar` is `auto`.
const AUTO: &[u8] = b"#;@!$%^&|:";

/// How git will clean the message after the hook: what the configuration and the environment say.
#[derive(Debug, Clone, Default)]
pub struct Cleanup<'a> {
    /// The value of `core.commentString` or `core.commentChar`, whichever was set last.
    pub comment: Option<&'a str>,
    /// The value of `commit.cleanup`.
    pub mode: Option<&'a str>,
    /// Whether the user edits the message ([`Cleanup::edited`]).
    pub editor: bool,
    /// The content of the file that `commit.template` names.
    pub template: Option<&'a [u8]>,
}

impl Cleanup<'_> {
    /// Whether a user edits the message, from the variable `GIT_EDITOR`: git sets it to `:` for the
    /// hooks of a commit that nobody edits.
    pub fn edited(git_editor: Option<&OsStr>) -> bool {
        git_editor != Some(OsStr::new(":"))
    }

    /// What starts a comment line in this message; `None` when every line is text.
    fn comment_string(&self, message: &[u8]) -> Option<String> {
        let strips = match self.mode {
            Some("strip") => true,
            Some("whitespace" | "verbatim" | "scissors") => false,
            _ => self.editor,
        };
        strips.then(|| self.marker(message))
    }

    /// What would start a comment or the scissors line.
    fn marker(&self, message: &[u8]) -> String {
        let Some(configured) = self.comment.filter(|text| !text.is_empty()) else {
            return "#".to_owned();
        };
        if !configured.eq_ignore_ascii_case("auto") {
            return configured.to_owned();
        }
        // git chose it before the hook and tells nobody; its own lines at the end show it.
        let single = |byte: u8| char::from(byte).to_string();
        if let Some(byte) = AUTO.iter().find(|byte| scissors(message, &[**byte]) < message.len()) {
            return single(*byte);
        }
        let last = message.rsplit(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
        match last {
            Some([byte, b' ' | b'\t' | b'\r', ..] | [byte]) if AUTO.contains(byte) => single(*byte),
            _ => "#".to_owned(),
        }
    }
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// Trailers were added.
    Added,
    /// All of them were there: the file was not touched, and no program was run.
    Present,
    /// The file was left alone.
    Skipped(Skip),
}

/// Why a message was left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skip {
    /// It is empty or an untouched template: git will abort the commit, and a trailer would make
    /// it a message.
    Empty,
    /// It is a `fixup!`, `squash!` or `amend!` commit, whose trailers a later rebase would drop or
    /// double.
    Fixup,
}

impl Skip {
    /// The reason in words.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Empty => "the message is empty",
            Self::Fixup => {
                "trailers of a fixup, squash or amend commit would be lost or doubled by the rebase"
            }
        }
    }
}

/// Adds the trailers that the final block does not have yet. Runs `git` at most once, and not at
/// all when there is nothing to add.
pub fn add_trailers(
    git: &Git,
    file: &Path,
    cleanup: &Cleanup<'_>,
    trailers: &[(&str, &str)],
) -> Result<Added> {
    let trouble = |error: std::io::Error| {
        Error::refused(format!("cannot edit the commit message in {}", file.display())).because(error)
    };
    if let Some((key, value)) = trailers.iter().find(|(key, value)| !is_key(key) || value.contains('\n')) {
        return Err(Error::bug(format!("`{key}: {value}` is no trailer")));
    }
    let message = std::fs::read(file).map_err(trouble)?;

    // Below the scissors line (`commit -v`) stands a diff that git will cut: it stays as it is.
    let marker = cleanup.marker(&message);
    let cut = if cleanup.editor { scissors(&message, marker.as_bytes()) } else { message.len() };
    let (head, tail) = message.split_at(cut);
    let comment = cleanup.comment_string(&message).unwrap_or_else(|| unused(head));

    let body = clean(head, &comment);
    let template = cleanup.template.map(|bytes| clean(bytes, &comment)).unwrap_or_default();
    if body.strip_prefix(template.as_slice()).is_some_and(|rest| rest.iter().all(|line| says_nothing(line))) {
        return Ok(Added::Skipped(Skip::Empty));
    }
    let subject = body.iter().find(|line| !line.is_empty()).copied().unwrap_or_default();
    if [&b"fixup! "[..], b"squash! ", b"amend! "].iter().any(|prefix| subject.starts_with(prefix)) {
        return Ok(Added::Skipped(Skip::Fixup));
    }
    let there = read(head, &comment);
    let missing: Vec<_> = trailers
        .iter()
        .filter(|(key, value)| {
            !there
                .iter()
                .any(|trailer| trailer.key.eq_ignore_ascii_case(key) && trailer.value == value.trim())
        })
        .collect();
    if missing.is_empty() {
        return Ok(Added::Present);
    }

    let comment_key = if comment.len() == 1 { "core.commentChar" } else { "core.commentString" };
    let mut call = git
        .clone()
        .config(comment_key, comment)
        .scrubbed()
        // No repository: the user's `trailer.*` settings shall not act here.
        .git_dir("/dev/null/none")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .call(["interpret-trailers", "--no-divider", "--where", "end"])
        .args(["--if-exists", "addIfDifferent", "--if-missing", "add"])
        // git 2.39 puts trailers into the title when the last line has no end.
        .stdin(complete(head));
    for (key, value) in missing {
        call = call.arg("--trailer").arg(format!("{key}: {value}"));
    }
    let mut edited = call.bytes()?;
    if is_crlf(head) {
        edited = to_crlf(&edited);
    }
    edited.extend_from_slice(tail);

    let permissions = std::fs::metadata(file).map_err(trouble)?.permissions();
    whole::replace(file, &edited, Access::As(permissions)).map_err(trouble)?;
    Ok(Added::Added)
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// A character that starts no line of the message: with it as the comment character, every line
/// is text. Control characters come first, nobody starts a line with one.
fn unused(message: &[u8]) -> String {
    let starts: std::collections::BTreeSet<u8> =
        message.split(|byte| *byte == b'\n').filter_map(|line| line.first().copied()).collect();
    let free = (1..127).find(|byte| *byte != b'\n' && *byte != b'\r' && !starts.contains(byte));
    char::from(free.unwrap_or(1)).to_string()
}

/// The lines that git keeps: no comments, no white space at the ends, no blank lines in front.
fn clean<'a>(message: &'a [u8], comment: &str) -> Vec<&'a [u8]> {
    let mut lines: Vec<&[u8]> = message
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.starts_with(comment.as_bytes()))
        .map(<[u8]>::trim_ascii_end)
        .skip_while(|line| line.is_empty())
        .collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines
}

fn says_nothing(line: &[u8]) -> bool {
    line.is_empty() || line.starts_with(b"Signed-off-by: ")
}

fn is_crlf(text: &[u8]) -> bool {
    let mut lines =
        text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")).peekable();
    lines.peek().is_some() && lines.all(|line| line.ends_with(b"\r\n"))
}

fn to_crlf(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 16);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\n") {
            Some(rest) => {
                out.extend_from_slice(rest.strip_suffix(b"\r").unwrap_or(rest));
                out.extend_from_slice(b"\r\n");
            }
            None => out.extend_from_slice(line),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::program::installed_for_tests;
    use crate::git::trailers::values;

    const ADD: &[(&str, &str)] = &[("Incident", "abc1234"), ("Attempt", "2")];
    const CUT: &str = "# ------------------------ >8 ------------------------\n";

    fn edited() -> Cleanup<'static> {
        Cleanup { editor: true, ..Cleanup::default() }
    }

    fn add(message: &str, cleanup: &Cleanup<'_>) -> (Added, String) {
        let mut answer = None;
        for program in installed_for_tests() {
            let directory = tempfile::tempdir().unwrap();
            let file = directory.path().join("MSG");
            std::fs::write(&file, message).unwrap();
            let git = Git::at("/").program(program);
            let added = add_trailers(&git, &file, cleanup, ADD).unwrap();
            let text = std::fs::read_to_string(&file).unwrap();
            // A second time nothing changes and nothing runs.
            let broken = Git::at("/").program("no-such-git");
            if added == Added::Added {
                assert_eq!(
                    add_trailers(&broken, &file, cleanup, ADD).unwrap(),
                    Added::Present,
                    "{message:?}"
                );
            }
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
            let new = (added, text);
            assert_eq!(*answer.get_or_insert_with(|| new.clone()), new, "the two versions differ");
        }
        answer.unwrap()
    }

    #[test]
    fn plain_messages_get_a_block_of_their_own() {
        let (added, text) = add("subject\n\nbody\n", &Cleanup::default());
        assert_eq!(
            (added, text.as_str()),
            (Added::Added, "subject\n\nbody\n\nIncident: abc1234\nAttempt: 2\n")
        );
        let (_, text) = add("subject", &Cleanup::default());
        assert_eq!(text, "subject\n\nIncident: abc1234\nAttempt: 2\n");
    }

    #[test]
    fn an_existing_block_is_joined() {
        let (_, text) = add("subject\n\nIncident: abc1234\nSigned-off-by: A <a@b>\n", &Cleanup::default());
        assert_eq!(text, "subject\n\nIncident: abc1234\nSigned-off-by: A <a@b>\nAttempt: 2\n");
    }

    #[test]
    fn comments_of_an_editor_session_stay_last() {
        let (_, text) = add("subject\n\n# Please enter\n# more\n", &edited());
        assert_eq!(text, "subject\n\nIncident: abc1234\nAttempt: 2\n\n# Please enter\n# more\n");
    }

    #[test]
    fn lines_with_a_number_sign_are_text_when_nobody_edits() {
        let (_, text) = add("subject\n\n# heading\n#12 fixed\n", &Cleanup::default());
        assert_eq!(text, "subject\n\n# heading\n#12 fixed\n\nIncident: abc1234\nAttempt: 2\n");
        let strip = Cleanup { mode: Some("strip"), ..Cleanup::default() };
        let (_, text) = add("subject\n\n# heading\n", &strip);
        assert!(text.ends_with("Attempt: 2\n\n# heading\n"), "{text}");
    }

    #[test]
    fn the_diff_of_a_verbose_commit_is_untouched() {
        let tail =
            format!("{CUT}# Do not modify\ndiff --git a/f b/f\n+Incident: abc1234\n+Attempt: 2\n\nKey: v\n");
        let (_, text) = add(&format!("subject\n\n# On branch x\n{tail}"), &edited());
        assert_eq!(text, format!("subject\n\nIncident: abc1234\nAttempt: 2\n\n# On branch x\n{tail}"));
        let scissors = Cleanup { mode: Some("scissors"), ..edited() };
        let (_, text) = add(&format!("subject\n\n# text here\n{tail}"), &scissors);
        assert_eq!(text, format!("subject\n\n# text here\n\nIncident: abc1234\nAttempt: 2\n{tail}"));
    }

    #[test]
    fn other_comment_characters_are_followed() {
        let semicolon = Cleanup { comment: Some(";"), ..edited() };
        let (_, text) = add("subject\n\n#12 is text\n\n; comment\n", &semicolon);
        assert_eq!(text, "subject\n\n#12 is text\n\nIncident: abc1234\nAttempt: 2\n\n; comment\n");
        let auto = Cleanup { comment: Some("auto"), ..edited() };
        let (_, text) = add("subject\n\n#12 is text\n\n; comment\n;\n", &auto);
        assert_eq!(text, "subject\n\n#12 is text\n\nIncident: abc1234\nAttempt: 2\n\n; comment\n;\n");
    }

    #[test]
    fn empty_messages_and_untouched_templates_stay_empty() {
        for message in ["", "\n\n", "# only\n# comments\n", "\nSigned-off-by: A <a@b>\n\n# c\n"] {
            assert_eq!(add(message, &edited()), (Added::Skipped(Skip::Empty), message.to_owned()));
        }
        let template = Cleanup { template: Some(b"Why:\n\nHow:\n"), ..edited() };
        assert_eq!(add("Why:\n\nHow:\n\n# c\n", &template).0, Added::Skipped(Skip::Empty));
        assert_eq!(add("Why: so\n\nHow:\n\n# c\n", &template).0, Added::Added);
    }

    #[test]
    fn fixups_carry_no_trailers() {
        for subject in ["fixup! x", "squash! x", "amend! x"] {
            assert_eq!(add(&format!("{subject}\n\nbody\n"), &edited()).0, Added::Skipped(Skip::Fixup));
        }
        assert_eq!(add("fixup the thing\n", &edited()).0, Added::Added);
    }

    #[test]
    fn line_ends_are_kept() {
        let (_, text) = add("subject\r\n\r\nbody\r\n", &Cleanup::default());
        assert_eq!(text, "subject\r\n\r\nbody\r\n\r\nIncident: abc1234\r\nAttempt: 2\r\n");
    }

    #[test]
    fn a_merge_message_with_conflicts_keeps_them_below() {
        let (_, text) = add("Merge branch 'x'\n\n# Conflicts:\n#\tfile\n", &edited());
        assert!(text.starts_with("Merge branch 'x'\n\nIncident: abc1234\nAttempt: 2\n"), "{text}");
        assert_eq!(values(text.as_bytes(), "#", "attempt"), ["2"]);
    }

    #[test]
    fn settings_of_the_user_do_not_act() {
        let directory = tempfile::tempdir().unwrap();
        let git = Git::at(directory.path()).scrubbed();
        git.call(["init", "-q"]).writes().run().unwrap();
        git.call(["config", "trailer.where", "start"]).run().unwrap();
        git.call(["config", "trailer.sign.command", "echo no"]).run().unwrap();
        let file = directory.path().join("MSG");
        std::fs::write(&file, "s\n\nKey: v\n").unwrap();
        add_trailers(&git, &file, &Cleanup::default(), ADD).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "s\n\nKey: v\nIncident: abc1234\nAttempt: 2\n");
    }
}
