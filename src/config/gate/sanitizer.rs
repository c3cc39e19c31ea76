//! What gates of kind `sanitizer` have beside the common keys: which tools run.

use serde_json::{Map, Value, json};

use crate::config::section::Section;
use crate::config::values;

/// The keys of this file.
pub(super) const KEYS: &[&str] = &["tools"];

/// The tools of compute-sanitizer, in the order in which they run.
pub const TOOLS: [&str; 4] = ["memcheck", "racecheck", "initcheck", "synccheck"];

/// What a gate of kind `sanitizer` has of its own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sanitizer {
    /// `tools`: which of [`TOOLS`]. Empty: all.
    pub tools: Vec<String>,
}

impl Sanitizer {
    pub(super) fn read(section: &mut Section<'_, '_>) -> Self {
        Self { tools: section.list("tools", tool).unwrap_or_default() }
    }

    pub(super) fn canonical(&self, map: &mut Map<String, Value>) {
        if !self.tools.is_empty() {
            map.insert("tools".into(), json!(self.tools()));
        }
    }

    #[expect(clippy::unused_self, reason = "every kind's file has the same shape")]
    pub(super) fn check(&self, section: &mut Section<'_, '_>) {
        let empty = section.value("tools").and_then(|value| value.get_ref().as_array());
        if empty.is_some_and(|list| list.is_empty()) {
            section.problem("tools", "\"tools\" is empty, so nothing would be checked");
            section.hint("leave it out to run all four");
        }
    }

    /// The tools to run, each once, in the order of [`TOOLS`].
    pub fn tools(&self) -> Vec<&'static str> {
        TOOLS
            .into_iter()
            .filter(|tool| self.tools.is_empty() || self.tools.iter().any(|t| t == tool))
            .collect()
    }
}

fn tool(name: &str) -> Result<String, String> {
    if TOOLS.contains(&name) {
        return Ok(name.to_owned());
    }
    Err(format!("must be one of {}, not {}", TOOLS.join(", "), values::shown(name)))
}
