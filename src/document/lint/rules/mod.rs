//! The rules, one file each. To add one: its file, its module, its line below, its name in `model/lint.rs`.

pub mod action_item;
pub mod blame;
pub mod block_order;
pub mod conflict_marker;
pub mod empty_block;
pub mod hedging;
pub mod hidden_attempt;
pub mod leftover_instrumentation;
pub mod manufactured_action;
pub mod missing_block;
pub mod none_without_reason;
mod people;
pub mod placeholder;
pub mod suppression;
pub mod time_without_zone;
pub mod timeline_order;
mod times;
pub mod unknown_commit;
pub mod unknown_identifier;
pub mod unknown_path;
pub mod unknown_reference;
pub mod unreadable;
pub mod unsupported_claim;
pub mod wider_claim;
pub mod workaround_as_fix;

use super::Rule;

/// Every rule, in the order of docs/RULES.md.
pub const ALL: &[&Rule] = &[
    &unreadable::RULE,
    &missing_block::RULE,
    &block_order::RULE,
    &empty_block::RULE,
    &placeholder::RULE,
    &unsupported_claim::RULE,
    &wider_claim::RULE,
    &unknown_commit::RULE,
    &unknown_path::RULE,
    &unknown_reference::RULE,
    &unknown_identifier::RULE,
    &hidden_attempt::RULE,
    &workaround_as_fix::RULE,
    &action_item::RULE,
    &manufactured_action::RULE,
    &none_without_reason::RULE,
    &blame::RULE,
    &hedging::RULE,
    &time_without_zone::RULE,
    &timeline_order::RULE,
    &leftover_instrumentation::RULE,
    &conflict_marker::RULE,
    &suppression::RULE,
];

/// The rule of that name.
pub fn named(name: &str) -> Option<&'static Rule> {
    ALL.iter().copied().find(|r| r.name == name)
}

/// The name that is most like this one, when one is.
pub fn closest(name: &str) -> Option<&'static str> {
    if name.len() > 64 {
        return None;
    }
    ALL.iter()
        .map(|r| (strsim::jaro_winkler(name, r.name), r.name))
        .filter(|(likeness, _)| *likeness >= 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}
