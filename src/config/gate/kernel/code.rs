//! One kernel: where its source is, how it is compiled, how it is launched.

use serde_json::{Map, Value, json};

use super::expression::{Expression, Sizes, is_name};
use super::{expressions, number_or_expression};
use crate::config::section::Section;
use crate::config::values;

/// The suffixes of sources that can be launched.
const SUFFIXES: [&str; 3] = [".cu", ".ptx", ".cubin"];

/// Options of NVRTC that take nothing, or one of a few words. What reads or writes files is not among them.
const OPTIONS: [(&str, &[&str]); 15] = [
    ("--use_fast_math", &[]),
    ("-use_fast_math", &[]),
    ("--restrict", &[]),
    ("-restrict", &[]),
    ("--extra-device-vectorization", &[]),
    ("--generate-line-info", &[]),
    ("-lineinfo", &[]),
    ("--device-as-default-execution-space", &[]),
    ("-default-device", &[]),
    ("--fmad", &["true", "false"]),
    ("--ftz", &["true", "false"]),
    ("--prec-div", &["true", "false"]),
    ("--prec-sqrt", &["true", "false"]),
    ("--std", &["c++11", "c++14", "c++17", "c++20"]),
    ("-std", &["c++11", "c++14", "c++17", "c++20"]),
];

/// One kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Code {
    /// `source`: a .cu, .ptx or .cubin file of the repository.
    pub source: Option<String>,
    /// `entry`: the function's name as the module has it.
    pub entry: Option<String>,
    /// `options` of the compiler; `{n}` stands for a size.
    pub options: Vec<String>,
    /// `include`: folders of the repository.
    pub include: Vec<String>,
    /// `grid`: blocks along x, y, z.
    pub grid: Vec<Expression>,
    /// `block`: threads along x, y, z.
    pub block: Vec<Expression>,
    /// `shared`: bytes of dynamic shared memory.
    pub shared: Option<Expression>,
}

impl Code {
    pub(super) fn read(section: &mut Section<'_, '_>) -> Self {
        Self {
            source: section.path("source"),
            entry: section.string("entry"),
            options: section.list("options", option).unwrap_or_default(),
            include: section.list("include", values::path).unwrap_or_default(),
            grid: expressions(section, "grid").unwrap_or_default(),
            block: expressions(section, "block").unwrap_or_default(),
            shared: number_or_expression(section, "shared"),
        }
    }

    pub(super) fn canonical(&self, map: &mut Map<String, Value>) {
        let list = |list: &[Expression]| json!(list.iter().map(ToString::to_string).collect::<Vec<_>>());
        for (key, value) in [
            ("source", self.source.as_ref().map(|text| json!(text))),
            ("entry", self.entry.as_ref().map(|text| json!(text))),
            ("options", (!self.options.is_empty()).then(|| json!(self.options))),
            ("include", (!self.include.is_empty()).then(|| json!(self.include))),
            ("grid", Some(list(&self.grid))),
            ("block", Some(list(&self.block))),
            ("shared", self.shared.as_ref().map(|shared| json!(shared.to_string()))),
        ] {
            if let Some(value) = value {
                map.insert(key.into(), value);
            }
        }
    }

    /// What the candidate has to have.
    pub(super) fn check(&self, section: &mut Section<'_, '_>, whose: &str) {
        for (key, hint) in [
            ("source", "write source = \"kernel.cu\", a .cu, .ptx or .cubin file"),
            ("entry", "write entry = \"…\", the name of an extern \"C\" __global__ function"),
            ("grid", "write grid = [\"ceil(n / 256)\"]"),
            ("block", "write block = [256]"),
        ] {
            if !section.has(key) {
                section.problem(key, format!("{whose} needs \"{key}\""));
                section.hint(hint);
            }
        }
        for (key, why) in self.wrong(section.has("grid"), section.has("block")) {
            section.problem(key, why);
        }
    }

    /// What a reference has to have; it is read from a table of its own that is not there any more.
    pub(super) fn check_geometry(&self, section: &mut Section<'_, '_>, key: &'static str) {
        if self.entry.is_none() {
            section.problem(key, "a reference that is a kernel needs \"entry\"");
        }
        if let Some((_, why)) = self.wrong(true, true).into_iter().next() {
            section.problem(key, format!("the reference: {why}"));
        }
    }

    fn wrong(&self, grid: bool, block: bool) -> Vec<(&'static str, String)> {
        let mut wrong = Vec::new();
        if let Some(source) = &self.source
            && !SUFFIXES.iter().any(|suffix| source.ends_with(suffix))
        {
            wrong.push((
                "source",
                format!("\"source\" must end in .cu, .ptx or .cubin, not {}", values::shown(source)),
            ));
        }
        let compiled = self.source.as_ref().is_some_and(|source| source.ends_with(SUFFIXES[0]));
        if self.source.is_some() && !compiled {
            for (key, set) in [("options", !self.options.is_empty()), ("include", !self.include.is_empty())] {
                if set {
                    wrong.push((key, format!("\"{key}\" has no meaning for what is compiled already")));
                }
            }
        }
        if let Some(entry) = self.entry.as_ref().filter(|entry| entry.len() > 1000 || !entry.is_ascii()) {
            wrong.push((
                "entry",
                format!("\"entry\" must be a function's name, not {}", values::shown(entry)),
            ));
        }
        for (key, list, there) in [("grid", &self.grid, grid), ("block", &self.block, block)] {
            if there && !(1..=3).contains(&list.len()) {
                wrong.push((key, format!("\"{key}\" must have one to three numbers: x, y, z")));
            }
        }
        wrong
    }

    pub(super) fn check_case(&self, sizes: &Sizes) -> Result<(), (&'static str, String)> {
        for (key, list) in [("grid", &self.grid), ("block", &self.block)] {
            for axis in list {
                let length = axis.whole(sizes).map_err(|why| (key, why))?;
                if !(1..=i64::from(i32::MAX)).contains(&length) {
                    return Err((key, format!("{axis} is {length}; it has to be at least 1 and below 2^31")));
                }
            }
        }
        if let Some(shared) = &self.shared {
            let bytes = shared.whole(sizes).map_err(|why| ("shared", why))?;
            if !(0..=1 << 30).contains(&bytes) {
                return Err(("shared", format!("{shared} is {bytes}; it has to be at most 2^30")));
            }
        }
        self.resolved_options(sizes).map_err(|why| ("options", why))?;
        Ok(())
    }

    /// The options with their sizes put in.
    pub fn resolved_options(&self, sizes: &Sizes) -> Result<Vec<String>, String> {
        self.options
            .iter()
            .map(|option| {
                let mut text = String::new();
                let mut rest = option.as_str();
                while let Some((before, after)) = rest.split_once('{') {
                    let (name, behind) =
                        after.split_once('}').ok_or_else(|| format!("a {{ without }} in {option}"))?;
                    let size = sizes.get(name).ok_or_else(|| format!("no size {name} in {option}"))?;
                    text.push_str(before);
                    text.push_str(&size.to_string());
                    rest = behind;
                }
                text.push_str(rest);
                Ok(text)
            })
            .collect()
    }
}

/// One option of the compiler; the error continues "has an entry that …".
fn option(text: &str) -> Result<String, String> {
    let text = values::text(text)?;
    let refused = || {
        Err(format!(
            "is not among -D, -U, --maxrregcount=N, {}: {}",
            OPTIONS.map(|(word, _)| word).join(", "),
            values::shown(&text)
        ))
    };
    if text.bytes().any(|byte| byte.is_ascii_control()) {
        return refused();
    }
    if let Some(define) = text.strip_prefix("-D").or_else(|| text.strip_prefix("-U")) {
        let name = define.split('=').next().unwrap_or_default();
        let undefines = text.starts_with("-U");
        return if is_name(name) && !(undefines && define.contains('=')) { Ok(text) } else { refused() };
    }
    if let Some(number) = text.strip_prefix("--maxrregcount=") {
        return if number.parse::<u8>().is_ok_and(|n| n > 0) { Ok(text) } else { refused() };
    }
    let (word, value) =
        text.split_once('=').map_or((text.as_str(), None), |(word, value)| (word, Some(value)));
    let known = OPTIONS.iter().find(|(name, _)| *name == word);
    match (known, value) {
        (Some((_, [])), None) => Ok(text),
        (Some((_, words)), Some(value)) if words.contains(&value) => Ok(text),
        _ => refused(),
    }
}
