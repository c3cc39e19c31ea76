//! The pull request's text: what the repository adds to the ledger for it.
//!
//! | file | what it knows |
//! |---|---|
//! | `range` | the change that is asked to be merged, and into what |
//! | `gates` | what is known of its gates, what it does to its own checks |
//! | `template` | the repository's own template |
//! | `people` | who wrote it, who owns it |
//! | `place` | addresses of the forge |
//! | `check` | a description held against all of this |

mod check;
mod gates;
mod people;
mod place;
mod range;
mod template;

use super::Session;
use super::documents::Range;
use crate::event::PrDrafted;
use crate::model::incident::Incident;
use crate::model::status::Role;
use crate::model::{Error, Oid, Result, canonical};
use crate::report::pull_request::gates::{CheckChange, GateLine};
use crate::report::pull_request::{self, Head, PostmortemLink, PullRequestInput, PullRequestText};
use crate::report::standing::Standing;
use crate::report::{codeowners, workflows};

pub use check::Checked;

/// What a text is made for.
#[derive(Debug, Clone, Default)]
pub struct TextOptions {
    /// The branch it goes to, as it was named.
    pub base: Option<String>,
    /// The template's name, where there are several.
    pub template: Option<String>,
    /// Whether to leave the repository's template out.
    pub no_template: bool,
    /// What stands in a `release-note` block.
    pub release_note: Option<String>,
    /// Where the notes of the head can be fetched from, when the caller knows better than git's configuration.
    pub notes_from: Option<String>,
}

/// A text with what stands behind it.
#[derive(Debug, Clone)]
pub struct PullRequestDraft {
    /// The text.
    pub text: PullRequestText,
    /// What is known of each gate that is due at the head.
    pub gates: Vec<GateLine>,
    /// What the change does to its own checks.
    pub check_changes: Vec<CheckChange>,
    /// The template that was used: its path.
    pub template: Option<String>,
    /// What else to say.
    pub remarks: Vec<String>,
}

impl Session {
    /// The pull request's text, by git's configuration alone.
    ///
    /// # Errors
    /// As [`Session::draft_pull_request`].
    pub fn pull_request(
        &self,
        incident: &Incident,
        standing: &Standing,
        range: &Range,
    ) -> Result<PullRequestText> {
        Ok(self.draft_pull_request(incident, standing, range, &TextOptions::default())?.text)
    }

    /// The pull request's text, and what stands behind it.
    ///
    /// # Errors
    /// The configuration is wrong; no such template; git fails.
    pub fn draft_pull_request(
        &self,
        incident: &Incident,
        standing: &Standing,
        range: &Range,
        options: &TextOptions,
    ) -> Result<PullRequestDraft> {
        // Blame runs for a while; everything else is found out beside it.
        let git = self.git();
        let (authors, rest) = std::thread::scope(|scope| {
            let authors = scope.spawn(|| people::authors_of_lines(&git, range));
            let rest = self.gather(incident, standing, range, options);
            // Whoever wrote the lines is asked; that git cannot tell is no reason to print nothing.
            (authors.join().unwrap_or_default(), rest)
        });
        let gathered = rest?;
        let mut remarks = gathered.gates.remarks;
        remarks.extend(gathered.template.remark);
        let head = gathered.head;
        let developers = codeowners::developers(&gathered.owners, &gathered.paths, &authors);
        let mut input = PullRequestInput::new(incident, standing);
        input.fixes = &gathered.fixes;
        input.changed = &gathered.changed;
        input.gates = &gathered.gates.lines;
        input.check_changes = &gathered.gates.changes;
        input.workflows = &gathered.workflows;
        input.developers = &developers;
        input.co_authors = &gathered.co_authors;
        input.agents = &gathered.agents;
        input.postmortem = gathered.postmortem;
        input.notes_from = &gathered.notes_from;
        input.template = gathered.template.text.as_deref();
        input.release_note = options.release_note.as_deref();
        input.head = Some(head);
        let text = pull_request::text(&input);
        Ok(PullRequestDraft {
            text,
            gates: gathered.gates.lines,
            check_changes: gathered.gates.changes,
            template: gathered.template.path,
            remarks,
        })
    }

    fn gather(
        &self,
        incident: &Incident,
        standing: &Standing,
        range: &Range,
        options: &TextOptions,
    ) -> Result<Gathered> {
        let changed = self.changed_files(range)?;
        let paths: Vec<String> = changed.iter().map(|c| c.path.clone()).collect();
        let base = self.base_branch(options.base.as_deref());
        // What the branch itself says of owners and templates is not asked: a change does not choose its judges.
        let ruling = base.as_ref().map(|b| &b.commit).or(range.base.as_ref()).unwrap_or(&range.tip);
        let head = self.head_of(standing, &range.tip)?;
        let place = place::Place::of(self);
        Ok(Gathered {
            fixes: self.commit_facts(incident.links_as(Role::Fix)),
            gates: self.gates_of(Some(incident), range, base.as_ref(), &paths)?,
            workflows: workflows::recommend(&self.workflow_files(&range.tip)?, &paths),
            owners: self.owners_at(ruling),
            co_authors: self.co_authors(incident, range)?,
            agents: people::agents(incident),
            postmortem: self.postmortem_link(incident, &range.tip, &place),
            notes_from: options.notes_from.clone().unwrap_or(place.notes),
            template: if options.no_template {
                template::Chosen::default()
            } else {
                self.choose_template(ruling, options.template.as_deref())?
            },
            changed,
            paths,
            head,
        })
    }

    /// The head as a description speaks of it.
    fn head_of(&self, standing: &Standing, tip: &Oid) -> Result<Head> {
        let holds_fix = standing.fix.as_ref().is_some_and(|fix| self.repo.is_part_of(&fix.commit, tip));
        Ok(Head { commit: tip.clone(), tree: self.repo.tree_of(tip)?, holds_fix })
    }

    fn postmortem_link(
        &self,
        incident: &Incident,
        tip: &Oid,
        place: &place::Place,
    ) -> Option<PostmortemLink> {
        let path = incident.postmortems.last()?.place.clone();
        let at_head = self.repo.file_at(tip, &path).is_ok_and(|found| found.is_some());
        Some(PostmortemLink { url: place.file(tip, &path), path, at_head })
    }

    /// Records that a text was made, unless the newest one recorded says the same.
    ///
    /// # Errors
    /// The repository cannot be written.
    pub fn record_pull_request(&self, id: &Oid, incident: &Incident, text: &PullRequestText) -> Result<()> {
        let sha256 = canonical::sha256_hex(text.body.as_bytes());
        let newest = incident.pull_requests.last();
        if newest.is_some_and(|d| d.sha256 == sha256 && d.place == text.title) {
            return Ok(());
        }
        let drafted = PrDrafted { title: text.title.clone(), sha256, url: String::new() };
        self.append(id, &[], |draft| draft.add(drafted)).map(|_| ())
    }

    /// Lets a person edit a text in their editor, as `git commit` would: the title, an empty line, the body.
    ///
    /// # Errors
    /// No editor, or it failed; the text was emptied.
    pub fn edit_pull_request(&self, text: &PullRequestText) -> Result<PullRequestText> {
        let path = self.repo.git_dir().join("PULLREQ_EDITMSG");
        let unwritable =
            |e: std::io::Error| Error::refused(format!("{} cannot be written", path.display())).because(e);
        std::fs::write(&path, format!("{}\n\n{}", text.title, text.body)).map_err(unwritable)?;
        crate::git::interactive::edit(&path)?;
        let bytes = std::fs::read(&path)
            .map_err(|e| Error::refused(format!("{} cannot be read", path.display())).because(e))?;
        let _ = std::fs::remove_file(&path);
        let edited = String::from_utf8(bytes)
            .map_err(|_| Error::refused("what the editor left is no UTF-8").hint("save it as UTF-8"))?;
        let edited = edited.replace("\r\n", "\n");
        let edited = edited.trim_start();
        let (title, body) = edited.split_once('\n').unwrap_or((edited, ""));
        let (title, body) = (title.trim(), body.trim());
        if title.is_empty() || body.is_empty() {
            return Err(Error::refused("the text was emptied, so nothing was made of it")
                .hint("print it without an editor: git incident pr"));
        }
        Ok(PullRequestText { title: title.to_owned(), body: format!("{body}\n") })
    }
}

struct Gathered {
    fixes: Vec<crate::model::change::CommitFacts>,
    changed: Vec<crate::model::change::ChangedFile>,
    paths: Vec<String>,
    head: Head,
    gates: gates::Gates,
    workflows: Vec<workflows::Workflow>,
    owners: codeowners::Codeowners,
    co_authors: Vec<String>,
    agents: Vec<String>,
    postmortem: Option<PostmortemLink>,
    notes_from: String,
    template: template::Chosen,
}
