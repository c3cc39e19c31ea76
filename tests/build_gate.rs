//! Gates of kind `build` in real repositories: a compiler's report against limits.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use common::gates::with_gates;
use common::{Ran, Repo, finish, skipped};

/// What `ptxas -v` says of a kernel.
fn said(name: &str, registers: u32, spilled: u32) -> String {
    format!(
        "ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function '{name}' for 'sm_90'\n\
         ptxas info    : Function properties for {name}\n    {spilled} bytes stack frame, {spilled} bytes spill stores, \
         {spilled} bytes spill loads\nptxas info    : Used {registers} registers, used 1 barriers, 1024 bytes smem\n"
    )
}

fn gate(keys: &str) -> String {
    format!("[[gate]]\nid = \"limits\"\nkind = \"build\"\n{keys}\n")
}

/// A repository whose gate has these keys, approved.
fn with(keys: &str, files: &[(&str, &str)]) -> Repo {
    let (repo, _bare) = with_gates("");
    for (path, text) in files {
        repo.write(path, text);
    }
    repo.write(".git-incident.toml", &gate(keys));
    repo.commit("Limits");
    repo.incident(&["trust", "--yes"]).expect(0);
    repo
}

fn validated(keys: &str, files: &[(&str, &str)]) -> Ran {
    with(keys, files).incident(&["validate", "--gate", "limits"])
}

#[test]
fn the_commands_output_is_held_against_the_limits() {
    let repo = with(
        "run = \"cat build.log\"\nmax-registers = 64\nmax-spills = 0\nmax-shared = \"48KiB\"\nmax-stack = 0",
        &[("build.log", &said("reduce", 64, 0))],
    );
    repo.incident(&["validate", "--gate", "limits"]).expect(0).says("pass");
    repo.write("build.log", &(said("reduce", 65, 0) + &said("scan", 20, 12)));
    repo.commit("More registers");
    let ran = repo.incident(&["validate", "--gate", "limits"]).expect(4);
    ran.says("reduce (sm_90): 65 registers, limit 64 (and 2 more)")
        .says("scan (sm_90): 12 bytes spilled, limit 0")
        .says("scan (sm_90): 12 bytes of stack, limit 0");
    let failed = repo.incident(&["--json", "validate", "--gate", "limits"]).expect(4).json();
    let details = &failed["records"][0]["details"];
    assert_eq!(details["over"][0]["value"], 65, "{failed}");
    assert_eq!(details["kernels"][1]["spilled_bytes"], 12);
}

#[test]
fn a_log_without_a_kernel_decides_nothing() {
    for (log, says) in [
        ("nothing of interest\n", "no kernel was reported"),
        (&said("other", 1, 0), "no kernel named reduce* was reported"),
    ] {
        validated("run = \"cat build.log\"\nmax-spills = 0\nkernels = [\"reduce*\"]", &[("build.log", log)])
            .expect(5)
            .says("inconclusive")
            .says(says);
    }
}

#[test]
fn the_log_and_the_binary_lie_below_gate_out() {
    let log = said("reduce", 20, 0);
    let files: &[(&str, &str)] = &[("build.log", &log), ("code.bin", "0123456789")];
    let run = "run = \"mkdir $GATE_OUT/logs && cp build.log $GATE_OUT/logs/a && cp code.bin $GATE_OUT\"\n";
    let keys = |keys: &str| format!("{run}log = \"logs/a\"\nbinary = \"code.bin\"\n{keys}");
    validated(&keys("max-spills = 0\nmax-binary = 10"), files).expect(0);
    validated(&keys("max-spills = 0\nmax-binary = 9"), files)
        .expect(4)
        .says("code.bin: 10 bytes of binary, limit 9");
    validated("run = \"cat build.log\"\nlog = \"build.log\"\nmax-spills = 0", files)
        .expect(4)
        .says("log: build.log was not written below $GATE_OUT");
    // The log of another run, reached through a link, is no report of this one.
    validated("run = \"ln -s $PWD/build.log $GATE_OUT/log\"\nlog = \"log\"\nmax-spills = 0", files)
        .expect(4)
        .says("log: log is no regular file");
}

#[test]
fn a_build_that_fails_fails() {
    validated("run = \"cat build.log; exit 2\"\nmax-spills = 0", &[("build.log", &said("k", 1, 0))])
        .expect(4)
        .says("exit status 2");
    validated("run = \"no-such-compiler-anywhere\"\nmax-spills = 0", &[])
        .expect(5)
        .says("not installed here");
}

fn program(repo: &Repo, name: &str, script: &str) {
    let path = repo.root().join("bin").join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a program");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("that runs");
}

const PTX: &str =
    "run = \"cp k.ptx $GATE_OUT\"\nptx = \"k.ptx\"\narch = [\"sm_80\", \"sm_90\"]\nmax-spills = 0\n";

#[test]
fn ptx_is_assembled_for_every_architecture() {
    let repo = with(&format!("{PTX}max-binary = \"1KiB\""), &[("k.ptx", ".version 8.0\n")]);
    let fake = |spills: &str| {
        format!(
            "for last in \"$@\"; do case $last in -arch=*) arch=${{last#-arch=}};; esac; done\n\
             while [ \"$1\" != -o ]; do shift; done\n[ -s \"$3\" ] || exit 255\necho cubin > \"$2\"\n\
             cat >&2 <<EOF\n\
             ptxas info : Compiling entry function 'k' for '$arch'\nptxas info : Function properties for k\n\
             0 bytes stack frame, {spills} bytes spill stores, 0 bytes spill loads\n\
             ptxas info : Used 8 registers\nEOF"
        )
    };
    program(&repo, "ptxas", &fake("0"));
    repo.incident(&["validate", "--gate", "limits"]).expect(0);
    program(&repo, "ptxas", &fake("$(test $arch = sm_90 && echo 4 || echo 0)"));
    repo.write("k.ptx", ".version 8.1\n");
    repo.commit("Another tree");
    repo.incident(&["validate", "--gate", "limits"]).expect(4).says("k (sm_90): 4 bytes spilled, limit 0");
    program(&repo, "ptxas", "echo 'ptxas fatal : no' >&2\nexit 255");
    repo.incident(&["validate", "--gate", "limits"])
        .expect(4)
        .says("ptxas does not take k.ptx for sm_80: exit status 255")
        .says("ptxas fatal : no");
}

#[test]
fn without_an_assembler_ptx_is_not_checked() {
    let here = Command::new("sh").args(["-c", "PATH=$PATH:/usr/local/cuda/bin; command -v ptxas"]).output();
    if finish(here).status == 0 {
        return skipped("ptxas is installed here: what is said without it was not tried");
    }
    validated(PTX, &[("k.ptx", ".version 8.0\n")])
        .expect(5)
        .says("not-run")
        .says("ptxas is not installed here");
}

/// NVIDIA's own assembler; `None` where it cannot be had, which is said.
fn ptxas() -> Option<PathBuf> {
    static PTXAS: OnceLock<Option<PathBuf>> = OnceLock::new();
    PTXAS
        .get_or_init(|| {
            let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/cuda");
            let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cuda");
            let ran = finish(Command::new(script).arg(place).output());
            if ran.status == 0 {
                return Some(PathBuf::from(ran.line()).join("ptxas"));
            }
            assert!(
                std::env::var_os("GIT_INCIDENT_TESTS_NEED_CUDA_TOOLS").is_none(),
                "tests/python/cuda: {ran:?}"
            );
            skipped("ptxas cannot be installed here: the build gate was not tried on the real one");
            None
        })
        .clone()
}

/// A kernel that keeps this many values alive across a barrier, in 24 registers.
fn ptx(values: usize) -> String {
    let mut text = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry keeps(.param .u64 p)\n.maxnreg 24\n{\n\
                    .reg .f32 %f<200>;\n.reg .b64 %rd<3>;\n.shared .align 4 .b8 tile[512];\n\
                    ld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd2, %rd1;\n"
        .to_owned();
    for n in 0..values {
        text += &format!("ld.volatile.global.f32 %f{n}, [%rd2+{}];\n", 4 * n);
    }
    text += "st.shared.f32 [tile], %f0;\nbar.sync 0;\n";
    for n in (0..values).rev() {
        text += &format!("st.volatile.global.f32 [%rd2+{}], %f{n};\n", 4 * n);
    }
    text + "ret;\n}\n"
}

#[test]
fn nvidias_own_assembler_is_understood() {
    let Some(ptxas) = ptxas() else { return };
    let keys = "run = \"cp k.ptx $GATE_OUT\"\nptx = \"k.ptx\"\narch = [\"sm_80\", \"sm_90\", \"sm_100\"]\n\
                max-registers = 24\nmax-spills = 0\nmax-shared = 512\nkernels = [\"keeps\"]";
    let repo = with(keys, &[("k.ptx", &ptx(4))]);
    std::os::unix::fs::symlink(ptxas, repo.root().join("bin/ptxas")).expect("a link");
    let passed = repo.incident_json(&["validate", "--gate", "limits"]);
    let kernels = passed["records"][0]["details"]["kernels"].as_array().expect("kernels").clone();
    let archs: Vec<&str> = kernels.iter().map(|k| k["arch"].as_str().expect("an architecture")).collect();
    assert_eq!(archs, ["sm_80", "sm_90", "sm_100"]);
    for kernel in &kernels {
        assert_eq!((kernel["spilled_bytes"].as_u64(), kernel["shared_bytes"].as_u64()), (Some(0), Some(512)));
        assert!((1..=24).contains(&kernel["registers"].as_u64().expect("registers")), "{kernel}");
    }
    repo.write("k.ptx", &ptx(60));
    repo.commit("Keep too much");
    let ran = repo.incident(&["validate", "--gate", "limits"]).expect(4);
    ran.says("keeps (sm_80): ").says("bytes spilled, limit 0").says("keeps (sm_100): ");
    repo.write("k.ptx", "junk\n");
    repo.commit("Break it");
    repo.incident(&["validate", "--gate", "limits"]).expect(4).says("ptxas does not take k.ptx for sm_80");
}
