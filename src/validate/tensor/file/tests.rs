#![expect(clippy::float_cmp, reason = "what is read is exact")]

use std::io::{Cursor, Write as _};

use proptest::prelude::*;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::super::{Dtype, Order, Tensor};
use super::{Declared, File};
use crate::model::Error;

/// A `.npy` file with this header literal.
fn npy(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY".to_vec();
    file.extend([version, 0]);
    match version {
        1 => file.extend((header.len() as u16).to_le_bytes()),
        _ => file.extend((header.len() as u32).to_le_bytes()),
    }
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

fn literal(descr: &str, shape: &[u64], fortran: bool) -> String {
    let axes: Vec<String> = shape.iter().map(u64::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let fortran = if fortran { "True" } else { "False" };
    format!(
        "{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': ({}{comma}), }}   \n",
        axes.join(", ")
    )
}

fn simple(descr: &str, shape: &[u64], data: &[u8]) -> Vec<u8> {
    npy(1, &literal(descr, shape, false), data)
}

/// A safetensors file with this header.
fn safetensors(header: &str, data: &[u8]) -> Vec<u8> {
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

fn npz(entries: &[(&str, &[u8], CompressionMethod)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes, method) in entries {
        zip.start_file(*name, SimpleFileOptions::default().compression_method(*method)).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn open<'a>(name: &str, bytes: &'a [u8]) -> Result<File<'a>, Error> {
    File::open(name, bytes, &Declared::default())
}

fn only<'a>(name: &str, bytes: &'a [u8]) -> Tensor<'a> {
    open(name, bytes).and_then(|file| file.tensor(None)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn declared(dtype: &str, shape: Option<&[u64]>) -> Declared {
    Declared { dtype: Dtype::parse(dtype), shape: shape.map(<[u64]>::to_vec) }
}

#[track_caller]
fn refuses(name: &str, bytes: &[u8], says: &str) {
    let error = open(name, bytes).and_then(|file| file.tensor(None)).expect_err(says);
    let said = format!("{error}; {}", error.hints().join("; "));
    assert!(said.contains(says), "{said} lacks {says}");
    assert!(!error.hints().is_empty(), "{error} has no hint");
}

#[test]
fn npy_of_every_version_order_and_type() {
    let data: Vec<u8> = [1.5_f32, -2.0, 3.0, 4.0, 5.0, 6.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    for version in 1..=3 {
        let file = npy(version, &literal("<f4", &[2, 3], false), &data);
        let tensor = only("x.npy", &file);
        assert_eq!((tensor.dtype, &*tensor.shape, tensor.order), (Dtype::F32, &[2, 3][..], Order::C));
        assert!(matches!(tensor.bytes, std::borrow::Cow::Borrowed(_)), "nothing is copied");
        let mut out = [0.0; 6];
        tensor.decode_f32(0, &mut out);
        assert_eq!(out, [1.5, -2.0, 3.0, 4.0, 5.0, 6.0]);
    }
    let mut out = [0.0; 6];
    let fortran = npy(1, &literal("<f4", &[2, 3], true), &data);
    only("x.npy", &fortran).decode_f32(0, &mut out);
    assert_eq!(out, [1.5, 3.0, 5.0, -2.0, 4.0, 6.0]);
    let big: Vec<u8> = [1.5_f32, -2.0].iter().flat_map(|v| v.to_be_bytes()).collect();
    only("x.npy", &simple(">f4", &[2], &big)).decode_f32(0, &mut out[..2]);
    assert_eq!(out[..2], [1.5, -2.0]);
    for (descr, dtype) in [
        ("|b1", Dtype::Bool),
        ("|i1", Dtype::I8),
        ("|u1", Dtype::U8),
        ("<i2", Dtype::I16),
        ("<u2", Dtype::U16),
        ("<f2", Dtype::F16),
        (">i4", Dtype::I32),
        ("<u4", Dtype::U32),
        ("<i8", Dtype::I64),
        ("<u8", Dtype::U64),
        ("<f8", Dtype::F64),
    ] {
        let file = simple(descr, &[1], &[0; 8][..dtype.size()]);
        assert_eq!(only("x.npy", &file).dtype, dtype, "{descr}");
    }
    assert_eq!(only("x.npy", &simple("<f4", &[], &[0; 4])).shape, [0_u64; 0], "a scalar");
    assert_eq!(only("x.npy", &simple("<f4", &[3, 0], &[])).elements(), 0);
    let python2 = npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1L,)}", &[0; 4]);
    assert_eq!(only("no-ending", &python2).shape, [1]);
}

#[test]
fn npy_that_is_wrong_says_why() {
    for (descr, says) in [
        ("|O", "can run code"),
        ("<U4", "texts"),
        ("|S4", "texts"),
        ("<c8", "complex"),
        ("<M8[ns]", "times"),
        ("<f16", "no IEEE format"),
        ("|V2", "it may be bfloat16"),
        ("|V8", "bytes without a meaning"),
        ("<q9", "not known"),
        ("", "not known"),
    ] {
        refuses("x.npy", &simple(descr, &[1], &[0; 8]), says);
    }
    refuses("x.npy", &simple("<f4", &[2], &[0; 7]), "is truncated");
    refuses("x.npy", &simple("<f4", &[2], &[0; 9]), "goes on after its last element");
    refuses("x.npy", &simple("<f4", &[u64::MAX, 2], &[]), "larger than any memory");
    refuses("x.npy", &simple("<f4", &[1 << 40, 1 << 40, 0], &[]), "larger than any memory");
    refuses("x.npy", b"\x93NUMPY", "ends within its header");
    refuses("x.npy", b"\x93NUMPY\x01\x00\xff\xff{", "ends within its header");
    refuses("x.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{", "bytes long");
    refuses("x.npy", b"\x93NUMPY\x09\x00\x01\x00{", "version 9");
    refuses("x.npy", b"plain", "does not begin");
    for (header, says) in [
        ("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "named fields"),
        ("{'descr': '<f4', 'fortran_order': False}", "lacks \"shape\""),
        ("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", "twice"),
        ("{'descr': '<f4', 'fortran_order': 0, 'shape': ()}", "True or False"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "no number"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (1)} or 1", "closing brace"),
        ("{'descr': '<f\\x34', 'fortran_order': False, 'shape': (1)}", "escapes"),
        ("{'descr': '<f4', 'x': 1}", "unknown key"),
        ("{'descr: ", "no end"),
        ("", "where it ends"),
    ] {
        refuses("x.npy", &npy(1, header, &[0; 4]), says);
    }
}

#[test]
fn a_declared_type_names_what_numpy_cannot() {
    let read = |bytes: &[u8], dtype: &str| {
        File::open("x.npy", bytes, &declared(dtype, None)).and_then(|file| Ok(file.tensor(None)?.dtype))
    };
    for (descr, size, dtype, expected) in [
        ("|V2", 2, "bf16", Dtype::BF16),
        ("<u2", 2, "bf16", Dtype::BF16),
        ("<V2", 2, "f16", Dtype::F16),
        ("|V1", 1, "f8_e4m3", Dtype::F8E4M3),
        ("|u1", 1, "torch.float8_e5m2", Dtype::F8E5M2),
        ("<f4", 4, "f32", Dtype::F32),
    ] {
        assert_eq!(read(&simple(descr, &[1], &[0; 4][..size]), dtype).unwrap(), expected, "{descr}");
    }
    for (descr, dtype) in [("<f4", "f16"), ("<f4", "i32"), ("<i2", "bf16"), ("|V2", "f32"), ("|u1", "i8")] {
        assert!(read(&simple(descr, &[1], &[0; 4]), dtype).is_err(), "{descr} as {dtype}");
    }
    let pair = simple("<f4", &[2], &[0; 8]);
    let shaped = File::open("x.npy", &pair, &declared("f32", Some(&[1, 2]))).unwrap().tensor(None);
    assert!(shaped.unwrap_err().to_string().contains("[1, 2] was declared"));
}

#[test]
fn raw_files_are_what_is_declared() {
    let bytes = [0x80, 0x3f, 0, 0x40];
    let file = File::open("o.bin", &bytes, &declared("bf16", Some(&[2]))).unwrap();
    let mut out = [0.0; 2];
    file.tensor(None).unwrap().decode_f32(0, &mut out);
    assert_eq!(out, [1.0, 2.0]);
    let wrong = File::open("o.bin", &bytes, &declared("f32", Some(&[2]))).unwrap().tensor(None).unwrap_err();
    assert!(wrong.to_string().contains("is truncated"), "{wrong}");
    refuses("o.bin", &bytes, "type and shape are not known");
    let half = File::open("o.bin", &bytes, &declared("f32", None)).unwrap().tensor(None).unwrap_err();
    assert!(half.to_string().contains("the shape is not known"), "{half}");
    refuses("o.bin", b"", "it is empty");
    let pickle = b"\x80\x04\x95rest";
    refuses("weights", pickle, "pickle");
    refuses("weights.pt", &npz(&[("archive/data.pkl", b"x", CompressionMethod::Stored)]), "pickle");
    refuses(
        "weights",
        &npz(&[("archive/data.pkl", b"x", CompressionMethod::Stored)]),
        "safetensors.torch.save_file",
    );
}

#[test]
fn npz_borrows_what_is_stored_and_bounds_what_is_not() {
    let one = simple("<f4", &[2], &[0, 0, 0x80, 0x3f, 0, 0, 0, 0x40]);
    let file =
        npz(&[("o.npy", &one, CompressionMethod::Stored), ("l/s.npy", &one, CompressionMethod::Deflated)]);
    let opened = open("x.npz", &file).unwrap();
    assert_eq!(opened.names(), ["l/s", "o"]);
    for (name, borrowed) in [("o", true), ("l/s", false)] {
        let tensor = opened.tensor(Some(name)).unwrap();
        let mut out = [0.0; 2];
        tensor.decode_f32(0, &mut out);
        assert_eq!(out, [1.0, 2.0]);
        assert_eq!(matches!(tensor.bytes, std::borrow::Cow::Borrowed(_)), borrowed, "{name}");
    }
    let error = opened.tensor(Some("p")).unwrap_err();
    assert!(error.hints()[0].contains("there are: \"l/s\", \"o\""), "{error:?}");
    refuses("x.npz", &file, "it holds 2 tensors");
    refuses("x.npz", &file[..file.len() - 30], "damaged");
    refuses("x.npz", &npz(&[]), "it holds no tensor");
    for name in ["/o.npy", "../o.npy", "a\\o.npy"] {
        refuses("x.npz", &npz(&[(name, &one, CompressionMethod::Stored)]), "leads outside");
    }
    refuses("x.npz", &npz(&[("read.me", b"x", CompressionMethod::Stored)]), "is no .npy file");

    // A byte of the data is turned: the checksum tells.
    let mut turned = npz(&[("o.npy", &one, CompressionMethod::Stored)]);
    let at = turned.windows(4).position(|w| w == [0, 0, 0, 0x40]).unwrap();
    turned[at] ^= 1;
    refuses("x.npz", &turned, "checksum");

    // Zeros: a thousand to one. What the directory claims is checked against what comes out.
    let zeros = simple("|u1", &[1 << 20], &vec![0; 1 << 20]);
    let bomb = npz(&[("o.npy", &zeros, CompressionMethod::Deflated)]);
    assert_eq!(only("x.npz", &bomb).elements(), 1 << 20);
    let claimed = (zeros.len() as u32).to_le_bytes();
    let at = bomb.windows(4).rposition(|w| w == claimed).unwrap();
    let claiming = |size: u32| {
        let mut file = bomb.clone();
        file[at..at + 4].copy_from_slice(&size.to_le_bytes());
        file
    };
    refuses("x.npz", &claiming(0xf000_0000), "claims to unpack");
    refuses("x.npz", &claiming(100), "another size");
    refuses("x.npz", &claiming(zeros.len() as u32 + 1), "another size");
}

#[test]
fn two_entries_of_one_name_are_refused() {
    let one = simple("|u1", &[1], &[7]);
    let mut file =
        npz(&[("a.npy", &one, CompressionMethod::Stored), ("b.npy", &one, CompressionMethod::Stored)]);
    for at in 0..file.len() - 5 {
        if &file[at..at + 5] == b"b.npy" {
            file[at] = b'a';
        }
    }
    refuses("x.npz", &file, "the same name");
}

#[test]
fn safetensors_of_every_type_and_every_fault() {
    let header = r#"{"__metadata__":{"device":"cpu"},"reference":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},"candidate":{"dtype":"F8_E4M3","shape":[2,1],"data_offsets":[4,6]}}"#;
    let file = safetensors(header, &[0x80, 0x3f, 0, 0x40, 0x38, 0x40]);
    let opened = open("x.safetensors", &file).unwrap();
    assert_eq!(opened.names(), ["candidate", "reference"]);
    let tensor = opened.tensor(Some("candidate")).unwrap();
    let mut out = [0.0; 2];
    tensor.decode_f32(0, &mut out);
    assert_eq!((tensor.dtype, out), (Dtype::F8E4M3, [1.0, 2.0]));
    assert_eq!(open("no-ending", &file).unwrap().names().len(), 2);
    refuses("x.safetensors", &file, "choose one as FILE:TENSOR");
    let error = opened.tensor(Some("candidat")).unwrap_err();
    assert!(error.hints()[0].contains("did you mean \"candidate\"?"), "{error:?}");

    for (name, dtype) in [
        ("BOOL", Dtype::Bool),
        ("U8", Dtype::U8),
        ("I8", Dtype::I8),
        ("F8_E5M2", Dtype::F8E5M2),
        ("F8_E4M3FNUZ", Dtype::F8E4M3Fnuz),
        ("F8_E5M2FNUZ", Dtype::F8E5M2Fnuz),
        ("F8_E8M0", Dtype::F8E8M0),
        ("I16", Dtype::I16),
        ("U16", Dtype::U16),
        ("F16", Dtype::F16),
        ("I32", Dtype::I32),
        ("U32", Dtype::U32),
        ("F32", Dtype::F32),
        ("I64", Dtype::I64),
        ("U64", Dtype::U64),
        ("F64", Dtype::F64),
    ] {
        let size = dtype.size();
        let header = format!(r#"{{"t":{{"dtype":"{name}","shape":[1],"data_offsets":[0,{size}]}}}}"#);
        assert_eq!(only("x.safetensors", &safetensors(&header, &vec![0; size])).dtype, dtype, "{name}");
    }
    let one = |dtype: &str, shape: &str, offsets: &str| {
        format!(r#"{{"t":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}}}"#)
    };
    for (header, says) in [
        (one("F4", "[2]", "[0,1]"), "of type F4"),
        (one("C64", "[1]", "[0,8]"), "of type C64"),
        (one("F32", "[1]", "[0,3]"), "not as far apart"),
        (one("F32", "[1]", "[1,5]"), "leave a gap"),
        (
            one("F32", "[1]", "[0,4]")
                .replace("\"t\"", "\"u\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},\"t\""),
            "overlap",
        ),
        (one("F32", "[9223372036854775807,9]", "[0,4]"), "larger than any memory"),
        (one("Q4", "[1]", "[0,4]"), "cannot be read"),
        ("{".into(), "cannot be read"),
        ("[".repeat(5000), "cannot be read"),
        ("{}".into(), "truncated, or goes on"),
    ] {
        let size = match says {
            "of type F4" => 1,
            "of type C64" => 8,
            _ => 4,
        };
        refuses("x.safetensors", &safetensors(&header, &[0; 8][..size]), says);
    }
    refuses("x.safetensors", &safetensors("{}", &[]), "no tensor");
    refuses("x.safetensors", b"abc", "shorter than its header");
    refuses("x.safetensors", &[0xff; 9], "claims to be larger");
    refuses("x.safetensors", &[9, 0, 0, 0, 0, 0, 0, 0, b'{'], "ends within its header");
    refuses("x.safetensors", &file[..file.len() - 1], "truncated");
}

/// Any of the formats, damaged a little.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let one = simple("<f4", &[2, 2], &[1; 16]);
    let seeds = vec![
        npz(&[("o.npy", &one, CompressionMethod::Stored), ("s.npy", &one, CompressionMethod::Deflated)]),
        safetensors(r#"{"t":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}"#, &[2; 16]),
        one,
    ];
    let change = (any::<prop::sample::Index>(), any::<u8>());
    (
        prop::sample::select(seeds),
        prop::collection::vec(change, 0..6),
        any::<prop::sample::Index>(),
        any::<bool>(),
    )
        .prop_map(|(mut bytes, changes, end, cut)| {
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if cut {
                bytes.truncate(end.index(bytes.len()));
            }
            bytes
        })
}

/// Reads everything that can be read.
fn exhaust(bytes: &[u8]) {
    for name in ["x", "x.npy", "x.npz", "x.safetensors", "x.pt"] {
        for said in [Declared::default(), declared("bf16", None), declared("u8", Some(&[bytes.len() as u64]))]
        {
            let Ok(file) = File::open(name, bytes, &said) else {
                continue;
            };
            let names: Vec<Option<&str>> = file.names().into_iter().map(Some).chain([None]).collect();
            for name in names {
                if let Ok(tensor) = file.tensor(name) {
                    assert_eq!(tensor.bytes.len() as u64, tensor.elements() * tensor.dtype.size() as u64);
                    let mut out = [0.0; 64];
                    tensor.decode_f32(tensor.elements() / 2, &mut out);
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_bring_a_reader_down(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        exhaust(&bytes);
    }

    #[test]
    fn no_damage_brings_a_reader_down(bytes in damaged()) {
        exhaust(&bytes);
    }

    #[test]
    fn no_header_brings_the_parser_down(text in "[{}'():,\\[\\]<>|a-zTF0-9L \\\\]{0,120}") {
        exhaust(&npy(1, &text, &[0; 8]));
        exhaust(&npy(1, &format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {text}"), &[0; 8]));
    }

    #[test]
    fn what_was_written_is_read(shape in prop::collection::vec(0..4_u64, 0..4), values in prop::collection::vec(any::<f32>(), 27), fortran: bool) {
        let count = shape.iter().product::<u64>() as usize;
        let data: Vec<u8> = values[..count].iter().flat_map(|v| v.to_le_bytes()).collect();
        let file = npy(2, &literal("<f4", &shape, fortran), &data);
        let tensor = only("x.npy", &file);
        prop_assert_eq!((&tensor.shape, &*tensor.bytes), (&shape, &data[..]));
        let header = format!(r#"{{"a b":{{"dtype":"F32","shape":{shape:?},"data_offsets":[0,{}]}}}}"#, data.len());
        let file = safetensors(&header, &data);
        let tensor = open("x", &file).unwrap().tensor(Some("a b")).unwrap();
        prop_assert_eq!((&tensor.shape, &*tensor.bytes), (&shape, &data[..]));
    }
}
