//! `postmortem diff`: the review diff, for people, for a pull request's comment, for programs, and for git itself.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli::ui::{self, Style, Text};
use crate::cli::{Reply, open_session};
use crate::document::diff::{self, Change, Document, Edit, Kind, Op, Side};
use crate::model::{Error, Result};

/// Arguments of `postmortem diff`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Compares HEAD with the working tree; A with the working tree; A with B (A..B); \
                        the merge base of A and B with B (A...B).\n\
                        Paths are those of the current directory; docs/postmortems when none is named.\n\
                        In plain git diff, log and show: git incident init --diff-driver review")]
pub struct Args {
    /// Commits to compare (A..B, A...B, A), then paths
    #[arg(value_name = "A..B] [PATHS")]
    words: Vec<String>,
    /// Compare with what is staged instead of the working tree
    #[arg(long, visible_alias = "cached", conflicts_with = "no_index")]
    staged: bool,
    /// Compare two files, in a repository or not
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], conflicts_with = "words")]
    no_index: Option<Vec<PathBuf>>,
    /// How it is shown; markdown fits into a pull request's comment
    #[arg(long, short = 'f', default_value = "text", value_parser = ["text", "markdown", "html", "json"])]
    format: String,
    /// Write it into this file instead of standard output
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
    /// Exit with 1 when there are changes
    #[arg(long)]
    exit_code: bool,
    /// Called by git as the diff driver's command
    #[arg(long, hide = true, num_args = 1..=9, allow_hyphen_values = true, value_name = "ARGUMENT")]
    driver: Option<Vec<String>>,
    /// Called by git as the diff driver's textconv
    #[arg(long, hide = true, value_name = "FILE")]
    textconv: Option<PathBuf>,
    /// Paths, and nothing but paths
    #[arg(last = true, hide = true)]
    paths: Vec<PathBuf>,
}

/// Compares.
///
/// # Errors
/// No such commit or file; git fails.
pub fn run(args: Args, json: bool) -> Result<Reply> {
    if let Some(file) = &args.textconv {
        return textconv(file);
    }
    if let Some(arguments) = &args.driver {
        // git would stop the whole diff if this failed.
        return Ok(
            driver(arguments).unwrap_or_else(|error| Reply::new(json!({}), format!("no review: {error}\n")))
        );
    }
    let (documents, shown) = if let Some(files) = &args.no_index {
        let [old, new] = &files[..] else { return Err(Error::usage("--no-index takes two files")) };
        let path = new.display().to_string();
        let document = Document::of(&path, None, Some(&read(old)?), Some(&read(new)?));
        let same = !document.review.differs && document.degraded.is_none();
        let documents = if same { Vec::new() } else { vec![document] };
        (documents, format!("{} → {path}", old.display()))
    } else {
        let session = open_session()?;
        let mut words = args.words.iter().peekable();
        let first = match words.peek() {
            Some(word) if session.is_revision(word)? => words.next(),
            _ => None,
        };
        let mut paths: Vec<PathBuf> = words.map(PathBuf::from).collect();
        if let Some(missing) = paths.iter().find(|p| !p.exists() && session.repo.workdir().is_some()) {
            // A document that was removed is named by a path that is not here.
            let name = missing.display();
            if first.is_none()
                && args.words.len() == 1
                && session.review(&session.compared(None, args.staged)?, &paths)?.is_empty()
            {
                return Err(Error::usage(format!("`{name}` is neither a commit nor a file here"))
                    .hint("git log --oneline lists commits; a removed file: git incident postmortem diff A..B -- FILE"));
            }
        }
        paths.extend(args.paths.iter().cloned());
        let compared = session.compared(first.map(String::as_str), args.staged)?;
        (session.review(&compared, &paths)?, compared.shown)
    };
    let exit = i32::from(args.exit_code && !documents.is_empty());
    let format = if json { "json" } else { args.format.as_str() };
    let view = view(&documents, &shown);
    let text = match format {
        "markdown" => diff::to_markdown(&documents),
        "html" => diff::to_html(&documents, &format!("Post-mortem review: {shown}")),
        "json" if args.output.is_some() => ui::json_line(&view),
        "json" => {
            return Ok(Reply::new(view.clone(), ui::json_line(&with_schema(view))).exit(exit));
        }
        _ => {
            let text = terminal(&documents, &shown);
            if args.output.is_none() {
                return Ok(Reply::new(view, text).paged().exit(exit));
            }
            text.render(false)
        }
    };
    if let Some(path) = args.output {
        std::fs::write(&path, &text)
            .map_err(|e| Error::refused(format!("{} cannot be written", path.display())).because(e))?;
        return Ok(Reply::new(view, format!("wrote {}\n", path.display())).exit(exit));
    }
    Ok(Reply::new(view, text).exit(exit))
}

fn with_schema(mut view: Value) -> Value {
    view["schema"] = crate::cli::reply::SCHEMA.into();
    view
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| Error::refused(format!("{} cannot be read", path.display())).because(e))
}

/// One sentence a line; what is no text stays as it is.
fn textconv(file: &Path) -> Result<Reply> {
    let bytes = read(file)?;
    match std::str::from_utf8(&bytes) {
        Ok(text) if bytes.len() <= diff::MAX_BYTES => {
            ui::write_all(&mut std::io::stdout(), diff::canonical_text(text).as_bytes());
        }
        _ => ui::write_all(&mut std::io::stdout(), &bytes),
    }
    Ok(Reply::default())
}

/// `path old-file old-hex old-mode new-file new-hex new-mode [new-path similarity]`, as git calls an external diff.
/// An unmerged path comes alone.
fn driver(arguments: &[String]) -> Result<Reply> {
    let path = &arguments[0];
    if arguments.len() < 7 {
        return Ok(Reply::new(json!({}), format!("{path}  unmerged\n")));
    }
    let new_path = arguments.get(7);
    let file = |name: &str| if name == "/dev/null" { Ok(None) } else { read(Path::new(name)).map(Some) };
    let (old, new) = (file(&arguments[1])?, file(&arguments[4])?);
    let former = new_path.map(|_| path.clone());
    let document = Document::of(new_path.unwrap_or(path), former, old.as_deref(), new.as_deref());
    let shown = format!("{} → {}", short(&arguments[2]), short(&arguments[5]));
    Ok(Reply::new(json!({}), terminal(&[document], &shown)))
}

fn short(oid: &str) -> &str {
    if oid.bytes().all(|b| b == b'0') || oid == "." { "working tree" } else { oid.get(..10).unwrap_or(oid) }
}

fn terminal(documents: &[Document], shown: &str) -> Text {
    let mut text = Text::new();
    for (number, document) in documents.iter().enumerate() {
        if number > 0 {
            text.add_line("");
        }
        text.push(Style::Bold, &document.path);
        let former = document.former.as_ref().map_or_else(String::new, |f| format!(", was {f}"));
        text.push(Style::Dim, format!("  {}{former}  {shown}\n", document.status.name()));
        if let Some(why) = &document.degraded {
            text.push(Style::Yellow, format!("  no review: {why}\n"));
            continue;
        }
        for kind in Kind::ALL {
            let changes: Vec<&Change> = document.review.of(kind).collect();
            if changes.is_empty() {
                continue;
            }
            let style = match kind {
                Kind::ClaimWidened | Kind::EvidenceRemoved => Style::Red,
                Kind::ClaimSupported | Kind::FactChanged | Kind::ActionItem => Style::Yellow,
                Kind::Section | Kind::Prose => Style::Bold,
            };
            text.push(style, format!("\n{} ({})\n", kind.heading(), changes.len()));
            for change in changes {
                change_lines(&mut text, change);
            }
        }
        for lost in &document.review.unaligned {
            text.push(Style::Yellow, format!("\nnot aligned: {lost}\n"));
        }
        if let Some(silence) = diff::silence(document) {
            text.add_line(format!("  {silence}"));
        }
    }
    if documents.is_empty() {
        text.add_line(format!("no post-mortem changed  {shown}"));
    }
    text
}

fn change_lines(text: &mut Text, change: &Change) {
    let line = |side: &Option<Side>| side.as_ref().map(|s| s.place.line);
    let place = match (line(&change.old), line(&change.new)) {
        (Some(old), Some(new)) if old == new => format!("line {new}"),
        (Some(old), Some(new)) => format!("line {new}, was {old}"),
        (Some(old), None) => format!("was line {old}"),
        (_, new) => format!("line {}", new.unwrap_or(0)),
    };
    text.push(Style::Cyan, format!("  {}", change.section));
    text.push(Style::Dim, format!("{}{place}", if change.section.is_empty() { "" } else { "  " }));
    text.add_line(if change.message.is_empty() { String::new() } else { format!("  {}", change.message) });
    if change.kind == Kind::Section {
        return;
    }
    match (&change.old, &change.new) {
        (Some(_), Some(_)) if !change.words.is_empty() => {
            for (mark, style, skip) in [("-", Style::Red, Op::Insert), ("+", Style::Green, Op::Delete)] {
                text.push(style, format!("    {mark} "));
                for Edit { op, text: words } in change.words.iter().filter(|e| e.op != skip) {
                    // Without colour the changed words are still told apart.
                    match op {
                        Op::Equal => text.push(Style::Plain, words),
                        _ => text.push(style, marked(words)),
                    }
                }
                text.add_line("");
            }
        }
        (Some(old), None) => text.push(Style::Red, format!("    - {}\n", old.text)),
        (_, Some(new)) => text.push(Style::Green, format!("    + {}\n", new.text)),
        (None, None) => {}
    }
}

/// Changed words in brackets, blanks outside.
fn marked(words: &str) -> String {
    let inside = words.trim();
    if inside.is_empty() {
        return words.to_owned();
    }
    let start = words.len() - words.trim_start().len();
    let end = words.trim_end().len();
    format!("{}[{inside}]{}", &words[..start], &words[end..])
}

fn view(documents: &[Document], shown: &str) -> Value {
    let side = |side: &Option<Side>| -> Value {
        side.as_ref()
            .map_or(Value::Null, |s| json!({"line": s.place.line, "column": s.place.column, "text": s.text}))
    };
    let documents: Vec<Value> = documents
        .iter()
        .map(|d| {
            let changes: Vec<Value> = d
                .review
                .changes
                .iter()
                .map(|c| {
                    let words: Vec<Value> =
                        c.words.iter().map(|w| json!({"op": w.op.name(), "text": w.text})).collect();
                    json!({
                        "kind": c.kind.name(), "section": c.section, "message": c.message,
                        "old": side(&c.old), "new": side(&c.new), "words": words,
                    })
                })
                .collect();
            json!({
                "path": d.path, "former": d.former, "status": d.status.name(), "changes": changes,
                "unaligned": d.review.unaligned, "degraded": d.degraded,
            })
        })
        .collect();
    json!({"compared": shown, "documents": documents})
}
