//! What is known of a gate at the head of a request, and what a change does to its own checks.

use crate::model::Oid;
use crate::model::status::Verdict;

/// What stands behind a gate's verdict on the very tree of the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// A record that counts here: made in this clone, or by a signer the team allows.
    Counts(Verdict),
    /// A record that was made elsewhere and that nobody vouches for.
    Claimed(Verdict),
    /// It waits for its device.
    Pending,
    /// Nothing was recorded on this tree.
    Missing,
}

/// One gate of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateLine {
    /// Its id.
    pub gate: String,
    /// What is known of it.
    pub proof: Proof,
    /// Why, in one line; may be empty.
    pub reason: String,
    /// The device class of the record; empty without one.
    pub device: String,
    /// The record's descriptor.
    pub record: Option<Oid>,
    /// What it said of another tree before, and of which.
    pub before: Option<(Verdict, Option<Oid>)>,
}

impl GateLine {
    /// Whether its box is ticked: a pass that counts, and nothing less.
    pub const fn ticked(&self) -> bool {
        matches!(self.proof, Proof::Counts(Verdict::Pass))
    }

    /// What it comes to, in a word or two.
    pub fn word(&self) -> String {
        match self.proof {
            Proof::Counts(verdict) => verdict.to_string(),
            Proof::Claimed(verdict) => format!("claimed {verdict}"),
            Proof::Pending => "pending".to_owned(),
            Proof::Missing => "not-run".to_owned(),
        }
    }
}

/// What a change does to a check that judges it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckChange {
    /// It adds a gate.
    Added(String),
    /// It changes the configuration of a gate.
    Changed(String),
    /// It removes a gate.
    Removed(String),
    /// It changes a file that judges in a gate: gate, path.
    Oracle(String, String),
    /// It changes the policy: the section.
    Policy(&'static str),
    /// The configuration of one side cannot be read.
    Unreadable(&'static str),
}

impl CheckChange {
    /// The plain line, in Markdown.
    pub fn line(&self) -> String {
        let code = |text: &str| crate::model::markdown::code(text, 200);
        match self {
            Self::Added(gate) => format!("this change adds the gate {}", code(gate)),
            Self::Changed(gate) => format!("this change changes the gate {}", code(gate)),
            Self::Removed(gate) => format!("this change removes the gate {}", code(gate)),
            Self::Oracle(gate, path) => {
                format!("this change edits {}, which judges in the gate {}", code(path), code(gate))
            }
            Self::Policy(section) => format!("this change edits the policy `{section}`"),
            Self::Unreadable(side) => format!("the configuration of the {side} cannot be read"),
        }
    }

    /// Whether it can make a check weaker: adding one cannot.
    pub const fn may_weaken(&self) -> bool {
        !matches!(self, Self::Added(_))
    }
}
