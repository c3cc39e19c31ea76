//! The outputs against the reference, on the processor.

use std::borrow::Cow;

use serde_json::Value;

use super::code::{Modules, Wrong, first_line};
use super::launching::{self, Buffers, Launched, parameter_sizes};
use super::{Place, files, one_line};
use crate::device::cpu::Cpu;
use crate::device::cuda::Gpu;
use crate::model::canonical::sha256_hex;
use crate::validate::compare::{self, Comparison, Pair, judge_mutants};
use crate::validate::kernel::{
    Finding, FindingKind, Judging, Loose, Output, Phase, Reference, Run, What, unwritten,
};
use crate::validate::tensor::{Declared, Dtype, File, Order, Tensor};

/// What is right: one tensor for each argument that is compared.
pub(super) type Right = Vec<Option<Tensor<'static>>>;

/// Compares, and tries mutants as long as nothing is wrong.
pub(super) struct Judge {
    judging: Judging,
    device: Cpu,
    /// The first mutant that passed.
    pub(super) loose: Option<Loose>,
    /// Every output was zero so far, so one that is only cleared would pass as well.
    pub(super) only_zeros: Option<Loose>,
    /// Whether an output was not zero.
    some: bool,
    /// How many were caught.
    pub(super) caught: u32,
}

impl Judge {
    pub(super) fn new(judging: &Judging) -> Self {
        Self {
            judging: judging.clone(),
            device: Cpu::new(),
            loose: None,
            only_zeros: None,
            some: false,
            caught: 0,
        }
    }

    /// Compares every output of a launch.
    pub(super) fn compare(
        &mut self,
        run: &Run,
        seed: u32,
        launched: &Launched,
        right: &Right,
        clean: bool,
    ) -> Result<(Vec<Output>, Vec<Finding>), String> {
        let (mut outputs, mut findings) = (Vec::new(), Vec::new());
        for (at, argument) in run.arguments.iter().enumerate() {
            let (What::Tensor { shape, role, .. }, Some(dtype), Some(Some(reference))) =
                (&argument.what, argument.dtype(), right.get(at))
            else {
                continue;
            };
            if !role.is_compared() {
                continue;
            }
            let candidate = plain(dtype, shape.clone(), Cow::Borrowed(&launched.contents[at]));
            let pair = Pair { reference, candidate: &candidate };
            let policy = self.judging.policy(pair);
            let judged = compare::compare(&self.device, &policy, pair, None).map_err(|e| e.what)?;
            outputs.push(Output {
                case: run.case.clone(),
                seed,
                name: argument.name.clone(),
                sha256: sha256_hex(&launched.contents[at]),
                matches: Some(judged.passed),
                comparison: Value::Object(judged.record()),
            });
            if !judged.passed {
                findings.push(mismatch(run, seed, &argument.name, &judged));
            } else if clean && self.loose.is_none() {
                let tried = judge_mutants(pair, &judged, None).map_err(|e| e.what)?;
                self.caught += tried.caught.len() as u32;
                let loose = |mutant: &str| Loose {
                    mutant: mutant.to_owned(),
                    case: run.case.clone(),
                    seed,
                    argument: argument.name.clone(),
                };
                self.loose = tried.passed.map(loose);
                self.some |= launched.contents[at].iter().any(|byte| *byte != 0);
                self.only_zeros = (!self.some).then(|| loose("zeros (every output is zero everywhere)"));
            }
        }
        Ok((outputs, findings))
    }
}

fn mismatch(run: &Run, seed: u32, name: &str, judged: &Comparison) -> Finding {
    let mut lines = judged.clusters();
    if let Some(details) = &judged.details {
        for worst in &details.worst {
            lines.push(format!(
                "{:?}: {} instead of {}",
                judged.index(worst.position),
                worst.candidate,
                worst.reference
            ));
        }
    }
    Finding {
        kind: FindingKind::Mismatch,
        case: run.case.clone(),
        seed: Some(seed),
        argument: Some(name.to_owned()),
        what: format!("{name}: {}", judged.reason),
        lines,
        details: Value::Object(judged.record()),
    }
}

/// A tensor of this machine's own bytes.
fn plain(dtype: Dtype, shape: Vec<u64>, bytes: Cow<'_, [u8]>) -> Tensor<'_> {
    Tensor { dtype, shape, bytes, order: Order::C, big_endian: false, scale: None }
}

/// What is right for a case and seed; the error says in one line why nobody knows.
pub(super) fn reference(
    gpu: &Gpu,
    modules: &mut Modules,
    buffers: &Buffers,
    run: &Run,
    seed: u32,
    contents: &[Vec<u8>],
    place: Place<'_>,
) -> Result<Right, String> {
    if let Reference::Kernel(launch) = &run.reference {
        let sizes = parameter_sizes(run, launch);
        let function =
            modules.function(gpu, place.worktree, launch, &sizes).map_err(|wrong| match wrong {
                Wrong::Code(what, lines) => {
                    std::iter::once(what).chain(lines).take(4).collect::<Vec<_>>().join("; ")
                }
                Wrong::Driver(error) => first_line(&error),
                Wrong::Compiler(what) | Wrong::Gate(what) => what,
            })?;
        let mut twice = Vec::new();
        for phase in [Phase(0), Phase(1)] {
            buffers
                .prepare(run, launch, contents, phase)
                .and_then(|parameters| launching::launch(gpu, &function, launch, &parameters))
                .and_then(|()| buffers.collect(run, launch, contents, phase))
                .map(|launched| twice.push(launched))
                .map_err(|error| first_line(&error))?;
        }
        return of_kernel(run, &twice);
    }
    run.arguments
        .iter()
        .map(|argument| match (&argument.what, argument.dtype()) {
            (What::Tensor { role, shape, .. }, Some(dtype)) if role.is_compared() => {
                let (below, path) = match &run.reference {
                    Reference::File(pattern) => (
                        place.worktree.to_owned(),
                        pattern.replace("{seed}", &seed.to_string()).replace("{out}", &argument.name),
                    ),
                    _ => (place.out.join("reference"), format!("{}-{seed}/{}.npy", run.case, argument.name)),
                };
                from_file(&below, &path, dtype, shape).map(Some)
            }
            _ => Ok(None),
        })
        .collect()
}

/// The outputs of a reference kernel that was launched twice, held to some of what the candidate is held to.
fn of_kernel(run: &Run, twice: &[Launched]) -> Result<Right, String> {
    let [first, second] = twice else {
        return Err("it was not launched twice".into());
    };
    for launched in twice {
        if let Some((at, _)) = launched.strays.first() {
            return Err(format!("it writes outside of {}", run.arguments[*at].name));
        }
        if let Some((at, ..)) = launched.changed.first() {
            return Err(format!("it changes its input {}", run.arguments[*at].name));
        }
    }
    run.arguments
        .iter()
        .enumerate()
        .map(|(at, argument)| {
            let (What::Tensor { role, shape, content }, Some(dtype)) = (&argument.what, argument.dtype())
            else {
                return Ok(None);
            };
            if !role.is_compared() {
                return Ok(None);
            }
            let (one, other) = (&first.contents[at], &second.contents[at]);
            if one.is_empty() {
                return Err(format!("it does not get {}, which is compared", argument.name));
            }
            let both = [(first.phase, one.as_slice()), (second.phase, other.as_slice())];
            if content.is_none()
                && let Some((count, _)) = unwritten(dtype, &both)
            {
                return Err(format!("it leaves {count} elements of {} unwritten", argument.name));
            }
            Ok(Some(plain(dtype, shape.clone(), Cow::Owned(one.clone()))))
        })
        .collect()
}

fn from_file(
    below: &std::path::Path,
    path: &str,
    dtype: Dtype,
    shape: &[u64],
) -> Result<Tensor<'static>, String> {
    let bytes = files::tensor(below, path)?;
    // numpy has no name for these: the integers it wrote are what the gate says they are.
    let nameless =
        matches!(dtype, Dtype::BF16 | Dtype::F8E4M3 | Dtype::F8E5M2 | Dtype::F8E4M3Fnuz | Dtype::F8E5M2Fnuz);
    let open = |declared| -> crate::model::Result<Tensor<'static>> {
        let file = File::open(path, &bytes, &Declared { dtype: declared, shape: None })?;
        let tensor = file.tensor(None)?;
        Ok(Tensor {
            dtype: tensor.dtype,
            shape: tensor.shape.clone(),
            bytes: Cow::Owned(tensor.bytes.to_vec()),
            order: tensor.order,
            big_endian: tensor.big_endian,
            scale: None,
        })
    };
    let tensor = open(None)
        .and_then(|tensor| {
            let coded = matches!(tensor.dtype, Dtype::U16 | Dtype::U8 | Dtype::I16 | Dtype::I8);
            if nameless && coded { open(Some(dtype)) } else { Ok(tensor) }
        })
        .map_err(|e| format!("{path}: {}", one_line(&e)))?;
    if tensor.shape != shape {
        return Err(format!("{path} has the shape {:?}, and the output {shape:?}", tensor.shape));
    }
    Ok(tensor)
}
