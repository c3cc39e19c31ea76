//! Any bytes as one line of a ledger: read without a panic, and kept byte for byte.

#![no_main]

use git_incident::event::Line;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let line = Line::parse(bytes);
    assert_eq!(line.raw(), bytes, "a line keeps its bytes");
    assert_eq!(line, Line::parse(line.raw()), "reading is a function of the bytes");
    // No fuzzer finds a digest, which keeps it out of everything behind the id: `TYPE JSON` leads there directly.
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Some((type_name, data)) = text.split_once(' ')
    {
        let _ = git_incident::event::Data::decode(type_name, data);
    }
});
