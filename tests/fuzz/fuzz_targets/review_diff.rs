//! Two documents of any bytes, parted by a NUL: read as pages, compared, shown in every form.

#![no_main]

use git_incident::document::diff::{Document, canonical_text, to_html, to_markdown};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let at = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len() / 2);
    let (old, new) = bytes.split_at(at);
    let document = Document::of("a.md", None, Some(old), Some(new));
    for change in &document.review.changes {
        assert!(change.old.is_some() || change.new.is_some());
    }
    let documents = [document];
    assert!(to_markdown(&documents).len() < 65_536);
    let _ = to_html(&documents, "t");
    if let Ok(text) = std::str::from_utf8(new) {
        let _ = canonical_text(text);
    }
});
