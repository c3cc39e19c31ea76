//! What an incident has cost, against what it may cost.

use super::Session;
use crate::model::Result;
use crate::model::incident::Incident;
use crate::model::time::human_duration;

/// Limits and what was spent. Money is in millionths of the currency unit of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Budget {
    /// Attempts made.
    pub attempts: u64,
    /// Attempts allowed.
    pub max_attempts: Option<u64>,
    /// Milliseconds of recorded work.
    pub millis: u64,
    /// Minutes allowed.
    pub max_minutes: Option<u64>,
    /// Money spent: declared, and GPU time at its price.
    pub micros: u64,
    /// Money allowed.
    pub max_micros: Option<u64>,
}

impl Budget {
    /// What has run out, in words.
    pub fn exceeded(&self) -> Vec<String> {
        let mut out = Vec::new();
        if let Some(max) = self.max_attempts.filter(|max| self.attempts >= *max) {
            out.push(format!("{} of {max} attempts are used", self.attempts));
        }
        if let Some(max) = self.max_minutes.filter(|max| self.millis >= max * 60_000) {
            out.push(format!("{} of {max} minutes are used", human_duration(self.millis)));
        }
        if let Some(max) = self.max_micros.filter(|max| self.micros >= *max) {
            out.push(format!("{} of {} are spent", money(self.micros), money(max)));
        }
        out
    }
}

/// Millionths as a decimal with two or more digits behind the point.
pub fn money(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    let kept = text.trim_end_matches('0').len().max(text.find('.').map_or(0, |p| p + 3));
    text[..kept].to_owned()
}

impl Session {
    /// The incident's budget.
    ///
    /// # Errors
    /// The configuration is wrong.
    pub fn budget(&self, incident: &Incident) -> Result<Budget> {
        let limits = &self.config()?.budget;
        // GPU time: runs on a machine whose environment named a GPU.
        let gpu_millis: u64 = incident
            .attempts
            .iter()
            .flat_map(|a| a.notes.iter())
            .chain(&incident.notes)
            .filter_map(|n| n.run.as_ref())
            .filter(|r| r.environment["gpus"].as_array().is_some_and(|g| !g.is_empty()))
            .map(|r| r.millis)
            .sum();
        let price = limits.gpu_hour.as_ref().map_or(0, |m| m.micros.unsigned_abs());
        let gpu_cost = u128::from(gpu_millis) * u128::from(price) / 3_600_000;
        Ok(Budget {
            attempts: incident.attempts.len() as u64,
            max_attempts: limits.attempts.map(u64::from),
            millis: incident.worked_millis(),
            max_minutes: limits.minutes.map(u64::from),
            micros: incident.spent.micros.saturating_add(u64::try_from(gpu_cost).unwrap_or(u64::MAX)),
            max_micros: limits.money.as_ref().map(|m| m.micros.unsigned_abs()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_ran_out() {
        let budget = Budget {
            attempts: 2,
            max_attempts: Some(2),
            millis: 60_000,
            max_minutes: Some(150),
            micros: 1_500_000,
            max_micros: Some(1_000_000),
        };
        assert_eq!(budget.exceeded(), ["2 of 2 attempts are used", "1.50 of 1.00 are spent"]);
        assert_eq!(money(11_333), "0.011333");
    }
}
