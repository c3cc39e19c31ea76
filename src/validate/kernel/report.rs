//! What our own process says it saw. It shares an address space with somebody's code on some devices, so what it left is
//! read like anything foreign: bounded, every member known, no floating-point number.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::request::Request;

/// The largest report that is read, in bytes.
const LARGEST: usize = 8 << 20;

/// The most findings, and the most lines of one.
const MOST: usize = 64;

/// The longest text, in characters.
const LONGEST: usize = 2000;

/// What one process saw.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The version of this form.
    pub v: u32,
    /// The device, once it was opened.
    pub device: Option<DeviceSeen>,
    /// Why the check could not be made: nothing against the candidate.
    pub trouble: Option<Trouble>,
    /// What is wrong with the candidate.
    pub findings: Vec<Finding>,
    /// Each output of each case and seed.
    pub outputs: Vec<Output>,
    /// A mutant that the comparison passed.
    pub loose: Option<Loose>,
    /// How often mutants were tried.
    pub mutants: u32,
    /// Whether it came to its end.
    pub complete: bool,
}

/// The device that was opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceSeen {
    /// What it calls itself.
    pub name: String,
    /// Its identity, as the driver prints it.
    pub uuid: String,
    /// Its compute capability: `9.0`.
    pub capability: String,
    /// The driver's CUDA version: `13.0`.
    pub driver: String,
    /// The compiler's version, if there is one.
    pub nvrtc: Option<String>,
    /// Whether it is the emulated one of the tests.
    pub emulated: bool,
    /// Whether a page that is not there lies behind each buffer.
    pub guarded: bool,
}

/// Why the check could not be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trouble {
    /// What kind of.
    pub kind: TroubleKind,
    /// In one line.
    pub what: String,
}

/// What kind of trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TroubleKind {
    /// No device, or one that does not work.
    Device,
    /// No compiler here.
    Compiler,
    /// The reference: it does not compile, run or fit.
    Reference,
    /// The gate's own files and declarations.
    Gate,
    /// The machine: memory, files.
    Machine,
}

/// What is wrong with the candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// What kind of.
    pub kind: FindingKind,
    /// The case.
    pub case: String,
    /// The seed.
    pub seed: Option<u32>,
    /// The argument, where it is about one.
    pub argument: Option<String>,
    /// In one line.
    pub what: String,
    /// More of it: a compiler's log, a comparison.
    pub lines: Vec<String>,
    /// For programs: canonical, decimals as strings.
    pub details: Value,
}

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// What the gate declares does not fit it: its parameters, a file that is named.
    Declaration,
    /// The compiler refuses it.
    Compile,
    /// It cannot be launched.
    Launch,
    /// It touched memory that is not its own.
    IllegalAddress,
    /// It does not end.
    Hang,
    /// It took the process with it.
    Crash,
    /// Elements of an output were not written.
    Unwritten,
    /// It wrote outside of a buffer.
    Margin,
    /// It changed an input.
    InputChanged,
    /// Two launches differ.
    Nondeterministic,
    /// It differs from the reference.
    Mismatch,
}

impl FindingKind {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Declaration => "declaration",
            Self::Compile => "compile",
            Self::Launch => "launch",
            Self::IllegalAddress => "illegal-address",
            Self::Hang => "hang",
            Self::Crash => "crash",
            Self::Unwritten => "unwritten",
            Self::Margin => "margin",
            Self::InputChanged => "input-changed",
            Self::Nondeterministic => "nondeterministic",
            Self::Mismatch => "mismatch",
        }
    }
}

/// One output of one case and seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// The case.
    pub case: String,
    /// The seed.
    pub seed: u32,
    /// The argument.
    pub name: String,
    /// SHA-256 of its bytes.
    pub sha256: String,
    /// Whether it matches the reference; absent where it was not compared.
    pub matches: Option<bool>,
    /// The comparison: canonical, decimals as strings.
    pub comparison: Value,
}

/// A mutant that the comparison passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loose {
    /// Which.
    pub mutant: String,
    /// The case.
    pub case: String,
    /// The seed.
    pub seed: u32,
    /// The argument.
    pub argument: String,
}

/// How far a process had come: what is known of one that was ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// What it was doing.
    pub stage: Stage,
    /// The case.
    pub case: String,
    /// The seed.
    pub seed: Option<u32>,
    /// Which launch of it, from 1.
    pub launch: u32,
}

/// What a process was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Opening the device.
    Open,
    /// Compiling the candidate.
    Compile,
    /// Preparing buffers.
    Prepare,
    /// Running the candidate.
    Launch,
    /// Compiling or running the reference.
    Reference,
    /// Comparing.
    Compare,
}

impl Report {
    /// An empty one.
    pub fn new() -> Self {
        Self { v: Request::VERSION, ..Self::default() }
    }

    /// Reads one; the error says why it is none.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() > LARGEST {
            return Err(format!("it has {} bytes; at most {LARGEST} are read", bytes.len()));
        }
        let mut report: Self = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        if report.v != Request::VERSION {
            return Err(format!("version {} is not {}", report.v, Request::VERSION));
        }
        let floats = report.findings.iter().map(|f| &f.details);
        if floats.chain(report.outputs.iter().map(|o| &o.comparison)).any(|value| has_float(value, 0)) {
            return Err("it holds a floating-point number".into());
        }
        report.findings.truncate(MOST);
        for finding in &mut report.findings {
            finding.lines.truncate(MOST);
            shorten(&mut finding.what);
            finding.lines.iter_mut().for_each(shorten);
        }
        if let Some(trouble) = &mut report.trouble {
            shorten(&mut trouble.what);
        }
        Ok(report)
    }
}

impl Progress {
    /// Reads one, if it is one.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > 4096 { None } else { serde_json::from_slice(bytes).ok() }
    }
}

/// The canonical form of records has no floating-point numbers, and no depth that somebody could make use of.
fn has_float(value: &Value, depth: u32) -> bool {
    match value {
        Value::Number(number) => !number.is_i64() && !number.is_u64(),
        Value::Array(list) => depth > 16 || list.iter().any(|value| has_float(value, depth + 1)),
        Value::Object(map) => depth > 16 || map.values().any(|value| has_float(value, depth + 1)),
        _ => false,
    }
}

fn shorten(text: &mut String) {
    if let Some((at, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(at);
        text.push('…');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_report_comes_back() {
        let mut report = Report::new();
        report.complete = true;
        report.findings.push(Finding {
            kind: FindingKind::IllegalAddress,
            case: "n=1".into(),
            seed: Some(1),
            argument: None,
            what: "x".into(),
            lines: vec!["y".repeat(5000); 100],
            details: Value::Null,
        });
        let read = Report::read(&serde_json::to_vec(&report).unwrap()).unwrap();
        assert_eq!(read.findings[0].lines.len(), MOST);
        assert!(read.findings[0].lines[0].chars().count() <= LONGEST + 1);
        let word = serde_json::to_value(FindingKind::IllegalAddress).unwrap();
        assert_eq!(word, FindingKind::IllegalAddress.word());
    }

    #[test]
    fn what_is_not_one_is_refused() {
        let good = serde_json::to_value(Report::new()).unwrap();
        let read = |value: &Value| Report::read(&serde_json::to_vec(value).unwrap());
        assert!(read(&good).is_ok());
        let mut other = good.clone();
        other["v"] = 2.into();
        assert!(read(&other).unwrap_err().contains("version"));
        let mut other = good.clone();
        other["more"] = 1.into();
        assert!(read(&other).is_err());
        let mut other = good;
        other["outputs"] = serde_json::json!([{"case": "", "seed": 1, "name": "", "sha256": "", "matches": true, "comparison": {"a": [0.5]}}]);
        assert!(read(&other).unwrap_err().contains("floating"));
        assert!(Report::read(&vec![b' '; LARGEST + 1]).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Report::read(&bytes);
            let _ = Progress::read(&bytes);
            let _ = Request::read(&bytes);
        }
    }
}
