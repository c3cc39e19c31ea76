//! Reads what a gate's commands left below `$GATE_OUT`: regular files there, and nothing else.

use std::io::Read;
use std::path::Path;

use crate::model::Result;

/// What a name stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// A file with these bytes.
    File(Vec<u8>),
    /// Nothing.
    Missing,
    /// Something that is not read, and why.
    Unfit(&'static str),
}

/// Reads a file below `out` of at most `most` bytes.
pub(super) fn read(out: &Path, name: &str, most: u64) -> Result<Left> {
    if let Err(left) = fits(out, name)? {
        return Ok(left);
    }
    let mut bytes = Vec::new();
    std::fs::File::open(out.join(name))?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Ok(Left::Unfit("is too large to be read"));
    }
    Ok(Left::File(bytes))
}

/// The size of a file below `out`.
pub(super) fn size(out: &Path, name: &str) -> Result<std::result::Result<u64, Left>> {
    fits(out, name)
}

/// The size of the file, or what stands there instead.
fn fits(out: &Path, name: &str) -> Result<std::result::Result<u64, Left>> {
    let path = out.join(name);
    let Ok(found) = path.symlink_metadata() else {
        return Ok(Err(Left::Missing));
    };
    if !found.is_file() {
        return Ok(Err(Left::Unfit("is no regular file")));
    }
    // A folder on the way may be a link.
    if !path.canonicalize()?.starts_with(out.canonicalize()?) {
        return Ok(Err(Left::Unfit("lies outside of $GATE_OUT")));
    }
    Ok(Ok(found.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_below_the_folder_are_read() {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("out");
        std::fs::create_dir_all(out.join("folder")).unwrap();
        std::fs::create_dir(scratch.path().join("outside")).unwrap();
        std::fs::write(out.join("log"), "four").unwrap();
        std::fs::write(scratch.path().join("outside/log"), "secret").unwrap();
        std::os::unix::fs::symlink(scratch.path().join("outside/log"), out.join("link")).unwrap();
        std::os::unix::fs::symlink(scratch.path().join("outside"), out.join("way")).unwrap();
        assert_eq!(read(&out, "log", 4).unwrap(), Left::File(b"four".to_vec()));
        assert_eq!(size(&out, "log").unwrap(), Ok(4));
        for (name, expected) in [
            ("nothing", Left::Missing),
            ("folder", Left::Unfit("is no regular file")),
            ("link", Left::Unfit("is no regular file")),
            ("way/log", Left::Unfit("lies outside of $GATE_OUT")),
        ] {
            assert_eq!(read(&out, name, 100).unwrap(), expected, "{name}");
        }
        assert_eq!(read(&out, "log", 3).unwrap(), Left::Unfit("is too large to be read"));
    }
}
