//! What gates of kind `sanitizer` have beside the common keys: which tools run.

use serde_json::{Map, Value};

use crate::config::section::Section;

/// The keys of this file.
pub(super) const KEYS: &[&str] = &[];

/// What a gate of kind `sanitizer` has of its own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sanitizer {}

impl Sanitizer {
    pub(super) fn read(_section: &mut Section<'_, '_>) -> Self {
        Self {}
    }

    #[expect(clippy::unused_self, reason = "it has no keys yet")]
    pub(super) fn canonical(&self, _map: &mut Map<String, Value>) {}

    #[expect(clippy::unused_self, reason = "it has no keys yet")]
    pub(super) fn check(&self, _section: &mut Section<'_, '_>) {}
}
