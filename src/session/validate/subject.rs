//! What is judged, and what is due for it.

use serde::{Deserialize, Serialize};

use super::machine::Found;
use super::{GateResult, Session};
use crate::config::{Config, Gate, GateKind, PushMode, Unavailable, glob};
use crate::git::diff;
use crate::model::canonical::sha256_hex;
use crate::model::status::Verdict;
use crate::model::{Oid, Result, command_line};
use crate::store::records::Descriptor;
use crate::validate::plan::{self, Change, Question, Rule, Version};

/// The tree without any files: what a history that never met another is compared with.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// A commit, and where it is to go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// The commit.
    pub commit: Oid,
    /// The merge base; `None` when everything counts as changed.
    #[serde(default)]
    pub base: Option<Oid>,
    /// The full name of the remote's ref, when this is a push.
    #[serde(default)]
    pub target: Option<String>,
    /// What stands there now (or on the protected branch, when [`Subject::strict`]).
    #[serde(default)]
    pub former: Option<Oid>,
    /// Only these gates, due or not; empty for all that are due.
    #[serde(default)]
    pub only: Vec<String>,
    /// Judged as on a protected ref, wherever it goes.
    #[serde(default)]
    pub strict: bool,
}

/// How a push is dealt with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PushPolicy {
    /// How strict the hook is.
    pub mode: PushMode,
    /// How long gates may run while the connection is held open.
    pub inline: std::time::Duration,
}

/// One gate to run, and on what.
#[derive(Debug, Clone)]
pub struct Job {
    /// The gate, in the version that decides.
    pub gate: Gate,
    /// The commit.
    pub commit: Oid,
    /// Its tree.
    pub tree: Oid,
    /// The commit whose configuration the gate is read from.
    pub config_from: Oid,
    /// The commit whose oracle files replace those of the tree.
    pub oracle_from: Option<Oid>,
    /// Whether the push would have it otherwise than the protected branch, whose version decides.
    pub changed: bool,
    /// Why it is due.
    pub because: String,
    /// Whether left-overs in the worktree are not allowed.
    pub fresh: bool,
    /// The gate's part of a record's descriptor.
    pub key: String,
    /// Where the commit is to go.
    pub target: Option<String>,
    /// The commit whose configuration says who may sign records; `None` leaves it to the person's own list.
    pub signers_from: Option<Oid>,
}

impl Job {
    /// A result of this job without a run.
    pub(super) fn result(&self, verdict: Verdict, reason: impl Into<String>) -> GateResult {
        GateResult {
            gate: self.gate.id.clone(),
            verdict,
            reason: reason.into(),
            because: self.because.clone(),
            device: self.gate.device.word(),
            commit: self.commit.clone(),
            tree: self.tree.clone(),
            record: None,
            cached: false,
            millis: 0,
            command: self.gate.run.clone().unwrap_or_default(),
            by_hand: self.by_hand(),
            again: self.again(),
            output: String::new(),
            details: serde_json::Value::Null,
            lines: Vec::new(),
            notes: Vec::new(),
            signed_by: None,
            deferred: false,
        }
    }

    /// The command that judges the same again. Where the protected version decides, the commit's own would not do.
    fn again(&self) -> String {
        let commit = self.commit.short();
        if self.changed {
            format!("git incident validate --range {}..{commit} --require", self.config_from.short())
        } else {
            format!("git incident validate {commit} --gate {}", self.gate.id)
        }
    }

    fn by_hand(&self) -> String {
        let command = by_hand(&self.gate);
        if !self.changed || self.gate.oracle.is_empty() || command.is_empty() {
            return command;
        }
        let from = format!("--source={}", self.config_from.short());
        let mut restore = vec!["git", "restore", &from, "--"];
        restore.extend(self.gate.oracle.iter().map(String::as_str));
        format!("{} && {command}", command_line::join(&restore))
    }

    pub(super) fn descriptor(&self, found: &Found) -> Descriptor {
        Descriptor {
            gate: self.key.clone(),
            tree: self.tree.clone(),
            device_class: found.class.clone(),
            env: found.env.clone(),
        }
    }
}

/// Preparation and command of a gate as one line for a shell; empty where there is none, or where it has lines of its
/// own (then `git incident trust` shows it).
fn by_hand(gate: &Gate) -> String {
    let Some(run) = &gate.run else {
        return String::new();
    };
    if gate.kind == GateKind::Sanitizer {
        let tools = gate.sanitizer.tools();
        let under = |tool: &&str| {
            format!("compute-sanitizer --tool {tool} {}", command_line::join(&["/bin/sh", "-c", run]))
        };
        let each = tools.iter().map(under).collect::<Vec<_>>().join("; ");
        return prepared_by_hand(gate, &each);
    }
    prepared_by_hand(gate, run)
}

fn prepared_by_hand(gate: &Gate, run: &str) -> String {
    let run = run.to_owned();
    let prepared =
        gate.prepare.as_ref().map_or_else(|| run.clone(), |first| format!("{{ {first}; }} && {{ {run}; }}"));
    if prepared.contains('\n') {
        return String::new();
    }
    format!("GATE_OUT=$(mktemp -d) {}", command_line::join(&["sh", "-c", &prepared]))
}

/// What is due for a subject.
#[derive(Debug, Clone)]
pub struct Examination {
    /// The commit.
    pub commit: Oid,
    /// How strict a push of it is.
    pub mode: PushMode,
    /// Whether the rules of protected refs hold.
    pub protected: bool,
    /// As [`Subject::strict`].
    pub strict: bool,
    /// Whether any gate is configured.
    pub configured: bool,
    /// What happens to a gate whose device is missing.
    pub unavailable: Unavailable,
    /// How long gates may run while a connection is held open.
    pub inline: std::time::Duration,
    /// The due gates.
    pub jobs: Vec<Job>,
    /// What the push does to the protected branch's gates.
    pub changes: Vec<(String, Change)>,
    /// The base, for those who walk the commits.
    pub base: Option<Oid>,
    /// What else to say.
    pub remarks: Vec<String>,
}

impl Session {
    /// Reads the configuration of a subject's commit and decides what is due.
    ///
    /// # Errors
    /// The configuration is wrong; the commit is not here.
    pub fn examine(&self, subject: &Subject) -> Result<Examination> {
        let own = self.config_at(&subject.commit)?;
        let mut remarks = Vec::new();
        let former = subject.former.as_ref().and_then(|commit| match self.config_at(commit) {
            Ok(config) => Some((commit, config)),
            Err(error) => {
                // It would refuse the very push that mends it.
                remarks.push(format!("the configuration at {} is not used: {error}", commit.short()));
                None
            }
        });
        let target = subject.target.as_deref();
        let protects = |config: &Config| target.is_some_and(|name| config.pre_push.protects(name));
        let protected =
            subject.strict || protects(&own) || former.as_ref().is_some_and(|(_, config)| protects(config));
        let former = former.filter(|_| protected);
        let mode = former
            .as_ref()
            .map_or(own.pre_push.mode, |(_, config)| stricter(own.pre_push.mode, config.pre_push.mode));
        let mut examined = Examination {
            commit: subject.commit.clone(),
            mode,
            protected,
            strict: subject.strict,
            configured: !own.gates.is_empty() || former.as_ref().is_some_and(|(_, c)| !c.gates.is_empty()),
            unavailable: own.pre_push.unavailable,
            inline: own.pre_push.inline,
            jobs: Vec::new(),
            changes: Vec::new(),
            base: subject.base.clone(),
            remarks,
        };
        if !examined.configured || (mode == PushMode::Off && target.is_some()) {
            return Ok(examined);
        }
        let changed = self.changed(subject)?;
        let own_rules = self.rules(&own, &subject.commit, &changed)?;
        let protected_rules =
            former.as_ref().map(|(commit, config)| self.rules(config, commit, &changed)).transpose()?;
        let mut question = Question {
            own: &own_rules,
            protected: protected_rules.as_deref(),
            linked_fix: false,
            only: &subject.only,
        };
        let due_without = plan::plan(question);
        let every = own_rules.len().max(protected_rules.as_ref().map_or(0, Vec::len));
        if due_without.due.len() < every && subject.only.is_empty() {
            question.linked_fix = self.has_linked_fix(subject)?;
        }
        let plan = if question.linked_fix { plan::plan(question) } else { due_without };
        let tree = self.repo.tree_of(&subject.commit)?;
        let signers_from = if protected {
            former.as_ref().map(|(commit, _)| (*commit).clone())
        } else {
            Some(subject.commit.clone())
        };
        for due in plan.due {
            let (commit, config, rules) = match (due.version, &former, &protected_rules) {
                (Version::Protected, Some((commit, config)), Some(rules)) => (*commit, config, rules),
                _ => (&subject.commit, &own, &own_rules),
            };
            let (Some(gate), Some(rule)) = (config.gate(&due.id), rules.iter().find(|r| r.id == due.id))
            else {
                continue;
            };
            examined.jobs.push(Job {
                changed: due.version == Version::Protected
                    && plan.changes.iter().any(|(id, _)| *id == due.id),
                gate: gate.clone(),
                commit: subject.commit.clone(),
                tree: tree.clone(),
                config_from: commit.clone(),
                oracle_from: (due.version == Version::Protected).then(|| commit.clone()),
                because: due.because,
                fresh: protected,
                key: format!("{}:{}", due.id, rule.digest),
                target: subject.target.clone(),
                signers_from: signers_from.clone(),
            });
        }
        examined.changes = plan.changes;
        Ok(examined)
    }

    fn changed(&self, subject: &Subject) -> Result<Vec<String>> {
        let base = subject.base.as_ref().map_or(EMPTY_TREE, Oid::as_str);
        let paths = diff::changed_paths(&self.git(), base, subject.commit.as_str())?;
        Ok(paths.iter().map(|path| path.to_string_lossy().into_owned()).collect())
    }

    fn rules(&self, config: &Config, commit: &Oid, changed: &[String]) -> Result<Vec<Rule>> {
        config
            .gates
            .iter()
            .map(|gate| {
                let globs: Vec<glob::Glob> =
                    gate.paths.iter().filter_map(|pattern| glob::Glob::new(pattern).ok()).collect();
                let touched = changed.iter().find(|path| globs.iter().any(|glob| glob.matches(path)));
                Ok(Rule {
                    id: gate.id.clone(),
                    digest: self.gate_digest(gate, commit)?,
                    always: gate.paths.is_empty(),
                    touched: touched.cloned(),
                })
            })
            .collect()
    }

    /// The gate's configuration, and the content of the files that judge with it.
    fn gate_digest(&self, gate: &Gate, commit: &Oid) -> Result<String> {
        if gate.oracle.is_empty() {
            return Ok(gate.digest());
        }
        let mut paths: Vec<&String> = gate.oracle.iter().collect();
        paths.sort_unstable();
        paths.dedup();
        let mut text = String::new();
        for path in paths {
            let content = self.repo.file_at(commit, path)?;
            let digest = content.map_or_else(|| "absent".to_owned(), |bytes| sha256_hex(&bytes));
            text.extend([digest.as_str(), " ", path.as_str(), "\n"]);
        }
        Ok(format!("{}:{}", gate.digest(), sha256_hex(text.as_bytes())))
    }

    /// How a push of a subject is dealt with: what a hook has to know before, and when judging fails.
    ///
    /// # Errors
    /// The configuration is wrong; the commit is not here.
    pub fn push_policy(&self, subject: &Subject) -> Result<PushPolicy> {
        let own = self.config_at(&subject.commit)?;
        let mut policy = PushPolicy { mode: own.pre_push.mode, inline: own.pre_push.inline };
        // A former configuration that is wrong is passed over, as in `examine`.
        if let (Some(target), Some(Ok(former))) =
            (&subject.target, subject.former.as_ref().map(|commit| self.config_at(commit)))
            && (own.pre_push.protects(target) || former.pre_push.protects(target))
        {
            policy.mode = stricter(policy.mode, former.pre_push.mode);
        }
        Ok(policy)
    }
}

/// Of two modes the stricter one.
const fn stricter(one: PushMode, other: PushMode) -> PushMode {
    match (one, other) {
        (PushMode::Enforce, _) | (_, PushMode::Enforce) => PushMode::Enforce,
        (PushMode::Warn, _) | (_, PushMode::Warn) => PushMode::Warn,
        (PushMode::Off, PushMode::Off) => PushMode::Off,
    }
}
