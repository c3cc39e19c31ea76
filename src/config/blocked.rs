//! `[blocked]`: what must be on record before an incident may be given up.

use super::problem::suggestion;
use super::section::Section;
use super::values;

/// One thing that giving up requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Requirement {
    /// Profile data is stored as evidence.
    Profile,
    /// Sizes were logged.
    Sizes,
    /// Enough different approaches, each with why it failed.
    Approaches,
    /// Host and device side were both looked at.
    HostAndDevice,
    /// Code is cited.
    Code,
    /// Measured against theoretical was reckoned.
    Arithmetic,
    /// Enough minutes of recorded work.
    Minutes,
}

impl Requirement {
    /// All of them, in the order people read them.
    pub const ALL: [Self; 7] = [
        Self::Profile,
        Self::Sizes,
        Self::Approaches,
        Self::HostAndDevice,
        Self::Code,
        Self::Arithmetic,
        Self::Minutes,
    ];

    /// The word in the file.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Profile => "profile",
            Self::Sizes => "sizes",
            Self::Approaches => "approaches",
            Self::HostAndDevice => "host-and-device",
            Self::Code => "code",
            Self::Arithmetic => "arithmetic",
            Self::Minutes => "minutes",
        }
    }
}

/// The section, defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// `require`, in the order of [`Requirement::ALL`]; all of them by default.
    pub require: Vec<Requirement>,
    /// `approaches`: how many different ones [`Requirement::Approaches`] asks for; 5 by default.
    pub approaches: u32,
    /// `minutes` of recorded work that [`Requirement::Minutes`] asks for; 20 by default.
    pub minutes: u32,
}

impl Default for Blocked {
    fn default() -> Self {
        Self { require: Requirement::ALL.to_vec(), approaches: 5, minutes: 20 }
    }
}

pub(super) fn read(mut section: Section<'_, '_>) -> Blocked {
    let default = Blocked::default();
    let mut read = Blocked {
        require: section.list("require", requirement).unwrap_or(default.require),
        approaches: section.integer("approaches", 1, 1000).unwrap_or(default.approaches),
        minutes: section.integer("minutes", 1, 100_000).unwrap_or(default.minutes),
    };
    read.require.sort_unstable();
    read.require.dedup();
    section.finish();
    read
}

fn requirement(word: &str) -> Result<Requirement, String> {
    Requirement::ALL.into_iter().find(|known| known.word() == word).ok_or_else(|| {
        let words = Requirement::ALL.map(Requirement::word);
        let mean = suggestion(word, words).map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("must be one of {}, not {}{mean}", words.join(", "), values::shown(word))
    })
}
