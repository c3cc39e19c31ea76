//! `postmortem render`: pages, Jira's format and plain text, on stdout or into files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::{Value, json};

use crate::cli::ui::{Style, Text};
use crate::cli::{Reply, open_session};
use crate::document::render::page::{Ledger, PageInput, page};
use crate::document::render::{adf, index, text};
use crate::model::{Error, Result};
use crate::session::Session;
use crate::session::rendering::{Document, documents_in, pictures, read_document};

/// Arguments of `postmortem render`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Markdown documents; `-` for standard input; the active incident's when left out
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// What to make of them
    #[arg(long, short = 'f', value_enum, default_value = "html")]
    format: Format,
    /// Write here instead of on stdout: a file for one document, a directory for several
    #[arg(long, short = 'o', value_name = "FILE|DIR")]
    output: Option<PathBuf>,
    /// The page of a folder: PATH, or docs/postmortems; with -o DIR its documents are rendered there too
    #[arg(long)]
    index: bool,
    /// Columns of plain text
    #[arg(long, default_value_t = 80, value_name = "COLUMNS")]
    width: usize,
    /// The language of the documents, as HTML names it
    #[arg(long, default_value = "en", value_name = "TAG")]
    lang: String,
    /// Put the texts of the evidence that a document names into its page
    #[arg(long)]
    embed_evidence: bool,
    /// Do not look into the ledger: pages hold what the documents say
    #[arg(long)]
    no_ledger: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One page that holds everything it needs
    Html,
    /// Atlassian Document Format, for Jira
    Adf,
    /// Plain text
    Text,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Adf => "adf",
            Self::Text => "text",
        }
    }

    fn extension(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Adf => "adf.json",
            Self::Text => "txt",
        }
    }
}

/// Something made, not yet written.
struct Made {
    /// Its name in a directory.
    name: String,
    source: Option<PathBuf>,
    text: String,
    cut: Vec<String>,
}

/// Renders.
///
/// # Errors
/// A document that cannot be read; an output that cannot be written.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    if !is_language(&args.lang) {
        return Err(Error::usage(format!("{:?} is no language tag", args.lang))
            .hint("as HTML names languages: --lang en, --lang de-CH"));
    }
    // A document needs no repository; where there is one, and a ledger in it, the page has more to say.
    let session = open_session().ok();
    let session = session.as_ref();
    if args.index {
        if args.paths.len() > 1 {
            return Err(
                Error::usage("--index takes one folder").hint("git incident postmortem render --index DIR")
            );
        }
        return index_of(session, args.paths.first().map(PathBuf::as_path), &args);
    }
    let paths = if args.paths.is_empty() { vec![active_document(session)?] } else { args.paths.clone() };
    if paths.iter().filter(|p| p.as_os_str() == "-").count() > 1 {
        return Err(Error::usage("standard input can be read once").hint("name `-` once"));
    }
    let mut made = Vec::new();
    for path in &paths {
        let document = read_document(session, path)?;
        made.push(render(session, &document, &args, ""));
    }
    match &args.output {
        None if made.len() > 1 => Err(Error::usage("several documents need a directory to go to")
            .hint("git incident postmortem render PATH… -o DIR")),
        None => Ok(printed(made, args.format)),
        Some(output) => {
            let directory =
                made.len() > 1 || output.is_dir() || output.as_os_str().to_string_lossy().ends_with('/');
            if directory {
                write_all(&made, output, args.format)
            } else {
                let mut rows = Vec::new();
                for one in &made {
                    rows.push(write(one, output, args.format)?);
                }
                Ok(written(rows))
            }
        }
    }
}

/// Whether a word has the form of a language tag: parts of one to eight letters or digits, the first of letters alone
/// (RFC 5646, section 2.1).
fn is_language(tag: &str) -> bool {
    tag.len() <= 60
        && tag.split('-').all(|p| (1..=8).contains(&p.len()) && p.bytes().all(|b| b.is_ascii_alphanumeric()))
        && tag.split('-').next().is_some_and(|p| p.bytes().all(|b| b.is_ascii_alphabetic()))
}

pub(super) fn active_document(session: Option<&Session>) -> Result<PathBuf> {
    let none = || {
        Error::usage("no document is named").hint("git incident postmortem render docs/postmortems/TICKET.md")
    };
    let session = session.ok_or_else(none)?;
    let (_, incident) = session.named_incident(None).map_err(|_| none())?;
    let path = session.workdir()?.join(session.postmortem_path(&incident)?);
    if path.is_file() {
        Ok(path)
    } else {
        Err(Error::refused("the active incident has no post-mortem yet")
            .because(format!("{} is not there", path.display()))
            .hint("git incident postmortem draft"))
    }
}

fn render(session: Option<&Session>, document: &Document, args: &Args, back: &str) -> Made {
    let markdown = &document.markdown;
    let mut cut = Vec::new();
    let text = match args.format {
        Format::Text => text::text(markdown, args.width),
        Format::Adf => {
            // One character is the newline at the end of the file.
            let made = adf::adf(markdown, &document.shown, adf::LIMIT - 1);
            cut = made.cut;
            made.json + "\n"
        }
        Format::Html => {
            let ledger = session.filter(|_| !args.no_ledger);
            let incident = ledger.and_then(|s| s.incident_of_document(markdown));
            let exhibits = match (ledger, &incident) {
                (Some(s), Some(i)) => s.exhibits(i, markdown),
                _ => Vec::new(),
            };
            page(&PageInput {
                markdown,
                path: &document.shown,
                language: &args.lang,
                pictures: pictures(session, document),
                ledger: Ledger { incident: incident.as_ref(), exhibits, embed: args.embed_evidence },
                index: back,
            })
        }
    };
    let name = format!("{}.{}", document.stem(), args.format.extension());
    Made { name, source: document.path.clone(), text, cut }
}

fn index_of(session: Option<&Session>, folder: Option<&Path>, args: &Args) -> Result<Reply> {
    if args.format != Format::Html {
        return Err(Error::usage("the page of a folder is HTML").hint("leave --format out"));
    }
    let folder = match (folder, session) {
        (Some(folder), _) => folder.to_path_buf(),
        (None, Some(s)) => s.workdir()?.join(&s.config()?.postmortem.directory),
        (None, None) => {
            return Err(Error::usage("no folder is named, and this is no repository")
                .hint("git incident postmortem render --index DIR"));
        }
    };
    let mut cards = Vec::new();
    let mut made = Vec::new();
    for path in documents_in(&folder)? {
        let document = read_document(session, &path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // The page leads to what is there: the pages made with it, else the documents themselves.
        let target = if args.output.is_some() { format!("{}.html", document.stem()) } else { name.clone() };
        let mut card = index::card(&document.markdown, &name, &index::href(&target));
        let incident =
            session.filter(|_| !args.no_ledger).and_then(|s| s.incident_of_document(&document.markdown));
        if let Some(incident) = incident {
            if card.status.is_empty() {
                incident.status.as_str().clone_into(&mut card.status);
            }
            if card.ticket.is_empty() {
                card.ticket.clone_from(&incident.ticket);
            }
        }
        cards.push(card);
        if args.output.is_some() {
            made.push(render(session, &document, args, "index.html"));
        }
    }
    let shown = folder.display().to_string();
    let top = session.and_then(|s| s.repo.workdir());
    let shown = top.and_then(|t| folder.strip_prefix(t).ok()).map_or(shown, |p| p.display().to_string());
    let text = index::index(&cards, &shown, &args.lang);
    let page = Made { name: "index.html".into(), source: None, text, cut: Vec::new() };
    match &args.output {
        None => Ok(printed(vec![page], Format::Html)),
        Some(output) => {
            made.push(page);
            write_all(&made, output, Format::Html)
        }
    }
}

fn printed(made: Vec<Made>, format: Format) -> Reply {
    let rows: Vec<Value> = made
        .iter()
        .map(|m| json!({"path": null, "format": format.name(), "bytes": m.text.len(), "cut": m.cut, "text": m.text}))
        .collect();
    let text: String = made.into_iter().map(|m| m.text).collect();
    Reply::new(json!({"outputs": rows}), text).paged()
}

fn write_all(made: &[Made], directory: &Path, format: Format) -> Result<Reply> {
    let mut names: BTreeMap<String, &Made> = BTreeMap::new();
    for one in made {
        if let Some(other) = names.insert(one.name.to_lowercase(), one) {
            let source = |m: &Made| {
                m.source.as_ref().map_or_else(|| "the index".to_owned(), |p| p.display().to_string())
            };
            return Err(Error::refused(format!("two documents would become {}", one.name))
                .because(format!("{} and {}", source(other), source(one)))
                .hint("render them into different directories"));
        }
    }
    std::fs::create_dir_all(directory).map_err(|e| {
        Error::refused(format!("{} cannot be made", directory.display()))
            .because(e)
            .hint("name a directory: -o DIR")
    })?;
    let mut rows = Vec::new();
    for one in made {
        rows.push(write(one, &directory.join(&one.name), format)?);
    }
    Ok(written(rows))
}

fn write(made: &Made, path: &Path, format: Format) -> Result<Value> {
    let shown = path.display();
    let same = made.source.as_ref().and_then(|s| s.canonicalize().ok());
    if same.is_some() && same == path.canonicalize().ok() {
        return Err(
            Error::refused(format!("{shown} is the document itself")).hint("name another file: -o FILE")
        );
    }
    if std::fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_symlink()) {
        return Err(Error::refused(format!("{shown} is a symbolic link"))
            .hint("remove the link, or name another file"));
    }
    std::fs::write(path, &made.text).map_err(|e| {
        Error::refused(format!("{shown} cannot be written")).because(e).hint("name another place: -o FILE")
    })?;
    Ok(json!({"path": path, "format": format.name(), "bytes": made.text.len(), "cut": made.cut}))
}

fn written(rows: Vec<Value>) -> Reply {
    let mut text = Text::new();
    for row in &rows {
        let path = row["path"].as_str().unwrap_or_default();
        text = text.plain("wrote ").styled(Style::Bold, path).line(format!(" ({} bytes)", row["bytes"]));
        let cut: Vec<&str> = row["cut"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if !cut.is_empty() {
            text.push(Style::Yellow, format!("too long for Jira; left out: {}\n", cut.join(", ")));
        }
    }
    Reply::new(json!({"outputs": rows}), text)
}
