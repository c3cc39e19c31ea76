//! `[[gate.arg]]` and `[[gate.case]]`: what a kernel is called with.

use serde_json::{Value, json};

use super::expression::{Expression, Sizes, is_name};
use super::{expressions, number_or_expression};
use crate::config::decimal::Decimal;
use crate::config::section::Section;
use crate::config::values;
use crate::model::dtype::Dtype;

/// What becomes of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

const ROLES: [(&str, Role); 4] =
    [("in", Role::In), ("out", Role::Out), ("inout", Role::InOut), ("scratch", Role::Scratch)];

impl Role {
    /// The word in the file.
    pub fn word(self) -> &'static str {
        ROLES.iter().find(|(_, role)| *role == self).map_or("in", |(word, _)| word)
    }

    /// Whether it has values before the kernel runs.
    pub const fn is_filled(self) -> bool {
        matches!(self, Self::In | Self::InOut)
    }

    /// Whether it is compared afterwards.
    pub const fn is_compared(self) -> bool {
        matches!(self, Self::Out | Self::InOut)
    }
}

/// A distribution's shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    /// Every value between two is as likely.
    Uniform,
    /// Around a mean, with a deviation.
    Normal,
    /// Every whole number between two, both included, is as likely.
    Integers,
    /// The same everywhere.
    Constant,
    /// From a start, by a step.
    Sequence,
}

const DISTRIBUTIONS: [(&str, Distribution, usize); 5] = [
    ("uniform", Distribution::Uniform, 2),
    ("normal", Distribution::Normal, 2),
    ("integers", Distribution::Integers, 2),
    ("constant", Distribution::Constant, 1),
    ("sequence", Distribution::Sequence, 2),
];

/// What a tensor is filled with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fill {
    /// The shape of it.
    pub distribution: Distribution,
    /// Its parameters, in their order.
    pub parameters: Vec<Decimal>,
}

impl Fill {
    /// `normal(0, 1)`; the error continues "must be …".
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            let words = "uniform(a, b), normal(mean, deviation), integers(a, b), constant(v) or sequence(start, step)";
            format!("must be {words}, not {}", values::shown(text))
        };
        let (name, rest) = text.trim().split_once('(').ok_or_else(wrong)?;
        let inner = rest.strip_suffix(')').ok_or_else(wrong)?;
        let (_, distribution, count) =
            DISTRIBUTIONS.iter().find(|(word, ..)| *word == name.trim()).ok_or_else(wrong)?;
        let parameters: Vec<Decimal> = inner
            .split(',')
            .map(|word| Decimal::parse(word.trim()))
            .collect::<Result<_, _>>()
            .map_err(|_| wrong())?;
        if parameters.len() != *count {
            return Err(wrong());
        }
        let values: Vec<f64> = parameters.iter().map(Decimal::to_f64).collect();
        match distribution {
            Distribution::Uniform | Distribution::Integers if values[0] > values[1] => {
                return Err(format!("must go from the smaller to the larger, not {}", values::shown(text)));
            }
            Distribution::Integers if values.iter().any(|v| v.fract() != 0.0 || v.abs() > 9.0e15) => {
                return Err(format!("must have whole ends, not {}", values::shown(text)));
            }
            Distribution::Normal if values[1] < 0.0 => {
                return Err(format!(
                    "must have a deviation that is not negative, not {}",
                    values::shown(text)
                ));
            }
            _ => {}
        }
        Ok(Self { distribution: *distribution, parameters })
    }

    /// One spelling of it.
    pub fn canonical(&self) -> String {
        let word =
            DISTRIBUTIONS.iter().find(|(_, known, _)| *known == self.distribution).map_or("", |(w, ..)| w);
        let parameters: Vec<String> = self.parameters.iter().map(Decimal::canonical).collect();
        format!("{word}({})", parameters.join(","))
    }
}

/// One parameter of the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// `name`, by which findings and files call it.
    pub name: String,
    /// The type of its elements, or of the number.
    pub dtype: Dtype,
    /// The rest.
    pub what: What,
}

/// A tensor or a single number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A buffer; the kernel gets its address.
    Tensor {
        /// `shape`: how long each axis is.
        shape: Vec<Expression>,
        /// `role`.
        role: Role,
        /// `fill`.
        fill: Option<Fill>,
        /// `file`: an .npy file of the repository instead of `fill`.
        file: Option<String>,
    },
    /// A number that is passed by value.
    Scalar(Expression),
}

impl Argument {
    pub(super) fn read(mut section: Section<'_, '_>) -> Option<Self> {
        let name = section.string("name");
        let known = name.clone().filter(|name| is_name(name));
        if !section.has("name") {
            section.problem("name", "an argument without \"name\"");
        } else if let (Some(name), None) = (&name, &known) {
            section.problem(
                "name",
                format!("\"name\" in [[gate.arg]] must be a word like \"x\", not {}", values::shown(name)),
            );
        }
        let (dtype, scalar) = (section.string("dtype"), section.string("scalar"));
        let key = if scalar.is_some() { "scalar" } else { "dtype" };
        if dtype.is_some() == scalar.is_some() {
            section.problem(
                key,
                "an argument has \"dtype\" (a tensor) or \"scalar\" (a number), one of the two",
            );
        }
        let dtype = dtype.or(scalar.clone()).and_then(|word| {
            let known = Dtype::parse(&word).filter(|dtype| *dtype != Dtype::F8E8M0);
            if known.is_none() {
                section.problem(
                    key,
                    format!("\"{key}\" in [[gate.arg]] must be a type of elements, not {}", values::shown(&word)),
                );
                section.hint("types are f64, f32, f16, bf16, f8_e4m3, f8_e5m2, f8_e4m3fnuz, f8_e5m2fnuz, i64 to i8, u64 to u8, bool");
            }
            known
        });
        let (shape, role) = (expressions(&mut section, "shape"), section.choice("role", &ROLES));
        let fill = section.string("fill").and_then(|text| match Fill::parse(&text) {
            Ok(fill) => Some(fill),
            Err(why) => {
                section.problem("fill", format!("\"fill\" in [[gate.arg]] {why}"));
                None
            }
        });
        let file = section.path("file");
        let value = number_or_expression(&mut section, "value");
        let what = if scalar.is_some() {
            Self::read_scalar(&mut section, value)
        } else {
            Self::read_tensor(&mut section, shape, role, fill, file)
        };
        section.finish();
        Some(Self { name: known?, dtype: dtype?, what: what? })
    }

    fn read_scalar(section: &mut Section<'_, '_>, value: Option<Expression>) -> Option<What> {
        for key in ["shape", "role", "fill", "file"] {
            if section.has(key) {
                section.problem_at_key(key, format!("\"{key}\" has no meaning for a scalar"));
            }
        }
        if !section.has("value") {
            section.problem("value", "a scalar without \"value\"");
            section.hint("write value = \"n\", a number or an expression over the sizes of the case");
        }
        Some(What::Scalar(value?))
    }

    fn read_tensor(
        section: &mut Section<'_, '_>,
        shape: Option<Vec<Expression>>,
        role: Option<Role>,
        fill: Option<Fill>,
        file: Option<String>,
    ) -> Option<What> {
        for (key, hint) in [
            ("shape", "write shape = [\"n\"]"),
            ("role", "write role = \"in\", \"out\", \"inout\" or \"scratch\""),
        ] {
            if !section.has(key) {
                section.problem(key, format!("a tensor without \"{key}\""));
                section.hint(hint);
            }
        }
        if section.has("value") {
            section.problem_at_key("value", "\"value\" has no meaning for a tensor");
        }
        let role = role?;
        let sources = usize::from(section.has("fill")) + usize::from(section.has("file"));
        if role.is_filled() && sources != 1 {
            section.problem(
                "role",
                format!("a tensor with the role {} needs \"fill\" or \"file\", one of the two", role.word()),
            );
        } else if !role.is_filled() && sources != 0 {
            section
                .problem("role", format!("a tensor with the role {} is poisoned, not filled", role.word()));
            section.hint("give it the role inout when the kernel needs what stands there");
        }
        Some(What::Tensor { shape: shape?, role, fill, file })
    }

    pub(super) fn canonical(&self) -> Value {
        match &self.what {
            What::Scalar(value) => {
                json!({"name": self.name, "scalar": self.dtype.name(), "value": value.to_string()})
            }
            What::Tensor { shape, role, fill, file } => {
                let shape: Vec<String> = shape.iter().map(ToString::to_string).collect();
                let mut map = json!({"name": self.name, "dtype": self.dtype.name(), "shape": shape, "role": role.word()});
                if let Some(fill) = fill {
                    map["fill"] = json!(fill.canonical());
                }
                if let Some(file) = file {
                    map["file"] = json!(file);
                }
                map
            }
        }
    }
}

/// The sizes that a kernel is tried at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Case {
    /// `name`; made of the sizes when absent.
    pub name: Option<String>,
    /// Every other key.
    pub sizes: Sizes,
}

impl Case {
    /// What findings and files call it: of letters, digits and `=,._-`.
    pub fn label(&self) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        if self.sizes.is_empty() {
            return "only".into();
        }
        let parts: Vec<String> = self.sizes.iter().map(|(name, size)| format!("{name}={size}")).collect();
        parts.join(",")
    }

    pub(super) fn read(mut section: Section<'_, '_>) -> Self {
        let fits = |name: &String| {
            name.len() <= 100
                && !name.starts_with(['.', '-'])
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"=,._-".contains(&byte))
        };
        let name = section.string("name");
        if let Some(name) = name.as_ref().filter(|name| !fits(name)) {
            section.problem(
                "name",
                format!(
                    "\"name\" in [[gate.case]] must be a word like \"tail\", not {}",
                    values::shown(name)
                ),
            );
        }
        let mut case = Self { name: name.filter(fits), sizes: Sizes::new() };
        let (rest, problems) = section.rest();
        for (key, value) in rest {
            let number =
                value.get_ref().as_integer().and_then(|i| i64::from_str_radix(i.as_str(), i.radix()).ok());
            let number = number.filter(|number| number.unsigned_abs() < 1 << 48);
            match number {
                _ if !is_name(key) => problems.add(
                    value.span().start,
                    format!("{} in [[gate.case]] must be a name like \"n\"", values::shown(key)),
                ),
                None => problems.add(
                    value.span().start,
                    format!("{} in [[gate.case]] must be a whole number below 2^48", values::shown(key)),
                ),
                Some(number) => {
                    case.sizes.insert(key.to_owned(), number);
                }
            }
        }
        case
    }

    pub(super) fn canonical(&self) -> Value {
        let mut map = json!({"sizes": self.sizes});
        if let Some(name) = &self.name {
            map["name"] = json!(name);
        }
        map
    }
}
