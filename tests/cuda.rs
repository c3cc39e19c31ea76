//! The CUDA device: a driver that is missing, old or broken, and the whole path on the emulated device.
//!
//! Faults end a context for good, so each scenario of the library runs in a process of its own: this program, started
//! again with the emulated driver in its path.

mod common;

use std::process::Command;

use common::{Ran, emulator, finish};
use git_incident::device::cuda::probe::{self, Health};
use git_incident::device::cuda::{self, Argument, Gpu, Image, Launch, nvrtc};

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_git-incident"));
    command.env_remove("LD_LIBRARY_PATH");
    command
}

fn probe(fault: &str) -> Ran {
    let mut command = program();
    emulator::on(&mut command).env("GIT_INCIDENT_EMULATOR_FAULT", fault);
    finish(command.args(["--json", "device", "probe"]).output())
}

#[test]
fn no_driver_is_no_trouble() {
    let view = finish(program().args(["--json", "device", "probe"]).output()).expect(0).json();
    // A machine with a GPU may run these tests, too.
    if view["state"] == "here" {
        return;
    }
    assert!(view["why"].as_str().is_some_and(|why| why.contains("CUDA")), "{view}");
    let ran = finish(program().args(["device", "conformance"]).output()).refuses(1);
    ran.says("no GPU can be used here").says("CUDA");
}

/// A file of `NumPy`'s format with these numbers.
fn npy(path: &std::path::Path, numbers: &[f32]) {
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({},), }}", numbers.len());
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
    std::fs::write(path, bytes).expect("written");
}

#[test]
fn a_comparison_is_the_same_on_the_device_and_says_where_it_was_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let (a, b) = (folder.path().join("a.npy"), folder.path().join("b.npy"));
    let right: Vec<f32> = (0_u16..1000).map(f32::from).collect();
    let mut wrong = right.clone();
    (wrong[70], wrong[700], wrong[999]) = (f32::NAN, 1e30, -5.0);
    npy(&a, &right);
    npy(&b, &wrong);
    let compare = |device: &str, emulated: bool| {
        let mut command = program();
        if emulated {
            emulator::on(&mut command);
        }
        command.current_dir(folder.path()).args(["--json", "compare", "a.npy", "b.npy", "--device", device]);
        finish(command.output())
    };
    let (there, here) = (compare("cuda", true).json(), compare("cpu", false).json());
    for key in ["verdict", "elements", "mismatches", "max_abs", "max_rel", "nan", "inf", "worst"] {
        assert!(!here[key].is_null(), "{key} in {here}");
        assert_eq!(there[key], here[key], "{key}");
    }
    assert_eq!(there["mismatches"], 3);
    assert!(there.to_string().contains("emulated"), "{there}");
    // Nothing takes the emulated device by itself.
    assert!(!compare("auto", true).json().to_string().contains("emulated"));
    // Without a driver it is refused and said; a machine with a GPU may run this, too.
    let none = compare("cuda", false);
    if none.json().get("error").is_some() {
        none.refuses(1).says("no GPU can be used here");
    }
}

#[test]
fn the_emulated_device_says_what_it_is() {
    let view = probe("").expect(0).json();
    assert_eq!(view["state"], "here", "{view}");
    assert_eq!(view["devices"][0]["emulated"], true);
    assert_eq!(view["devices"][0]["name"], cuda::EMULATED);
    assert_eq!(view["nvrtc"], "13.0");
}

#[test]
fn drivers_that_do_not_work() {
    let state = |ran: &Ran| ran.json()["state"].as_str().unwrap_or_default().to_owned();
    let none = probe("none").expect(0).says("CUDA_ERROR_NO_DEVICE");
    assert_eq!(state(&none), "absent");
    let failing = probe("init").expect(0).says("cuInit: CUDA_ERROR_UNKNOWN");
    assert_eq!(state(&failing), "broken");
    let lost = probe("launch").expect(0).says("CUDA_ERROR_LAUNCH_FAILED");
    assert_eq!(state(&lost), "broken");
    // One that takes the process along takes the child along, and the parent says so.
    assert_eq!(probe("crash").status, 128 + 6);
    let mut command = program();
    emulator::on(&mut command).env("GIT_INCIDENT_EMULATOR_FAULT", "crash");
    finish(command.args(["device", "conformance"]).output())
        .refuses(1)
        .says("no GPU can be used here")
        .says("signal 6");
}

#[test]
fn a_driver_that_hangs_is_left_behind() {
    scenario_with("scenario_hang", "hang").expect(0).says("1 passed");
}

#[test]
#[ignore = "run by `a_driver_that_hangs_is_left_behind`"]
fn scenario_hang() {
    let limit = std::time::Duration::from_secs(2);
    let found = probe::ask(std::path::Path::new(env!("CARGO_BIN_EXE_git-incident")), limit);
    let Health::Broken { why } = found else { panic!("{found:?}") };
    assert!(why.contains("did not answer within 2 seconds"), "{why}");
}

#[test]
fn an_old_driver_is_named_and_not_called() {
    let mut command = program();
    command.env("LD_LIBRARY_PATH", emulator::old());
    let view = finish(command.args(["--json", "device", "probe"]).output()).expect(0).json();
    assert_eq!(view["state"], "broken");
    assert!(view["why"].as_str().is_some_and(|why| why.contains("cuDeviceGetUuid_v2")), "{view}");
}

#[test]
fn a_library_without_a_driver_in_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("empty.c");
    std::fs::write(&source, "int nothing;\n").expect("a file");
    let library = folder.path().join("libcuda.so.1");
    let built = Command::new("cc").args(["-shared", "-o"]).arg(&library).arg(&source).status().expect("cc");
    assert!(built.success());
    let mut command = program();
    command.env("LD_LIBRARY_PATH", folder.path());
    let view = finish(command.args(["--json", "device", "probe"]).output()).expect(0).json();
    assert_eq!(view["state"], "broken");
    assert!(view["why"].as_str().is_some_and(|why| why.contains("cuInit")), "{view}");
}

#[test]
fn the_emulated_device_conforms() {
    // Launches run forwards and backwards in turn: what depended on the order would differ from the oracle.
    let mut command = program();
    emulator::on(&mut command);
    let ran = finish(command.args(["--json", "device", "conformance"]).output());
    let view = ran.json();
    assert_eq!(view["failures"], serde_json::json!([]));
    assert_eq!(view["device"], "emulated");
    assert!(view["cases"].as_u64().is_some_and(|n| n >= 100), "{}", view["cases"]);
    ran.expect(0);
}

#[test]
fn the_measurement_counts_before_it_measures() {
    let mut command = program();
    emulator::on(&mut command);
    let ran = finish(command.args(["--json", "device", "bandwidth", "--elements", "20003"]).output());
    let view = ran.expect(0).json();
    let rates = view["rates"].as_array().expect("rates");
    assert_eq!(rates.len(), 3);
    assert!(rates.iter().all(|r| r["ratio"].as_f64().is_some_and(|x| x > 0.0)), "{view}");
    assert_eq!(view["device"], "emulated", "a figure of this machine says that it is none of a GPU");
}

/// Runs one of the ignored scenarios below in a process of its own.
fn scenario(name: &str) -> Ran {
    scenario_with(name, "")
}

fn scenario_with(name: &str, fault: &str) -> Ran {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    emulator::on(&mut command).env("GIT_INCIDENT_EMULATOR_FAULT", fault);
    command.args(["--exact", name, "--ignored", "--nocapture", "--test-threads=1"]);
    finish(command.output())
}

#[test]
fn scenarios() {
    for name in ["copies", "kernels", "sources", "geometry", "argument_lists", "guards"] {
        scenario(&format!("scenario_{name}")).expect(0).says("1 passed");
    }
    scenario("scenario_stray").expect(0).says("1 passed").says("touched 0x");
    scenario("scenario_divergence").expect(0).says("1 passed").says("barrier divergence");
}

fn gpu() -> Gpu {
    Gpu::open(0).expect("the emulated device")
}

const ONE: Launch = Launch { grid: [1; 3], block: [64, 1, 1], shared: 0 };

fn compiled(gpu: &Gpu, source: &str, name: &str) -> cuda::Function {
    let made = nvrtc::compile(source, "test.cu", &["--fmad=false".to_owned()]).expect("it compiles");
    gpu.load(Image::Ptx(&made.ptx)).expect("it loads").function(name).expect("the kernel")
}

fn words(buffer: &cuda::Buffer) -> Vec<u32> {
    let bytes = buffer.to_vec().expect("it is read");
    bytes.chunks_exact(4).map(|b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]])).collect()
}

#[test]
#[ignore = "run by `scenarios`"]
fn scenario_copies() {
    let gpu = gpu();
    let (a, b) = (gpu.allocate(10).expect("memory"), gpu.allocate(10).expect("memory"));
    a.write(0, b"0123456789").expect("written");
    b.copy_from(&a).expect("copied");
    b.fill(2, 3, b'x').expect("filled");
    let mut part = [0; 4];
    b.read(1, &mut part).expect("read");
    assert_eq!((&part, &a.to_vec().expect("read")[..]), (b"1xxx", &b"0123456789"[..]));
    for (offset, length) in [(10, 1), (0, 11), (usize::MAX, 2)] {
        assert!(b.fill(offset, length, 0).is_err());
        assert!(b.read(offset, &mut vec![0; length]).is_err());
    }
    let (none, small) = (gpu.allocate(0).expect("nothing"), gpu.allocate(4).expect("memory"));
    assert!(none.is_empty() && none.to_vec().expect("nothing").is_empty());
    assert!(small.copy_from(&a).is_err());
    let huge = gpu.allocate(1 << 50).expect_err("too much");
    assert_eq!(huge.name, "CUDA_ERROR_OUT_OF_MEMORY");
    assert!(Gpu::open(1).expect_err("one only").to_string().contains("no CUDA device 1"));
    let (from, to) = (gpu.event().expect("an event"), gpu.event().expect("an event"));
    assert!(to.since(&from).expect("a time").as_secs() < 5);
}

#[test]
#[ignore = "run by `scenarios`"]
fn scenario_kernels() {
    let gpu = gpu();
    let out = gpu.allocate(64 * 4).expect("memory");
    // Each thread reads what its neighbour wrote: wrong without the barrier, whichever way threads run.
    let source = |barrier: &str| {
        format!(
            "extern \"C\" __global__ void turn(unsigned *out) {{\n  __shared__ unsigned s[64];\n  \
             s[threadIdx.x] = threadIdx.x * 3;\n  {barrier}\n  out[threadIdx.x] = s[(threadIdx.x + 1) % 64];\n}}\n"
        )
    };
    let right: Vec<u32> = (0..64).map(|i| (i + 1) % 64 * 3).collect();
    for (barrier, good) in [("__syncthreads();", true), ("", false)] {
        let turn = compiled(&gpu, &source(barrier), "turn");
        for _ in 0..2 {
            turn.launch(&ONE, &[(&out).into()]).expect("launched");
            gpu.synchronize().expect("done");
            assert_eq!(words(&out) == right, good, "{barrier:?}");
        }
    }
    // Dynamic shared memory, shuffles, ballots, atomics.
    let sum = compiled(
        &gpu,
        "extern \"C\" __global__ void sum(unsigned *out) {\n  extern __shared__ unsigned s[];\n  \
         unsigned v = threadIdx.x;\n  for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);\n  \
         if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;\n  __syncthreads();\n  \
         if (threadIdx.x == 0) { out[0] = s[0] + s[1]; out[1] = 0; }\n  __syncthreads();\n  atomicAdd(&out[1], 2u);\n  \
         unsigned b = __ballot_sync(0xffffffffu, threadIdx.x % 2);\n  if (threadIdx.x == 0) out[2] = b;\n}\n",
        "sum",
    );
    sum.launch(&Launch { shared: 8, ..ONE }, &[(&out).into()]).expect("launched");
    gpu.synchronize().expect("done");
    assert_eq!(words(&out)[..3], [63 * 32, 128, 0xaaaa_aaaa]);
}

#[test]
#[ignore = "run by `scenarios`"]
fn scenario_sources() {
    let wrong = nvrtc::compile("__global__ void k() {\n  x = 1;\n}\n", "wrong.cu", &[]).expect_err("no x");
    assert_eq!((wrong.call, wrong.name.as_str()), ("nvrtcCompileProgram", "NVRTC_ERROR_COMPILATION"));
    assert!(wrong.text.contains("wrong.cu(2): error"), "{}", wrong.text);
    let option = nvrtc::compile("", "a.cu", &["--no-such".to_owned()]).expect_err("no such option");
    assert_eq!(option.name, "NVRTC_ERROR_INVALID_OPTION");
    assert!(nvrtc::compile("a\0b", "a.cu", &[]).is_err());
    let gpu = gpu();
    let made =
        nvrtc::compile("extern \"C\" __global__ void k() {}\n", "k.cu", &["-DN=3".to_owned()]).expect("ptx");
    let module = gpu.load(Image::Ptx(&made.ptx)).expect("it loads");
    assert_eq!(module.function("other").expect_err("another").name, "CUDA_ERROR_NOT_FOUND");
    for (image, name) in [
        (Image::Ptx(".version 9.9\n.target sm_75\n"), "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"),
        (Image::Ptx("nonsense"), "CUDA_ERROR_INVALID_PTX"),
        (
            Image::Cubin(
                b"\x7fELF is no machine code of this device, however long it is; really, it is none.",
            ),
            "CUDA_ERROR_NO_BINARY_FOR_GPU",
        ),
        (Image::Cubin(b"not even ELF"), ""),
    ] {
        assert_eq!(gpu.load(image).expect_err(name).name, name);
    }
}

#[test]
#[ignore = "run by `scenarios`"]
fn scenario_geometry() {
    let gpu = gpu();
    let k = compiled(&gpu, "extern \"C\" __global__ void __launch_bounds__(128) k() {}\n", "k");
    assert_eq!(k.most_threads().expect("known"), 128);
    k.launch(&Launch { grid: [3, 2, 2], block: [16, 4, 2], shared: 100 << 10 }, &[]).expect("it fits");
    for wrong in [
        Launch { block: [129, 1, 1], ..ONE },
        Launch { block: [0, 1, 1], ..ONE },
        Launch { grid: [1, 65536, 1], ..ONE },
        Launch { block: [1, 1, 65], ..ONE },
        Launch { shared: 300 << 10, ..ONE },
    ] {
        assert_eq!(
            k.launch(&wrong, &[]).expect_err("too much").name,
            "CUDA_ERROR_INVALID_VALUE",
            "{wrong:?}"
        );
    }
    gpu.synchronize().expect("a launch that did not start harms nothing");
}

#[test]
#[ignore = "run by `scenarios`"]
fn scenario_argument_lists() {
    let gpu = gpu();
    let out = gpu.allocate(8).expect("memory");
    let k = compiled(
        &gpu,
        "extern \"C\" __global__ void k(float *out, int n, double x) { if (threadIdx.x == 0) out[0] = n * x; }\n",
        "k",
    );
    assert_eq!(k.parameters(), Some(vec![8, 4, 8]));
    k.launch(&ONE, &[(&out).into(), 3.into(), 0.5_f64.into()]).expect("launched");
    gpu.synchronize().expect("done");
    assert_eq!(words(&out)[0], 1.5_f32.to_bits());
    for wrong in
        [vec![], vec![Argument::from(&out), 3.into()], vec![(&out).into(), 3_i64.into(), 0.5_f64.into()]]
    {
        let error = k.launch(&ONE, &wrong).expect_err("does not fit");
        assert!(error.to_string().contains("takes 3 arguments"), "{error}");
    }
}

#[test]
#[ignore = "run by `scenarios`"]
fn scenario_guards() {
    let gpu = gpu();
    let buffer = gpu.guarded(1000, 8).expect("memory");
    assert_eq!((buffer.address() + 1000) % 4096, 0, "it ends where a page ends");
    buffer.fill(0, 1000, 7).expect("filled");
    assert_eq!(buffer.to_vec().expect("read"), [7; 1000]);
    let odd = gpu.guarded(1001, 16).expect("memory");
    assert_eq!(odd.address() % 16, 0);
    assert!(4096 - (odd.address() + 1001) % 4096 < 16);
    for wrong in [0, 3, 8192] {
        assert!(gpu.guarded(8, wrong).is_err());
    }
    // One element past the end is one too many.
    let k = compiled(&gpu, "extern \"C\" __global__ void k(float *p, int n) { p[n] = 1; }\n", "k");
    k.launch(&ONE, &[(&buffer).into(), 249.into()]).expect("launched");
    gpu.synchronize().expect("the last element");
    k.launch(&ONE, &[(&buffer).into(), 250.into()]).expect("launched");
    let error = gpu.synchronize().expect_err("past the end");
    assert_eq!(error.name, "CUDA_ERROR_ILLEGAL_ADDRESS");
}

#[test]
#[ignore = "run by `scenarios`"]
fn scenario_stray() {
    let gpu = gpu();
    let out = gpu.allocate(64).expect("memory");
    let k = compiled(&gpu, "extern \"C\" __global__ void k(float *p) { p[1 << 20] = 1; }\n", "k");
    k.launch(&ONE, &[(&out).into()]).expect("a launch does not wait");
    let error = gpu.synchronize().expect_err("stray");
    assert_eq!(error.name, "CUDA_ERROR_ILLEGAL_ADDRESS");
    assert!(error.is_lost());
    // The context is gone with it.
    assert!(out.to_vec().expect_err("lost").is_lost());
}

#[test]
#[ignore = "run by `scenarios`"]
fn scenario_divergence() {
    let gpu = gpu();
    let k = compiled(
        &gpu,
        "extern \"C\" __global__ void k() { if (threadIdx.x == 7) return; __syncthreads(); }\n",
        "k",
    );
    k.launch(&ONE, &[]).expect("launched");
    assert_eq!(gpu.synchronize().expect_err("divergence").name, "CUDA_ERROR_LAUNCH_FAILED");
}
