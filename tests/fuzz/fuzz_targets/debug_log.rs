//! Any text as a Markdown debug log: read without a panic, and what was read survives being printed.

#![no_main]

use git_incident::document::debuglog::{normalise, parse, print};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for incident in parse(text).incidents {
        let again = parse(&print(&incident)).incidents;
        assert_eq!(again, [normalise(&incident)], "printing and reading lose nothing");
    }
});
