//! What gates of kind `build` have beside the common keys: limits on what a compiler says of its result.

use serde_json::{Map, Value, json};

use crate::config::section::Section;
use crate::config::values;

/// The keys of this file.
pub(super) const KEYS: &[&str] = &[
    "log",
    "ptx",
    "binary",
    "kernels",
    "arch",
    "max-registers",
    "max-spills",
    "max-stack",
    "max-shared",
    "max-binary",
];

/// What is limited: the keys of which a gate needs at least one.
const LIMITS: [&str; 5] = ["max-registers", "max-spills", "max-stack", "max-shared", "max-binary"];

/// What a gate of kind `build` has of its own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Build {
    /// `log`: a file below `$GATE_OUT` with what the compiler said; without it, what the command printed.
    pub log: Option<String>,
    /// `ptx`: a file below `$GATE_OUT` that is assembled, and the assembler's report judged.
    pub ptx: Option<String>,
    /// `binary`: a file below `$GATE_OUT` whose size is judged.
    pub binary: Option<String>,
    /// `kernels`: names, with `*` and `?`, of the kernels that the limits are for. Empty: all.
    pub kernels: Vec<String>,
    /// `arch`: what `ptx` is assembled for; with a log, what it must report on. Empty: whatever it reports.
    pub arch: Vec<String>,
    /// `max-registers` of one thread: registers on NVIDIA, VGPRs on AMD.
    pub max_registers: Option<u64>,
    /// `max-spills`: bytes that one thread spills.
    pub max_spills: Option<u64>,
    /// `max-stack`: bytes of one thread's stack frame or scratch.
    pub max_stack: Option<u64>,
    /// `max-shared`: bytes of static shared memory (LDS) of one block.
    pub max_shared: Option<u64>,
    /// `max-binary`: bytes of the binary.
    pub max_binary: Option<u64>,
}

impl Build {
    pub(super) fn read(section: &mut Section<'_, '_>) -> Self {
        Self {
            log: section.path("log"),
            ptx: section.path("ptx"),
            binary: section.path("binary"),
            kernels: section.list("kernels", values::text).unwrap_or_default(),
            arch: section.list("arch", architecture).unwrap_or_default(),
            max_registers: section.integer("max-registers", 1, 1024).map(u64::from),
            max_spills: bytes(section, "max-spills"),
            max_stack: bytes(section, "max-stack"),
            max_shared: bytes(section, "max-shared"),
            max_binary: bytes(section, "max-binary"),
        }
    }

    pub(super) fn canonical(&self, map: &mut Map<String, Value>) {
        let text = |text: &Option<String>| text.as_ref().map(|text| json!(text));
        let number = |number: Option<u64>| number.map(|number| json!(number));
        let set = |list: &Vec<String>| {
            let set: std::collections::BTreeSet<&String> = list.iter().collect();
            (!set.is_empty()).then(|| json!(set))
        };
        for (key, value) in [
            ("log", text(&self.log)),
            ("ptx", text(&self.ptx)),
            ("binary", text(&self.binary)),
            ("kernels", set(&self.kernels)),
            ("arch", set(&self.arch)),
            ("max-registers", number(self.max_registers)),
            ("max-spills", number(self.max_spills)),
            ("max-stack", number(self.max_stack)),
            ("max-shared", number(self.max_shared)),
            ("max-binary", number(self.max_binary)),
        ] {
            if let Some(value) = value {
                map.insert(key.into(), value);
            }
        }
    }

    pub(super) fn check(&self, section: &mut Section<'_, '_>) {
        if !LIMITS.iter().any(|key| section.has(key)) {
            section.problem("kind", "a gate of kind \"build\" without a limit checks nothing");
            section.hint("add max-spills = 0, or max-registers, max-stack, max-shared or max-binary");
        }
        if section.has("ptx") {
            if section.has("log") {
                section.problem_at_key("log", "\"log\" and \"ptx\" are two sources of one report; name one");
            }
            if self.arch.is_empty() {
                section.problem("ptx", "\"ptx\" needs \"arch\"");
                section.hint("say what it is assembled for: arch = [\"sm_90\"]");
            } else if let Some(other) = self.arch.iter().find(|arch| !arch.starts_with("sm_")) {
                section
                    .problem("arch", format!("PTX is assembled for sm_…, not for {}", values::shown(other)));
            }
        }
        if section.has("binary") && !section.has("max-binary") {
            section.problem("binary", "\"binary\" needs \"max-binary\"");
        }
        if section.has("max-binary") && !section.has("binary") && !section.has("ptx") {
            section.problem("max-binary", "\"max-binary\" needs \"binary\", the file below $GATE_OUT");
        }
    }

    /// Whether something is judged that only a compiler's report can tell.
    pub fn needs_report(&self) -> bool {
        [self.max_registers, self.max_spills, self.max_stack, self.max_shared].iter().any(Option::is_some)
    }
}

/// A number of bytes, as an integer or as a size like `"48KiB"`.
fn bytes(section: &mut Section<'_, '_>, key: &'static str) -> Option<u64> {
    if section.value(key).is_some_and(|value| value.get_ref().as_integer().is_some()) {
        section.integer(key, 0, u32::MAX).map(u64::from)
    } else {
        section.size(key)
    }
}

/// The name of an architecture. It becomes an argument of the assembler, so nothing else fits.
fn architecture(name: &str) -> Result<String, String> {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-:+".contains(&byte);
    let known = ["sm_", "gfx"].iter().any(|prefix| name.len() > prefix.len() && name.starts_with(prefix));
    if known && name.len() <= 64 && name.bytes().all(fits) {
        return Ok(name.to_owned());
    }
    Err(format!("must be an architecture like \"sm_90\" or \"gfx942\", not {}", values::shown(name)))
}
