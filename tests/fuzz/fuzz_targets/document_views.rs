//! Any text as a document: rendered in all three formats and briefed without a panic, within limits, and safe.

#![no_main]

use git_incident::document::brief::{Channel, brief};
use git_incident::document::render::page::{PageInput, page};
use git_incident::document::render::{adf, text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|markdown: &str| {
    let made = page(&PageInput { markdown, path: "x.md", ..PageInput::default() });
    let lower = made.to_lowercase();
    for never in ["<script", "\"javascript:", "\"vbscript:", "\"data:text"] {
        assert!(!lower.contains(never), "{never}");
    }
    let jira = adf::adf(markdown, "x.md", adf::LIMIT);
    assert!(jira.json.encode_utf16().count() <= adf::LIMIT);
    serde_json::from_str::<serde_json::Value>(&jira.json).expect("JSON");
    assert!(text::text(markdown, 80).chars().all(|c| c == '\n' || !c.is_control()));
    for channel in Channel::ALL {
        let made = brief(markdown, channel);
        assert!(made.words <= channel.most_words());
    }
});
