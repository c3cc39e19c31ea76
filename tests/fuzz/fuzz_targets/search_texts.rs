//! See `checks::search_texts`.

#![no_main]

#[allow(dead_code, reason = "each target uses one check")]
#[path = "../checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::search_texts(bytes));
