//! Two files with tensors, or two tensors of them, compared: for the `compare` command and for gates of that kind.
//!
//! Nothing here needs a repository. Files are mapped, never copied; what they hold is read by `validate::tensor`, judged
//! by `validate::compare`, and computed on a [`device`].

pub mod answer;
pub mod device;

use std::path::{Path, PathBuf};

use crate::device::map::Mapped;
use crate::model::{Error, Kind as Class, Result};
use crate::validate::compare::policy::SLACK;
use crate::validate::compare::{Comparison, Device, DeviceError, Pair, Policy, Rule, compare};
use crate::validate::tensor::{Declared, File, Tensor, shown};

/// The most tensors that are named in an error.
const NAMES_SHOWN: usize = 8;

/// `FILE` or `FILE:TENSOR`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// The tensor in it; without one, all of them.
    pub tensor: Option<String>,
}

impl Place {
    /// Reads what a person typed: a file of that very name wins over a tensor in a file, and the longest name of a file
    /// that is there over a tensor whose name has colons.
    pub fn typed(text: &str) -> Self {
        let mut split = text.rmatch_indices(':').map(|(at, _)| (&text[..at], &text[at + 1..]));
        let found = split.find(|(file, tensor)| !tensor.is_empty() && Path::new(file).exists());
        match found.filter(|_| !Path::new(text).exists()) {
            Some((file, tensor)) => Self { file: file.into(), tensor: Some(tensor.to_owned()) },
            None => Self { file: text.into(), tensor: None },
        }
    }

    /// Reads what a configuration says: what follows the last colon is the tensor.
    pub fn configured(text: &str) -> Self {
        match text.rsplit_once(':') {
            Some((file, tensor)) => Self { file: file.into(), tensor: Some(tensor.to_owned()) },
            None => Self { file: text.into(), tensor: None },
        }
    }
}

/// Which rule holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// Within a tolerance.
    #[default]
    Allclose,
    /// Every bit the same.
    Bitwise,
    /// No worse than twice a baseline.
    Baseline,
}

/// How closely the candidate has to match; what is absent has the default of the elements' type.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rules {
    /// Which rule.
    pub kind: Kind,
    /// Absolute tolerance.
    pub atol: Option<f64>,
    /// Relative tolerance.
    pub rtol: Option<f64>,
    /// The cap on ‖a − b‖ / ‖b‖.
    pub norm: Option<f64>,
    /// What the baseline rule allows beside, in steps of the candidate's type.
    pub slack: Option<f64>,
    /// NaN matches NaN.
    pub equal_nan: bool,
    /// How many of the worst elements are shown.
    pub worst: Option<usize>,
    /// Details although everything matches.
    pub details: bool,
}

impl Rules {
    /// The policy for one pair.
    fn policy(&self, pair: Pair<'_>) -> Policy {
        let mut policy = match self.kind {
            Kind::Allclose => Policy::allclose(pair, self.atol, self.rtol),
            Kind::Bitwise => Policy::of(Rule::Bitwise),
            Kind::Baseline => Policy::of(Rule::Baseline { slack: self.slack.unwrap_or(SLACK) }),
        };
        policy.norm = self.norm.or(policy.norm);
        policy.worst = self.worst.unwrap_or(policy.worst);
        (policy.equal_nan, policy.details) = (self.equal_nan, self.details);
        policy
    }
}

/// What is compared with what.
#[derive(Debug, Clone)]
pub struct Request {
    /// What is right.
    pub reference: Place,
    /// What is judged.
    pub candidate: Place,
    /// For the baseline rule: another implementation's result.
    pub baseline: Option<Place>,
    /// The candidate's factors.
    pub scale: Option<Place>,
    /// The reference's factors.
    pub reference_scale: Option<Place>,
    /// What the files do not say themselves.
    pub declared: Declared,
    /// How many elements along the last axes share a factor.
    pub block: Option<Vec<u64>>,
    /// How closely.
    pub rules: Rules,
}

/// One pair of tensors of a request, and what it is held to.
#[derive(Debug)]
pub struct Loaded<'a> {
    /// Their name, where tensors are compared by their names.
    pub name: Option<&'a str>,
    /// What is right.
    pub reference: Tensor<'a>,
    /// What is judged.
    pub candidate: Tensor<'a>,
    /// Another implementation's result.
    pub baseline: Option<Tensor<'a>>,
    /// The bytes of the files of the reference and the candidate, whole.
    pub files: [&'a [u8]; 2],
    /// The policy.
    pub policy: Policy,
}

impl Loaded<'_> {
    /// The two.
    pub fn pair(&self) -> Pair<'_> {
        Pair { reference: &self.reference, candidate: &self.candidate }
    }

    /// Compares them.
    ///
    /// # Errors
    /// The device failed.
    pub fn compare(&self, device: &dyn Device) -> Result<Comparison> {
        compare(device, &self.policy, self.pair(), self.baseline.as_ref()).map_err(failed)
    }
}

/// A device's trouble as an error of its own class: it says nothing about the tensors.
pub fn failed(error: DeviceError) -> Error {
    Error::new(Class::GateNotRun, "the comparison could not be made")
        .because(error.what)
        .hint("compare on the processor: --device cpu")
}

/// One file of a request.
struct Side<'a> {
    file: File<'a>,
    /// The same file as if nothing had been declared, where the two sides need not have one type.
    own: Option<File<'a>>,
    place: &'a Place,
    bytes: &'a [u8],
}

impl<'a> Side<'a> {
    fn open(place: &'a Place, bytes: &'a [u8], declared: &Declared) -> Result<Self> {
        let file =
            File::open(&place.file.to_string_lossy(), bytes, declared).map_err(|error| at(error, place))?;
        Ok(Self { file, own: None, place, bytes })
    }

    /// The other side has factors: the type that was declared may be the other's alone.
    fn beside_factors(mut self) -> Self {
        let name = self.place.file.to_string_lossy();
        self.own = File::open(&name, self.bytes, &Declared::default()).ok();
        self
    }

    fn maybe(
        place: Option<&'a Place>,
        bytes: Option<&'a Mapped>,
        declared: &Declared,
    ) -> Result<Option<Self>> {
        place.zip(bytes).map(|(place, bytes)| Self::open(place, bytes, declared)).transpose()
    }

    /// The tensor of this name, or the one that the place chooses.
    fn tensor(&self, name: Option<&str>) -> Result<Tensor<'a>> {
        let chosen = self.place.tensor.as_deref().or(name.filter(|_| self.file.has_names()));
        self.file
            .tensor(chosen)
            .or_else(|error| {
                // Bytes without a type of their own are what was declared, or nothing.
                let own = self.own.as_ref().and_then(|file| file.tensor(chosen).ok());
                own.filter(|tensor| tensor.dtype.is_float()).ok_or(error)
            })
            .map_err(|error| at(error, self.place))
    }

    /// The names, where none is chosen.
    fn names(&self) -> Option<Vec<&str>> {
        (self.place.tensor.is_none() && self.file.has_names()).then(|| self.file.names())
    }
}

/// Opens the files of a request by `open` and shows each pair of tensors to `visit`, by name.
///
/// # Errors
/// A file cannot be read; tensors are missing or do not belong together; what `visit` says.
pub fn each_pair<T>(
    request: &Request,
    open: &dyn Fn(&Path) -> Result<Mapped>,
    mut visit: impl FnMut(&Loaded<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let map = |place: &Place| open(&place.file).map_err(|error| at(error, place));
    let maybe = |place: &Option<Place>| place.as_ref().map(map).transpose();
    let (reference, candidate) = (map(&request.reference)?, map(&request.candidate)?);
    let (baseline, scale) = (maybe(&request.baseline)?, maybe(&request.scale)?);
    let reference_scale = maybe(&request.reference_scale)?;

    let mut first = Side::open(&request.reference, &reference, &request.declared)?;
    if request.rules.kind == Kind::Baseline {
        // It is more exact than the others, so what is said of their type is not said of it.
        first.file = first.file.by_its_own_word();
    }
    if request.scale.is_some() {
        first = first.beside_factors();
    }
    let mut second = Side::open(&request.candidate, &candidate, &request.declared)?;
    if request.reference_scale.is_some() {
        second = second.beside_factors();
    }
    let baseline = Side::maybe(request.baseline.as_ref(), baseline.as_ref(), &request.declared)?;
    let scale = Side::maybe(request.scale.as_ref(), scale.as_ref(), &Declared::default())?;
    let reference_scale =
        Side::maybe(request.reference_scale.as_ref(), reference_scale.as_ref(), &Declared::default())?;
    let names = names(&first, &second, baseline.as_ref())?;
    let mut results = Vec::new();
    for name in &names {
        let name = name.as_deref();
        let block = request.block.as_deref();
        let reference = scaled(&first, name, reference_scale.as_ref(), block)?;
        let candidate = scaled(&second, name, scale.as_ref(), block)?;
        let baseline = baseline.as_ref().map(|side| side.tensor(name)).transpose()?;
        belong_together(&reference, &candidate, baseline.as_ref(), request.rules.kind).map_err(|error| {
            match name {
                Some(name) => error.while_doing(format!("tensor {name:?} cannot be compared")),
                None => error,
            }
        })?;
        let policy = request.rules.policy(Pair { reference: &reference, candidate: &candidate });
        let files = [first.bytes, second.bytes];
        results.push(visit(&Loaded { name, reference, candidate, baseline, files, policy })?);
    }
    Ok(results)
}

/// Which tensors belong together: the two that were chosen or are alone, else those of one name.
fn names(
    reference: &Side<'_>,
    candidate: &Side<'_>,
    baseline: Option<&Side<'_>>,
) -> Result<Vec<Option<String>>> {
    let several = |side: &Side<'_>| side.names().is_some_and(|names| names.len() > 1);
    if !several(reference) && !several(candidate) {
        return Ok(vec![None]);
    }
    let (Some(ours), Some(theirs)) = (reference.names(), candidate.names()) else {
        let (many, one) = if several(reference) { (reference, candidate) } else { (candidate, reference) };
        return Err(Error::refused(format!(
            "{} holds several tensors, and {} is to be compared with one of them",
            many.place.file.display(),
            one.place.file.display()
        ))
        .hint(format!(
            "choose it: {}:TENSOR; there are: {}",
            many.place.file.display(),
            list(&many.file.names())
        )));
    };
    let lacks = |names: &[&str], side: &Side<'_>| {
        let own = side.file.names();
        let missing: Vec<&str> = names.iter().copied().filter(|name| !own.contains(name)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(Error::refused(format!("{} lacks {}", side.place.file.display(), list(&missing)))
            .hint("tensors are compared by their names; choose two as FILE:TENSOR where the names differ"))
    };
    lacks(&ours, candidate)?;
    lacks(&theirs, reference)?;
    if let Some(baseline) = baseline.filter(|side| side.names().is_some()) {
        lacks(&ours, baseline)?;
    }
    Ok(ours.into_iter().map(|name| Some(name.to_owned())).collect())
}

/// A side's tensor with its factors.
fn scaled<'a>(
    side: &Side<'a>,
    name: Option<&str>,
    factors: Option<&Side<'a>>,
    block: Option<&[u64]>,
) -> Result<Tensor<'a>> {
    let tensor = side.tensor(name)?;
    let Some(factors) = factors else {
        return Ok(tensor);
    };
    // Among several tensors some have no factors.
    if name.is_some() && !tensor.dtype.is_float8() {
        return Ok(tensor);
    }
    let several = factors.names().is_some_and(|names| names.len() > 1);
    let values = factors.tensor(name.filter(|_| several))?;
    tensor.with_scale(values, block).map_err(|error| at(error, factors.place))
}

/// Tensors of different shapes are not compared; of different types only where that is meant.
fn belong_together(
    reference: &Tensor<'_>,
    candidate: &Tensor<'_>,
    baseline: Option<&Tensor<'_>>,
    kind: Kind,
) -> Result<()> {
    for (other, who) in [(Some(candidate), "candidate"), (baseline, "baseline")] {
        if let Some(other) = other.filter(|other| other.shape != reference.shape) {
            return Err(Error::refused(format!(
                "the shapes differ: the reference's is {}, the {who}'s {}",
                shown(&reference.shape),
                shown(&other.shape)
            ))
            .hint("save both with the same shape: nothing is broadcast"));
        }
    }
    let quantised = reference.scale.is_some() || candidate.scale.is_some();
    let mixed = match kind {
        Kind::Allclose => quantised,
        Kind::Bitwise => false,
        Kind::Baseline => true,
    };
    if reference.dtype != candidate.dtype && !mixed {
        return Err(Error::refused(format!(
            "the types differ: the reference is {}, the candidate {}",
            reference.dtype.name(),
            candidate.dtype.name()
        ))
        .hint("save both in one type; a reference that is more exact is for policy baseline"));
    }
    Ok(())
}

/// An error with the file it is about.
fn at(error: Error, place: &Place) -> Error {
    let tensor = place.tensor.as_ref().map(|tensor| format!(":{tensor}")).unwrap_or_default();
    error.while_doing(format!("cannot read {}{tensor}", place.file.display()))
}

fn list(names: &[&str]) -> String {
    let mut shown: Vec<String> = names.iter().take(NAMES_SHOWN).map(|name| format!("{name:?}")).collect();
    if names.len() > NAMES_SHOWN {
        shown.push(format!("and {} more", names.len() - NAMES_SHOWN));
    }
    shown.join(", ")
}
