//! The end of an investigation.

use super::Session;
use super::active::Active;
use crate::event::IncidentClosed;
use crate::model::incident::Incident;
use crate::model::status::Status;
use crate::model::{Error, Oid, Result};
use crate::report::blocked::{Requirement, Thresholds, requirements};

impl Session {
    /// The give-up policy, held against an incident.
    ///
    /// # Errors
    /// The configuration is wrong.
    pub fn blocked_requirements(&self, incident: &Incident) -> Result<Vec<Requirement>> {
        let policy = &self.config()?.blocked;
        let require: Vec<&str> = policy.require.iter().map(|r| r.word()).collect();
        let thresholds = Thresholds { approaches: policy.approaches, minutes: policy.minutes };
        let head = self.repo.head_commit()?;
        let cites = |text: &str| head.as_ref().is_some_and(|h| self.cites_code(h, text));
        Ok(requirements(incident, &require, thresholds, &cites))
    }

    /// Whether a text names a file of a commit with a line that is there: `src/a.cu:17`.
    fn cites_code(&self, commit: &Oid, text: &str) -> bool {
        text.split(|c: char| c.is_whitespace() || matches!(c, '`' | '(' | ')' | ',' | '"' | '\'')).any(
            |word| {
                let Some((path, rest)) = word.split_once(':') else {
                    return false;
                };
                let line: usize =
                    rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0);
                let path = path.trim_start_matches("./");
                line > 0
                    && !path.is_empty()
                    && self
                        .repo
                        .file_at(commit, path)
                        .ok()
                        .flatten()
                        .is_some_and(|bytes| bytes.split(|b| *b == b'\n').count() >= line)
            },
        )
    }

    /// Closes an incident.
    ///
    /// # Errors
    /// It is closed; an attempt is running; the repository cannot be written.
    pub fn close(
        &self,
        id: &Oid,
        incident: &Incident,
        status: Status,
        note: String,
        gaps: Vec<String>,
    ) -> Result<()> {
        self.must_be_open(incident)?;
        if let Some(running) = incident.attempts.iter().find(|a| a.ended.is_none()) {
            return Err(Error::refused(format!("attempt {} has not ended", running.ordinal)).hint(format!(
                "git incident attempt end -n {} --worked, --failed or --inconclusive -m \"what it tells\"",
                running.ordinal
            )));
        }
        self.append(id, &[], |draft| draft.add(IncidentClosed { status, note, gaps }))?;
        if self.active().incident.as_ref() == Some(id) {
            self.set_active(&Active { incident: Some(id.clone()), attempt: None })?;
        }
        Ok(())
    }
}
