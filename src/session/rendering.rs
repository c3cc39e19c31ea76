//! Documents for readers: what the working tree and the ledger add to a page.
//!
//! Rendering needs no repository: without one, a page has what the document itself says.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use super::Session;
use crate::document::page::Page;
use crate::document::render::index::{self, incident_of};
use crate::document::render::page::{Exhibit, MOST_EVIDENCE};
use crate::document::render::{MOST_BYTES, base64};
use crate::model::incident::{Evidence, Incident};
use crate::model::{Error, Result};

/// The largest picture that becomes part of a page, in bytes.
const MOST_PICTURE: u64 = 1024 * 1024;

/// What all pictures of a page may weigh, in bytes.
const MOST_PICTURES: usize = 8 * 1024 * 1024;

/// A document as it was read.
#[derive(Debug, Clone)]
pub struct Document {
    /// Where it is, as readers of the repository know it: from the top of the working tree, with `/`.
    pub shown: String,
    /// Where it was read; `None` for standard input.
    pub path: Option<PathBuf>,
    /// Its text.
    pub markdown: String,
}

impl Document {
    /// The file's name without its last extension, for the names of what is made of it.
    pub fn stem(&self) -> String {
        let stem = self.path.as_ref().and_then(|p| p.file_stem());
        stem.map_or_else(|| "document".to_owned(), |s| s.to_string_lossy().into_owned())
    }
}

/// Reads a document; `-` is standard input.
///
/// # Errors
/// It is not there, is no regular file, or is larger than anything people write.
pub fn read_document(session: Option<&Session>, path: &Path) -> Result<Document> {
    let shown = path.display().to_string();
    let (bytes, at) = if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        (bytes, None)
    } else {
        (read_file(session, path, &shown)?, Some(path.to_path_buf()))
    };
    if bytes.len() > MOST_BYTES {
        return Err(Error::refused(format!("{shown} is larger than {} MiB", MOST_BYTES >> 20))
            .because("no post-mortem is that long")
            .hint("keep logs as evidence: git incident evidence add FILE"));
    }
    let text = String::from_utf8_lossy(&bytes);
    let markdown = text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned();
    let shown = if at.is_none() { "standard input".to_owned() } else { below_top(session, path) };
    Ok(Document { shown, path: at, markdown })
}

fn read_file(session: Option<&Session>, path: &Path, shown: &str) -> Result<Vec<u8>> {
    let missing = |e: &dyn std::fmt::Display| {
        Error::refused(format!("{shown} cannot be read"))
            .because(e)
            .hint("name a Markdown file, such as docs/postmortems/TICKET.md; - reads standard input")
    };
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() => {
            let mut bytes = Vec::new();
            let file = std::fs::File::open(path).map_err(|e| missing(&e))?;
            file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|e| missing(&e))?;
            Ok(bytes)
        }
        Ok(meta) if meta.is_dir() => Err(Error::refused(format!("{shown} is a directory"))
            .hint(format!("render all of it, with an index: --index {shown} -o DIR"))),
        Ok(_) => Err(missing(&"it is no regular file")),
        Err(e) => {
            // A bare repository has no working tree; what its HEAD holds is meant.
            let bare = session.filter(|s| s.repo.workdir().is_none());
            let head = bare.and_then(|s| s.repo.head_commit().ok().flatten());
            let bytes = bare.zip(head).and_then(|(s, h)| s.repo.file_at(&h, shown).ok().flatten());
            bytes.ok_or_else(|| missing(&e))
        }
    }
}

/// A path from the top of the working tree where it is in one, else as it was typed.
fn below_top(session: Option<&Session>, path: &Path) -> String {
    let top = session.and_then(|s| s.repo.workdir()).and_then(|t| t.canonicalize().ok());
    let real = path.canonicalize().ok();
    let below = top.zip(real).and_then(|(top, real)| real.strip_prefix(top).ok().map(Path::to_path_buf));
    below.as_deref().unwrap_or(path).to_string_lossy().replace('\\', "/")
}

/// The Markdown files of a folder, by name; pages of other kinds and README files are left out.
///
/// # Errors
/// There is no such folder.
pub fn documents_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let shown = folder.display();
    let entries = std::fs::read_dir(folder).map_err(|e| {
        Error::refused(format!("{shown} cannot be listed"))
            .because(e)
            .hint("name the folder that holds the post-mortems: --index DIR")
    })?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|p| {
            p.extension().is_some_and(|e| e.eq_ignore_ascii_case("md") || e.eq_ignore_ascii_case("markdown"))
        })
        .filter(|p| p.file_stem().is_some_and(|s| !s.eq_ignore_ascii_case("readme")))
        .filter(|p| p.is_file())
        .collect();
    found.sort();
    Ok(found)
}

/// The pictures beside a document, as the page can hold them: the address as written, and a `data:` address. Only
/// pictures of the kinds that hold no script, from within the working tree (without one, the document's folder).
pub fn pictures(session: Option<&Session>, document: &Document) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let Some(folder) = document.path.as_ref().map(|p| p.parent().unwrap_or(Path::new("")).to_path_buf())
    else {
        return found;
    };
    let here = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
    let top = session.and_then(|s| s.repo.workdir()).unwrap_or(&here).canonicalize();
    let Ok(top) = top else {
        return found;
    };
    let mut weight = 0;
    for url in index::pictures_of(&document.markdown) {
        let plain = url.split(['?', '#']).next().unwrap_or_default().replace("%20", " ");
        let relative = Path::new(&plain);
        let from = match relative.components().next() {
            // `/assets/x.png` stands at the top of the repository.
            Some(Component::RootDir) => top.join(plain.trim_start_matches('/')),
            _ => here.join(relative),
        };
        let Some(real) = from.canonicalize().ok().filter(|r| r.starts_with(&top) && !within_git(r, &top))
        else {
            continue;
        };
        if !std::fs::metadata(&real).is_ok_and(|m| m.is_file() && m.len() <= MOST_PICTURE) {
            continue;
        }
        let Ok(bytes) = std::fs::read(&real) else { continue };
        weight += bytes.len();
        if weight > MOST_PICTURES {
            break;
        }
        if let Some(kind) = picture_kind(&bytes) {
            found.insert(url, format!("data:image/{kind};base64,{}", base64::encode(&bytes)));
        }
    }
    found
}

fn within_git(real: &Path, top: &Path) -> bool {
    real.strip_prefix(top).is_ok_and(|below| below.components().any(|c| c.as_os_str() == ".git"))
}

/// What a picture is, by its first bytes.
fn picture_kind(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("png"),
        [0xff, 0xd8, 0xff, ..] => Some("jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("webp"),
        _ => None,
    }
}

impl Session {
    /// The incident that a document names, when its ledger is here.
    pub fn incident_of_document(&self, markdown: &str) -> Option<Incident> {
        let id = incident_of(&Page::parse(markdown))?;
        self.named_incident(Some(&id)).ok().map(|(_, incident)| incident)
    }

    /// The evidence of an incident that a document names by its blob, in the ledger's order.
    pub fn exhibits(&self, incident: &Incident, markdown: &str) -> Vec<Exhibit> {
        let mut seen = Vec::new();
        let named = incident.evidence.iter().filter(|e| {
            let Some(oid) = &e.oid else {
                return e.sha256.get(..12).is_some_and(|digits| markdown.contains(digits));
            };
            let fresh =
                oid.as_str().get(..8).is_some_and(|digits| markdown.contains(digits)) && !seen.contains(oid);
            if fresh {
                seen.push(oid.clone());
            }
            fresh
        });
        named.map(|e| self.exhibit(e)).collect()
    }

    fn exhibit(&self, evidence: &Evidence) -> Exhibit {
        let mut remarks = Vec::new();
        if evidence.erased {
            remarks.push("erased for good".to_owned());
        }
        if !evidence.redacted.is_empty() {
            remarks.push("secrets cut out".to_owned());
        }
        if evidence.oid.is_none() {
            remarks.push(format!("kept outside of the repository: {}", evidence.location));
        }
        let wanted = !evidence.erased && evidence.bytes <= MOST_EVIDENCE as u64;
        let bytes = evidence.oid.as_ref().filter(|_| wanted).and_then(|oid| self.repo.blob(oid).ok());
        let text = bytes.and_then(|b| String::from_utf8(b).ok()).filter(|t| !t.contains('\0'));
        Exhibit {
            oid: evidence.oid.as_ref().map(|o| o.short().to_owned()).unwrap_or_default(),
            name: evidence.name.clone(),
            kind: evidence.kind.clone(),
            bytes: evidence.bytes,
            remark: remarks.join(", "),
            text,
        }
    }
}
