//! The files of a gate: sources and tensors below the worktree, inputs and references below `$GATE_OUT`.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::validate::tensor::Dtype;

/// The largest source, in bytes.
const LARGEST_SOURCE: u64 = 64 << 20;

/// The largest tensor file, in bytes.
const LARGEST_TENSOR: u64 = 64 << 30;

/// Reads a source below a folder.
pub(super) fn source(below: &Path, path: &str) -> Result<Vec<u8>, String> {
    read(below, path, LARGEST_SOURCE)
}

/// Reads a tensor's file below a folder.
pub(super) fn tensor(below: &Path, path: &str) -> Result<Vec<u8>, String> {
    read(below, path, LARGEST_TENSOR)
}

/// Reads a regular file that really lies below a folder: no link leads out of it.
fn read(below: &Path, path: &str, limit: u64) -> Result<Vec<u8>, String> {
    let said = |e: std::io::Error| format!("{path} cannot be read: {e}");
    let root = below.canonicalize().map_err(said)?;
    let place = root.join(path).canonicalize().map_err(said)?;
    if !place.starts_with(&root) {
        return Err(format!("{path} leads out of its folder"));
    }
    let file = std::fs::File::open(&place).map_err(said)?;
    let data = file.metadata().map_err(said)?;
    if !data.is_file() {
        return Err(format!("{path} is no regular file"));
    }
    if data.len() > limit {
        return Err(format!("{path} has {} bytes; at most {limit} are read", data.len()));
    }
    let mut bytes = Vec::with_capacity(data.len() as usize);
    file.take(limit).read_to_end(&mut bytes).map_err(said)?;
    Ok(bytes)
}

/// A folder below the worktree, for the compiler.
pub(super) fn folder(below: &Path, path: &str) -> Result<PathBuf, String> {
    let said = |e: std::io::Error| format!("the folder {path} cannot be read: {e}");
    let root = below.canonicalize().map_err(said)?;
    let place = root.join(path).canonicalize().map_err(said)?;
    if place.starts_with(&root) {
        Ok(place)
    } else {
        Err(format!("the folder {path} leads out of the worktree"))
    }
}

/// An .npy file of version 1.0. Types that numpy has no name for are written as unsigned integers of their size.
pub(super) fn npy(dtype: Dtype, shape: &[u64], bytes: &[u8]) -> Vec<u8> {
    let code = match dtype {
        Dtype::F64 => "<f8",
        Dtype::F32 => "<f4",
        Dtype::F16 => "<f2",
        Dtype::BF16 | Dtype::U16 => "<u2",
        Dtype::I64 => "<i8",
        Dtype::I32 => "<i4",
        Dtype::I16 => "<i2",
        Dtype::I8 => "|i1",
        Dtype::U64 => "<u8",
        Dtype::U32 => "<u4",
        Dtype::Bool => "|b1",
        _ => "|u1",
    };
    let lengths = shape.iter().fold(String::new(), |text, axis| text + &axis.to_string() + ", ");
    let mut header =
        format!("{{'descr': '{code}', 'fortran_order': False, 'shape': ({}), }}", lengths.trim_end());
    // Magic, version and length have 10 bytes; the data begins at a multiple of 64.
    let padding = (64 - (10 + header.len() + 1) % 64) % 64;
    header.push_str(&" ".repeat(padding));
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(bytes);
    file
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::tensor::{Declared, File};

    #[test]
    fn what_is_written_is_read_back() {
        for (dtype, shape) in [
            (Dtype::F32, vec![2, 3]),
            (Dtype::I64, vec![4]),
            (Dtype::U8, vec![]),
            (Dtype::Bool, vec![1, 1, 5]),
        ] {
            let elements: u64 = shape.iter().product();
            let bytes: Vec<u8> = (0..elements as usize * dtype.size()).map(|at| (at % 2) as u8).collect();
            let written = npy(dtype, &shape, &bytes);
            let file = File::open("x.npy", &written, &Declared::default()).unwrap();
            let tensor = file.tensor(None).unwrap();
            assert_eq!((tensor.dtype, &tensor.shape, &*tensor.bytes), (dtype, &shape, &bytes[..]));
        }
    }

    #[test]
    fn nothing_outside_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("in");
        std::fs::create_dir(&inside).unwrap();
        std::fs::write(folder.path().join("secret"), "s").unwrap();
        std::fs::write(inside.join("a.cu"), "a").unwrap();
        std::os::unix::fs::symlink("../secret", inside.join("link.cu")).unwrap();
        std::os::unix::fs::symlink("a.cu", inside.join("near.cu")).unwrap();
        assert_eq!(source(&inside, "a.cu").unwrap(), b"a");
        assert_eq!(source(&inside, "near.cu").unwrap(), b"a");
        assert!(source(&inside, "link.cu").unwrap_err().contains("leads out"));
        assert!(source(&inside, "../secret").unwrap_err().contains("leads out"));
        assert!(source(&inside, ".").unwrap_err().contains("regular"));
        assert!(source(&inside, "none").unwrap_err().contains("cannot be read"));
        assert!(super::folder(&inside, "..").is_err());
    }
}
