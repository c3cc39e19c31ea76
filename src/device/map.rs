//! Files that others wrote, mapped into memory: nothing is copied, however large they are.
//!
//! Only regular files are opened. Below a directory that commands of a repository fill, no link is followed on the way,
//! hard links are refused, and so is what was written before the command began.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path};
use std::time::SystemTime;

use memmap2::Mmap;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use crate::model::{Error, Result};

/// The bytes of a file.
#[derive(Debug)]
pub struct Mapped(Option<Mmap>);

impl Mapped {
    /// Maps a file.
    ///
    /// # Errors
    /// It is not there, no regular file, or may not be read.
    pub fn open(path: &Path) -> Result<Self> {
        // A named pipe would wait for its writer: it is opened without waiting, and refused.
        let mut options = File::options();
        let file = options.read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path);
        Self::of(&file.map_err(|error| unreadable(&error))?)
    }

    /// Maps a file below a directory that a gate's command filled, where every part of the way is its own: see above.
    ///
    /// # Errors
    /// As [`Mapped::open`]; a link; older than `since`.
    pub fn open_below(directory: &Path, path: &str, since: SystemTime) -> Result<Self> {
        let parts: Option<Vec<&OsStr>> = Path::new(path)
            .components()
            .filter(|part| *part != Component::CurDir)
            .map(|part| if let Component::Normal(name) = part { Some(name) } else { None })
            .collect();
        let Some((name, folders)) = parts.as_ref().and_then(|parts| parts.split_last()) else {
            return Err(Error::refused("it does not lie in $GATE_OUT").hint("name a file below $GATE_OUT"));
        };
        let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut at: OwnedFd = rustix::fs::open(directory, folder, Mode::empty()).map_err(refused)?;
        for part in folders {
            at = openat(&at, *part, folder, Mode::empty()).map_err(refused)?;
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(&at, *name, flags, Mode::empty()).map_err(refused)?);
        let data = file.metadata().map_err(|error| unreadable(&error))?;
        if data.is_file() && data.nlink() > 1 {
            return Err(Error::refused("it is another name of a file that lies elsewhere")
                .hint("write the file, or copy it, instead of linking it"));
        }
        if data.modified().is_ok_and(|written| written < since) {
            return Err(Error::refused("it was written before this run began")
                .hint("outputs have to be made by the run that is judged; cp -p and mv keep the old time"));
        }
        Self::of(&file)
    }

    fn of(file: &File) -> Result<Self> {
        let data = file.metadata().map_err(|error| unreadable(&error))?;
        if !data.is_file() {
            let what = if data.is_dir() { "it is a folder" } else { "it is no regular file" };
            return Err(Error::refused(what).hint("name a file that holds tensors"));
        }
        if data.len() == 0 {
            return Ok(Self(None));
        }
        #[expect(unsafe_code, reason = "reading a large file without a copy of it needs a mapping")]
        // SAFETY: the mapping is read-only and private to this program. What has written the file is done: a gate's
        // command and everything it started have ended, a person's files are not expected to be cut meanwhile. A file that
        // is cut all the same ends this process by SIGBUS, which decides nothing and records nothing; bytes that change
        // are other numbers, and nothing here relies on two reads being the same: headers are read once and copied.
        let map = unsafe { Mmap::map(file) };
        map.map(|map| Self(Some(map))).map_err(|error| unreadable(&error))
    }
}

impl std::ops::Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}

fn unreadable(error: &std::io::Error) -> Error {
    if error.kind() == std::io::ErrorKind::NotFound {
        return Error::refused("there is no such file").hint("see whether what should write it has done so");
    }
    Error::refused("it cannot be read").because(error).hint("see whether it may be read by you")
}

fn refused(errno: Errno) -> Error {
    match errno {
        Errno::LOOP => {
            Error::refused("it is a link, or lies behind one").hint("write the file itself below $GATE_OUT")
        }
        Errno::NOTDIR => Error::refused("there is no such file: a part of its path is no folder, or a link")
            .hint("write the file itself below $GATE_OUT"),
        errno => unreadable(&errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    use super::*;

    fn why(result: Result<Mapped>) -> String {
        let error = result.unwrap_err();
        assert!(!error.hints().is_empty(), "{error}");
        error.to_string()
    }

    #[test]
    fn regular_files_are_mapped_and_nothing_else() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        fs::write(at("a"), b"bytes").unwrap();
        fs::write(at("empty"), b"").unwrap();
        symlink("a", at("link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        assert_eq!(&*Mapped::open(&at("a")).unwrap(), b"bytes");
        assert_eq!(&*Mapped::open(&at("link")).unwrap(), b"bytes", "a person may link");
        assert_eq!(&*Mapped::open(&at("empty")).unwrap(), b"");
        assert!(why(Mapped::open(&at("pipe"))).contains("no regular file"));
        assert!(why(Mapped::open(scratch.path())).contains("a folder"));
        assert!(why(Mapped::open(&at("none"))).contains("no such file"));
        assert!(why(Mapped::open(Path::new("/dev/null"))).contains("no regular file"));
    }

    #[test]
    fn below_a_directory_only_its_own_new_files_count() {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("out");
        fs::create_dir(&out).unwrap();
        let since = fs::metadata(&out).unwrap().modified().unwrap();
        fs::write(scratch.path().join("elsewhere"), b"old").unwrap();
        fs::create_dir(out.join("case")).unwrap();
        fs::write(out.join("case/o.npy"), b"new").unwrap();
        symlink("../elsewhere", out.join("link")).unwrap();
        symlink("case", out.join("folder")).unwrap();
        fs::hard_link(scratch.path().join("elsewhere"), out.join("hard")).unwrap();
        let open = |path: &str| Mapped::open_below(&out, path, since);
        assert_eq!(&*open("case/o.npy").unwrap(), b"new");
        assert_eq!(&*open("./case/o.npy").unwrap(), b"new");
        assert!(why(open("link")).contains("is a link"));
        assert!(why(open("folder/o.npy")).contains("link"));
        assert!(why(open("hard")).contains("another name"));
        assert!(why(open("../elsewhere")).contains("does not lie in"));
        assert!(why(open("/etc/hostname")).contains("does not lie in"));
        assert!(why(open("case")).contains("a folder"));
        assert!(why(open("case/p.npy")).contains("no such file"));
        let later = since + Duration::from_hours(1);
        assert!(why(Mapped::open_below(&out, "case/o.npy", later)).contains("before this run"));
    }
}
