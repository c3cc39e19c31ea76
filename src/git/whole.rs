//! Files that are replaced whole: a reader sees the old content or the new one, never half of either, and a crash
//! leaves one of them.

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Who may read and write the new file.
#[derive(Debug, Clone)]
pub enum Access {
    /// Its owner alone.
    Owner,
    /// Whoever the umask lets, as for any new file: others may work in the same repository.
    Umask,
    /// As given: mostly that of the file which is replaced.
    As(Permissions),
}

/// Writes a file beside its place and moves it there, through no link.
///
/// # Errors
/// The folder is not there or cannot be written; the disk is full. The old file is as it was then.
pub fn replace(path: &Path, bytes: &[u8], access: Access) -> std::io::Result<()> {
    write(path, bytes, access, false)
}

/// As [`replace`], and on the disk before it says so: for what people wrote and for what cannot be made again.
///
/// # Errors
/// As [`replace`].
pub fn replace_durably(path: &Path, bytes: &[u8], access: Access) -> std::io::Result<()> {
    write(path, bytes, access, true)
}

fn write(path: &Path, bytes: &[u8], access: Access, durably: bool) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = match &access {
        Access::Umask => {
            tempfile::Builder::new().permissions(Permissions::from_mode(0o666)).tempfile_in(folder)?
        }
        Access::Owner | Access::As(_) => tempfile::Builder::new().tempfile_in(folder)?,
    };
    file.write_all(bytes)?;
    if let Access::As(permissions) = access {
        file.as_file().set_permissions(permissions)?;
    }
    if durably {
        file.as_file().sync_all()?;
    }
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn replaces_and_keeps_what_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        replace(&path, b"one", Access::Owner).unwrap();
        assert_eq!(mode(&path), 0o600);
        replace(&path, b"two", Access::As(Permissions::from_mode(0o750))).unwrap();
        assert_eq!((mode(&path), std::fs::read(&path).unwrap()), (0o750, b"two".to_vec()));
        replace(&path, b"three", Access::Umask).unwrap();
        assert_eq!(mode(&path) & 0o600, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_link_is_replaced_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        std::fs::write(&target, "kept").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        replace(&link, b"new", Access::Umask).unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"kept");
        assert_eq!(std::fs::read(&link).unwrap(), b"new");
    }

    #[test]
    fn trouble_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        assert!(replace(&folder.path().join("no/file"), b"x", Access::Owner).is_err());
        let place = folder.path().join("folder");
        std::fs::create_dir(&place).unwrap();
        std::fs::write(place.join("inside"), "x").unwrap();
        assert!(replace(&place, b"x", Access::Owner).is_err());
        assert!(place.join("inside").exists());
    }
}
