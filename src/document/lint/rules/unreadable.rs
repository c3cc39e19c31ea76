//! Files that are no text.

use crate::document::lint::{Rule, Severity, no_facts};

/// Found by whoever reads files, before there is a document; it stands here so that it is documented and can be set.
pub const RULE: Rule = Rule {
    name: "unreadable",
    severity: Severity::Error,
    elsewhere: Some(Severity::Error),
    about: "a file that cannot be read as a document",
    docs: "A document is UTF-8 text of at most 8 MiB in a regular file. Line and column are those of the first byte \
           that is no text. It cannot be shown in an example.",
    bad: "",
    good: "",
    facts: no_facts,
    check: |_, _, _| {},
};
