//! Evidence: files kept as blobs under their own names.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::git::Repo;
use crate::model::{Error, Oid, Result, canonical};

/// How large a stored file may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Bytes after compression.
    pub max_compressed: u64,
    /// Bytes before compression; never more than [`HARD_LIMIT`].
    pub max: u64,
}

/// GitHub refuses a push that holds a file of 100 MB, for ever; half of that leaves room for tools between.
pub const HARD_LIMIT: u64 = 50 * 1024 * 1024;

impl Default for Policy {
    fn default() -> Self {
        Self { max_compressed: 10 * 1024 * 1024, max: HARD_LIMIT }
    }
}

/// A stored file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The blob.
    pub oid: Oid,
    /// SHA-256 of its bytes.
    pub sha256: String,
    /// Their number.
    pub bytes: u64,
}

/// Writes a blob, if the policy allows its size. It becomes reachable when an event that names it is appended.
///
/// # Errors
/// Too large a file; a repository that cannot be written.
pub fn store(repo: &Repo, name: &str, bytes: &[u8], policy: Policy) -> Result<Stored> {
    let size = bytes.len() as u64;
    if size > policy.max.min(HARD_LIMIT) {
        return Err(too_large(name, size, policy.max.min(HARD_LIMIT), "bytes"));
    }
    // Nothing grows by more than a few bytes when it is compressed, so only larger files need the work.
    if size > policy.max_compressed {
        let compressed = compressed_size(bytes)?;
        if compressed > policy.max_compressed {
            return Err(too_large(name, compressed, policy.max_compressed, "bytes compressed"));
        }
    }
    Ok(Stored { oid: repo.write_blob(bytes)?, sha256: canonical::sha256_hex(bytes), bytes: size })
}

fn too_large(name: &str, size: u64, limit: u64, unit: &str) -> Error {
    Error::refused(format!("{name:?} is too large to keep in git: {size} {unit}, and the limit is {limit}"))
        .because("whatever is stored travels with every clone, and forges refuse large files for ever")
        .hint(format!("record it where it stands: git incident evidence add --external {name}"))
        .hint("or raise the limit (up to 50 MiB) in .git-incident.toml: [evidence] max = \"20MiB\"")
}

struct Counter(u64);

impl Write for Counter {
    fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
        self.0 += buffer.len() as u64;
        Ok(buffer.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn compressed_size(bytes: &[u8]) -> Result<u64> {
    let mut encoder = ZlibEncoder::new(Counter(0), Compression::default());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?.0)
}

/// What a check of stored evidence found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// The blob is here and its SHA-256 is the recorded one.
    Intact,
    /// The blob is not here.
    Missing,
    /// The blob is here and is not what was recorded.
    Altered {
        /// SHA-256 of what is here.
        found: String,
    },
}

/// Compares a blob with its recorded SHA-256.
pub fn check(repo: &Repo, oid: &Oid, sha256: &str) -> Check {
    match repo.blob(oid) {
        Err(_) if repo.has_object(oid) => {
            Check::Altered { found: "an object that cannot be read".to_owned() }
        }
        Err(_) => Check::Missing,
        Ok(bytes) => {
            let found = canonical::sha256_hex(&bytes);
            if found == sha256 { Check::Intact } else { Check::Altered { found } }
        }
    }
}

/// Reads a regular file that must not change while it is read.
///
/// # Errors
/// A link, a directory, a device; a file that vanishes, or grows or changes while it is read; one above the limit.
pub fn read_file(path: &std::path::Path, limit: u64) -> Result<Vec<u8>> {
    use std::io::Read;
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

    let shown = path.display();
    let linked = std::fs::symlink_metadata(path).map_err(|e| {
        Error::refused(format!("{shown} cannot be read"))
            .because(e)
            .hint("give the path of a file that exists")
    })?;
    if linked.file_type().is_symlink() {
        let target =
            std::fs::read_link(path).map_or_else(|_| "its target".to_owned(), |t| t.display().to_string());
        return Err(Error::refused(format!("{shown} is a symbolic link"))
            .because("a link may lead anywhere, so evidence is stored from regular files only")
            .hint(format!("name the file itself: {target}")));
    }
    if !linked.is_file() {
        return Err(Error::refused(format!("{shown} is not a regular file"))
            .hint("store a directory as an archive: tar -czf evidence.tar.gz …"));
    }
    // Not to be fooled by a link that takes the file's place between the look and the opening.
    let file = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32)
        .open(path)
        .map_err(|e| Error::refused(format!("{shown} cannot be opened")).because(e))?;
    let before = file.metadata()?;
    if before.len() > limit {
        return Err(too_large(&shown.to_string(), before.len(), limit, "bytes"));
    }
    let mut bytes = Vec::with_capacity(before.len() as usize);
    (&file)
        .take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| Error::refused(format!("{shown} cannot be read")).because(e))?;
    let after = file.metadata()?;
    let same = before.len() == after.len()
        && before.mtime() == after.mtime()
        && before.mtime_nsec() == after.mtime_nsec();
    if !same || bytes.len() as u64 != before.len() {
        return Err(Error::refused(format!("{shown} changed while it was read"))
            .hint("wait until the program that writes it has ended"));
    }
    if after.nlink() == 0 {
        return Err(Error::refused(format!("{shown} vanished while it was read"))
            .hint("copy it first, then add the copy"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repo() -> (tempfile::TempDir, Repo) {
        let dir = tempfile::tempdir().unwrap();
        git2::Repository::init(dir.path()).unwrap();
        let repo = Repo::open(dir.path()).unwrap();
        (dir, repo)
    }

    #[test]
    fn keeps_what_it_stores() {
        let (_dir, repo) = repo();
        let stored = store(&repo, "log", b"hello\n", Policy::default()).unwrap();
        assert_eq!(check(&repo, &stored.oid, &stored.sha256), Check::Intact);
        assert!(matches!(check(&repo, &stored.oid, &"0".repeat(64)), Check::Altered { .. }));
    }

    #[test]
    fn measures_what_git_would_keep() {
        let (_dir, repo) = repo();
        let policy = Policy { max_compressed: 1000, max: 1_000_000 };
        assert!(store(&repo, "zeros", &vec![0; 500_000], policy).is_ok(), "compresses well");
        assert!(
            store(&repo, "huge", &vec![0; 1_000_001], policy).is_err(),
            "too large however well it compresses"
        );
        let mut state = 1_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            (state >> 56) as u8
        })
        .take(5000)
        .collect();
        assert!(store(&repo, "noise", &noise, policy).is_err());
    }

    #[test]
    fn refuses_links_and_directories() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.log");
        std::fs::write(&file, "x").unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(read_file(&file, 10).is_ok());
        let error = read_file(&link, 10).unwrap_err();
        assert!(error.what().contains("symbolic link") && error.hints()[0].contains("a.log"));
        assert!(read_file(dir.path(), 10).is_err());
        assert!(read_file(&dir.path().join("none"), 10).is_err());
    }
}
