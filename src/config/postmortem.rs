//! `[postmortem]`: where post-mortems live and which rules they follow.

use std::collections::BTreeMap;

use super::section::Section;
use crate::model::lint::{RULES, SETTINGS, Severity};

/// Which set of lint rules a post-mortem is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// A bug that was fixed: symptom, cause, fix, validation.
    #[default]
    Bugfix,
    /// An outage: timeline, impact and follow-ups as well.
    Incident,
}

/// Every profile with its word in the file.
const PROFILES: [(&str, Profile); 2] = [("bugfix", Profile::Bugfix), ("incident", Profile::Incident)];

impl Profile {
    /// The word in the file.
    pub fn word(self) -> &'static str {
        PROFILES.iter().find(|(_, profile)| *profile == self).map_or("bugfix", |(word, _)| word)
    }

    /// The profile of a word.
    pub fn of_word(word: &str) -> Option<Self> {
        PROFILES.iter().find(|(known, _)| *known == word).map(|(_, profile)| *profile)
    }
}

/// The section, defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Postmortem {
    /// `directory`, relative to the root; `docs/postmortems` by default.
    pub directory: String,
    /// `profile`, by default bugfix.
    pub profile: Profile,
    /// `[postmortem.rules]`: what a rule weighs here; `None` turns it off.
    pub rules: BTreeMap<&'static str, Option<Severity>>,
}

impl Default for Postmortem {
    fn default() -> Self {
        Self { directory: "docs/postmortems".into(), profile: Profile::default(), rules: BTreeMap::new() }
    }
}

pub(super) fn read(mut section: Section<'_, '_>) -> Postmortem {
    let default = Postmortem::default();
    let mut read = Postmortem {
        directory: section.path("directory").unwrap_or(default.directory),
        profile: section.choice("profile", &PROFILES).unwrap_or(default.profile),
        rules: BTreeMap::new(),
    };
    if let Some(mut rules) = section.table("rules", "[postmortem.rules]") {
        for name in RULES {
            if let Some(setting) = rules.choice(name, &SETTINGS) {
                read.rules.insert(name, setting);
            }
        }
        rules.finish();
    }
    section.finish();
    read
}
