//! `repro.set`: the command that shows the bug.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::incident::{Incident, Repro};
use crate::model::status::FailsWhen;

/// The command, and when a run of it counts as having shown the bug.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ReproSet {
    /// The command and its arguments.
    pub command: Vec<String>,
    /// `exit`, `timeout`, `output` or `verdict`.
    #[serde(default)]
    pub fails_when: FailsWhen,
    /// The text that output must hold, for `output`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pattern: String,
    /// Limit of one run in milliseconds; 0 for none.
    #[serde(default)]
    pub timeout_millis: u64,
    /// Where it runs, from the top of the working tree with `/`; empty for the top itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub directory: String,
}

impl EventType for ReproSet {
    const TYPE: &'static str = "repro.set";

    fn apply(&self, event: &Context<'_>, incident: &mut Incident) {
        let old = &incident.repro;
        // Setting the same again keeps the runs: only another command measures something else.
        let same = old.command == self.command
            && old.fails_when == self.fails_when
            && old.pattern == self.pattern
            && old.directory == self.directory;
        let runs = if same { std::mem::take(&mut incident.repro.runs) } else { Vec::new() };
        incident.repro = Repro {
            command: self.command.clone(),
            fails_when: self.fails_when,
            pattern: self.pattern.clone(),
            timeout_millis: self.timeout_millis,
            directory: self.directory.clone(),
            set_by: Some(event.stamp.event),
            runs,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::ReproRan;
    use crate::event::testing::{fold, id};

    #[test]
    fn another_command_starts_counting_anew() {
        let set = |c: &str| ReproSet { command: vec![c.into()], ..Default::default() };
        let ran = |i| ReproRan { repro: id(i), runs: 3, failures: 3, ..Default::default() };
        let same = fold(vec![set("a").into(), ran(0).into(), set("a").into()]);
        assert_eq!(same.repro.runs.len(), 1);
        let other = fold(vec![set("a").into(), ran(0).into(), set("b").into(), ran(0).into()]);
        assert!(other.repro.runs.is_empty(), "a run of the former command counts for nothing");
    }
}
