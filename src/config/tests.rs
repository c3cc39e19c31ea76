//! The whole file, as teams write it and as they get it wrong.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::model::Kind;

const WHOLE: &str = r#"
[pre-push]
mode = "warn"
protected = ["refs/heads/main", "refs/heads/release/*"]
unavailable = "block"
inline = "1m30s"

[records]
signers = ".allowed_signers"

[budget]
attempts = 2
minutes = 150
money = 1.00
gpu-hour = 0.68

[on-hang]
capture = ["py-spy dump --pid {pid}"]

[environment]
tools = ["nvcc", "python3"]

[blocked]
require = ["minutes", "profile"]
approaches = 3
minutes = 45

[pr]
base = "main"
labels = ["bug"]
reviewers = ["someone", "org/team"]

[evidence]
max = "5MiB"
hard-max = "20MiB"

[postmortem]
directory = "docs/pm"
profile = "incident"

[postmortem.rules]
hedging = "error"
blame = "off"

[[gate]]
id = "unit"
kind = "command"
run = "make test"
timeout = "10m"
idle = "90s"
pin = ["Makefile"]
cache = ["target"]
environment = ["gcc"]

[[gate]]
id = "v3-correctness"
kind = "compare"
device = "cuda"
gpus = 2
paths = ["kernels/**", "*.cu"]
oracle = ["bench/oracle.py"]
prepare = "make -C bench"
run = "python3 bench/oracle.py --out $GATE_OUT"
policy = "allclose"
reference = "o_ref.npy"
candidate = "o_test.npy"
atol = 1e-2
rtol = 5e-2

[[gate]]
id = "flaky"
kind = "repeat"
device = "custom:lspci | grep -q accelerator"
run = "make stress"
"#;

fn read(text: &str) -> Result<Config> {
    parse(text.as_bytes(), FILE_NAME)
}

/// What, causes and hints of a file that must be refused.
fn refused(text: &str) -> (Vec<String>, Vec<String>) {
    let error = read(text).expect_err(text);
    assert_eq!(error.kind(), Kind::Usage);
    let mut all = vec![error.what().to_owned()];
    all.extend(error.causes().iter().cloned());
    (all, error.hints().to_vec())
}

#[test]
fn every_key_arrives() {
    let config = read(WHOLE).unwrap();
    assert_eq!(config.pre_push.mode, PushMode::Warn);
    assert_eq!(config.pre_push.unavailable, Unavailable::Block);
    assert_eq!(config.pre_push.inline, Duration::from_secs(90));
    assert!(config.pre_push.protects("refs/heads/release/1.2"));
    assert!(!config.pre_push.protects("refs/heads/topic"));
    assert_eq!(config.records.signers.as_deref(), Some(".allowed_signers"));
    assert_eq!(config.budget.attempts, Some(2));
    assert_eq!(config.budget.minutes, Some(150));
    assert_eq!(config.budget.money, Some(Money { text: "1.00".into(), micros: 1_000_000 }));
    assert_eq!(config.budget.gpu_hour.as_ref().unwrap().micros, 680_000);
    assert_eq!(config.on_hang.capture, ["py-spy dump --pid {pid}"]);
    assert_eq!(config.environment.tools, ["nvcc", "python3"]);
    assert_eq!(config.blocked.require, [Requirement::Profile, Requirement::Minutes]);
    assert_eq!((config.blocked.approaches, config.blocked.minutes), (3, 45));
    assert_eq!(config.pr.base.as_deref(), Some("main"));
    assert_eq!(config.pr.labels, ["bug"]);
    assert_eq!(config.pr.reviewers, ["someone", "org/team"]);
    assert_eq!((config.evidence.max, config.evidence.hard_max), (5 << 20, 20 << 20));
    assert_eq!(config.postmortem.directory, "docs/pm");
    assert_eq!(config.postmortem.profile, Profile::Incident);
    assert_eq!(config.postmortem.rules.get("hedging"), Some(&Some(crate::model::lint::Severity::Error)));
    assert_eq!(config.postmortem.rules.get("blame"), Some(&None));
    let compare = config.gate("v3-correctness").unwrap();
    assert_eq!(compare.kind, GateKind::Compare);
    assert_eq!((compare.device.clone(), compare.gpus), (Device::Cuda, Some(2)));
    assert_eq!(compare.compare.policy, Some(Policy::Allclose));
    assert_eq!(compare.compare.rtol.as_ref().unwrap().canonical(), "5e-2");
    assert!(compare.is_due(["README.md", "deep/er/x.cu"].into_iter()));
    assert!(!compare.is_due(["README.md"].into_iter()));
    assert!(config.gate("unit").unwrap().is_due(["README.md"].into_iter()), "no paths: always");
    assert_eq!(config.gate("flaky").unwrap().repetitions(), 5);
    assert_eq!(config.gate("unit").unwrap().repetitions(), 1);
    assert_eq!(
        config.commands(),
        [
            "make test",
            "make -C bench",
            "python3 bench/oracle.py --out $GATE_OUT",
            "lspci | grep -q accelerator",
            "make stress",
            "py-spy dump --pid {pid}",
        ]
    );
}

#[test]
fn an_empty_file_is_the_default() {
    let config = read("").unwrap();
    assert_eq!(config, Config::default());
    assert!(config.pre_push.protects("refs/heads/main"));
    assert_eq!(config.evidence.max, 10 << 20);
    assert_eq!(read("\u{feff}# only a comment\r\n").unwrap(), config);
}

#[test]
fn unknown_keys_are_located_with_a_suggestion() {
    let (all, hints) = refused("[pre-push]\nmode = \"warn\"\nprotcted = []\n");
    assert_eq!(all, [".git-incident.toml:3:1: unknown key \"protcted\" in [pre-push]"]);
    assert_eq!(hints, ["did you mean \"protected\"?"]);
    let (all, hints) = refused("[pre_push]\n");
    assert_eq!(all, [".git-incident.toml:1:2: unknown key \"pre_push\" in the file"]);
    assert_eq!(hints, ["did you mean \"pre-push\"?"]);
    for kind in KINDS_IN_TESTS {
        let (all, _) = refused(&format!(
            "[[gate]]\nid = \"a\"\nkind = \"{kind}\"\nrun = \"x\"\nreference = \"r\"\ncandidate = \"c\"\nbogus = 1\n"
        ));
        assert!(
            all.iter().any(|line| line.contains(":7:1: unknown key \"bogus\" in [[gate]]")),
            "{kind}: {all:?}"
        );
    }
}

const KINDS_IN_TESTS: [&str; 7] = ["command", "repeat", "compare", "kernel", "sanitizer", "build", "perf"];

#[test]
fn all_problems_are_listed_in_the_order_of_the_file() {
    let (all, hints) =
        refused("budget = { attempts = 0, monney = 1 }\n[records]\nsigners = 7\n[[gate]]\nid = \"A\"\n");
    assert_eq!(
        all,
        [
            ".git-incident.toml:1:23: \"attempts\" in [budget] must be between 1 and 10000, not 0",
            ".git-incident.toml:1:26: unknown key \"monney\" in [budget]",
            ".git-incident.toml:3:11: \"signers\" in [records] must be a string, not an integer",
            ".git-incident.toml:4:1: a gate without \"kind\"",
            ".git-incident.toml:5:6: \"id\" in [[gate]] must be a short name like \"v3-correctness\", not \"A\"",
        ]
    );
    assert_eq!(hints[0], "did you mean \"money\"?");
}

#[test]
fn each_mistake_is_named() {
    let gate = |rest: &str| format!("[[gate]]\nid = \"a\"\nkind = \"command\"\nrun = \"x\"\n{rest}\n");
    let build = |rest: &str| gate(rest).replace("\"command\"", "\"build\"");
    let sanitizer = |rest: &str| gate(rest).replace("\"command\"", "\"sanitizer\"");
    let cases = [
        (
            "[pre-push]\nmode = \"enforced\"".to_owned(),
            ":2:8: \"mode\" in [pre-push] must be one of enforce, warn, off",
        ),
        ("[pre-push]\nprotected = [\"main\"]".into(), "must be a full ref name"),
        (
            "[pre-push]\nprotected = [1]".into(),
            ":2:14: \"protected\" in [pre-push] must be an array of strings",
        ),
        ("[pre-push]\ninline = 60".into(), "must be a string, not an integer"),
        ("[pre-push]\ninline = \"60\"".into(), "must be a duration"),
        ("pre-push = 1".into(), "must be a table, not an integer"),
        ("[budget]\nmoney = \"1\"".into(), "must be a decimal number, not a string"),
        ("[budget]\nmoney = -1.0".into(), "must not be negative"),
        ("[budget]\nmoney = inf".into(), "must be a finite decimal number"),
        ("[budget]\nmoney = 0.0000001".into(), "at most 6 decimal places"),
        ("[budget]\nattempts = 1.5".into(), "must be an integer, not a decimal number"),
        ("[budget]\nattempts = 99999999999999999999".into(), "must be between"),
        ("[records]\nsigners = \"../x\"".into(), "must stay inside the repository"),
        ("[postmortem.rules]\nhegding = \"off\"".into(), "unknown key \"hegding\" in [postmortem.rules]"),
        ("[postmortem.rules]\nblame = \"loud\"".into(), "must be one of off, note, warning, error"),
        ("[postmortem]\ndirectory = \"/tmp\"".into(), "must be relative to the root"),
        ("[evidence]\nhard-max = \"51MiB\"".into(), "must not be more than 50MiB"),
        ("[evidence]\nmax = \"2MiB\"\nhard-max = \"1MiB\"".into(), ":2:7: \"max\""),
        ("[environment]\ntools = [\"/bin/sh\"]".into(), "must be the name of a program"),
        ("[blocked]\nrequire = [\"profiles\"]".into(), "(did you mean \"profile\"?)"),
        ("[pr]\nbase = \"--upload-pack=x\"".into(), "must be the name of a branch"),
        ("[gate]\nid = \"a\"".into(), "must be an array of tables"),
        ("gate = [1]".into(), "a gate must be a table"),
        (gate("paths = [\"[a\"]"), "has an unclosed ["),
        (gate("paths = [\"../**\"]"), "must stay inside"),
        (gate("oracle = [\"/etc/passwd\"]"), "must be relative"),
        (gate("timeout = \"0s\""), "must be longer than nothing"),
        (gate("atol = 1e-2"), ":5:1: \"atol\" has no meaning for a gate of kind \"command\""),
        (gate("repeat = 3"), "has no meaning"),
        (gate("gpus = 1"), "needs a device that is a GPU"),
        (gate("device = \"tpu\""), "must be any, cpu, cuda, hip, emulated or custom:"),
        (gate("device = \"custom: \""), "must be any, cpu, cuda, hip, emulated or custom:"),
        (gate("max-spills = 0"), ":5:1: \"max-spills\" has no meaning for a gate of kind \"command\""),
        (gate("tools = [\"memcheck\"]"), ":5:1: \"tools\" has no meaning for a gate of kind \"command\""),
        (build(""), ":3:8: a gate of kind \"build\" without a limit checks nothing"),
        (build("max-spills = -1"), "must be between 0 and"),
        (build("max-shared = \"48 KiB\""), "must be a size"),
        (build("max-registers = 0"), "must be between 1 and 1024"),
        (build("max-spills = 0\nptx = \"k.ptx\""), ":6:7: \"ptx\" needs \"arch\""),
        (build("max-spills = 0\nptx = \"k.ptx\"\narch = [\"gfx942\"]"), "PTX is assembled for sm_"),
        (build("max-spills = 0\narch = [\"sm_90 -o x\"]"), "must be an architecture"),
        (
            build("max-spills = 0\nptx = \"k.ptx\"\nlog = \"l\"\narch = [\"sm_90\"]"),
            ":7:1: \"log\" and \"ptx\"",
        ),
        (build("max-spills = 0\nlog = \"../l\""), "must stay inside"),
        (build("max-binary = \"1MiB\""), "\"max-binary\" needs \"binary\""),
        (build("max-spills = 0\nbinary = \"k.o\""), "\"binary\" needs \"max-binary\""),
        (sanitizer("tools = [\"leakcheck\"]"), "must be one of memcheck, racecheck, initcheck, synccheck"),
        (sanitizer("tools = []"), "nothing would be checked"),
        (gate("run = \"y\""), "duplicate key"),
        ("[[gate]]\nid = \"a\"\nkind = \"command\"".into(), ":1:1: a gate of kind \"command\" needs \"run\""),
        (
            "[[gate]]\nid = \"a\"\nkind = \"compare\"\nrun = \"x\"\nreference = \"r\"".into(),
            "needs \"candidate\"",
        ),
        ("[[gate]]\nkind = \"command\"\nrun = \"x\"".into(), "a gate without \"id\""),
        (format!("{}{}", gate(""), gate("")), ":7:6: a gate with id \"a\" is there already"),
        ("x = ".into(), ".git-incident.toml:1:"),
    ];
    for (text, expected) in cases {
        let (all, _) = refused(&text);
        assert!(all.iter().any(|line| line.contains(expected)), "{text}\n{all:?} lacks {expected}");
    }
}

#[test]
fn what_is_no_text_is_located() {
    let error = parse(b"[pr]\nbase = \"\xff\"\n", "conf").unwrap_err();
    assert_eq!(error.what(), "conf:2:9: the file is not valid UTF-8");
    let large = "# comment\n".repeat(MAX_BYTES / 10 + 1);
    let error = parse(large.as_bytes(), "conf").unwrap_err();
    assert!(error.what().starts_with("conf:104858:7: the file is larger than 1 MiB"), "{}", error.what());
    let nested = format!("a = {}", "[".repeat(100_000));
    assert!(read(&nested).is_err());
    let junk = "=\n".repeat(10_000);
    let (all, _) = refused(&junk);
    assert!(all.len() <= 51 && all.last().unwrap().starts_with("and "));
}

#[test]
fn columns_count_characters() {
    let (all, _) = refused("pr = { base = \"größe\", bas = 1 }");
    assert!(all[0].contains(":1:24: unknown key \"bas\""), "{all:?}");
}

#[test]
fn a_digest_follows_values_not_spelling() {
    let digest = |text: &str| read(text).unwrap().gates[0].digest();
    let one = "[[gate]]\nid='a'\nkind='compare'\nrun='x'\nreference='r'\ncandidate='c'\natol=1e-2\npaths=['a','b']\ntimeout='1m'\n";
    let same = "[[gate]]\n# another order\ntimeout=\"60s\"\npaths=[\n 'b', 'a', 'b' ]\natol=0.010\ncandidate='c'\nreference='r'\nrun='x'\nkind='compare'\ndevice='any'\nid='a'\n";
    assert_eq!(digest(one), digest(same));
    assert_eq!(digest(one).len(), 64);
    for (from, to) in [
        ("1e-2", "1e-3"),
        ("'x'", "'y'"),
        ("'b'", "'d'"),
        ("1m", "61s"),
        ("'c'", "'e'"),
        ("id='a'", "id='z'"),
    ] {
        assert_ne!(digest(one), digest(&one.replace(from, to)), "{from} {to}");
    }
    let gate = &read("[[gate]]\nid='u'\nkind='command'\nrun='make \"t\"'\n").unwrap().gates[0];
    assert_eq!(
        gate.canonical(),
        r#"{"device":"any","id":"u","kind":"command","repeat":1,"run":"make \"t\""}"#
    );
}

proptest! {
    #[test]
    fn never_panics_on_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse(&bytes, FILE_NAME);
    }

    #[test]
    fn never_panics_on_what_looks_like_toml(text in "(\\[\\[?(gate|budget|pr)\\]?\\]\n|(id|kind|run|money|paths) ?= ?(1|-0.5e3|'ä'|\"[a-c\\\\]{0,3}\"|\\[.{0,4}\\])\n|[\\[\\]{}=\"'.#\n ä]){0,12}") {
        let _ = parse(text.as_bytes(), FILE_NAME);
    }

    #[test]
    fn damage_to_a_whole_file_never_panics(at in 0..WHOLE.len(), byte in any::<u8>()) {
        let mut bytes = WHOLE.as_bytes().to_vec();
        bytes[at] = byte;
        let _ = parse(&bytes, FILE_NAME);
        let _ = parse(&bytes[..at], FILE_NAME);
    }

    #[test]
    fn comments_and_spacing_change_nothing(noise in prop::collection::vec(("[ \t]{0,3}", "(| # [a-zä\\[\\]=\"]{0,8})", "(\n|\r\n|\n\n|\n# x\n)"), 80)) {
        let mut noisy = String::new();
        for (line, (before, comment, end)) in WHOLE.lines().zip(noise.iter().cycle()) {
            noisy.extend([before, line, comment, end]);
        }
        prop_assert_eq!(read(&noisy).unwrap(), read(WHOLE).unwrap());
    }
}
