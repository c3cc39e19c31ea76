//! Any bytes as what git hands to hooks: pre-push lines, and the trailers of a message.

#![no_main]

use git_incident::git::trailers;
use git_incident::validate::push;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for update in push::parse(bytes).updates {
        let _ = update.matter();
    }
    assert!(trailers::body_end(bytes, "#") <= bytes.len());
    let _ = trailers::read(bytes, "#");
});
