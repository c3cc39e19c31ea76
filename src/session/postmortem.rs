//! The post-mortem: what the repository adds to the ledger for it, and how it gets into the working tree.

use std::io::Write;
use std::path::{Component, Path, PathBuf};

use super::Session;
use crate::config::Profile;
use crate::document::postmortem::blocks::{self, Kept, Known, Redraft};
use crate::document::postmortem::template::{self, Template};
use crate::document::postmortem::{
    self, ConfiguredGate, DraftInput, RecordFacts, Validation, WaitingGate, web_address,
};
use crate::event::PostmortemDrafted;
use crate::model::incident::Incident;
use crate::model::status::Role;
use crate::model::{Error, Oid, Result, canonical};
use crate::report::standing::Standing;
use crate::store::records;

/// The largest document that is drafted into.
const MAX_DOCUMENT: u64 = 16 * 1024 * 1024;

/// A fresh draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The document.
    pub text: String,
    /// The profile it has.
    pub profile: Profile,
    /// The repository's template it was made by; empty for ours.
    pub template: String,
    /// What that template leaves out.
    pub warnings: Vec<String>,
}

/// What became of a document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Written {
    /// Whether any byte of it changed.
    pub changed: bool,
    /// Whether it was not there before.
    pub created: bool,
    /// What is in it now.
    pub text: String,
    /// Titles of blocks that were written; all of them for a new document.
    pub updated: Vec<String>,
    /// Titles of blocks that were put in.
    pub added: Vec<String>,
    /// Titles of blocks that were taken out.
    pub removed: Vec<String>,
    /// Blocks that stay as people left them, where the draft says something else.
    pub kept: Vec<Kept>,
}

impl Session {
    /// Drafts the post-mortem.
    ///
    /// # Errors
    /// The record does not show all four preconditions: each missing one is named. A template of the repository that
    /// cannot be used.
    pub fn draft_postmortem(
        &self,
        incident: &Incident,
        standing: &Standing,
        profile: Profile,
    ) -> Result<Draft> {
        if !standing.complete() {
            let mut error = Error::refused("the record does not hold a post-mortem yet");
            for line in &standing.missing {
                error = error.because(format!("missing: {line}"));
            }
            return Err(error.hint("git incident status shows where it stands"));
        }
        let fixes = self.commit_facts(incident.links_as(Role::Fix));
        let offending = self.commit_facts(incident.links_as(Role::Offending));
        let range = self.fix_range(incident)?;
        let changed = self.changed_files(&range)?;
        let web = self.web_address();
        let input = DraftInput {
            incident,
            validation: self.validation_facts(incident, standing),
            fixes: &fixes,
            offending: &offending,
            changed: &changed,
            profile: profile.word(),
            web: &web,
        };
        let (name, own) = self.own_template(profile)?;
        let own = own.as_deref().map(|text| Template { name: &name, text });
        let text = postmortem::draft(&input, own)?;
        let warnings = if own.is_some() { template::lacks(&text) } else { Vec::new() };
        Ok(Draft { text, profile, template: if own.is_some() { name } else { String::new() }, warnings })
    }

    fn validation_facts(&self, incident: &Incident, standing: &Standing) -> Validation {
        let repro = &standing.repro;
        let config = standing.fix.as_ref().and_then(|fix| self.config_at(&fix.commit).ok());
        let gates = config.map(|c| c.gates).unwrap_or_default();
        let mut named: Vec<&Oid> = incident.gates.iter().filter_map(|g| g.descriptor.as_ref()).collect();
        named.sort();
        named.dedup();
        let signers = self.signers(standing.fix.as_ref().map(|fix| &fix.commit));
        let newest = |descriptor: &Oid| {
            let found = records::under(&self.repo, descriptor, &signers).unwrap_or_default();
            // What counts says more than what somebody claims.
            let record = found.iter().rev().find(|f| f.counts).or_else(|| found.last())?;
            Some(RecordFacts {
                descriptor: descriptor.clone(),
                runs: record.record.runs,
                passes: record.record.passes,
                exit: record.record.exit,
                millis: record.record.millis,
                fresh: record.record.fresh,
                counts: record.counts,
                evidence: record.record.evidence.clone(),
            })
        };
        Validation {
            runs: repro.runs,
            failures: repro.failures,
            needed: repro.needed,
            fix_runs: repro.fix_runs,
            fix_failures: repro.fix_failures,
            commit: standing.fix.as_ref().map(|f| f.commit.clone()),
            tree: standing.fix.as_ref().map(|f| f.tree.clone()),
            rate_series: standing.rate_series.clone(),
            fix_series: standing.fix_series.clone(),
            configured: gates
                .iter()
                .map(|g| ConfiguredGate { id: g.id.clone(), device: g.device.word() })
                .collect(),
            waiting: self
                .pending_gates()
                .into_iter()
                .map(|p| WaitingGate { id: p.gate, tree: p.tree, reason: p.reason })
                .collect(),
            records: named.into_iter().filter_map(newest).collect(),
        }
    }

    /// Where `origin` shows on the web, else the only remote; empty when that is not known.
    fn web_address(&self) -> String {
        let names = self.git().call(["remote"]).text().unwrap_or_default();
        let names: Vec<&str> = names.lines().collect();
        let name = match names.as_slice() {
            [only] => only,
            _ => "origin",
        };
        let url = self.git().call(["remote", "get-url", "--", name]).text().unwrap_or_default();
        web_address(url.trim()).unwrap_or_default()
    }

    /// The repository's own template of a profile, as HEAD has it: its path, and its text if it is there.
    ///
    /// # Errors
    /// It is no regular file, too large, or no UTF-8.
    fn own_template(&self, profile: Profile) -> Result<(String, Option<String>)> {
        let path = format!("{}/postmortem-{}.md", template::FOLDER, profile.word());
        let Some(head) = self.repo.head_commit()? else {
            return Ok((path, None));
        };
        let bad = |why: &str| {
            Err(Error::refused(format!("the template {path} cannot be used"))
                .because(why)
                .hint(format!("commit a regular file there, or take it out: git rm {path}")))
        };
        let listed = self
            .git()
            .call(["--literal-pathspecs", "ls-tree", "-z", "-l", "--full-tree", head.as_str(), "--", &path])
            .text()?;
        let Some((facts, _)) = listed.split_once('\t') else {
            // A folder that is a link or a file has nothing in it; saying so is better than using ours in silence.
            return match self.odd_folder(&head)? {
                Some(folder) => bad(&format!("{folder} is no folder")),
                None => Ok((path, None)),
            };
        };
        let mut words = facts.split_whitespace();
        let mode = words.next().unwrap_or_default();
        if !matches!(mode, "100644" | "100755") {
            return bad("it is a link, a folder or a submodule, and none of them is followed");
        }
        let size: usize = words.nth(2).and_then(|w| w.parse().ok()).unwrap_or(usize::MAX);
        if size > template::MAX_BYTES {
            return bad(&format!("it is larger than {} KiB", template::MAX_BYTES / 1024));
        }
        let Some(bytes) = self.repo.file_at(&head, &path)? else {
            return bad("it is no regular file");
        };
        match String::from_utf8(bytes) {
            Ok(text) if text.contains('\0') => bad("it holds a NUL byte"),
            Ok(text) => Ok((path, Some(text))),
            Err(_) => bad("it is no UTF-8"),
        }
    }

    /// The part of the way to the templates that is there and no folder.
    fn odd_folder(&self, head: &Oid) -> Result<Option<&'static str>> {
        for folder in [".git-incident", template::FOLDER] {
            let listed = self
                .git()
                .call(["--literal-pathspecs", "ls-tree", "-z", "--full-tree", head.as_str(), "--", folder])
                .text()?;
            if !listed.is_empty() && !listed.starts_with("040000 ") {
                return Ok(Some(folder));
            }
        }
        Ok(None)
    }

    /// The profile of a draft: what was asked for, else what the document there has, else the configuration's.
    ///
    /// # Errors
    /// The document cannot be read; the configuration is wrong.
    pub fn postmortem_profile(&self, asked: Option<Profile>, path: Option<&Path>) -> Result<Profile> {
        if let Some(profile) = asked {
            return Ok(profile);
        }
        if let Some(path) = path
            && let Some(text) = self.read_postmortem(path)?
            && let Some(marker) = blocks::marker(&text)
            && let Some(profile) = Profile::of_word(&marker.profile)
        {
            return Ok(profile);
        }
        Ok(self.config()?.postmortem.profile)
    }

    /// Where an incident's post-mortem stands, from the top of the working tree.
    ///
    /// # Errors
    /// The configuration is wrong.
    pub fn postmortem_path(&self, incident: &Incident) -> Result<PathBuf> {
        let name: String = incident
            .ticket
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' })
            .take(100)
            .collect();
        let name = name.trim_matches(['-', '.']);
        let id = incident.id.as_ref().map_or("incident", |i| i.short());
        let name = if name.is_empty() { id } else { name };
        let folder = PathBuf::from(&self.config()?.postmortem.directory);
        let place = folder.join(format!("{name}.md"));
        Ok(self.moved_postmortem(incident, &folder, &place).unwrap_or(place))
    }

    /// The document of the folder whose comment names the incident, where none stands at the usual place.
    fn moved_postmortem(&self, incident: &Incident, folder: &Path, place: &Path) -> Option<PathBuf> {
        /// Documents that are looked into, and the bytes of the longest.
        const MOST: usize = 2_000;
        const LONGEST: u64 = 1024 * 1024;
        let id = incident.id.as_ref()?;
        // What never was drafted cannot have been moved.
        if incident.postmortems.is_empty() {
            return None;
        }
        let top = self.workdir().ok()?;
        if std::fs::symlink_metadata(top.join(place)).is_ok() || self.document_place(folder).is_err() {
            return None;
        }
        let mut names: Vec<_> =
            std::fs::read_dir(top.join(folder)).ok()?.flatten().map(|e| e.file_name()).take(MOST).collect();
        names.sort();
        names.into_iter().map(|name| folder.join(name)).find(|path| {
            let file = top.join(path);
            path.extension().is_some_and(|e| e.eq_ignore_ascii_case("md"))
                && std::fs::symlink_metadata(&file).is_ok_and(|m| m.is_file() && m.len() <= LONGEST)
                && std::fs::read_to_string(&file)
                    .ok()
                    .filter(|text| text.contains(id.as_str()))
                    .and_then(|text| blocks::marker(&text))
                    .is_some_and(|marker| marker.incident == id.as_str())
        })
    }

    /// Drafts into a document: a new one, or the blocks of an old one that nobody has edited; records what was written.
    ///
    /// # Errors
    /// A document that was not drafted from this incident (unless forced); a link on the way; a disk that is full.
    pub fn write_postmortem(
        &self,
        id: &Oid,
        incident: &Incident,
        path: &Path,
        draft: &Draft,
        force: bool,
    ) -> Result<Written> {
        let place = self.document_place(path)?;
        let shown = path.display();
        let parts: Vec<String> = path
            .components()
            .filter(|c| matches!(c, Component::Normal(_)))
            .map(|c| c.as_os_str().to_string_lossy().into_owned())
            .collect();
        let name = parts.join("/");
        let old = self.read_postmortem(path)?;
        let fresh = |text: String| Redraft {
            updated: blocks::blocks(&text).into_iter().map(|b| b.title).collect(),
            blocks: blocks::blocks(&text).iter().map(|b| b.drafted(&text)).collect(),
            text,
            ..Redraft::default()
        };
        let made = match &old {
            None => fresh(draft.text.clone()),
            Some(old) => {
                let known = Known::of(&incident.postmortems, &name, old);
                let marked = blocks::marker(old);
                let other = marked.as_ref().is_some_and(|m| m.incident != id.as_str());
                if force {
                    let mut made = fresh(draft.text.clone());
                    made.text = blocks::dressed_as(&draft.text, old);
                    made
                } else if other {
                    let theirs = marked.map(|m| m.incident.chars().take(12).collect::<String>());
                    return Err(Error::refused(format!("{shown} is the post-mortem of another incident"))
                        .because(format!("its comment names {}", theirs.unwrap_or_default()))
                        .hint("write it elsewhere: git incident postmortem draft --output FILE")
                        .hint("or give the incident a ticket of its own: git incident edit --ticket KEY"));
                } else if marked.is_none() && !known.is_draft(old) {
                    return Err(Error::refused(format!("{shown} is there, and somebody has written it"))
                        .because("no draft of this incident is in it")
                        .hint("see the draft: git incident postmortem draft --print")
                        .hint("or write it elsewhere: --output FILE; or replace it: --force"));
                } else {
                    blocks::redraft(old, &draft.text, &known)
                }
            }
        };
        let written = Written {
            changed: old.as_deref() != Some(made.text.as_str()),
            created: old.is_none(),
            updated: made.updated,
            added: made.added,
            removed: made.removed,
            kept: made.kept,
            text: made.text,
        };
        let known_here: Vec<_> =
            incident.postmortems.iter().filter(|d| d.place == name).flat_map(|d| &d.blocks).collect();
        let recorded = made.blocks.iter().all(|b| known_here.contains(&b));
        if !written.changed && recorded {
            return Ok(written);
        }
        let failed = |e: std::io::Error| Error::refused(format!("{shown} cannot be written")).because(e);
        let waiting =
            if written.changed { Some(prepare(&place, &written.text).map_err(failed)?) } else { None };
        let drafted = PostmortemDrafted {
            path: name,
            sha256: canonical::sha256_hex(written.text.as_bytes()),
            blocks: made.blocks,
        };
        self.append(id, &[], |draft| draft.add(drafted))?;
        if let Some(file) = waiting {
            // Whoever saved the document meanwhile must not lose it.
            if self.read_postmortem(path)? != old {
                return Err(Error::refused(format!("{shown} was changed while it was drafted"))
                    .hint("run it again: git incident postmortem draft"));
            }
            file.persist(&place).map_err(|e| failed(e.error))?;
        }
        Ok(written)
    }

    /// Where a document stands in the file system.
    ///
    /// # Errors
    /// A place outside of the working tree, in git's own directory, or behind a link.
    fn document_place(&self, path: &Path) -> Result<PathBuf> {
        let mut here = self.workdir()?;
        let inside = path.components().all(|c| match c {
            Component::Normal(name) => !name.eq_ignore_ascii_case(".git"),
            Component::CurDir => true,
            _ => false,
        });
        if !inside || path.file_name().is_none() {
            return Err(Error::usage(format!("{} is no place in the working tree", path.display()))
                .hint("name a file from its top: --output docs/postmortems/NAME.md")
                .hint("or write it anywhere: git incident postmortem draft --print > FILE"));
        }
        for part in path.components() {
            here.push(part);
            if std::fs::symlink_metadata(&here).is_ok_and(|m| m.file_type().is_symlink()) {
                return Err(Error::refused(format!("{} is a symbolic link", here.display()))
                    .because("a draft is written into the repository itself, never through a link")
                    .hint("remove the link, or name another place: --output FILE"));
            }
        }
        Ok(here)
    }

    /// The document at a place, if there is one.
    ///
    /// # Errors
    /// It is no regular file, too large, or no UTF-8 text.
    fn read_postmortem(&self, path: &Path) -> Result<Option<String>> {
        let place = self.document_place(path)?;
        let shown = path.display();
        let elsewhere = "write it elsewhere: git incident postmortem draft --output FILE";
        match std::fs::symlink_metadata(&place) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => {
                return Err(Error::refused(format!("{shown} cannot be read")).because(e).hint(elsewhere));
            }
            Ok(meta) if !meta.is_file() => {
                return Err(Error::refused(format!("{shown} is no regular file")).hint(elsewhere));
            }
            Ok(meta) if meta.len() > MAX_DOCUMENT => {
                return Err(Error::refused(format!("{shown} is larger than 16 MiB")).hint(elsewhere));
            }
            Ok(_) => {}
        }
        let bytes = std::fs::read(&place)
            .map_err(|e| Error::refused(format!("{shown} cannot be read")).because(e).hint(elsewhere))?;
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Ok(Some(text)),
            _ => Err(Error::refused(format!("{shown} is no UTF-8 text"))
                .hint("save it as UTF-8, which is what git and every forge read")
                .hint(elsewhere)),
        }
    }
}

/// Writes a text beside its place, so that the old one stays whole until the new one is.
fn prepare(place: &Path, text: &str) -> std::io::Result<tempfile::NamedTempFile> {
    let folder = place.parent().unwrap_or_else(|| Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".postmortem-");
    #[cfg(unix)]
    let modes = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode;
    // As any other file: what the umask leaves of it.
    #[cfg(unix)]
    builder.permissions(modes(0o666));
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    if let Ok(old) = std::fs::metadata(place) {
        file.as_file().set_permissions(old.permissions())?;
    }
    file.as_file().sync_all()?;
    Ok(file)
}
