//! Any bytes as files of a repository that the PR text reads: CODEOWNERS and workflows.

#![no_main]

use git_incident::report::codeowners::Codeowners;
use git_incident::report::workflows::recommend;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = Codeowners::parse(bytes).owners("kernels/softmax.cu");
    let files = [(".github/workflows/a.yml".to_owned(), bytes.to_vec())];
    assert!(recommend(&files, &["kernels/softmax.cu".to_owned()]).len() <= 1);
});
