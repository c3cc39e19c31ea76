//! `.npy`, versions 1 to 3: a Python literal that says type, order and shape, then the bytes.
//!
//! The header is read by a parser of its own for the one literal that numpy writes. Types that would make numpy run a
//! pickle (objects) are refused, and so is every type that is no number.

use std::borrow::Cow;

use super::{Dtype, Order, Tensor, bytes_of, wrong_length};
use crate::model::{Error, Result};

/// How every file begins.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

/// The longest header that is read. numpy itself stops at 10 000 bytes.
const LONGEST_HEADER: usize = 64 * 1024;

/// Reads the whole of a file. `declared` gives a type to elements that have none in numpy.
pub(super) fn read(bytes: Cow<'_, [u8]>, declared: Option<Dtype>) -> Result<Tensor<'_>> {
    let (header, data) = header(&bytes)?;
    let (dtype, big_endian) = element(&header.descr, declared)?;
    let needed = bytes_of(&header.shape, dtype)?;
    let found = bytes.len() - data;
    if found as u64 != needed {
        return Err(wrong_length(dtype, &header.shape, needed, found as u64));
    }
    let bytes = match bytes {
        Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[data..]),
        Cow::Owned(mut bytes) => {
            bytes.drain(..data);
            Cow::Owned(bytes)
        }
    };
    let order = if header.fortran { Order::Fortran } else { Order::C };
    Tensor { dtype, shape: header.shape, bytes, order, big_endian, scale: None }.declared(declared)
}

/// What the header says.
#[derive(Debug, Default)]
struct Header {
    descr: String,
    fortran: bool,
    shape: Vec<u64>,
}

/// The header, and where the data begins.
fn header(bytes: &[u8]) -> Result<(Header, usize)> {
    let short = || Error::refused("the file ends within its header").hint("write it again, to its end");
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        return Err(Error::refused("it does not begin as .npy files do").hint("write it with numpy.save"));
    };
    let (length, at) = match rest {
        [1, _, low, high, ..] => (usize::from(u16::from_le_bytes([*low, *high])), 10),
        [2 | 3, _, a, b, c, d, ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, 12),
        [0 | 4.., ..] => {
            return Err(Error::refused(format!("version {} of .npy is not known", rest[0]))
                .hint("write it with numpy.save, which chooses version 1, 2 or 3"));
        }
        _ => return Err(short()),
    };
    if length > LONGEST_HEADER {
        return Err(Error::refused(format!("the header is {length} bytes long")).hint(format!(
            "at most {LONGEST_HEADER} are read: the file is damaged, or has many named fields"
        )));
    }
    let text = bytes.get(at..at + length).ok_or_else(short)?;
    let parsed = std::str::from_utf8(text).map_err(|_| "it is not UTF-8".to_owned()).and_then(|text| {
        let mut literal = Literal { rest: text };
        literal.header()
    });
    match parsed {
        Ok(header) => Ok((header, at + length)),
        Err(why) => {
            Err(Error::refused("the header cannot be read").because(why).hint("write it with numpy.save"))
        }
    }
}

/// The type of the elements, and whether they are big-endian.
fn element(descr: &str, declared: Option<Dtype>) -> Result<(Dtype, bool)> {
    let (order, code) = match descr.as_bytes().first() {
        Some(b'<' | b'>' | b'|' | b'=') => descr.split_at(1),
        _ => ("", descr),
    };
    if let Some(dtype) = Dtype::of_code(code) {
        return Ok((dtype, order == ">"));
    }
    let no = |why: &str, hint: &str| {
        Err(Error::refused(format!("elements of type {descr:?} are not compared")).because(why).hint(hint))
    };
    match code {
        // What numpy makes of types that are not its own, as ml_dtypes has them.
        "V2" | "V1" | "f1" => {
            let bits = if code == "V2" { Dtype::U16 } else { Dtype::U8 };
            match declared.filter(|declared| declared.size() == bits.size()) {
                Some(_) => Ok((bits, order == ">")),
                None => no(
                    "numpy has no name for it: it may be bfloat16 or an 8-bit float",
                    "say which: --dtype bf16, --dtype f8_e4m3 (dtype = … in a gate)",
                ),
            }
        }
        _ if code.starts_with('O') => {
            no("they are Python objects in a pickle, which can run code", "save an array of numbers")
        }
        _ if code.starts_with(['U', 'S', 'a']) => no("they are texts", "save an array of numbers"),
        _ if code.starts_with('c') => no("they are complex", "save real and imaginary parts as two arrays"),
        _ if code.starts_with(['M', 'm']) => no("they are times", "save them as integers"),
        _ if code.starts_with('V') => no("they are bytes without a meaning", "save an array of numbers"),
        _ if code.starts_with('f') => no("it is no IEEE format of 16, 32 or 64 bits", "save it as float64"),
        _ => no("this type is not known", "save it as one of numpy's integers or floats"),
    }
}

/// The text of a header that is still to be read.
struct Literal<'a> {
    rest: &'a str,
}

/// What went wrong.
type Parsed<T> = std::result::Result<T, String>;

impl<'a> Literal<'a> {
    /// `{'descr': …, 'fortran_order': …, 'shape': …}`, in any order, and nothing behind it but white space.
    fn header(&mut self) -> Parsed<Header> {
        let mut header = Header::default();
        let mut seen: Vec<&str> = Vec::new();
        self.expect('{')?;
        while !self.take('}') {
            let key = self.text()?;
            if seen.contains(&key) {
                return Err(format!("it has {key:?} twice"));
            }
            seen.push(key);
            self.expect(':')?;
            match key {
                "descr" => self.descr()?.clone_into(&mut header.descr),
                "fortran_order" => header.fortran = self.flag()?,
                "shape" => header.shape = self.shape()?,
                other => return Err(format!("it has the unknown key {other:?}")),
            }
            if !self.take(',') {
                self.expect('}')?;
                break;
            }
        }
        self.skip();
        if !self.rest.is_empty() {
            return Err("something stands behind its closing brace".into());
        }
        match ["descr", "fortran_order", "shape"].into_iter().find(|key| !seen.contains(key)) {
            Some(key) => Err(format!("it lacks {key:?}")),
            None => Ok(header),
        }
    }

    fn skip(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0c']);
    }

    fn take(&mut self, wanted: char) -> bool {
        self.skip();
        let rest = self.rest.strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, wanted: char) -> Parsed<()> {
        if self.take(wanted) {
            return Ok(());
        }
        match self.rest.chars().next() {
            Some(found) => Err(format!("{wanted:?} is expected where {found:?} stands")),
            None => Err(format!("{wanted:?} is expected where it ends")),
        }
    }

    /// A string without escapes.
    fn text(&mut self) -> Parsed<&'a str> {
        self.skip();
        let quote =
            self.rest.chars().next().filter(|c| matches!(c, '\'' | '"')).ok_or("a string is expected")?;
        let (text, rest) = self.rest[1..].split_once(quote).ok_or("a string has no end")?;
        if text.contains('\\') {
            return Err("a string has escapes".into());
        }
        self.rest = rest;
        Ok(text)
    }

    fn descr(&mut self) -> Parsed<&'a str> {
        self.skip();
        if self.rest.starts_with(['[', '(']) {
            return Err("its elements have named fields: save each field as an array of its own".into());
        }
        self.text()
    }

    fn flag(&mut self) -> Parsed<bool> {
        self.skip();
        for (word, flag) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(flag);
            }
        }
        Err("True or False is expected".into())
    }

    /// A tuple of integers: `()`, `(3,)`, `(2, 3)`.
    fn shape(&mut self) -> Parsed<Vec<u64>> {
        let mut shape = Vec::new();
        self.expect('(')?;
        while !self.take(')') {
            self.skip();
            let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
            let axis =
                self.rest[..digits].parse().map_err(|_| "an axis is no number below 2^64".to_owned())?;
            // Python 2 wrote long integers with their letter.
            self.rest = self.rest[digits..].strip_prefix('L').unwrap_or(&self.rest[digits..]);
            shape.push(axis);
            if shape.len() > super::MOST_AXES {
                return Err(format!("its shape has more than {} axes", super::MOST_AXES));
            }
            if !self.take(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(shape)
    }
}
