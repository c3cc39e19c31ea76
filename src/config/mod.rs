//! Reads `.git-incident.toml`: the team's policy, budget, gates and pull-request defaults.
//!
//! Bytes in, a [`Config`] or one located error out. The file is hostile input (it comes with whatever
//! commit is judged), so reading is bounded, never panics, and names every problem at once with its
//! line and column. Each section is one file of this folder: its keys, defaults, limits and tests.

use std::collections::BTreeSet;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::model::{Error, Result};

pub mod blocked;
pub mod budget;
pub mod decimal;
pub mod environment;
pub mod evidence;
pub mod gate;
pub mod glob;
pub mod on_hang;
pub mod postmortem;
pub mod pre_push;
pub mod pull_request;
pub mod records;

mod problem;
mod section;
mod values;

pub use blocked::{Blocked, Requirement};
pub use budget::Budget;
pub use decimal::{Decimal, Money};
pub use environment::Environment;
pub use evidence::Evidence;
pub use gate::{Compare, Device, Gate, GateKind, Policy};
pub use on_hang::OnHang;
pub use postmortem::{Postmortem, Profile};
pub use pre_push::{PrePush, PushMode, Unavailable};
pub use pull_request::PullRequest;
pub use records::Records;

use problem::Problems;
use section::Section;

/// The file's name at the root of the repository.
pub const FILE_NAME: &str = ".git-incident.toml";

/// The largest file that is read, in bytes.
pub const MAX_BYTES: usize = 1 << 20;

/// The most gates one file may hold.
pub const MAX_GATES: usize = 1000;

/// Everything the team's file says, defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Config {
    /// `[pre-push]`: what a push must show.
    pub pre_push: PrePush,
    /// `[records]`: whose records of other machines count.
    pub records: Records,
    /// `[budget]`: what an incident may cost before it must stop.
    pub budget: Budget,
    /// `[on-hang]`: what looks at a hung command before it is killed.
    pub on_hang: OnHang,
    /// `[[gate]]`: the checks, in the order of the file.
    pub gates: Vec<Gate>,
    /// `[environment]`: the tools whose versions matter.
    pub environment: Environment,
    /// `[blocked]`: what giving up requires.
    pub blocked: Blocked,
    /// `[pr]`: defaults of the draft pull request.
    pub pr: PullRequest,
    /// `[evidence]`: size limits of stored files.
    pub evidence: Evidence,
    /// `[postmortem]`: where post-mortems live and which lint profile they follow.
    pub postmortem: Postmortem,
}

impl Config {
    /// The gate of that id.
    pub fn gate(&self, id: &str) -> Option<&Gate> {
        self.gates.iter().find(|gate| gate.id == id)
    }

    /// Every command that this file can make us run, in the order of the file: what `trust` shows.
    pub fn commands(&self) -> Vec<&str> {
        let of_gates = self.gates.iter().flat_map(Gate::commands);
        of_gates.chain(self.on_hang.capture.iter().map(String::as_str)).collect()
    }
}

/// Reads the file; `path_shown` is how messages name it.
///
/// All problems are reported in one usage error, in the order of the file: the first is what happened,
/// the others are its causes.
pub fn parse(bytes: &[u8], path_shown: &str) -> Result<Config> {
    let text = readable(bytes, path_shown)?;
    let mut problems = Problems::default();
    let (document, mistakes) = DeTable::parse_recoverable(text);
    for mistake in &mistakes {
        problems.add(mistake.span().map_or(text.len(), |span| span.start), mistake.message().to_owned());
    }
    // The tables of a file that is not TOML are guesses; what they hold is not worth a complaint.
    if problems.is_empty() {
        let config = read_document(document.get_ref(), &mut problems);
        if problems.is_empty() {
            return Ok(config);
        }
    }
    Err(problems.into_error(text, path_shown))
}

/// The bytes as text, or why they cannot be.
fn readable<'a>(bytes: &'a [u8], path_shown: &str) -> Result<&'a str> {
    if bytes.len() > MAX_BYTES {
        let (line, column) = problem::line_and_column(&bytes[..=MAX_BYTES], MAX_BYTES);
        return Err(Error::usage(format!(
            "{path_shown}:{line}:{column}: the file is larger than 1 MiB ({} bytes)",
            bytes.len()
        ))
        .hint("keep only configuration in it; commands can live in scripts of the repository"));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let (line, column) = problem::line_and_column(bytes, error.valid_up_to());
        Error::usage(format!("{path_shown}:{line}:{column}: the file is not valid UTF-8"))
            .hint("save the file as UTF-8")
    })
}

fn read_document(document: &DeTable<'_>, problems: &mut Problems) -> Config {
    let mut config = Config::default();
    let mut top = Section::new(document, 0, "the file", problems);
    if let Some(section) = top.table("pre-push", "[pre-push]") {
        config.pre_push = pre_push::read(section);
    }
    if let Some(section) = top.table("records", "[records]") {
        config.records = records::read(section);
    }
    if let Some(section) = top.table("budget", "[budget]") {
        config.budget = budget::read(section);
    }
    if let Some(section) = top.table("on-hang", "[on-hang]") {
        config.on_hang = on_hang::read(section);
    }
    if let Some(section) = top.table("environment", "[environment]") {
        config.environment = environment::read(section);
    }
    if let Some(section) = top.table("blocked", "[blocked]") {
        config.blocked = blocked::read(section);
    }
    if let Some(section) = top.table("pr", "[pr]") {
        config.pr = pull_request::read(section);
    }
    if let Some(section) = top.table("evidence", "[evidence]") {
        config.evidence = evidence::read(section);
    }
    if let Some(section) = top.table("postmortem", "[postmortem]") {
        config.postmortem = postmortem::read(section);
    }
    top.value("gate");
    top.finish();
    if let Some(gates) = document.get("gate") {
        config.gates = read_gates(gates, problems);
    }
    config
}

fn read_gates(value: &Spanned<DeValue<'_>>, problems: &mut Problems) -> Vec<Gate> {
    let Some(array) = value.get_ref().as_array() else {
        let found = values::described(value.get_ref());
        problems.add(value.span().start, format!("\"gate\" must be an array of tables, not {found}"));
        problems.hint_last("write [[gate]] with two brackets");
        return Vec::new();
    };
    if array.len() > MAX_GATES {
        problems.add(value.span().start, format!("{} gates; at most {MAX_GATES} are read", array.len()));
    }
    let mut seen = BTreeSet::new();
    let mut gates = Vec::new();
    for item in array.iter().take(MAX_GATES) {
        let Some(table) = item.get_ref().as_table() else {
            let found = values::described(item.get_ref());
            problems.add(item.span().start, format!("a gate must be a table, not {found}"));
            continue;
        };
        let section = Section::new(table, item.span().start, "[[gate]]", problems);
        let Some(gate) = gate::read(section) else { continue };
        if !seen.insert(gate.id.clone()) {
            let at = table.get("id").map_or(item.span().start, |id| id.span().start);
            problems.add(at, format!("a gate with id \"{}\" is there already", gate.id));
            problems.hint_last("give every gate an id of its own");
        }
        gates.push(gate);
    }
    gates
}

#[cfg(test)]
mod tests;
