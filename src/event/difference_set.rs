//! `difference.set`: a factor that separates a working case from a broken one.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::incident::{Difference, Incident};
use crate::model::register::Rivals;

/// A row of the table of key differences; a row with the same factor is replaced.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DifferenceSet {
    /// What is compared.
    pub factor: String,
    /// Its value in the working case.
    #[serde(default)]
    pub working: String,
    /// Its value in the broken case.
    #[serde(default)]
    pub broken: String,
    /// Whether it was shown not to matter.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub eliminated: bool,
    /// What the working case is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_case: Option<String>,
    /// What the broken case is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken_case: Option<String>,
}

impl EventType for DifferenceSet {
    const TYPE: &'static str = "difference.set";

    fn apply(&self, event: &Context<'_>, incident: &mut Incident) {
        let id = event.stamp.event;
        if let Some(case) = &self.working_case {
            incident.working_case.set(case.clone(), id, event.is_after);
        }
        if let Some(case) = &self.broken_case {
            incident.broken_case.set(case.clone(), id, event.is_after);
        }
        let mut row = Difference {
            factor: self.factor.clone(),
            working: self.working.clone(),
            broken: self.broken.clone(),
            eliminated: self.eliminated,
            set_by: id,
            rivals: Rivals::default(),
        };
        match incident.differences.iter_mut().find(|d| d.factor == self.factor) {
            None => incident.differences.push(row),
            Some(old) => {
                let values = |d: &Difference| (d.working.clone(), d.broken.clone(), d.eliminated);
                row.rivals = std::mem::take(&mut old.rivals);
                row.rivals.update(Some((old.set_by, values(old))), &values(&row), event.is_after);
                *old = row;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::testing::fold;

    #[test]
    fn the_same_factor_is_one_row() {
        let set = |working: &str, eliminated| DifferenceSet {
            factor: "grid".into(),
            working: working.into(),
            eliminated,
            ..Default::default()
        };
        let incident = fold(vec![set("1D", false).into(), set("1D", true).into()]);
        assert_eq!(incident.differences.len(), 1);
        assert!(incident.differences[0].eliminated);
        assert!(incident.differences[0].rivals.is_empty());
    }
}
