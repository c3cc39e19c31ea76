//! A file with tensors: which format it has, and its tensors by their names.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{Dtype, Tensor, npy, npz, raw, safetensors, shown};
use crate::model::{Error, Result};

/// The most names in an error.
const NAMES_SHOWN: usize = 12;

/// What people say of a file that does not say it itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Declared {
    /// The type of the elements.
    pub dtype: Option<Dtype>,
    /// The shape.
    pub shape: Option<Vec<u64>>,
}

/// A file that was opened: its header is read, its tensors are not.
#[derive(Debug)]
pub struct File<'a> {
    contents: Contents<'a>,
    declared: Declared,
}

#[derive(Debug)]
enum Contents<'a> {
    Raw(&'a [u8]),
    Npy(&'a [u8]),
    Npz(BTreeMap<String, npz::Entry<'a>>),
    Safetensors(safetensors::Tensors<'a>),
}

impl<'a> File<'a> {
    /// Opens the bytes of a file. Its name's ending says the format; without a known one, a file of which type and shape
    /// are declared is raw, and any other is known by how it begins.
    ///
    /// # Errors
    /// The format is not known, or not one that is read; the header is damaged.
    pub fn open(name: &str, bytes: &'a [u8], declared: &Declared) -> Result<Self> {
        let contents = match format(name, bytes, declared)? {
            Format::Raw => Contents::Raw(bytes),
            Format::Npy => Contents::Npy(bytes),
            Format::Npz => Contents::Npz(npz::read(bytes)?),
            Format::Safetensors => Contents::Safetensors(safetensors::read(bytes)?),
        };
        Ok(Self { contents, declared: declared.clone() })
    }

    /// The tensors' names, in order; empty where the format holds one tensor that has none.
    pub fn names(&self) -> Vec<&str> {
        match &self.contents {
            Contents::Raw(_) | Contents::Npy(_) => Vec::new(),
            Contents::Npz(entries) => entries.keys().map(String::as_str).collect(),
            Contents::Safetensors(tensors) => tensors.keys().map(String::as_str).collect(),
        }
    }

    /// One tensor. Without a name, the only one there is.
    ///
    /// # Errors
    /// There is no such tensor, or several; its type is not one that is compared; it is damaged, or is not what was declared.
    pub fn tensor(&self, name: Option<&str>) -> Result<Tensor<'a>> {
        let names = self.names();
        let name = match (name, names.as_slice()) {
            (None, [only]) => Some(*only),
            (None, []) if self.has_names() => {
                return Err(Error::refused("it holds no tensor").hint("nothing was saved into it"));
            }
            (None, [_, _, ..]) => {
                return Err(Error::refused(format!("it holds {} tensors", names.len()))
                    .hint(format!("choose one as FILE:TENSOR; there are: {}", list(&names))));
            }
            (Some(name), []) if !self.has_names() => {
                return Err(Error::refused(format!(
                    "it holds one tensor without a name, and {name:?} was asked for"
                ))
                .hint("leave the name out"));
            }
            (name, _) => name,
        };
        let missing = |name: &str| {
            let distance = |known: &str| strsim::damerau_levenshtein(known, name);
            let near = names.iter().min_by_key(|known| distance(known));
            let near = near.filter(|known| distance(known) < known.len().min(2 + known.len() / 3));
            let hint = match near {
                Some(near) => format!("did you mean {near:?}?"),
                None => format!("there are: {}", list(&names)),
            };
            Error::refused(format!("it holds no tensor {name:?}")).hint(hint)
        };
        let tensor = match (&self.contents, name) {
            (Contents::Raw(bytes), _) => return raw::read(bytes, &self.declared),
            (Contents::Npy(bytes), _) => npy::read(Cow::Borrowed(*bytes), self.declared.dtype)?,
            (Contents::Npz(entries), Some(name)) => {
                entries.get(name).ok_or_else(|| missing(name))?.tensor(self.declared.dtype)?
            }
            (Contents::Safetensors(tensors), Some(name)) => {
                let (stored, shape, bytes) = tensors.get(name).ok_or_else(|| missing(name))?;
                safetensors::tensor(*stored, shape, bytes)?.declared(self.declared.dtype)?
            }
            (_, None) => return Err(Error::bug("a file with names was asked without one")),
        };
        match &self.declared.shape {
            Some(declared) if *declared != tensor.shape => Err(Error::refused(format!(
                "the tensor's shape is {}, and {} was declared",
                shown(&tensor.shape),
                shown(declared)
            ))
            .hint("leave the shape out: it is for raw files")),
            _ => Ok(tensor),
        }
    }

    /// The same file, taken by its own word where it has one: what was declared holds for raw files alone.
    #[must_use]
    pub fn by_its_own_word(mut self) -> Self {
        if !matches!(self.contents, Contents::Raw(_)) {
            self.declared = Declared::default();
        }
        self
    }

    /// Whether the format has names.
    pub fn has_names(&self) -> bool {
        matches!(self.contents, Contents::Npz(_) | Contents::Safetensors(_))
    }
}

enum Format {
    Raw,
    Npy,
    Npz,
    Safetensors,
}

fn format(name: &str, bytes: &[u8], declared: &Declared) -> Result<Format> {
    let ending = name.rsplit_once('.').map_or(String::new(), |(_, ending)| ending.to_ascii_lowercase());
    let is_zip = bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06");
    let is_pickle = matches!(bytes, [0x80, 2..=5, ..]);
    match ending.as_str() {
        "npy" => return Ok(Format::Npy),
        "npz" => return Ok(Format::Npz),
        "safetensors" => return Ok(Format::Safetensors),
        "pt" | "pth" | "ckpt" | "pkl" | "pickle" => return Err(npz::pickled()),
        _ if declared.dtype.is_some() && declared.shape.is_some() => return Ok(Format::Raw),
        _ => {}
    }
    if bytes.starts_with(npy::MAGIC) {
        return Ok(Format::Npy);
    }
    if is_zip {
        return Ok(Format::Npz);
    }
    if is_pickle {
        return Err(npz::pickled());
    }
    if bytes.get(8) == Some(&b'{') && bytes[..8].ends_with(&[0, 0]) {
        return Ok(Format::Safetensors);
    }
    if bytes.is_empty() {
        return Err(Error::refused("it is empty").hint("see whether what should write it has done so"));
    }
    // The reader of raw files knows what is missing.
    Ok(Format::Raw)
}

/// Some names, for an error.
fn list(names: &[&str]) -> String {
    let mut shown: Vec<String> = names.iter().take(NAMES_SHOWN).map(|name| format!("{name:?}")).collect();
    if names.len() > NAMES_SHOWN {
        shown.push(format!("and {} more", names.len() - NAMES_SHOWN));
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests;
