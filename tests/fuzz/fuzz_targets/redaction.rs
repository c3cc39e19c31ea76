//! Any bytes through the secret scan: what was found is gone, and a second scan changes nothing.

#![no_main]

use git_incident::redact::redact;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let once = redact(bytes);
    let lines = |b: &[u8]| b.iter().filter(|c| **c == b'\n').count();
    assert_eq!(lines(bytes), lines(&once.bytes), "lines stay lines");
    if bytes.len() < 4096 {
        let twice = redact(&once.bytes);
        assert_eq!(twice.bytes, once.bytes, "once is enough");
    }
});
