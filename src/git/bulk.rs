//! Reading many blobs at once, through `git cat-file --batch`.
//!
//! For a handful of objects libgit2 in our own process is quicker than starting git. For thousands it is not:
//! it inflates the same delta bases again and again (three times the time at 10,000 ledgers), while git keeps
//! them, and works on another core while we fold what it prints.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

use super::Repo;
use super::repo::{MAX_BLOB_BYTES, too_large};
use crate::model::{Error, Oid, Result};

/// Fewer blobs than this are read faster by libgit2.
pub const WORTH_A_PROCESS: usize = 512;

/// Hands over the bytes of each blob, in the order of `oids`, or why that one cannot be had: it is missing or damaged,
/// no blob, or larger than [`MAX_BLOB_BYTES`].
///
/// # Errors
/// `git` cannot be started; in a partial clone, what is missing cannot be fetched; whatever `each` refuses.
pub fn read_blobs(
    repo: &Repo,
    oids: &[Oid],
    mut each: impl FnMut(usize, Result<Vec<u8>>) -> Result<()>,
) -> Result<()> {
    super::partial::ensure(repo, oids)?;
    let mut done = 0;
    while done < oids.len() {
        done += one_process(repo, &oids[done..], &mut |i, bytes| each(done + i, bytes))?;
    }
    Ok(())
}

/// Reads until a process is at its end: git dies of a damaged object, and one that is too large is not waited for.
/// Returns how many objects were dealt with, one at least.
fn one_process(
    repo: &Repo,
    oids: &[Oid],
    each: &mut dyn FnMut(usize, Result<Vec<u8>>) -> Result<()>,
) -> Result<usize> {
    let mut child = Command::new("git")
        .arg("--git-dir")
        .arg(repo.git_dir())
        // Larger objects are printed as they are read, not held in memory.
        .args(["-c", "core.bigFileThreshold=16m", "cat-file", "--batch", "--buffer"])
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
    let (result, done) = std::thread::scope(|scope| {
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
        let mut done = 0;
        let mut result = Ok(());
        while done < oids.len() {
            let (answer, goes_on) = answer(&mut output, &oids[done]);
            result = each(done, answer);
            done += 1;
            if result.is_err() || !goes_on {
                break;
            }
        }
        // So that the writing thread ends, too.
        let _ = child.kill();
        (result, done)
    });
    let _ = child.wait();
    result.map(|()| done)
}

/// One answer: `<oid> blob <size>`, a newline, the bytes, a newline. And whether the next answer can be read.
fn answer(output: &mut impl BufRead, oid: &Oid) -> (Result<Vec<u8>>, bool) {
    let absent = |why: String| {
        Error::refused(format!("object {} is not in this repository", oid.short()))
            .because(why)
            .hint("in a shallow or partial clone: git fetch --unshallow, or git fetch --refetch")
    };
    let mut head = Vec::new();
    if !matches!(output.by_ref().take(4096).read_until(b'\n', &mut head), Ok(n) if n > 0) {
        return (Err(absent("git cat-file broke off".to_owned()).hint("check it with: git fsck")), false);
    }
    let head = String::from_utf8_lossy(&head);
    let mut words = head.split_whitespace();
    let (name, kind) = (words.next(), words.next());
    let size = words.next().and_then(|n| n.parse::<u64>().ok());
    match (kind, size) {
        (Some("blob"), Some(size)) if name == Some(oid.as_str()) && size <= MAX_BLOB_BYTES => {
            let mut bytes = vec![0; size as usize];
            match output.read_exact(&mut bytes).and_then(|()| output.read_exact(&mut [0])) {
                Ok(()) => (Ok(bytes), true),
                Err(e) => (Err(absent(e.to_string()).hint("check it with: git fsck")), false),
            }
        }
        (Some("blob"), Some(size)) => (Err(too_large(oid, size)), false),
        // `<oid> missing` has no body; a tree has one, and nobody wants it.
        _ => (Err(absent(format!("git cat-file says {:?}", head.trim()))), kind == Some("missing")),
    }
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
            read.push(bytes.unwrap());
            Ok(())
        })
        .unwrap();
        assert_eq!(read, texts);
    }

    #[test]
    fn what_cannot_be_read_hides_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let raw = git2::Repository::init(directory.path()).unwrap();
        let tree = raw.treebuilder(None).unwrap().write().unwrap().to_string();
        let repo = Repo::open(directory.path()).unwrap();
        let good = repo.write_blob(b"good\n").unwrap();
        let large = repo.write_blob(&vec![b'x'; MAX_BLOB_BYTES as usize + 1]).unwrap();
        let broken = repo.write_blob(b"broken\n").unwrap();
        let file = directory.path().join(format!(
            ".git/objects/{}/{}",
            &broken.as_str()[..2],
            &broken.as_str()[2..]
        ));
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, b"no zlib stream").unwrap();
        let missing = Oid::parse(&"1".repeat(40)).unwrap();
        let tree = Oid::parse(&tree).unwrap();
        let oids = [&good, &missing, &good, &tree, &good, &large, &good, &broken, &good].map(Clone::clone);
        let mut seen = Vec::new();
        read_blobs(&repo, &oids, |i, bytes| {
            assert_eq!(i, seen.len());
            seen.push(bytes.map_err(|e| e.what().to_owned()));
            Ok(())
        })
        .unwrap();
        assert_eq!(seen.len(), oids.len());
        for (i, answer) in seen.iter().enumerate() {
            match answer {
                Ok(bytes) => assert_eq!((bytes.as_slice(), i % 2), (&b"good\n"[..], 0)),
                Err(what) if i == 5 => assert!(what.contains("too large"), "{what}"),
                Err(what) => assert!(what.contains("not in this repository") && i % 2 == 1, "{i} {what}"),
            }
        }
    }
}
