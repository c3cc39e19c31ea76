//! Secrets: whatever is recorded is scanned first, so that no object of the repository holds one.

mod common;

use common::Repo;

/// A token that no rule takes for a stand-in, built here so that no file holds it.
fn token() -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let body: String = (0..36_usize).map(|i| char::from(alphabet[(i * 37 + 11) % alphabet.len()])).collect();
    ["gh", "p_", &body].concat()
}

#[test]
fn a_secret_reaches_no_object_of_the_repository() {
    let repo = Repo::new();
    repo.open("row 17 is NaN");
    let token = token();
    repo.write("tracked.txt", "one\n");
    repo.commit("second");
    repo.write("tracked.txt", &format!("token = {token}\n"));
    repo.write("untracked.txt", &format!("{token}\n"));
    let ran = repo
        .try_sh(&["-H", &format!("with {token}"), "-m", &format!("with {token}")], &format!("echo {token}"))
        .expect(0);
    assert_eq!(ran.stdout, format!("{token}\n"), "the terminal sees what the command prints");
    assert!(ran.stderr.contains("cut 1 secrets out of output.log"), "{}", ran.stderr);
    for line in [
        "open T --symptom T --environment T --label T",
        "attempt note T",
        "attempt start -H T -d T -a T",
        "attempt end --failed -m T -r T --rules-out T",
        "next add T",
        "next done 1 -m T",
        "difference set T -w T -b T",
        "cause propose T --mechanism T",
        "cause reject -m T",
        "edit --symptom T --label T",
        "budget spend --minutes 1 -m T",
        "close --wont-fix -m T",
        "reopen -m T",
        "evidence add untracked.txt --name T",
        "repro set -- echo T",
    ] {
        let words = line.split(' ').map(|w| if w == "T" { token.as_str() } else { w });
        let ran = repo.incident(&words.collect::<Vec<_>>());
        assert_eq!(ran.status, i32::from(line.starts_with("repro")), "{line}: {}", ran.stderr);
    }
    for pass in ["loose", "packed"] {
        let mut all = repo.command("git");
        all.args(["cat-file", "--batch-all-objects", "--batch"]);
        let bytes = all.output().expect("git cat-file").stdout;
        assert!(
            bytes.len() > 1000 && bytes.windows(17).any(|w| w == b"[redacted:github-"),
            "nothing was cut"
        );
        assert!(
            !bytes.windows(token.len()).any(|w| w == token.as_bytes()),
            "{pass}: the token is in the repository"
        );
        repo.git(&["gc", "-q"]);
    }
    repo.run("grep", &["-rqF", &token, ".git"]).expect(1);
}
