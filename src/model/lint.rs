//! What the rules of `postmortem check` are called and how much a finding weighs: the words that the configuration
//! and the linter share.

use serde::Serialize;

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing to mend, or nothing that can be told.
    Note,
    /// Probably wrong; a reader should look.
    Warning,
    /// Wrong: the check fails.
    Error,
}

impl Severity {
    /// The word in output and configuration.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What a rule may be set to in `[postmortem.rules]`; `None` turns it off.
pub const SETTINGS: [(&str, Option<Severity>); 4] = [
    ("off", None),
    ("note", Some(Severity::Note)),
    ("warning", Some(Severity::Warning)),
    ("error", Some(Severity::Error)),
];

/// Every rule, in the order of docs/RULES.md. Names are public: they stand in configurations and comments.
pub const RULES: [&str; 23] = [
    "unreadable",
    "missing-block",
    "block-order",
    "empty-block",
    "placeholder",
    "unsupported-claim",
    "wider-claim",
    "unknown-commit",
    "unknown-path",
    "unknown-reference",
    "unknown-identifier",
    "hidden-attempt",
    "workaround-as-fix",
    "action-item",
    "manufactured-action",
    "none-without-reason",
    "blame",
    "hedging",
    "time-without-zone",
    "timeline-order",
    "leftover-instrumentation",
    "conflict-marker",
    "suppression",
];
