//! Reading many blobs at once, through `git cat-file --batch`.
//!
//! For a handful of objects libgit2 in our own process is quicker than starting git. For thousands it is not:
//! it inflates the same delta bases again and again (three times the time at 10,000 ledgers), while git keeps
//! them, and works on another core while we fold what it prints.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use super::Repo;
use crate::model::{Error, Oid, Result};

/// Fewer blobs than this are read faster by libgit2.
pub const WORTH_A_PROCESS: usize = 512;

/// A larger object is no note of ours; reading it would only fill the memory.
const MAX_BYTES: u64 = 1 << 30;

/// Hands over the bytes of each blob, in the order of `oids`.
///
/// # Errors
/// `git` cannot be started; an object is missing (and, in a partial clone, cannot be fetched) or is no blob; whatever `each` refuses.
pub fn read_blobs(
    repo: &Repo,
    oids: &[Oid],
    mut each: impl FnMut(usize, Vec<u8>) -> Result<()>,
) -> Result<()> {
    super::partial::ensure(repo, oids)?;
    let mut child = Command::new("git")
        .arg("--git-dir")
        .arg(repo.git_dir())
        .args(["cat-file", "--batch", "--buffer"])
        .env("GIT_NO_LAZY_FETCH", "1")
        // What a ledger says must not depend on `git replace`.
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| Error::refused("git cannot be started").because(e).hint("put git on your PATH"))?;
    let input = child.stdin.take();
    let output = child.stdout.take().ok_or_else(|| Error::bug("a pipe that was asked for is not there"))?;
    let result = std::thread::scope(|scope| {
        // Written beside the reading: git stops reading when nobody takes what it prints.
        scope.spawn(move || {
            let Some(mut input) = input else { return };
            let mut text = String::with_capacity(oids.len() * 41);
            for oid in oids {
                text.push_str(oid.as_str());
                text.push('\n');
            }
            // A git that has gone away is noticed by the reader.
            let _ = input.write_all(text.as_bytes());
        });
        let mut output = BufReader::with_capacity(1 << 16, output);
        oids.iter().enumerate().try_for_each(|(i, oid)| each(i, answer(&mut output, oid)?))
    });
    if result.is_err() {
        let _ = child.kill();
    }
    let _ = child.wait();
    result
}

/// One answer: `<oid> blob <size>`, a newline, the bytes, a newline.
fn answer(output: &mut impl BufRead, oid: &Oid) -> Result<Vec<u8>> {
    let mut head = String::new();
    output.read_line(&mut head)?;
    let mut words = head.split_whitespace();
    let size = match (words.next(), words.next(), words.next().and_then(|n| n.parse::<u64>().ok())) {
        (Some(name), Some("blob"), Some(size)) if name == oid.as_str() && size <= MAX_BYTES => size,
        _ => {
            return Err(Error::refused(format!("object {} is not in this repository", oid.short()))
                .because(format!("git cat-file says {:?}", head.trim()))
                .hint("in a shallow or partial clone: git fetch --unshallow, or git fetch --refetch"));
        }
    };
    let mut bytes = vec![0; size as usize];
    output.read_exact(&mut bytes)?;
    output.read_exact(&mut [0])?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_blobs_come_whole_and_in_order() {
        let directory = tempfile::tempdir().unwrap();
        git2::Repository::init(directory.path()).unwrap();
        let repo = Repo::open(directory.path()).unwrap();
        let texts: Vec<Vec<u8>> =
            (0..3000).map(|n| format!("{n}\n\n{}", "x".repeat(n % 97)).into_bytes()).collect();
        let oids: Vec<Oid> = texts.iter().map(|t| repo.write_blob(t).unwrap()).collect();
        let mut read = Vec::new();
        read_blobs(&repo, &oids, |i, bytes| {
            assert_eq!(i, read.len());
            read.push(bytes);
            Ok(())
        })
        .unwrap();
        assert_eq!(read, texts);
    }

    #[test]
    fn a_missing_object_and_a_tree_are_errors() {
        let directory = tempfile::tempdir().unwrap();
        let raw = git2::Repository::init(directory.path()).unwrap();
        let tree = raw.treebuilder(None).unwrap().write().unwrap().to_string();
        let repo = Repo::open(directory.path()).unwrap();
        for name in ["1".repeat(40), tree] {
            let oid = Oid::parse(&name).unwrap();
            let error = read_blobs(&repo, &[oid], |_, _| Ok(())).unwrap_err();
            assert!(error.what().contains("not in this repository"), "{error}");
        }
    }
}
