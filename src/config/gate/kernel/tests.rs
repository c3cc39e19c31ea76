//! Gates of kind `kernel`, as teams write them and as they get them wrong.

use proptest::prelude::*;

use super::*;
use crate::config::{Config, Gate};

const WHOLE: &str = r#"
[[gate]]
id = "reduce"
kind = "kernel"
device = "emulated"
source = "reduce.cu"
entry = "reduce_sum"
options = ["-DBLOCK=256", "-DN={n}", "--fmad=false", "--std=c++17"]
include = ["include"]
grid = ["ceil(n / 256)"]
block = [256]
shared = "256 * 4"
seeds = [3, 1, 2]
launches = 4
timeout = "30s"
atol = 1e-5
rtol = 1e-5
reference = { source = "naive.cu", entry = "sum", grid = [1], block = [1], args = ["x", "out", "n"] }
[[gate.arg]]
name = "x"
dtype = "f32"
shape = ["n"]
role = "in"
fill = "normal(0, 1)"
[[gate.arg]]
name = "table"
dtype = "i32"
shape = [16]
role = "in"
file = "table.npy"
[[gate.arg]]
name = "out"
dtype = "f32"
shape = [1]
role = "out"
[[gate.arg]]
name = "n"
scalar = "i32"
value = "n"
[[gate.arg]]
name = "scale"
scalar = "f32"
value = 0.5
[[gate.case]]
n = 1024
[[gate.case]]
name = "tail"
n = 1_000
"#;

fn parse(text: &str) -> crate::model::Result<Config> {
    crate::config::parse(text.as_bytes(), "f")
}

fn gate(text: &str) -> Gate {
    parse(text).unwrap().gates.remove(0)
}

#[test]
fn a_whole_gate_is_read() {
    let gate = gate(WHOLE);
    let kernel = &gate.kernel;
    assert_eq!(kernel.seed_list(), [1, 2, 3]);
    assert_eq!(kernel.launch_count(), 4);
    let labels: Vec<String> = kernel.case_list().iter().map(Case::label).collect();
    assert_eq!(labels, ["n=1024", "tail"]);
    assert_eq!(kernel.arguments.len(), 5);
    let sizes = &kernel.cases[1].sizes;
    assert_eq!(kernel.code.grid[0].whole(sizes), Ok(4));
    assert_eq!(kernel.code.resolved_options(sizes).unwrap()[1], "-DN=1000");
    assert!(matches!(&kernel.reference, Some(Reference::Kernel(_, args)) if args.len() == 3));
    // What says what is right is judged in the protected branch's version.
    assert_eq!(gate.oracle, ["naive.cu", "table.npy"]);
    assert_eq!(gate.commands().count(), 0);
}

#[test]
fn every_value_is_part_of_the_digest() {
    let digest = gate(WHOLE).digest();
    let spaced = WHOLE.replace("ceil(n / 256)", "ceil( n/256 )").replace("[3, 1, 2]", "[1, 2, 3]");
    assert_eq!(gate(&spaced).digest(), digest, "spelling changed it");
    for (from, to) in [
        ("entry = \"reduce_sum\"", "entry = \"reduce_max\""),
        ("n / 256", "n / 128"),
        ("block = [256]", "block = [128]"),
        ("256 * 4", "256 * 8"),
        ("launches = 4", "launches = 5"),
        ("normal(0, 1)", "normal(0, 2)"),
        (
            "role = \"out\"",
            "role = \"scratch\"\n[[gate.arg]]\nname = \"y\"\ndtype = \"f32\"\nshape = [1]\nrole = \"out\"",
        ),
        ("n = 1024", "n = 1025"),
        ("value = 0.5", "value = 0.25"),
        ("naive.cu", "other.cu"),
        ("-DBLOCK=256", "-DBLOCK=128"),
        ("[3, 1, 2]", "[3, 1]"),
    ] {
        let changed = WHOLE.replace(from, to);
        assert_ne!(changed, WHOLE);
        assert_ne!(gate(&changed).digest(), digest, "{from} → {to}");
    }
}

#[test]
fn defaults_end_a_launch() {
    let gate = gate(&WHOLE.replace("timeout = \"30s\"\n", ""));
    assert_eq!(gate.timeout, Some(DEFAULT_TIMEOUT));
}

#[test]
fn a_command_as_reference_is_a_command() {
    let at = WHOLE.find("reference =").unwrap();
    let end = at + WHOLE[at..].find('\n').unwrap();
    let text = format!("{}reference = {{ run = \"python3 ref.py\" }}{}", &WHOLE[..at], &WHOLE[end..]);
    let gate = gate(&text);
    assert_eq!(gate.commands().collect::<Vec<_>>(), ["python3 ref.py"]);
}

#[test]
fn every_file_of_a_reference_is_an_oracle() {
    let at = WHOLE.find("reference =").unwrap();
    let end = at + WHOLE[at..].find('\n').unwrap();
    let with = |file: &str| format!("{}reference = {{ file = \"{file}\" }}{}", &WHOLE[..at], &WHOLE[end..]);
    let oracle = gate(&with("right/{case}-{seed}-{out}.npy")).oracle;
    assert_eq!(oracle.len(), 7, "{oracle:?}");
    assert!(oracle.contains(&"right/tail-3-out.npy".to_owned()));
    assert_eq!(gate(&with("right.npy")).oracle, ["right.npy", "table.npy"]);
    let seeds: Vec<String> = (0..150).map(|n| n.to_string()).collect();
    let many = with("{case}-{seed}.npy").replace("[3, 1, 2]", &format!("[{}]", seeds.join(", ")));
    assert!(parse(&many).unwrap_err().to_string().contains("more than 200 files"));
}

#[test]
fn what_is_wrong_is_said_where_it_is() {
    for (from, to, words) in [
        ("source = \"reduce.cu\"", "source = \"reduce.py\"", ".cu, .ptx or .cubin"),
        ("source = \"reduce.cu\"", "source = \"../reduce.cu\"", "inside the repository"),
        ("source = \"reduce.cu\"\n", "", "needs \"source\""),
        ("entry = \"reduce_sum\"\n", "", "needs \"entry\""),
        ("\"-DBLOCK=256\"", "\"-I/etc\"", "is not among"),
        ("\"-DBLOCK=256\"", "\"--pch-dir=/tmp\"", "is not among"),
        ("\"-DBLOCK=256\"", "\"-D1=2\"", "is not among"),
        ("\"-DN={n}\"", "\"-DN={m}\"", "no size m"),
        ("ceil(n / 256)", "n / 256", "not whole"),
        ("ceil(n / 256)", "ceil(m / 256)", "no size m"),
        ("ceil(n / 256)", "n - 1000", "has to be at least 1"),
        ("block = [256]", "block = [1, 1, 1, 1]", "one to three"),
        ("block = [256]", "block = \"256\"", "array"),
        ("shared = \"256 * 4\"", "shared = -1", "at most 2^30"),
        ("seeds = [3, 1, 2]", "seeds = [-1]", "whole numbers from 0"),
        ("seeds = [3, 1, 2]", "seeds = []", "whole numbers from 0"),
        ("launches = 4", "launches = 1", "between 2 and 100"),
        ("launches = 4", "deterministic = false", "nondeterministic-because"),
        ("launches = 4", "nondeterministic-because = \"x\"", "no meaning"),
        ("launches = 4", "run = \"make\"", "no meaning"),
        ("launches = 4", "repeat = 4", "no meaning"),
        ("launches = 4", "candidate = \"x.npy\"", "no meaning"),
        ("device = \"emulated\"", "device = \"cpu\"", "needs device"),
        (
            "dtype = \"f32\"\nshape = [\"n\"]",
            "dtype = \"f33\"\nshape = [\"n\"]",
            "must be a type of elements",
        ),
        ("shape = [\"n\"]", "shape = [\"n - n\"]", "no elements"),
        ("shape = [\"n\"]", "shape = [\"n * n * n * n\"]", "2^36"),
        ("fill = \"normal(0, 1)\"", "fill = \"gauss(0, 1)\"", "uniform(a, b)"),
        ("fill = \"normal(0, 1)\"", "fill = \"uniform(1, 0)\"", "smaller to the larger"),
        ("fill = \"normal(0, 1)\"", "fill = \"integers(0.5, 1)\"", "whole ends"),
        ("fill = \"normal(0, 1)\"\n", "", "needs \"fill\" or \"file\""),
        ("role = \"out\"", "role = \"out\"\nfill = \"constant(0)\"", "poisoned, not filled"),
        ("role = \"out\"", "role = \"in\"\nfill = \"constant(0)\"", "nothing would be compared"),
        ("name = \"table\"", "name = \"x\"", "two arguments are called x"),
        ("name = \"tail\"", "name = \"n=1024\"", "two cases are called"),
        ("name = \"tail\"", "name = \"../x\"", "must be a word"),
        ("n = 1_000", "n = \"many\"", "whole number below 2^48"),
        ("value = 0.5", "", "without \"value\""),
        ("scalar = \"i32\"\nvalue = \"n\"", "scalar = \"i32\"\nvalue = \"n / 3\"", "not whole"),
        ("\"out\", \"n\"]", "\"out\", \"m\"]", "names m"),
        ("entry = \"sum\", ", "", "needs \"entry\""),
        ("grid = [1], block = [1], args", "block = [1], args", "the reference"),
        ("source = \"naive.cu\", entry", "file = \"a.npy\", entry", "no meaning for a reference"),
        (
            "source = \"naive.cu\", entry",
            "source = \"naive.cu\", file = \"a.npy\", entry",
            "one of \"source\"",
        ),
        ("reference = {", "reference = \"a.npy\"\nx = {", "must be a table"),
    ] {
        let text = WHOLE.replacen(from, to, 1);
        assert_ne!(text, WHOLE, "{from}");
        let error = parse(&text).expect_err(to);
        let said = format!("{error}\n{}", error.causes().join("\n"));
        assert!(said.contains(words), "{from} → {to}: {said}");
    }
}

#[test]
fn other_kinds_have_none_of_it() {
    let text = "[[gate]]\nid = \"a\"\nkind = \"command\"\nrun = \"true\"\nblock = [1]\n";
    assert!(parse(text).unwrap_err().to_string().contains("no meaning"));
    let text = "[[gate]]\nid = \"a\"\nkind = \"compare\"\nrun = \"true\"\ncandidate = \"c.npy\"\nreference = { file = \"a\" }\n";
    assert!(parse(text).unwrap_err().to_string().contains("must be a string"));
}

proptest! {
    #[test]
    fn any_fill_is_read_or_refused(text in "[a-z]{0,12}\\([-0-9., e]{0,20}\\)|\\PC{0,30}") {
        if let Ok(fill) = Fill::parse(&text) {
            prop_assert_eq!(Fill::parse(&fill.canonical()).unwrap(), fill);
        }
    }

    #[test]
    fn any_change_of_one_byte_is_read_or_refused(at in 0..WHOLE.len(), byte in any::<u8>()) {
        let mut bytes = WHOLE.as_bytes().to_vec();
        bytes[at] = byte;
        let _ = crate::config::parse(&bytes, "f");
    }
}
