//! `[environment]`: the tools whose versions are recorded with every attempt.

use super::section::Section;
use super::values;

/// The section.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment {
    /// `tools`: names of programs (`nvcc`, `python3`) that are asked for their version.
    pub tools: Vec<String>,
}

pub(super) fn read(mut section: Section<'_, '_>) -> Environment {
    let read = Environment { tools: section.list("tools", values::tool).unwrap_or_default() };
    section.finish();
    read
}
