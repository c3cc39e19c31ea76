//! The key of this clone, and the codes made with it.

use std::io::Write as _;

use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;

use crate::git::{Repo, lock};
use crate::model::canonical::sha256_hex;
use crate::model::{Error, Oid, Result, canonical};

/// The code of a record under a descriptor: over everything in it but the code itself and the signature.
pub(super) fn code(secret: &[u8], key: &Oid, record: &Value) -> Result<String> {
    let mut bare = record.clone();
    if let Some(members) = bare.as_object_mut() {
        members.remove("signature");
        members.insert("mac".into(), Value::String(String::new()));
    }
    let text = canonical::to_string(&bare)?;
    let mut mac = Hmac::<Sha256>::new_from_slice(secret)
        .map_err(|e| Error::bug("HMAC takes keys of any length").because(e))?;
    mac.update(key.as_str().as_bytes());
    mac.update(text.as_bytes());
    Ok(canonical::hex(&mac.finalize().into_bytes()))
}

/// Which clone a key belongs to, without saying anything of the key: 16 hexadecimal digits.
pub(super) fn clone_name(secret: &[u8]) -> String {
    let mut text = b"git-incident clone\n".to_vec();
    text.extend_from_slice(secret);
    sha256_hex(&text)[..16].to_owned()
}

/// This clone's key: 32 random bytes that never leave the git directory.
pub(super) fn clone_key(repo: &Repo, make: bool) -> Result<Option<Vec<u8>>> {
    let directory = if make { lock::state_dir(repo)? } else { repo.common_dir().join("incident") };
    let path = directory.join("record-key");
    match std::fs::read(&path) {
        Ok(bytes) if bytes.len() == 32 => return Ok(Some(bytes)),
        Ok(_) => {
            return Err(Error::refused(format!("{} is damaged", path.display()))
                .hint("remove it; records made before then will only count as claimed"));
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && !make => return Ok(None),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
        Err(e) => return Err(Error::refused(format!("{} cannot be read", path.display())).because(e)),
    }
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|e| Error::refused("no randomness").because(e))?;
    // Written whole under another name, then linked: of two makers one wins, and both read the same key.
    let mut temporary = tempfile::Builder::new().prefix("record-key").tempfile_in(&directory)?;
    temporary.write_all(&bytes)?;
    temporary.as_file().sync_all()?;
    match temporary.persist_noclobber(&path) {
        Ok(_) => Ok(Some(bytes.to_vec())),
        Err(e) if e.error.kind() == std::io::ErrorKind::AlreadyExists => clone_key(repo, false),
        Err(e) => Err(Error::refused(format!("{} cannot be written", path.display())).because(e.error)),
    }
}
