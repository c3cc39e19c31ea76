//! `[on-hang]`: what looks at a hung command before it is killed.

use super::section::Section;
use super::values;

/// The section.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OnHang {
    /// `capture`: commands whose output becomes evidence; `{pid}` stands for the hung process.
    pub capture: Vec<String>,
}

pub(super) fn read(mut section: Section<'_, '_>) -> OnHang {
    let read = OnHang { capture: section.list("capture", values::text).unwrap_or_default() };
    section.finish();
    read
}
