//! `[evidence]`: how large a stored file may be.

use super::section::Section;

/// What no configuration can exceed, in bytes: larger objects make a repository unpushable for ever.
pub const LARGEST: u64 = 50 << 20;

/// The section, defaults filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evidence {
    /// `max`: compressed bytes beyond which storing must be asked for; 10 MiB by default.
    pub max: u64,
    /// `hard-max`: compressed bytes beyond which a file stays outside; 50 MiB by default and at most.
    pub hard_max: u64,
}

impl Default for Evidence {
    fn default() -> Self {
        Self { max: 10 << 20, hard_max: LARGEST }
    }
}

pub(super) fn read(mut section: Section<'_, '_>) -> Evidence {
    let default = Evidence::default();
    let max = section.size("max");
    let hard_max = section.size("hard-max").unwrap_or(default.hard_max);
    let read = Evidence { max: max.unwrap_or(default.max.min(hard_max)), hard_max };
    if hard_max > LARGEST {
        section.problem("hard-max", "\"hard-max\" in [evidence] must not be more than 50MiB");
    }
    if read.max > hard_max {
        section.problem("max", "\"max\" in [evidence] must not be more than \"hard-max\"");
    }
    section.finish();
    read
}
