//! `tried`, and what `attempt start` and `try` say by themselves.

mod common;

use common::Repo;
use common::stranger::{Bytes, plant};

fn repo() -> Repo {
    let repo = Repo::new();
    repo.write("kernels/attn.cu", "load();\nstore();\nuse();\n");
    repo.write("host/run.py", "print(1)\n");
    repo.commit("Start");
    repo
}

#[test]
fn what_failed_is_told_to_the_next_one() {
    let repo = repo();
    repo.open("Rows are wrong");
    repo.typed("tried 'a barrier is missing after the store'").expect(0).says("nothing like it");
    repo.typed(
        "attempt start -H 'a __syncthreads is missing between the store to shared memory and the load'",
    )
    .expect(0);
    let running = repo.typed("tried 'missing barrier after the shared memory store'").expect(0);
    running.says("still running");
    repo.typed("attempt end --failed -m 'racecheck finds no hazard, still wrong'").expect(0);
    let ran = repo.typed("tried 'missing barrier after the shared memory store'").expect(3);
    let _ = ran.says("did not fix the bug").says("racecheck finds no hazard");
    let ran = repo.typed("--json tried 'missing barrier after the shared memory store'").expect(3);
    let view = ran.json();
    let first = &view["matches"][0];
    assert_eq!((first["ordinal"].as_u64(), first["outcome"]["bug"].as_str()), (Some(1), Some("remains")));
    assert!(first["score"].as_f64().is_some_and(|s| s > 0.4 && s <= 1.0), "{first}");
    repo.typed("tried 'the driver on the node is too old'").expect(0).says("nothing like it");

    // By themselves, before they go on.
    let started = repo
        .incident(&["--json", "attempt", "start", "-H", "a barrier is missing after the store to smem"])
        .expect(0);
    assert_eq!(started.json()["tried"][0]["ordinal"], 1, "{}", started.stdout);
    let started = started.says("tried before, and it did not fix the bug");
    drop(started);
    repo.typed("attempt end --worked -m 'it was the second barrier'").expect(0);
    let ran =
        repo.try_sh(&["--json", "-H", "missing barrier after the store to shared memory"], "true").expect(0);
    let tried = ran.json()["tried"].as_array().expect("a list").len();
    assert_eq!(tried, 2, "{}", ran.stdout);
    let quiet = repo.try_sh(&["-H", "the host rounds the sizes"], "true").expect(0);
    quiet.never_says("tried before");
}

#[test]
fn only_what_fixed_it_is_no_warning() {
    let repo = repo();
    repo.open("Rows are wrong");
    repo.typed("attempt start -H 'the scale is applied twice'").expect(0);
    repo.typed("attempt end --worked -m 'removed one'").expect(0);
    repo.typed("tried 'scale applied twice'").expect(0).says("fixed the bug");
}

#[test]
fn the_same_error_is_known_again() {
    let repo = repo();
    repo.open("Crash");
    repo.typed("attempt start -H 'stale pointer'").expect(0);
    let log = "step 1\nTraceback (most recent call last):\n/tmp/x/run.py:88: RuntimeError: CUDA error: an illegal memory access was encountered at 0x7f3a00c0\n";
    repo.try_sh(&[], &format!("printf '%s' '{log}' >&2; exit 1")).expect(1);
    repo.typed("attempt end --failed -m 'pointer was fine'").expect(0);
    let mine = "2026-03-04 10:11:12 ok\nTraceback (most recent call last):\n/home/me/run.py:91: RuntimeError: CUDA error: an illegal memory access was encountered at 0x7eee12aa\n";
    repo.write("mine.log", mine);
    repo.typed("tried --error mine.log").expect(3).says("pointer was fine").says("by error");
    repo.write("other.log", "RuntimeError: NCCL communicator was aborted on rank 3\n");
    repo.typed("tried --error other.log").expect(0);
    repo.write("quiet.log", "all is well\n");
    repo.typed("tried --error quiet.log").expect(0);
    repo.typed("tried --error nowhere.log").refuses(1);
    repo.typed("tried").refuses(2);
    repo.typed("tried ...").refuses(2).says("no word");
    repo.typed("tried the of is").refuses(2).says("no word");
}

#[test]
fn patches_and_paths_and_whether_the_code_has_changed() {
    let repo = repo();
    repo.open("Rows are wrong");
    repo.write("kernels/attn.cu", "load();\n__syncthreads();\nstore();\nuse();\n");
    repo.try_sh(&["-H", "a barrier is missing", "--failed", "-m", "no effect"], "exit 0").expect(0);
    repo.git(&["checkout", "-q", "--", "."]);

    let view = repo.typed("--json tried --path kernels").expect(3).json();
    assert_eq!(view["matches"][0]["touched"][0], "kernels/attn.cu", "{view}");
    assert_eq!(view["matches"][0]["changed_since"], false);
    repo.typed("tried --path kernels/attn.cu").expect(3).says("have not changed since");
    repo.typed("tried --path kernel").expect(0);
    repo.typed("tried --path host").expect(0);
    repo.typed("tried 'missing barrier' --path host").expect(0);
    repo.typed("tried 'missing barrier' --path ./kernels/").expect(3);

    // The same change again, elsewhere in the file; another change of the same file.
    repo.typed("tried --diff").expect(0).says("nothing like it");
    repo.write("kernels/attn.cu", "load();\n  __syncthreads();\nstore();\nuse();\n");
    repo.typed("tried --diff").expect(3).says("by diff");
    repo.write("kernels/attn.cu", "load(2);\nstore(2);\nuse(2);\n");
    repo.typed("tried --diff").expect(0);

    repo.commit("Change the kernel");
    let view = repo.typed("--json tried 'missing barrier'").expect(3).json();
    assert_eq!(view["matches"][0]["changed_since"], true);
    assert_eq!(view["matches"][0]["changed"][0], "kernels/attn.cu");
    repo.typed("tried 'missing barrier'").expect(3).says("worth retrying");
}

#[test]
fn commits_say_what_was_touched() {
    let repo = repo();
    repo.open("Rows are wrong");
    repo.typed("attempt start -H 'the order of load and store'").expect(0);
    repo.write("kernels/attn.cu", "store();\nload();\nuse();\n");
    let commit = repo.commit("Swap");
    repo.typed(&format!("link {commit} --as failed")).expect(0);
    repo.typed("attempt end --failed -m 'no'").expect(0);
    let view = repo.typed("--json tried --path kernels").expect(3).json();
    assert_eq!(view["matches"][0]["changed_since"], false, "{view}");
    repo.git(&["reset", "-q", "--hard", "HEAD^"]);
    let view = repo.typed("--json tried --path kernels").expect(3).json();
    assert_eq!(view["matches"][0]["changed_since"], false, "as it stood before the attempt");
}

#[test]
fn who_cannot_look_says_so() {
    let repo = repo();
    repo.open("Rows are wrong");
    repo.typed("attempt start -H 'a barrier is missing'").expect(0).never_says("not looked up");
    repo.typed("attempt end --failed -m 'no'").expect(0);
    // Notes of somebody else's are notes as well: an index is made only by who waits for it.
    let notes = (0..220).map(|n| (format!("{n:040x}"), "100644", Bytes::Whole(b"x\n".to_vec()))).collect();
    plant(&repo, "refs/notes/incidents", notes);
    let ran = repo.typed("attempt start -H 'a missing barrier'").expect(0);
    ran.says("not looked up whether this was tried").says("git incident tried");
    repo.typed("attempt end --failed -m 'no'").expect(0);
    repo.typed("tried 'a missing barrier'").expect(3);
    let ran = repo.typed("attempt start -H 'the barrier is missing'").expect(0);
    ran.says("tried before").never_says("not looked up");
}
