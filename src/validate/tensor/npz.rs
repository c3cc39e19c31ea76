//! `.npz`: a zip archive of `.npy` files, stored or deflated.
//!
//! The directory is read by the zip library; entries that are stored are borrowed from the archive's own bytes, those
//! that are deflated are unpacked up to the size that they claim, which is bounded. Checksums are checked.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{Cursor, Read as _};

use flate2::Crc;
use flate2::read::DeflateDecoder;
use zip::{CompressionMethod, ZipArchive};

use super::{Dtype, Tensor, npy};
use crate::model::{Error, Result};

/// The most that one deflated entry may unpack to.
const MOST_UNPACKED: u64 = 2 << 30;

/// No deflated byte unpacks to more than this.
const MOST_RATIO: u64 = 1032;

/// The most entries that are read.
const MOST_ENTRIES: usize = 16 * 1024;

/// One `.npy` file within the archive.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    packed: &'a [u8],
    deflated: bool,
    size: u64,
    crc: u32,
}

/// The entries by their names, `.npy` left off.
pub(super) fn read(bytes: &[u8]) -> Result<BTreeMap<String, Entry<'_>>> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| damaged(error.to_string()))?;
    if archive.len() > MOST_ENTRIES {
        return Err(Error::refused(format!("the archive has {} entries", archive.len()))
            .hint(format!("at most {MOST_ENTRIES} are read")));
    }
    if archive.has_duplicate_names() {
        return Err(damaged("two of its entries have the same name"));
    }
    let mut entries = BTreeMap::new();
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).map_err(|error| damaged(error.to_string()))?;
        let name = entry.name().map_err(|error| damaged(error.to_string()))?.into_owned();
        if name.ends_with("data.pkl") {
            return Err(pickled());
        }
        let outside =
            name.starts_with('/') || name.contains(['\\', '\0']) || name.split('/').any(|part| part == "..");
        if outside {
            return Err(damaged(format!("its entry {name:?} leads outside of it")));
        }
        let Some(stem) = name.strip_suffix(".npy") else {
            return Err(Error::refused(format!("its entry {name:?} is no .npy file"))
                .hint("write it with numpy.savez"));
        };
        if entry.encrypted() {
            return Err(
                Error::refused(format!("its entry {name:?} is encrypted")).hint("write it with numpy.savez")
            );
        }
        let deflated = match entry.compression() {
            CompressionMethod::Stored => false,
            CompressionMethod::Deflated => true,
            other => {
                return Err(Error::refused(format!("its entry {name:?} is packed with {other}"))
                    .hint("write it with numpy.savez or numpy.savez_compressed"));
            }
        };
        let (size, packed_size) = (entry.size(), entry.compressed_size());
        let start = entry.data_start().and_then(|start| usize::try_from(start).ok());
        let packed =
            start.and_then(|start| bytes.get(start..start.checked_add(usize::try_from(packed_size).ok()?)?));
        let Some(packed) = packed else {
            return Err(damaged(format!("its entry {name:?} ends behind the archive's end")));
        };
        if deflated
            && (size > MOST_UNPACKED || size > packed_size.saturating_mul(MOST_RATIO).saturating_add(64))
        {
            return Err(Error::refused(format!(
                "its entry {name:?} claims to unpack {packed_size} bytes to {size}"
            ))
            .hint("deflated entries of up to 2 GiB are read: write larger ones with numpy.savez, which does not deflate"));
        }
        if !deflated && size != packed_size {
            return Err(damaged(format!(
                "its entry {name:?} is stored, in {packed_size} bytes that are {size}"
            )));
        }
        entries.insert(stem.to_owned(), Entry { packed, deflated, size, crc: entry.crc32() });
    }
    Ok(entries)
}

impl<'a> Entry<'a> {
    /// Its tensor.
    pub(super) fn tensor(&self, declared: Option<Dtype>) -> Result<Tensor<'a>> {
        let bytes = if self.deflated { Cow::Owned(self.unpack()?) } else { Cow::Borrowed(self.packed) };
        let mut crc = Crc::new();
        crc.update(&bytes);
        if crc.sum() != self.crc {
            return Err(damaged("an entry's checksum is not that of its bytes"));
        }
        npy::read(bytes, declared)
    }

    fn unpack(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        // One byte more than is claimed tells a lie from the truth. Nothing is reserved on the archive's word.
        let mut unpacked = DeflateDecoder::new(self.packed).take(self.size + 1);
        unpacked.read_to_end(&mut bytes).map_err(|error| damaged(error.to_string()))?;
        if bytes.len() as u64 != self.size {
            return Err(damaged("an entry unpacks to another size than it claims"));
        }
        Ok(bytes)
    }
}

/// What torch saves.
pub(super) fn pickled() -> Error {
    Error::refused("it is a pickle, which can run code when it is read")
        .because("torch.save and pickle.dump write such files")
        .hint("save the tensors with safetensors.torch.save_file({\"name\": tensor}, \"x.safetensors\")")
}

fn damaged(why: impl Into<String>) -> Error {
    Error::refused("the archive is damaged").because(why.into()).hint("write it again with numpy.savez")
}
