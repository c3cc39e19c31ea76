//! What is to be launched, with every size worked out: written by the session, read by our own process.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::fill::Fill;
use crate::validate::compare::{Pair, Policy, Rule};
use crate::validate::tensor::Dtype;

/// The version of request and report.
const VERSION: u32 = 1;

/// One gate's launches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The version of this form.
    pub v: u32,
    /// Whether the device has to be the emulated one.
    pub emulated: bool,
    /// How often the candidate is launched at each case and seed.
    pub launches: u32,
    /// Whether launches have to give the same bytes.
    pub deterministic: bool,
    /// How outputs are compared.
    pub judging: Judging,
    /// One for each case.
    pub runs: Vec<Run>,
}

/// How outputs are compared: the gate's own keys, decimals as they were written.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judging {
    /// Whether every bit has to be the same.
    pub bitwise: bool,
    /// Absolute tolerance.
    pub atol: Option<String>,
    /// Relative tolerance.
    pub rtol: Option<String>,
    /// A cap on the norm of the difference over the reference's.
    pub norm: Option<String>,
    /// Whether NaN matches NaN.
    pub equal_nan: bool,
    /// How many of the worst elements are named.
    pub worst: usize,
}

/// One case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Its label: part of file names.
    pub case: String,
    /// Its sizes, for people and for reference commands.
    pub sizes: BTreeMap<String, i64>,
    /// Its seeds.
    pub seeds: Vec<u32>,
    /// The kernel that is judged.
    pub candidate: Launch,
    /// What is right.
    pub reference: Reference,
    /// The kernel's parameters.
    pub arguments: Vec<Argument>,
}

/// A kernel with its geometry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// The file, below the worktree.
    pub source: String,
    /// The function's name.
    pub entry: String,
    /// Options of the compiler.
    pub options: Vec<String>,
    /// Folders below the worktree where `#include` looks.
    pub include: Vec<String>,
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads along x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// Which arguments it gets, in the order of its parameters.
    pub arguments: Vec<usize>,
}

/// What is right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum Reference {
    /// Another kernel.
    Kernel(Launch),
    /// An .npy file below the worktree; `{seed}` and `{out}` are replaced.
    File(String),
    /// What a command wrote below `$GATE_OUT`.
    Written,
}

/// One parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// Its type's word.
    pub dtype: String,
    /// The rest.
    pub what: What,
}

/// A buffer or a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum What {
    /// A buffer.
    Tensor {
        /// How long each axis is.
        shape: Vec<u64>,
        /// What becomes of it.
        role: Role,
        /// What stands in it before the launch; poison when absent.
        content: Option<Content>,
    },
    /// A number's bytes.
    Scalar(Vec<u8>),
}

/// What becomes of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Read, and never changed.
    In,
    /// Written, every element of it.
    Out,
    /// Read and changed.
    InOut,
    /// Used, and of no interest.
    Scratch,
}

impl Role {
    /// Whether it is compared with the reference.
    pub const fn is_compared(self) -> bool {
        matches!(self, Self::Out | Self::InOut)
    }
}

/// What stands in a buffer before the launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum Content {
    /// Seeded.
    Fill(Fill),
    /// An .npy file below the worktree.
    File(String),
}

impl Judging {
    /// The policy for a pair: what was not set comes from the types' defaults.
    pub fn policy(&self, pair: Pair<'_>) -> Policy {
        let number = |text: &Option<String>| text.as_ref().and_then(|text| text.parse::<f64>().ok());
        let mut policy = if self.bitwise {
            Policy::of(Rule::Bitwise)
        } else {
            Policy::allclose(pair, number(&self.atol), number(&self.rtol))
        };
        policy.equal_nan = self.equal_nan;
        policy.norm = number(&self.norm).or(policy.norm);
        policy.worst = self.worst;
        policy
    }
}

impl Request {
    /// The version that is written here.
    pub const VERSION: u32 = VERSION;

    /// Reads what the session wrote; the error says why not.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let request: Self = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        if request.v != VERSION {
            return Err(format!("version {} is not {VERSION}", request.v));
        }
        for run in &request.runs {
            let mut launches = vec![&run.candidate];
            if let Reference::Kernel(launch) = &run.reference {
                launches.push(launch);
            }
            let known = |launch: &&Launch| launch.arguments.iter().all(|at| *at < run.arguments.len());
            if !launches.iter().all(known) {
                return Err("a launch names an argument that is not there".into());
            }
            for argument in &run.arguments {
                if argument.bytes().is_none() {
                    return Err(format!("argument {} is none", argument.name));
                }
            }
        }
        Ok(request)
    }
}

impl Argument {
    /// Its type.
    pub fn dtype(&self) -> Option<Dtype> {
        Dtype::parse(&self.dtype)
    }

    /// How many bytes it has; `None` when that cannot be.
    pub fn bytes(&self) -> Option<usize> {
        let size = self.dtype()?.size();
        match &self.what {
            What::Scalar(bytes) => (bytes.len() == size).then_some(size),
            What::Tensor { shape, .. } => {
                let elements = shape.iter().try_fold(1_u64, |product, axis| product.checked_mul(*axis))?;
                let bytes = elements.checked_mul(size as u64).filter(|bytes| *bytes <= 1 << 40)?;
                usize::try_from(bytes).ok()
            }
        }
    }
}
