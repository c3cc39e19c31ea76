//! An opened repository, and why one could not be opened.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, ObjectType};

use crate::model::{Error, Kind, Oid, Result};

/// A larger blob is never read: no ledger, record, configuration or stored file of ours is (evidence ends at 50 MiB),
/// and a small pack can hold one that fills any memory.
pub const MAX_BLOB_BYTES: u64 = 64 << 20;

/// An opened repository.
pub struct Repo {
    inner: git2::Repository,
    common_dir: PathBuf,
    config: OnceCell<Option<git2::Config>>,
}

/// What stands in a folder of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Folder {
    /// Names of regular files.
    pub files: Vec<String>,
    /// Names of folders.
    pub folders: Vec<String>,
}

impl Repo {
    /// Opens the repository of the current directory, as `git` would: `GIT_DIR` and its kin are obeyed.
    ///
    /// # Errors
    /// None there; a SHA-256 or reftable repository, which libgit2 does not read; one owned by somebody else.
    pub fn discover() -> Result<Self> {
        accept_extensions();
        git2::Repository::open_from_env().map_err(|e| explain_open(&e)).and_then(Self::from_inner)
    }

    /// Opens the repository at or above a path, whatever the environment says.
    ///
    /// # Errors
    /// As [`Repo::discover`].
    pub fn open(path: &Path) -> Result<Self> {
        accept_extensions();
        git2::Repository::discover(path).map_err(|e| explain_open(&e)).and_then(Self::from_inner)
    }

    fn from_inner(inner: git2::Repository) -> Result<Self> {
        let common_dir = inner.commondir().to_path_buf();
        let common_dir = std::fs::canonicalize(&common_dir).unwrap_or(common_dir);
        // git does not hash every object it reads either: events carry SHA-256 ids of their own, evidence its digest,
        // and `git fsck` is there for the rest.
        git2::opts::strict_hash_verification(false);
        let repo = Self { inner, common_dir, config: OnceCell::new() };
        // libgit2 opens some repositories whose refs or objects it then cannot read: say so before anything else.
        let is =
            |key: &str, value: &str| repo.config_string(key).is_some_and(|v| v.eq_ignore_ascii_case(value));
        if is("extensions.objectformat", "sha256") {
            return Err(sha256_refused());
        }
        if is("extensions.refstorage", "reftable") {
            return Err(reftable_refused());
        }
        if repo.is_partial() {
            // A tree may name what was left with the remote: else no note could be written beside it.
            git2::opts::strict_object_creation(false);
        }
        Ok(repo)
    }

    /// libgit2's own handle, for rows 2 and 3.
    pub fn raw(&self) -> &git2::Repository {
        &self.inner
    }

    /// The directory all worktrees share.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// This worktree's own git directory.
    pub fn git_dir(&self) -> &Path {
        self.inner.path()
    }

    /// The top of the working tree; `None` in a bare repository.
    pub fn workdir(&self) -> Option<&Path> {
        self.inner.workdir()
    }

    /// HEAD's commit; `None` before the first commit.
    ///
    /// # Errors
    /// A HEAD that cannot be read.
    pub fn head_commit(&self) -> Result<Option<Oid>> {
        match self.inner.head() {
            Ok(head) => Ok(head.target().map(from_git)),
            Err(e) if matches!(e.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound) => Ok(None),
            Err(e) => Err(Error::refused("HEAD cannot be read").because(e.message())),
        }
    }

    /// The current branch's full name; `None` when HEAD is detached.
    pub fn head_branch(&self) -> Option<String> {
        let head = self.inner.find_reference("HEAD").ok()?;
        head.symbolic_target().ok().flatten().map(str::to_owned)
    }

    /// The commit that a revision means, annotated tags peeled.
    ///
    /// # Errors
    /// No such revision, or one that is no commit.
    pub fn resolve_commit(&self, revision: &str) -> Result<Oid> {
        let object = self.inner.revparse_single(revision).map_err(|e| {
            Error::refused(format!("{revision:?} names no commit here"))
                .because(e.message())
                .hint("list commits with: git log --oneline --all")
        })?;
        let commit = object.peel(ObjectType::Commit).map_err(|_| {
            Error::refused(format!(
                "{revision:?} is a {}, not a commit",
                object.kind().map_or("object", |k| k.str())
            ))
        })?;
        Ok(from_git(commit.id()))
    }

    /// Whether an object is here, of any kind.
    pub fn has_object(&self, oid: &Oid) -> bool {
        to_git(oid).is_ok_and(|id| self.inner.odb().is_ok_and(|odb| odb.exists(id)))
    }

    /// Looks at the object store anew, after git wrote to it.
    pub fn refresh(&self) {
        let _ = self.inner.odb().and_then(|odb| odb.refresh());
    }

    /// The size of an object in bytes; `None` when it is not here.
    pub fn size_of(&self, oid: &Oid) -> Option<u64> {
        let odb = self.inner.odb().ok()?;
        odb.read_header(to_git(oid).ok()?).ok().map(|(size, _)| size as u64)
    }

    /// Whether a commit is another one, or stands in its history as far as that is here.
    pub fn is_ancestor(&self, older: &Oid, newer: &Oid) -> bool {
        older == newer
            || match (to_git(newer), to_git(older)) {
                (Ok(newer), Ok(older)) => self.inner.graph_descendant_of(newer, older).unwrap_or(false),
                _ => false,
            }
    }

    /// Whether this is a commit that is here.
    pub fn is_commit(&self, oid: &Oid) -> bool {
        to_git(oid).is_ok_and(|id| self.inner.find_commit(id).is_ok())
    }

    /// A commit's tree.
    ///
    /// # Errors
    /// The commit is not here.
    pub fn tree_of(&self, commit: &Oid) -> Result<Oid> {
        let found = self.inner.find_commit(to_git(commit)?).map_err(|e| missing("commit", commit, &e))?;
        Ok(from_git(found.tree_id()))
    }

    /// A commit's message, lossily decoded.
    ///
    /// # Errors
    /// The commit is not here.
    pub fn message_of(&self, commit: &Oid) -> Result<String> {
        let found = self.inner.find_commit(to_git(commit)?).map_err(|e| missing("commit", commit, &e))?;
        Ok(String::from_utf8_lossy(found.message_bytes()).into_owned())
    }

    /// Whether this clone left objects with a remote, to be fetched when they are asked for.
    pub fn is_partial(&self) -> bool {
        self.promisor().is_some()
    }

    /// The remote that has what a partial clone left out.
    pub fn promisor(&self) -> Option<String> {
        if let Some(name) = self.config_string("extensions.partialclone") {
            return Some(name);
        }
        let config = self.config()?;
        let mut entries = config.entries(Some("^remote\\..*\\.promisor$")).ok()?;
        while let Some(Ok(entry)) = entries.next() {
            let name = entry.name().ok()?;
            if config.get_bool(name).unwrap_or(false) {
                return Some(name.strip_prefix("remote.")?.strip_suffix(".promisor")?.to_owned());
            }
        }
        None
    }

    /// A blob's bytes; in a partial clone fetched when it is not here.
    ///
    /// # Errors
    /// The blob is not here and cannot be fetched, or is larger than [`MAX_BLOB_BYTES`].
    pub fn blob(&self, oid: &Oid) -> Result<Vec<u8>> {
        if !self.has_object(oid) && self.is_partial() {
            super::partial::ensure(self, std::slice::from_ref(oid))?;
        }
        self.must_be_bearable(oid)?;
        let blob = self.inner.find_blob(to_git(oid)?).map_err(|e| missing("object", oid, &e))?;
        Ok(blob.content().to_vec())
    }

    /// Looks at an object's size before it is inflated.
    fn must_be_bearable(&self, oid: &Oid) -> Result<()> {
        let odb = self.inner.odb().map_err(|e| missing("object", oid, &e))?;
        let (size, _) = odb.read_header(to_git(oid)?).map_err(|e| missing("object", oid, &e))?;
        if size as u64 > MAX_BLOB_BYTES { Err(too_large(oid, size as u64)) } else { Ok(()) }
    }

    /// A regular file's bytes in a commit; `None` when the path is absent, a link, a directory or a submodule.
    ///
    /// # Errors
    /// The commit is not here.
    pub fn file_at(&self, commit: &Oid, path: &str) -> Result<Option<Vec<u8>>> {
        let found = self.inner.find_commit(to_git(commit)?).map_err(|e| missing("commit", commit, &e))?;
        let tree = found.tree().map_err(|e| missing("tree of commit", commit, &e))?;
        let Ok(entry) = tree.get_path(Path::new(path)) else {
            return Ok(None);
        };
        if entry.filemode() & 0o170_000 != 0o100_000 {
            return Ok(None);
        }
        self.must_be_bearable(&from_git(entry.id()))?;
        let blob = self.inner.find_blob(entry.id()).map_err(|e| missing("file of commit", commit, &e))?;
        Ok(Some(blob.content().to_vec()))
    }

    /// The regular files of a folder in a commit (the empty path is the top), and the folders in it: names in git's
    /// order. Links and submodules are neither; a folder that is not there is empty.
    ///
    /// # Errors
    /// The commit is not here.
    pub fn folder_at(&self, commit: &Oid, path: &str) -> Result<Folder> {
        let found = self.inner.find_commit(to_git(commit)?).map_err(|e| missing("commit", commit, &e))?;
        let mut tree = found.tree().map_err(|e| missing("tree of commit", commit, &e))?;
        let mut folder = Folder::default();
        if !path.is_empty() {
            let below = tree.get_path(Path::new(path)).ok().filter(|e| e.kind() == Some(ObjectType::Tree));
            let Some(below) = below.and_then(|e| self.inner.find_tree(e.id()).ok()) else {
                return Ok(folder);
            };
            tree = below;
        }
        for entry in &tree {
            let Ok(name) = entry.name() else { continue };
            match entry.filemode() & 0o170_000 {
                0o100_000 => folder.files.push(name.to_owned()),
                0o040_000 => folder.folders.push(name.to_owned()),
                _ => {}
            }
        }
        Ok(folder)
    }

    /// Whether a commit is another one, or an ancestor of it; `false` when one of them is not here.
    pub fn is_part_of(&self, commit: &Oid, tip: &Oid) -> bool {
        let (Ok(commit), Ok(tip)) = (to_git(commit), to_git(tip)) else {
            return false;
        };
        commit == tip || self.inner.graph_descendant_of(tip, commit).unwrap_or(false)
    }

    /// Writes a blob and returns its name.
    ///
    /// # Errors
    /// The object database cannot be written: a full disk, a read-only repository.
    pub fn write_blob(&self, bytes: &[u8]) -> Result<Oid> {
        self.inner.blob(bytes).map(from_git).map_err(|e| {
            Error::refused("cannot write to the repository's object database").because(e.message()).hint(
                format!(
                    "check that {} is writable and the disk is not full",
                    self.common_dir.join("objects").display()
                ),
            )
        })
    }

    /// The name a blob of these bytes has, without writing it.
    ///
    /// # Errors
    /// Never in practice; libgit2's own failure.
    pub fn blob_name(bytes: &[u8]) -> Result<Oid> {
        git2::Oid::hash_object(ObjectType::Blob, bytes)
            .map(from_git)
            .map_err(|e| Error::bug("cannot hash an object").because(e.message()))
    }

    /// A string of the repository's configuration, with the user's and the system's below it.
    pub fn config_string(&self, key: &str) -> Option<String> {
        self.config()?.get_string(key).ok()
    }

    /// A Boolean of the configuration.
    pub fn config_bool(&self, key: &str) -> Option<bool> {
        self.config()?.get_bool(key).ok()
    }

    /// The configuration as it was when it was first asked for: every look at the live one reads all files again.
    fn config(&self) -> Option<&git2::Config> {
        self.config.get_or_init(|| self.inner.config().and_then(|mut c| c.snapshot()).ok()).as_ref()
    }
}

/// Opens what older versions of git made of `git clone --filter`: the extension only says that objects may be with a
/// remote, from where [`super::partial`] fetches them.
fn accept_extensions() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        #[expect(unsafe_code, reason = "git2 marks it so because it sets a global of libgit2")]
        // SAFETY: `Once` lets one thread in, and every opening of a repository goes through here first, so that nobody
        // reads the global meanwhile.
        unsafe {
            // Refused, the repository is not opened, and the error says which extension it is.
            let _ = git2::opts::set_extensions(&["partialclone"]);
        }
    });
}

/// Our form of an object id.
pub fn from_git(oid: git2::Oid) -> Oid {
    // libgit2 writes 40 or 64 lower-case hexadecimal digits, which is what `Oid` reads.
    Oid::parse(&oid.to_string())
        .unwrap_or_else(|| unreachable!("libgit2 writes object ids in lower-case hexadecimal"))
}

/// libgit2's form of an object id.
///
/// # Errors
/// A 64-digit id, which this build of libgit2 does not know.
pub fn to_git(oid: &Oid) -> Result<git2::Oid> {
    git2::Oid::from_str(oid.as_str()).map_err(|_| {
        Error::refused(format!("{} is a SHA-256 object id, and this repository uses SHA-1", oid.short()))
    })
}

/// An object that would only fill the memory.
pub(super) fn too_large(oid: &Oid, bytes: u64) -> Error {
    Error::refused(format!("object {} is too large to be read: {bytes} bytes", oid.short()))
        .because(format!("nothing that git incident writes is larger than {MAX_BLOB_BYTES} bytes"))
        .hint(format!("look at it with: git cat-file blob {} | head -c 1000", oid.as_str()))
}

fn missing(what: &str, oid: &Oid, error: &git2::Error) -> Error {
    let error =
        Error::refused(format!("{what} {} is not in this repository", oid.short())).because(error.message());
    error.hint("in a shallow or partial clone: git fetch --unshallow, or git fetch --refetch")
}

fn explain_open(error: &git2::Error) -> Error {
    let message = error.message();
    if error.code() == ErrorCode::NotFound {
        let here = std::env::current_dir().map_or_else(|_| ".".to_owned(), |d| d.display().to_string());
        return Error::refused(format!("no git repository at {here} or above it"))
            .hint("go to one, or name it: git -C PATH incident …; or make one: git init");
    }
    if error.code() == ErrorCode::Owner {
        return Error::refused("the repository belongs to somebody else")
            .because(message)
            .hint("if you trust it: git config --global --add safe.directory PATH");
    }
    let compatible = message.contains("compatobjectformat");
    if !compatible
        && ["objectformat", "object format", "oid type"].iter().any(|words| message.contains(words))
    {
        return sha256_refused();
    }
    if message.contains("refstorage") || message.contains("ref storage") || message.contains("reftable") {
        return reftable_refused();
    }
    if message.contains("unsupported extension") || message.contains("partialclone") {
        return Error::refused("the repository uses an extension that libgit2 does not read")
            .because(message)
            .hint("list them with: git config --local --get-regexp '^extensions\\.'");
    }
    Error::new(Kind::Refused, "the repository cannot be opened")
        .because(message)
        .hint("ask git itself: git status")
}

fn sha256_refused() -> Error {
    Error::refused("this repository names its objects by SHA-256, which git incident does not read yet")
        .because("libgit2 1.9 opens SHA-1 repositories only")
        .hint("keep the ledger in a SHA-1 repository beside it: git init ../incidents && git -C ../incidents incident open …")
}

fn reftable_refused() -> Error {
    Error::refused("this repository keeps its refs in reftables, which git incident does not read yet")
        .because("libgit2 1.9 reads the files ref backend only")
        .hint("go back to files with: git refs migrate --ref-format=files")
}
