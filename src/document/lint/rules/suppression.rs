//! Suppression comments that do nothing.

use crate::document::lint::{Rule, Severity, no_facts};

/// The check is the engine's: only it knows what was allowed.
pub const RULE: Rule = Rule {
    name: "suppression",
    severity: Severity::Warning,
    elsewhere: Some(Severity::Warning),
    about: "a suppression comment that is unknown, unused or without a reason",
    docs: "`<!-- git-incident: allow(RULE) reason -->` counts for its line, or, on a line of its own, for the next block: \
           a heading, or a whole paragraph, list or table. `allow-file(RULE)` counts for the document. Several rules are \
           parted by commas. What allows nothing hides the next real finding, so it is reported; `--fix` removes it.",
    bad: "## Fix\n\n<!-- git-incident: allow(hedging) the vendor's words -->\nThe lock is taken once.\n",
    good: "## Fix\n\n<!-- git-incident: allow(hedging) the vendor never told us more -->\nThe lock was probably taken \
           twice.\n",
    facts: no_facts,
    check: |_, _, _| {},
};
