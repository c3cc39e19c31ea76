//! `[[gate]]`: one check that a commit must pass.
//!
//! The keys that every kind has are read here; those of one kind in its own file: its struct, `KEYS`, how they
//! are read, written canonically and checked.

use std::time::Duration;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::glob;
use super::section::Section;
use super::values;

pub mod build;
pub mod compare;
pub mod device;
pub mod kernel;
pub mod sanitizer;

pub use build::Build;
pub use compare::{Compare, Policy};
pub use device::Device;
pub use kernel::Kernel;
pub use sanitizer::Sanitizer;

/// What a gate does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GateKind {
    /// Runs a command once; its exit status decides.
    Command,
    /// Runs a command several times; every run must pass.
    Repeat,
    /// Compares tensors that a command wrote.
    Compare,
    /// Compares a kernel with its reference.
    Kernel,
    /// Runs a command under a sanitizer.
    Sanitizer,
    /// Builds.
    Build,
    /// Compares measured times.
    Perf,
}

/// Every kind with its word in the file.
const KINDS: [(&str, GateKind); 7] = [
    ("command", GateKind::Command),
    ("repeat", GateKind::Repeat),
    ("compare", GateKind::Compare),
    ("kernel", GateKind::Kernel),
    ("sanitizer", GateKind::Sanitizer),
    ("build", GateKind::Build),
    ("perf", GateKind::Perf),
];

impl GateKind {
    /// The word in the file.
    pub fn word(self) -> &'static str {
        KINDS.iter().find(|(_, kind)| *kind == self).map_or("command", |(word, _)| word)
    }

    const fn compares(self) -> bool {
        matches!(self, Self::Compare | Self::Kernel | Self::Perf)
    }

    const fn repeats(self) -> bool {
        matches!(self, Self::Repeat | Self::Perf)
    }
}

/// How often a gate of kind `repeat` runs when it does not say.
pub const DEFAULT_REPEAT: u32 = 5;

/// One gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// `id`: unique, of `[a-z0-9][a-z0-9._-]*`.
    pub id: String,
    /// `kind`.
    pub kind: GateKind,
    /// `device`, by default any.
    pub device: Device,
    /// `paths`: globs; the gate is due when one matches a changed path. Empty: always due.
    pub paths: Vec<String>,
    /// `oracle`: files judged in the protected branch's version.
    pub oracle: Vec<String>,
    /// `pin`: files whose content is part of what `trust` approves.
    pub pin: Vec<String>,
    /// `prepare`: a shell command that comes first.
    pub prepare: Option<String>,
    /// `run`: the shell command.
    pub run: Option<String>,
    /// What kinds that compare have beside that.
    pub compare: Compare,
    /// What a `build` gate has beside that.
    pub build: Build,
    /// What a `kernel` gate has beside that.
    pub kernel: Kernel,
    /// What a `sanitizer` gate has beside that.
    pub sanitizer: Sanitizer,
    /// `cache`: paths that cleaning the worktree leaves alone.
    pub cache: Vec<String>,
    /// `timeout` of one run.
    pub timeout: Option<Duration>,
    /// `idle`: how long a run may be silent.
    pub idle: Option<Duration>,
    /// `repeat`: how many runs, for kinds that repeat.
    pub repeat: Option<u32>,
    /// `environment`: tools whose versions are part of a record's key.
    pub environment: Vec<String>,
    /// `gpus`: how many the gate needs.
    pub gpus: Option<u32>,
}

impl Gate {
    /// Is it due for a change of these paths?
    pub fn is_due<'a>(&self, mut changed: impl Iterator<Item = &'a str>) -> bool {
        let globs: Vec<glob::Glob> =
            self.paths.iter().filter_map(|pattern| glob::Glob::new(pattern).ok()).collect();
        self.paths.is_empty() || changed.any(|path| globs.iter().any(|glob| glob.matches(path)))
    }

    /// How often it runs.
    pub fn repetitions(&self) -> u32 {
        self.repeat.unwrap_or(if self.kind == GateKind::Repeat { DEFAULT_REPEAT } else { 1 })
    }

    /// The commands it can make us run, in the order they run.
    pub fn commands(&self) -> impl Iterator<Item = &str> {
        let probe = match &self.device {
            Device::Custom(probe) => Some(probe.as_str()),
            _ => None,
        };
        probe
            .into_iter()
            .chain(self.prepare.as_deref())
            .chain(self.run.as_deref())
            .chain(self.kernel.command())
    }

    /// What [`Gate::digest`] is taken over: one line of JSON with sorted keys and no spaces.
    ///
    /// Keys are those of the file, and only those that are set; `kind`, `device` and `repeat` are always
    /// written, defaults included. Lists are sets to a gate, so they are sorted without duplicates;
    /// durations are whole milliseconds; decimals are strings in [`crate::config::Decimal::canonical`] form. Order,
    /// spacing, comments and spelling of numbers in the file make no difference; every value does.
    pub fn canonical(&self) -> String {
        let mut map = Map::new();
        map.insert("id".into(), json!(self.id));
        map.insert("kind".into(), json!(self.kind.word()));
        map.insert("device".into(), json!(self.device.word()));
        map.insert("repeat".into(), json!(self.repetitions()));
        for (key, list) in [
            ("paths", &self.paths),
            ("oracle", &self.oracle),
            ("pin", &self.pin),
            ("cache", &self.cache),
            ("environment", &self.environment),
        ] {
            let set: std::collections::BTreeSet<&String> = list.iter().collect();
            if !set.is_empty() {
                map.insert(key.into(), json!(set));
            }
        }
        let millis =
            |duration: &Option<Duration>| duration.map(|duration| json!(duration.as_millis() as u64));
        let text = |text: &Option<String>| text.as_ref().map(|text| json!(text));
        let single = [
            ("prepare", text(&self.prepare)),
            ("run", text(&self.run)),
            ("timeout", millis(&self.timeout)),
            ("idle", millis(&self.idle)),
            ("gpus", self.gpus.map(|gpus| json!(gpus))),
        ];
        for (key, value) in single {
            if let Some(value) = value {
                map.insert(key.into(), value);
            }
        }
        self.compare.canonical(&mut map);
        self.build.canonical(&mut map);
        self.kernel.canonical(&mut map);
        self.sanitizer.canonical(&mut map);
        // Sorted here, whatever order the map keeps: a feature of a dependency must not move digests.
        let mut entries: Vec<(String, Value)> = map.into_iter().collect();
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        let members: Vec<String> =
            entries.iter().map(|(key, value)| format!("{}:{value}", json!(key))).collect();
        format!("{{{}}}", members.join(","))
    }

    /// Which check this is: the SHA-256, in hex, of `git-incident gate v1`, a newline and
    /// [`Gate::canonical`].
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(b"git-incident gate v1\n");
        hash.update(self.canonical().as_bytes());
        hash.finalize().iter().fold(String::with_capacity(64), |hex, byte| hex + &format!("{byte:02x}"))
    }
}

pub(super) fn read(mut section: Section<'_, '_>) -> Option<Gate> {
    let id = read_id(&mut section);
    if !section.has("kind") {
        section.problem("kind", "a gate without \"kind\"");
        section.hint("write kind = \"command\" for a check that one command decides");
    }
    let kind = section.choice("kind", &KINDS);
    let device = device::read(&mut section);
    let mut gate = Gate {
        id: id.clone().unwrap_or_default(),
        kind: kind.unwrap_or(GateKind::Command),
        device,
        paths: section.list("paths", values::glob).unwrap_or_default(),
        oracle: section.list("oracle", values::path).unwrap_or_default(),
        pin: section.list("pin", values::path).unwrap_or_default(),
        prepare: section.string("prepare"),
        run: section.string("run"),
        compare: Compare::read(&mut section, kind),
        build: Build::read(&mut section),
        kernel: Kernel::read(&mut section, kind == Some(GateKind::Kernel)),
        sanitizer: Sanitizer::read(&mut section),
        cache: section.list("cache", values::path).unwrap_or_default(),
        timeout: section.duration("timeout"),
        idle: section.duration("idle"),
        repeat: section.integer("repeat", 1, 10_000),
        environment: section.list("environment", values::tool).unwrap_or_default(),
        gpus: section.integer("gpus", 1, 1024),
    };
    if kind == Some(GateKind::Kernel) {
        // A launch that never ends must end, and what says what is right is not for the pushed commit to say.
        gate.timeout = gate.timeout.or(Some(kernel::DEFAULT_TIMEOUT));
        gate.oracle.extend(gate.kernel.oracle());
    }
    if kind.is_some() {
        check_kind(&gate, &mut section);
    }
    section.finish();
    id.and(kind).map(|_| gate)
}

fn read_id(section: &mut Section<'_, '_>) -> Option<String> {
    if !section.has("id") {
        section.problem("id", "a gate without \"id\"");
        section.hint("give it a short name of a-z, 0-9, dot, underscore and dash");
    }
    let id = section.string("id")?;
    let starts = id.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    if starts && id.len() <= 64 && id.bytes().all(fits) {
        return Some(id);
    }
    let shown = values::shown(&id);
    section.problem(
        "id",
        format!("\"id\" in [[gate]] must be a short name like \"v3-correctness\", not {shown}"),
    );
    section.hint("use a-z, 0-9, dot, underscore and dash, at most 64, beginning with a letter or digit");
    None
}

/// What the kind needs, and what it cannot use: a key without effect would be a check that is not made.
fn check_kind(gate: &Gate, section: &mut Section<'_, '_>) {
    let kind = gate.kind;
    let word = kind.word();
    let lacks_command = match kind {
        GateKind::Build => !section.has("run") && !section.has("prepare"),
        GateKind::Kernel => false,
        _ => !section.has("run"),
    };
    if lacks_command {
        section.problem("run", format!("a gate of kind \"{word}\" needs \"run\""));
        section.hint("write run = \"…\", the command that decides");
    }
    let lists: [(&[&'static str], bool); 7] = [
        (compare::TOLERANCES, kind.compares()),
        (compare::FILES, matches!(kind, GateKind::Compare | GateKind::Perf)),
        (build::KEYS, kind == GateKind::Build),
        (kernel::KEYS, kind == GateKind::Kernel),
        (sanitizer::KEYS, kind == GateKind::Sanitizer),
        (&["repeat"], kind.repeats()),
        (&["run"], kind != GateKind::Kernel),
    ];
    // Kinds may share a word: a key is useless only where no list of this kind has it.
    let useful = |key: &str| lists.iter().any(|(keys, used)| *used && keys.contains(&key));
    for key in lists.iter().flat_map(|(keys, _)| keys.iter().copied()) {
        if section.has(key) && !useful(key) {
            section.problem_at_key(key, format!("\"{key}\" has no meaning for a gate of kind \"{word}\""));
            if key == "case" && kind == GateKind::Compare {
                section.hint("did you mean \"cases\"?");
            }
        }
    }
    match kind {
        GateKind::Compare | GateKind::Perf => gate.compare.check(gate, section),
        GateKind::Kernel => {
            gate.compare.check(gate, section);
            gate.kernel.check(section);
            if !matches!(gate.device, Device::Cuda | Device::Emulated) {
                section
                    .problem("device", "a gate of kind \"kernel\" needs device = \"cuda\" or \"emulated\"");
            }
            if gate.compare.policy == Some(Policy::Baseline) {
                section.problem(
                    "policy",
                    "a gate of kind \"kernel\" has no baseline: policy is allclose or bitwise",
                );
            }
        }
        GateKind::Build => gate.build.check(section),
        GateKind::Sanitizer => gate.sanitizer.check(section),
        GateKind::Command | GateKind::Repeat => {}
    }
    if gate.gpus.is_some() && matches!(gate.device, Device::Any | Device::Cpu) {
        section.problem_at_key("gpus", "\"gpus\" needs a device that is a GPU");
        section.hint("add device = \"cuda\" or \"hip\"");
    }
}
