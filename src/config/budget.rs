//! `[budget]`: what an incident may cost before it must stop.

use super::decimal::Money;
use super::section::Section;

/// The section; a limit that is not set does not limit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Budget {
    /// `attempts`: how many may end without a fix.
    pub attempts: Option<u32>,
    /// `minutes` of recorded work.
    pub minutes: Option<u32>,
    /// `money`: the sum that may be spent.
    pub money: Option<Money>,
    /// `gpu-hour`: what one hour of a GPU costs, to reckon time as money.
    pub gpu_hour: Option<Money>,
}

pub(super) fn read(mut section: Section<'_, '_>) -> Budget {
    let read = Budget {
        attempts: section.integer("attempts", 1, 10_000),
        minutes: section.integer("minutes", 1, 1_000_000),
        money: money(&mut section, "money"),
        gpu_hour: money(&mut section, "gpu-hour"),
    };
    section.finish();
    read
}

fn money(section: &mut Section<'_, '_>, key: &'static str) -> Option<Money> {
    match Money::from_decimal(&section.decimal(key)?) {
        Ok(money) => Some(money),
        Err(why) => {
            section.problem(key, format!("\"{key}\" in [budget] {why}"));
            None
        }
    }
}
