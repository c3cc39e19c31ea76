//! What gates of kind `kernel` have beside the common keys: what is launched, and with which arguments.
//!
//! | file | what it knows |
//! |---|---|
//! | `expression` | arithmetic over the sizes of a case |
//! | `argument` | the kernel's parameters, and the cases it is tried at |
//! | `code` | source, entry, options and geometry of one kernel |

use std::time::Duration;

use serde_json::{Map, Value, json};
use toml::de::DeValue;

use crate::config::section::Section;
use crate::model::dtype::Dtype;

mod argument;
mod code;
mod expression;
#[cfg(test)]
mod tests;

pub use argument::{Argument, Case, Distribution, Fill, Role, What};
pub use code::Code;
pub use expression::{Expression, Sizes, Value as Number};

/// The keys of this file.
pub(super) const KEYS: &[&str] = &[
    "reference",
    "source",
    "entry",
    "options",
    "include",
    "grid",
    "block",
    "shared",
    "seeds",
    "launches",
    "deterministic",
    "nondeterministic-because",
    "arg",
    "case",
];

/// How long one process with all its launches may take when the gate does not say.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_mins(1);

/// The most parameters of a kernel.
const MOST_ARGUMENTS: usize = 64;

/// The most cases, and the most seeds.
const MOST_CASES: usize = 256;

/// The most files of a reference: each is brought from the protected branch by itself.
const MOST_FILES: usize = 200;

/// How often a kernel is launched in a process when the gate does not say.
const DEFAULT_LAUNCHES: u32 = 3;

/// What a `kernel` gate has of its own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Kernel {
    /// The candidate.
    pub code: Code,
    /// `seeds`.
    pub seeds: Vec<u32>,
    /// `launches` in one process.
    pub launches: Option<u32>,
    /// `deterministic`.
    pub deterministic: Option<bool>,
    /// `nondeterministic-because`: why it need not be.
    pub because: Option<String>,
    /// `reference`.
    pub reference: Option<Reference>,
    /// `[[gate.arg]]`.
    pub arguments: Vec<Argument>,
    /// `[[gate.case]]`.
    pub cases: Vec<Case>,
}

/// What is right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// Another kernel; it gets the arguments of these names.
    Kernel(Box<Code>, Vec<String>),
    /// Files of the repository, in whose name `{case}`, `{seed}` and `{out}` are replaced.
    File(String),
    /// A command that reads the inputs and writes what is right.
    Command(String),
}

impl Kernel {
    pub(super) fn read(section: &mut Section<'_, '_>, kernel: bool) -> Self {
        let code = Code::read(section);
        let seeds = seeds(section);
        let launches = section.integer("launches", 2, 100);
        let deterministic = section.flag("deterministic");
        let because = section.string("nondeterministic-because");
        let reference = if kernel { Reference::read(section) } else { None };
        let arguments = section.tables("arg", "[[gate.arg]]", MOST_ARGUMENTS, Argument::read);
        let cases = section.tables("case", "[[gate.case]]", MOST_CASES, |section| Some(Case::read(section)));
        Self { code, seeds, launches, deterministic, because, reference, arguments, cases }
    }

    /// How often the kernel is launched in one process.
    pub fn launch_count(&self) -> u32 {
        self.launches.unwrap_or(DEFAULT_LAUNCHES)
    }

    /// The seeds, as set or by default.
    pub fn seed_list(&self) -> Vec<u32> {
        if self.seeds.is_empty() { vec![1, 2] } else { self.seeds.clone() }
    }

    /// The cases, as set or the one without sizes.
    pub fn case_list(&self) -> Vec<Case> {
        if self.cases.is_empty() { vec![Case::default()] } else { self.cases.clone() }
    }

    /// The command it can make us run.
    pub fn command(&self) -> Option<&str> {
        match &self.reference {
            Some(Reference::Command(command)) => Some(command),
            _ => None,
        }
    }

    /// Sources that it can make us launch, with their entries.
    pub fn launched(&self) -> impl Iterator<Item = (&str, &str)> {
        let reference = match &self.reference {
            Some(Reference::Kernel(code, _)) => Some(&**code),
            _ => None,
        };
        std::iter::once(&self.code).chain(reference).filter_map(|code| {
            code.source.as_deref().map(|source| (source, code.entry.as_deref().unwrap_or_default()))
        })
    }

    /// The files that a pattern stands for, each once.
    fn reference_files(&self, pattern: &str) -> Vec<String> {
        let mut files = std::collections::BTreeSet::new();
        for case in self.case_list() {
            for seed in self.seed_list() {
                for output in self.compared() {
                    let file = pattern.replace("{case}", &case.label()).replace("{seed}", &seed.to_string());
                    files.insert(file.replace("{out}", &output.name));
                }
                if files.len() > MOST_FILES {
                    return files.into_iter().collect();
                }
            }
        }
        files.into_iter().collect()
    }

    /// Files that say what is right: judged in the protected branch's version.
    pub(super) fn oracle(&self) -> Vec<String> {
        let mut files: Vec<String> = match &self.reference {
            Some(Reference::Kernel(code, _)) => code.source.iter().cloned().collect(),
            Some(Reference::File(pattern)) => self.reference_files(pattern),
            _ => Vec::new(),
        };
        files.extend(self.arguments.iter().filter_map(|argument| match &argument.what {
            What::Tensor { file, .. } => file.clone(),
            What::Scalar(_) => None,
        }));
        // The candidate may be its own reference's file: then it is what is judged.
        files.retain(|file| self.code.source.as_ref() != Some(file));
        files
    }

    pub(super) fn canonical(&self, map: &mut Map<String, Value>) {
        if self.code.source.is_none() && self.arguments.is_empty() && self.reference.is_none() {
            return;
        }
        self.code.canonical(map);
        map.insert("seeds".into(), json!(self.seed_list()));
        map.insert("launches".into(), json!(self.launch_count()));
        map.insert("deterministic".into(), json!(self.deterministic.unwrap_or(true)));
        if let Some(because) = &self.because {
            map.insert("nondeterministic-because".into(), json!(because));
        }
        if let Some(reference) = &self.reference {
            map.insert("reference".into(), reference.canonical());
        }
        let arguments: Vec<Value> = self.arguments.iter().map(Argument::canonical).collect();
        map.insert("arg".into(), json!(arguments));
        let cases: Vec<Value> = self.case_list().iter().map(Case::canonical).collect();
        map.insert("case".into(), json!(cases));
    }

    pub(super) fn check(&self, section: &mut Section<'_, '_>) {
        self.code.check(section, "a gate of kind \"kernel\"");
        if !section.has("reference") {
            section.problem("reference", "a gate of kind \"kernel\" needs \"reference\"");
            section.hint("write reference = { source = \"naive.cu\", entry = \"…\", grid = [1], block = [1] }, { file = \"….npy\" } or { run = \"…\" }");
        }
        if !section.has("arg") {
            section.problem("arg", "a gate of kind \"kernel\" needs [[gate.arg]], one for each parameter");
        }
        let mut names: Vec<&str> = self.arguments.iter().map(|a| a.name.as_str()).collect();
        let labels: Vec<String> = self.case_list().iter().map(Case::label).collect();
        let compared = self.compared().count();
        names.sort_unstable();
        if let Some([twice, _]) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            section.problem("arg", format!("two arguments are called {twice}"));
        }
        if let Some(label) = labels.iter().enumerate().find(|(at, label)| labels[..*at].contains(label)) {
            section.problem("case", format!("two cases are called {}", label.1));
        }
        if section.has("arg") && compared == 0 {
            section.problem("arg", "no argument has the role out or inout: nothing would be compared");
        }
        match &self.reference {
            Some(Reference::File(pattern)) if self.reference_files(pattern).len() > MOST_FILES => {
                section.problem("reference", format!("the reference has more than {MOST_FILES} files"));
                section.hint("have fewer cases and seeds, or let a command compute what is right");
            }
            Some(Reference::File(file)) if compared > 1 && !file.contains("{out}") => {
                section.problem(
                    "reference",
                    "with several outputs, the name of the reference's file needs {out}",
                );
            }
            Some(Reference::Kernel(code, wanted)) => {
                code.check_geometry(section, "reference");
                for name in wanted.iter().filter(|name| names.binary_search(&name.as_str()).is_err()) {
                    section.problem(
                        "reference",
                        format!("\"args\" of the reference names {name}, which is no argument"),
                    );
                }
            }
            _ => {}
        }
        match (self.deterministic, &self.because) {
            (Some(false), None) => {
                section.problem("deterministic", "deterministic = false needs \"nondeterministic-because\"");
                section.hint("say why two launches may differ: nondeterministic-because = \"float atomics\"");
            }
            (None | Some(true), Some(_)) => section.problem_at_key(
                "nondeterministic-because",
                "\"nondeterministic-because\" has no meaning without deterministic = false",
            ),
            _ => {}
        }
        for case in self.case_list() {
            if let Err((key, why)) = self.check_case(&case) {
                section.problem(key, format!("case {}: {why}", case.label()));
                break;
            }
        }
    }

    /// The arguments that are compared.
    pub fn compared(&self) -> impl Iterator<Item = &Argument> {
        self.arguments
            .iter()
            .filter(|argument| matches!(&argument.what, What::Tensor { role, .. } if role.is_compared()))
    }

    fn check_case(&self, case: &Case) -> Result<(), (&'static str, String)> {
        self.code.check_case(&case.sizes)?;
        if let Some(Reference::Kernel(code, _)) = &self.reference {
            code.check_case(&case.sizes).map_err(|(_, why)| ("reference", why))?;
        }
        for argument in &self.arguments {
            let wrong = |why: String| ("arg", format!("argument {}: {why}", argument.name));
            match &argument.what {
                What::Scalar(value) if is_float(argument.dtype) => {
                    value.value(&case.sizes).map_err(wrong)?;
                }
                What::Scalar(value) => {
                    let whole = value.whole(&case.sizes).map_err(wrong)?;
                    if !holds(argument.dtype, whole) {
                        return Err(wrong(format!("{whole} is no {}", argument.dtype.name())));
                    }
                }
                What::Tensor { shape, .. } => {
                    let mut elements: u64 = 1;
                    for axis in shape {
                        let length = axis.whole(&case.sizes).map_err(wrong)?;
                        let length = u64::try_from(length)
                            .map_err(|_| wrong(format!("an axis of {length} elements")))?;
                        elements = elements
                            .checked_mul(length)
                            .filter(|elements| *elements <= 1 << 36)
                            .ok_or_else(|| wrong("more than 2^36 elements".into()))?;
                    }
                    if elements == 0 {
                        return Err(wrong("it has no elements".into()));
                    }
                }
            }
        }
        Ok(())
    }
}

impl Reference {
    fn read(section: &mut Section<'_, '_>) -> Option<Self> {
        let mut table = section.table("reference", "reference of [[gate]]")?;
        let ways: Vec<&str> = ["source", "file", "run"].into_iter().filter(|key| table.has(key)).collect();
        let (file, run) = (table.path("file"), table.string("run"));
        let args = table.list("args", |name| Ok(name.to_owned()));
        let code = Code::read(&mut table);
        let wrong = ways.len() != 1;
        if wrong {
            table.problem_at_key(
                "reference",
                "the reference needs one of \"source\" (a kernel), \"file\" and \"run\"",
            );
        } else if ways != ["source"] {
            for key in ["entry", "options", "include", "grid", "block", "shared", "args"] {
                if table.has(key) {
                    table.problem_at_key(
                        key,
                        format!("\"{key}\" has no meaning for a reference that is no kernel"),
                    );
                }
            }
        }
        table.finish();
        if wrong {
            return None;
        }
        match (file, run) {
            (Some(file), _) => Some(Self::File(file)),
            (_, Some(run)) => Some(Self::Command(run)),
            _ => code.source.is_some().then(|| Self::Kernel(Box::new(code), args.unwrap_or_default())),
        }
    }

    fn canonical(&self) -> Value {
        match self {
            Self::File(file) => json!({"file": file}),
            Self::Command(command) => json!({"run": command}),
            Self::Kernel(code, args) => {
                let mut map = Map::new();
                code.canonical(&mut map);
                if !args.is_empty() {
                    map.insert("args".into(), json!(args));
                }
                Value::Object(map)
            }
        }
    }
}

/// Whether a type holds fractions.
pub const fn is_float(dtype: Dtype) -> bool {
    !matches!(
        dtype,
        Dtype::I64
            | Dtype::I32
            | Dtype::I16
            | Dtype::I8
            | Dtype::U64
            | Dtype::U32
            | Dtype::U16
            | Dtype::U8
            | Dtype::Bool
    )
}

/// Whether a type of whole numbers holds this one.
fn holds(dtype: Dtype, whole: i64) -> bool {
    match dtype {
        Dtype::I32 => i32::try_from(whole).is_ok(),
        Dtype::I16 => i16::try_from(whole).is_ok(),
        Dtype::I8 => i8::try_from(whole).is_ok(),
        Dtype::U64 => whole >= 0,
        Dtype::U32 => u32::try_from(whole).is_ok(),
        Dtype::U16 => u16::try_from(whole).is_ok(),
        Dtype::U8 => u8::try_from(whole).is_ok(),
        Dtype::Bool => whole == 0 || whole == 1,
        _ => true,
    }
}

fn seeds(section: &mut Section<'_, '_>) -> Vec<u32> {
    let Some(value) = section.value("seeds") else {
        return Vec::new();
    };
    let array = value.get_ref().as_array();
    let read: Option<Vec<u32>> =
        array.filter(|array| (1..=MOST_CASES).contains(&array.len())).and_then(|array| {
            array
                .iter()
                .map(|item| {
                    let integer = item.get_ref().as_integer()?;
                    u32::from_str_radix(integer.as_str(), integer.radix()).ok()
                })
                .collect()
        });
    if read.is_none() {
        let why = format!("must be an array of 1 to {MOST_CASES} whole numbers from 0 on");
        section.invalid("seeds", value, &why);
    }
    let mut seeds = read.unwrap_or_default();
    seeds.sort_unstable();
    seeds.dedup();
    seeds
}

/// An integer, a decimal or an expression.
fn number_or_expression(section: &mut Section<'_, '_>, key: &'static str) -> Option<Expression> {
    let value = section.value(key)?;
    match read_expression(value.get_ref()) {
        Ok(expression) => Some(expression),
        Err(why) => {
            section.invalid(key, value, &why);
            None
        }
    }
}

/// An array of integers and expressions.
fn expressions(section: &mut Section<'_, '_>, key: &'static str) -> Option<Vec<Expression>> {
    let value = section.value(key)?;
    let Some(array) = value.get_ref().as_array().filter(|array| array.len() <= 8) else {
        section.invalid(
            key,
            value,
            "must be an array of at most 8 whole numbers and expressions over the sizes",
        );
        return None;
    };
    let mut list = Vec::new();
    for item in array {
        match read_expression(item.get_ref()) {
            Ok(expression) => list.push(expression),
            Err(why) => section.invalid(key, item, &why),
        }
    }
    Some(list)
}

fn read_expression(value: &DeValue<'_>) -> Result<Expression, String> {
    const WRONG: &str = "must be a number or an expression like \"ceil(n / 256)\"";
    match value {
        DeValue::String(text) => Expression::parse(text),
        DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
            .map(Expression::whole_number)
            .map_err(|_| WRONG.to_owned()),
        DeValue::Float(float) => Expression::parse(float.as_str()).map_err(|_| WRONG.to_owned()),
        _ => Err(WRONG.to_owned()),
    }
}
