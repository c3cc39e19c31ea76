//! Events: what a ledger is made of. One file per type, each the whole story of its type.
//!
//! To add a type: write its file (the data, its documentation, what it does to an incident, tests), name
//! its module below, and its type in the list at the end of this file. `docs/STORAGE.md` specifies the
//! line format.

pub mod attempt_ended;
pub mod attempt_noted;
pub mod attempt_started;
pub mod budget_spent;
pub mod cause_confirmed;
pub mod cause_proposed;
pub mod cause_rejected;
pub mod commit_linked;
pub mod commit_rewritten;
pub mod commit_unlinked;
pub mod difference_set;
pub mod evidence_added;
pub mod evidence_erased;
pub mod gate_recorded;
pub mod incident_closed;
pub mod incident_edited;
pub mod incident_opened;
pub mod incident_reopened;
pub mod ledger_continued;
pub mod ledger_segment;
pub mod line;
pub mod next_added;
pub mod next_done;
pub mod next_dropped;
pub mod postmortem_drafted;
pub mod postmortem_noted;
pub mod postmortem_withdrawn;
pub mod pr_drafted;
pub mod repro_ran;
pub mod repro_set;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::model::incident::{Incident, Stamp};
use crate::model::{EventId, Result, canonical};

pub use line::{Event, Line};

/// What an event does when it is applied: its stamp, and which events it knew of.
pub struct Context<'a> {
    /// When, by whom, which event.
    pub stamp: Stamp,
    /// Whether the event was written after (and knowing of) another one.
    pub is_after: &'a dyn Fn(EventId) -> bool,
}

/// A type of event.
pub trait EventType: Serialize + DeserializeOwned {
    /// The `type` member of its lines.
    const TYPE: &'static str;

    /// Changes the incident. Must be total: whatever stands in a ledger may come from a stranger.
    fn apply(&self, event: &Context<'_>, incident: &mut Incident);
}

macro_rules! event_types {
    ($($module:ident :: $variant:ident),+ $(,)?) => {
        $(pub use $module::$variant;)+

        /// The data of an event, by type.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Data {
            $(
                #[doc = concat!("See [`", stringify!($variant), "`].")]
                $variant(Box<$variant>)
            ),+
        }

        impl Data {
            /// The `type` member of the line.
            pub fn type_name(&self) -> &'static str {
                match self { $(Self::$variant(_) => <$variant as EventType>::TYPE),+ }
            }

            /// Every known type.
            pub const TYPES: &[&str] = &[$(<$variant as EventType>::TYPE),+];

            /// Reads the data of a known type; `None` for a type this program does not know.
            ///
            /// # Errors
            /// Data that does not have the shape of its type.
            pub fn decode(type_name: &str, json: &str) -> Option<Result<Self, serde_json::Error>> {
                // serde would read the members from an array as well.
                if !json.trim_ascii_start().starts_with('{') && Self::TYPES.contains(&type_name) {
                    return Some(Err(serde::de::Error::custom("the data is no object")));
                }
                $(
                    if type_name == <$variant as EventType>::TYPE {
                        return Some(serde_json::from_str::<$variant>(json).map(|d| Self::$variant(Box::new(d))));
                    }
                )+
                None
            }

            /// The canonical JSON of the data with its salt.
            ///
            /// # Errors
            /// Numbers that may not stand in a ledger.
            pub fn encode(&self, salt: &str) -> Result<String> {
                let mut value = match self { $(Self::$variant(d) => serde_json::to_value(d.as_ref())),+ }
                    .map_err(|e| crate::model::Error::bug("an event cannot be written as JSON").because(e))?;
                if let Some(map) = value.as_object_mut() {
                    map.insert("salt".to_owned(), salt.into());
                }
                canonical::to_string(&value)
            }

            /// Applies the event to an incident.
            pub fn apply(&self, event: &Context<'_>, incident: &mut Incident) {
                match self { $(Self::$variant(d) => d.apply(event, incident)),+ }
            }
        }

        $(
            impl From<$variant> for Data {
                fn from(data: $variant) -> Self { Self::$variant(Box::new(data)) }
            }
        )+
    };
}

event_types! {
    incident_opened::IncidentOpened,
    incident_edited::IncidentEdited,
    incident_closed::IncidentClosed,
    incident_reopened::IncidentReopened,
    attempt_started::AttemptStarted,
    attempt_noted::AttemptNoted,
    attempt_ended::AttemptEnded,
    next_added::NextAdded,
    next_done::NextDone,
    next_dropped::NextDropped,
    difference_set::DifferenceSet,
    cause_proposed::CauseProposed,
    cause_rejected::CauseRejected,
    cause_confirmed::CauseConfirmed,
    repro_set::ReproSet,
    repro_ran::ReproRan,
    evidence_added::EvidenceAdded,
    evidence_erased::EvidenceErased,
    commit_linked::CommitLinked,
    commit_unlinked::CommitUnlinked,
    commit_rewritten::CommitRewritten,
    gate_recorded::GateRecorded,
    budget_spent::BudgetSpent,
    postmortem_drafted::PostmortemDrafted,
    postmortem_noted::PostmortemNoted,
    postmortem_withdrawn::PostmortemWithdrawn,
    pr_drafted::PrDrafted,
    ledger_continued::LedgerContinued,
    ledger_segment::LedgerSegment,
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::model::Timestamp;
    use crate::model::incident::Author;

    /// Applies events in a row, each knowing of all before it.
    pub(crate) fn fold(events: Vec<Data>) -> Incident {
        let mut incident = Incident::default();
        for (i, data) in events.into_iter().enumerate() {
            let stamp =
                Stamp { event: id(i), at: Timestamp::from_millis(i as i64), by: Some(Author::default()) };
            data.apply(&Context { stamp, is_after: &|_| true }, &mut incident);
        }
        incident.settle_reverts();
        incident
    }

    /// The id `fold` gives to the event at a position.
    pub(crate) fn id(i: usize) -> EventId {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&(i as u64).to_be_bytes());
        EventId::from_bytes(bytes)
    }

    #[test]
    fn data_is_an_object_and_so_are_the_shapes_inside_and_words_are_strings() {
        let id = id(1);
        for (type_name, data) in [
            ("next.added", r#"["text"]"#.to_owned()),
            ("incident.closed", r#"{"as":{"resolved":null}}"#.to_owned()),
            ("incident.opened", r#"{"files":[["a","b"]],"title":"t"}"#.to_owned()),
            ("attempt.noted", r#"{"run":[[],1]}"#.to_owned()),
            ("attempt.ended", format!(r#"{{"attempt":"{id}","outcome":["refuted","remains"]}}"#)),
            ("cause.confirmed", format!(r#"{{"accounts":[["{id}","x"]],"cause":"{id}"}}"#)),
            (
                "evidence.added",
                r#"{"bytes":1,"kind":"log","name":"n","redacted":[["r",1]],"sha256":""}"#.to_owned(),
            ),
        ] {
            assert!(Data::decode(type_name, &data).is_some_and(|d| d.is_err()), "{data}");
        }
        assert!(Data::decode("next.thought", "[]").is_none());
    }
}
