//! Gates on GPUs: what is seen of their use, who has the device, what is said of it. The driver is
//! `tests/fakes/nvml.c`, which says what its files say: that proves our side, and nothing of real hardware.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use common::gates::with_gates;
use common::{Ran, Repo, finish};

/// The folder with the stand-in for NVIDIA's library.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fake-nvml");
        std::fs::create_dir_all(&folder).expect("a folder");
        let own = folder.join(format!("{}.so", std::process::id()));
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fakes/nvml.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-o"]).arg(&own).arg(source);
        let said = finish(compiler.output());
        assert_eq!(said.status, 0, "cc does not compile tests/fakes/nvml.c:\n{}", said.stderr);
        std::fs::rename(&own, folder.join("libnvidia-ml.so.1")).expect("the library takes its place");
        folder
    })
}

/// A repository on a machine with these GPUs (`uuid|name|major|minor[|mig]`), with this gate.
struct Machine {
    repo: Repo,
}

const ONE: &str = "GPU-aaaaaaaa|NVIDIA Example 9000|9|0\n";

/// A command that is on the device while it runs.
const WORKS: &str =
    "echo $$ > $FAKE_NVML/$CUDA_VISIBLE_DEVICES.pids; sleep 0.4; rm $FAKE_NVML/$CUDA_VISIBLE_DEVICES.pids";

impl Machine {
    fn new(gpus: &str, gates: &str) -> Self {
        let (repo, _) = with_gates("");
        let machine = Self { repo };
        std::fs::create_dir(machine.folder()).expect("a folder");
        machine.says("gpus", gpus);
        machine.gates(gates);
        machine
    }

    fn folder(&self) -> PathBuf {
        self.repo.root().join("gpus")
    }

    /// What the driver says from now on.
    fn says(&self, file: &str, text: &str) {
        std::fs::write(self.folder().join(file), text).expect("written");
    }

    fn gates(&self, gates: &str) {
        self.repo.write(".git-incident.toml", gates);
        self.repo.commit("Gates");
        self.repo.incident(&["trust", "--yes"]).expect(0);
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.repo.command("git");
        command.args(arguments).env("LD_LIBRARY_PATH", library()).env("FAKE_NVML", self.folder());
        command
    }

    fn git(&self, arguments: &[&str]) -> Ran {
        finish(self.command(arguments).output())
    }

    fn judged(&self) -> (serde_json::Value, Ran) {
        let ran = self.git(&["incident", "--json", "validate"]);
        (ran.json()["records"][0].clone(), ran)
    }

    /// What the newest record holds of the GPU.
    fn recorded(&self, key: &serde_json::Value) -> serde_json::Value {
        let note = self.repo.git(&["notes", "--ref=incidents", "show", key.as_str().expect("a record")]);
        let lines = note.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let newest =
            lines.filter(|line| line["verdict"].is_string()).max_by_key(|line| line["at"].to_string());
        newest.expect("a record")
    }
}

fn gate(keys: &str, run: &str) -> String {
    format!("[[gate]]\nid = \"gpu\"\nkind = \"command\"\ndevice = \"cuda\"\n{keys}\nrun = '''\n{run}\n'''\n")
}

#[test]
fn a_gate_that_was_seen_on_the_device_passes_and_says_what_it_saw() {
    let machine = Machine::new(ONE, &gate("", &format!("test $GATE_RANKS = 1 && {WORKS}")));
    let (view, ran) = machine.judged();
    assert_eq!(view["verdict"], "pass", "{view}\n{}", ran.stderr);
    assert_eq!(view["device"], "nvidia/sm_90/NVIDIA Example 9000/1");
    let record = machine.recorded(&view["record"]);
    let gpu = &record["gpu"];
    assert_eq!(
        (&gpu["observed"], &gpu["driver"], &gpu["cuda"]),
        (&"process".into(), &"570.10.07".into(), &"12.8".into())
    );
    assert_eq!(
        (&gpu["complete"], &gpu["shared"], &gpu["times_valid"]),
        (&true.into(), &false.into(), &true.into()),
        "{gpu}"
    );
    let device = &gpu["devices"][0];
    for member in ["uuid", "name", "arch", "ecc", "mig", "persistence", "before", "after", "throttle"] {
        assert!(!device[member].is_null(), "{member} in {device}");
    }
    assert_eq!((&device["before"]["sm_mhz"], &device["after"]["memory_mhz"]), (&1980.into(), &2619.into()));
    assert!(record["commands"][0].as_str().is_some_and(|command| command.contains("GATE_RANKS")));
    // And it is found again.
    assert_eq!(machine.judged().0["cached"], true);
}

#[test]
fn a_gate_that_stays_off_the_device_is_inconclusive_whatever_it_claims() {
    let machine = Machine::new(ONE, &gate("", "true"));
    let (view, ran) = machine.judged();
    assert_eq!((ran.status, &view["verdict"]), (5, &"inconclusive".into()), "{view}");
    assert!(
        view["reason"].as_str().is_some_and(|r| r.starts_with("no GPU use observed on GPU-aaaaaaaa")),
        "{view}"
    );
    // Its own report alone is no proof, nor is another's process that was there before.
    let report = r#"echo '{"pid":1,"uuid":"aaaaaaaa","name":"NVIDIA Example 9000","backend":"cuda"}' > $GATE_OUT/git-incident-device.json"#;
    machine.says("GPU-aaaaaaaa.pids", &format!("{}\n", std::process::id()));
    machine.gates(&gate("", report));
    let (view, ran) = machine.judged();
    assert_eq!(view["verdict"], "inconclusive", "{view}");
    assert!(ran.json()["records"][0]["notes"].to_string().contains("shared with 1 other"), "{view}");
    // With the memory that it took, it is.
    std::fs::remove_file(machine.folder().join("GPU-aaaaaaaa.pids")).expect("removed");
    let memory =
        "echo 900000000 > $FAKE_NVML/GPU-aaaaaaaa.memory; sleep 0.3; rm $FAKE_NVML/GPU-aaaaaaaa.memory";
    machine.gates(&gate("", &format!("{report}; {memory}")));
    let (view, _) = machine.judged();
    assert_eq!(view["verdict"], "pass", "{view}");
    assert!(view["notes"].to_string().contains("reported by the gate's helper"), "{view}");
    // Without the report nobody knows whose memory it was.
    machine.gates(&gate("", memory));
    let (view, _) = machine.judged();
    assert!(view["reason"].as_str().is_some_and(|r| r.contains("Python helper")), "{view}");
}

#[test]
fn throttling_errors_and_company_are_said_whatever_the_verdict() {
    let machine = Machine::new(
        ONE,
        &gate(
            "",
            &format!(
                "echo 72 > $FAKE_NVML/GPU-aaaaaaaa.throttle; echo 2 > $FAKE_NVML/GPU-aaaaaaaa.errors; {WORKS}"
            ),
        ),
    );
    machine.says("GPU-aaaaaaaa.throttle", "4");
    let ran = machine.git(&["incident", "validate"]).expect(0);
    ran.says("hardware slowdown, hardware thermal slowdown, power cap")
        .says("times measured on it say nothing")
        .says("2 memory error(s)");
    let (view, _) = machine.judged();
    assert_eq!(view["cached"], true, "{view}");
    assert!(view["notes"].to_string().contains("hardware thermal slowdown"), "{view}");
    let gpu = &machine.recorded(&view["record"])["gpu"];
    assert_eq!((&gpu["times_valid"], &gpu["devices"][0]["throttle"]), (&false.into(), &76.into()));
}

#[test]
fn two_runs_take_turns_on_a_device_and_the_second_says_whom_it_waits_for() {
    let log = "echo begin >> $FAKE_NVML/log; sleep 0.6; echo end >> $FAKE_NVML/log";
    let machine = Machine::new(ONE, &gate("", &format!("{log}; {WORKS}")));
    // Another repository of the same person on the same machine.
    let other = machine.repo.root().join("other");
    machine.repo.git(&[
        "clone",
        "-q",
        &machine.repo.path().display().to_string(),
        &other.display().to_string(),
    ]);
    let place = other.display().to_string();
    machine.git(&["-C", &place, "incident", "trust", "--yes"]).expect(0);
    let first = machine
        .command(&["incident", "validate"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    let mut first = first.expect("it starts");
    while !machine.folder().join("log").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let second = machine.git(&["-C", &place, "incident", "validate"]);
    assert!(first.wait().expect("it ends").success());
    second.expect(0).says("waits for a GPU: gate gpu on");
    assert_eq!(
        std::fs::read_to_string(machine.folder().join("log")).expect("a log"),
        "begin\nend\nbegin\nend\n"
    );
}

#[test]
fn a_push_does_not_wait_long_for_a_device_that_others_have() {
    let machine = Machine::new(ONE, &format!("[pre-push]\ninline = \"1s\"\n{}", gate("", WORKS)));
    let folder = machine.repo.root().join("cache/git-incident/gpus");
    std::fs::create_dir_all(&folder).expect("a folder");
    let lock = folder.join("GPU-aaaaaaaa.lock");
    std::fs::write(&lock, "gate other on 0123 (process 1)").expect("written");
    let mut holder = machine
        .repo
        .command("flock")
        .arg("--no-fork")
        .arg(&lock)
        .args(["sleep", "1000"])
        .spawn()
        .expect("flock");
    while machine.repo.run("flock", &["-n", &lock.display().to_string(), "true"]).status == 0 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let pushed = machine.git(&["push", "origin", "topic"]);
    holder.kill().expect("ended");
    holder.wait().expect("waited for");
    assert_ne!(pushed.status, 0);
    pushed.says("waits for a GPU: gate other on 0123").says("git incident validate --wait && git push");
    machine.git(&["incident", "validate", "--wait"]).expect(0);
    machine.git(&["push", "-q", "origin", "topic"]).expect(0);
}

#[test]
fn free_devices_come_first_and_the_persons_choice_is_kept() {
    let three = "GPU-aaaaaaaa|NVIDIA A|8|0\nGPU-bbbbbbbb|NVIDIA A|8|0\nGPU-cccccccc|NVIDIA A|8|0\n";
    let run = "echo $CUDA_VISIBLE_DEVICES $GATE_RANKS > $FAKE_NVML/given; for d in $(echo $CUDA_VISIBLE_DEVICES | tr , ' '); do echo $$ > $FAKE_NVML/$d.pids; done; sleep 0.3";
    let machine = Machine::new(three, &gate("gpus = 2", run));
    machine.says("GPU-aaaaaaaa.pids", "1\n");
    let (view, ran) = machine.judged();
    assert_eq!(view["verdict"], "pass", "{view}\n{}", ran.stderr);
    let given = || std::fs::read_to_string(machine.folder().join("given")).expect("given");
    assert_eq!(given(), "GPU-bbbbbbbb,GPU-cccccccc 2\n");
    assert_eq!(view["device"], "nvidia/sm_80/NVIDIA A/2");
    for file in ["GPU-bbbbbbbb.pids", "GPU-cccccccc.pids"] {
        std::fs::remove_file(machine.folder().join(file)).expect("removed");
    }
    // What the person hid stays hidden: too few are left.
    let mut command = machine.command(&["incident", "--json", "validate", "--gate", "gpu"]);
    machine.repo.write("a.txt", "two\n");
    machine.repo.commit("Two");
    let ran = finish(command.env("CUDA_VISIBLE_DEVICES", "2,GPU-aa").output());
    assert_eq!(ran.json()["records"][0]["verdict"], "pass", "{}", ran.stderr);
    assert_eq!(given(), "GPU-aaaaaaaa,GPU-cccccccc 2\n");
    let ran = finish(
        machine.command(&["incident", "--json", "validate"]).env("CUDA_VISIBLE_DEVICES", "1").output(),
    );
    let view = &ran.json()["records"][0];
    assert!(
        view["reason"].as_str().is_some_and(|r| r.contains("2 nvidia GPUs needed, 1 found"))
            || view["cached"] == true,
        "{view}"
    );
}

#[test]
fn an_instance_of_a_divided_gpu_is_a_device_of_its_own() {
    let machine = Machine::new("GPU-aaaaaaaa|NVIDIA A|8|0|MIG-11111111\n", &gate("", WORKS));
    let (view, ran) = machine.judged();
    assert_eq!(view["verdict"], "pass", "{view}\n{}", ran.stderr);
    assert_eq!(view["device"], "nvidia/sm_80/NVIDIA A MIG 1g.5gb/1");
    let device = &machine.recorded(&view["record"])["gpu"]["devices"][0];
    assert_eq!(
        (&device["uuid"], &device["parent"], &device["mig"]),
        (&"MIG-11111111".into(), &"GPU-aaaaaaaa".into(), &true.into()),
        "{device}"
    );
    assert_eq!(device["before"]["sm_mhz"], 1980);
}

#[test]
fn a_device_that_does_not_answer_after_a_hang_ends_the_rest() {
    let two = gate("timeout = \"500ms\"", "touch $FAKE_NVML/GPU-aaaaaaaa.lost; sleep 1000")
        + &gate("", WORKS).replace("\"gpu\"", "\"second\"");
    let machine = Machine::new(ONE, &two);
    let ran = machine.git(&["incident", "--json", "validate"]);
    let records = ran.json()["records"].clone();
    assert_eq!(
        (&records[0]["verdict"], &records[1]["verdict"]),
        (&"fail".into(), &"not-run".into()),
        "{records}"
    );
    assert!(records[0]["reason"].as_str().is_some_and(|r| r.starts_with("hang")), "{records}");
    assert!(
        records[1]["reason"].as_str().is_some_and(|r| r.contains("not healthy after a hang")),
        "{records}"
    );
}

#[test]
fn a_probe_of_ones_own_is_asked_again_after_a_hang() {
    let (repo, _) = with_gates("");
    let board = repo.root().join("board").display().to_string();
    let device = format!("device = \"custom:test -e {board}\"");
    repo.write(
        ".git-incident.toml",
        &format!(
            "[[gate]]\nid = \"first\"\nkind = \"command\"\n{device}\ntimeout = \"500ms\"\nrun = \"rm {board}; sleep 1000\"\n\n\
             [[gate]]\nid = \"second\"\nkind = \"command\"\n{device}\nrun = \"true\"\n"
        ),
    );
    repo.commit("Gates");
    repo.incident(&["trust", "--yes"]).expect(0);
    std::fs::write(&board, "").expect("written");
    let records = repo.incident(&["--json", "validate"]).json()["records"].clone();
    assert_eq!(
        (&records[0]["verdict"], &records[1]["verdict"]),
        (&"fail".into(), &"not-run".into()),
        "{records}"
    );
}

#[test]
fn no_device_a_silent_driver_and_a_lost_gpu_are_not_run() {
    let machine = Machine::new("", &gate("", WORKS));
    let reason = |machine: &Machine| {
        let (view, ran) = machine.judged();
        assert_eq!((ran.status, &view["verdict"]), (5, &"not-run".into()), "{view}");
        view["reason"].as_str().expect("a reason").to_owned()
    };
    assert!(reason(&machine).contains("no nvidia GPU"));
    machine.says("gpus", ONE);
    machine.says("GPU-aaaaaaaa.lost", "");
    assert!(reason(&machine).contains("no nvidia GPU answers"));
    machine.says("hang", "");
    let began = std::time::Instant::now();
    assert!(reason(&machine).contains("did not answer"));
    assert!(began.elapsed().as_secs() < 40);
}

#[test]
fn other_devices_run_their_commands_and_claim_nothing_of_a_gpu() {
    let (repo, _) = with_gates("");
    let probe = format!("test -e {}/board", repo.root().display());
    repo.write(
        ".git-incident.toml",
        &format!("[[gate]]\nid = \"board\"\nkind = \"command\"\ndevice = \"custom:{probe}\"\nrun = \"true\"\n\n[[gate]]\nid = \"amd\"\nkind = \"command\"\ndevice = \"hip\"\nrun = \"true\"\n"),
    );
    repo.commit("Gates");
    repo.incident(&["trust", "--yes"]).expect(0);
    let records = || {
        let view = finish(repo.command("git").args(["incident", "--json", "validate"]).output()).json();
        view["records"].clone()
    };
    let before = records();
    assert_eq!(
        (&before[0]["verdict"], &before[1]["verdict"]),
        (&"not-run".into(), &"not-run".into()),
        "{before}"
    );
    assert!(before[1]["reason"].as_str().is_some_and(|r| r.contains("no amd GPU")), "{before}");
    std::fs::write(repo.root().join("board"), "").expect("written");
    let after = records();
    assert_eq!(after[0]["verdict"], "pass", "{after}");
    assert!(after[0]["device"].as_str().is_some_and(|class| class.starts_with("custom/")), "{after}");
}

#[test]
fn a_machine_without_the_device_believes_the_machine_that_has_it() {
    let text = format!("[records]\nsigners = \".allowed_signers\"\n{}", gate("", WORKS));
    let machine = Machine::new(ONE, &text);
    let secret = machine.repo.root().join("ci").display().to_string();
    machine.repo.run("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-C", "ci", "-f", &secret]).expect(0);
    let public = std::fs::read_to_string(format!("{secret}.pub")).expect("a key");
    machine.repo.write(".allowed_signers", &format!("gpu-runner@example.org {public}"));
    machine.repo.commit("Signers");
    machine.repo.git(&["config", "gpg.format", "ssh"]);
    machine.repo.git(&["config", "user.signingKey", &secret]);
    assert_eq!(machine.judged().0["verdict"], "pass");
    machine.repo.git(&["push", "-q", "--no-verify", "origin", "topic"]);
    machine.repo.incident(&["sync"]).expect(0);
    let laptop = common::clones::clone(&machine.repo, "laptop");
    laptop.git(&["switch", "-q", "topic"]);
    laptop.incident(&["trust", "--yes"]).expect(0);
    let before = laptop.incident(&["--json", "validate"]).json();
    assert_eq!(before["records"][0]["verdict"], "not-run", "{before}");
    laptop.incident(&["sync"]).expect(0);
    let after = laptop.incident(&["--json", "validate"]).expect(0).json();
    let record = &after["records"][0];
    assert_eq!(
        (&record["signed_by"], &record["cached"]),
        (&"gpu-runner@example.org".into(), &true.into()),
        "{after}"
    );
    assert_eq!(record["device"], "nvidia/sm_90/NVIDIA Example 9000/1");
}
