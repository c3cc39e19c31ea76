//! Any bytes as `.git-incident.toml`: read, or refused with a place in the file.

#![no_main]

use git_incident::config::parse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match parse(bytes, "config") {
        Ok(config) => config.gates.iter().for_each(|gate| assert_eq!(gate.digest().len(), 64)),
        Err(error) => assert!(error.what().starts_with("config:"), "{error}"),
    }
});
