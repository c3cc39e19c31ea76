//! The CPU's two passes over 64 Mi pairs that all differ and all pass, as ratios in one run: to this machine's own rate of
//! reading two streams, and to `numpy.allclose`: `cargo bench --bench compare`. Asked: the first pass at least 70 % of the
//! read rate and 8 × as fast as numpy, the details at least 30 %; no more memory than the mapped files and 16 MiB.
//! Nothing here fails; docs/BENCHMARKS.md keeps the figures.
//!
//! numpy is installed into a virtual environment below the target directory; where that cannot be, its column says so.
//! `COMPARE_MI=8` takes 8 Mi pairs instead.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use git_incident::device::cpu::Cpu;
use git_incident::validate::compare::{Device as _, Pair, Tolerance};
use git_incident::validate::tensor::{Dtype, Order, Tensor};
use half::{bf16, f16};

const ROUNDS: usize = 15;
const THREADS: usize = 2;
const ATOL: f64 = 1e-2;
const RTOL: f64 = 5e-2;

/// Bytes that a thread of the read loop takes at once from each stream: as many as a chunk of f32 has.
const CHUNK: usize = 1 << 18;

fn main() {
    let mi: usize = std::env::var("COMPARE_MI").ok().and_then(|text| text.parse().ok()).unwrap_or(64);
    let folder = tempfile::tempdir().expect("a folder");
    let numpy = numpy();
    let device = Cpu::with_threads(THREADS);
    say(&format!(
        "{mi} Mi pairs, {THREADS} threads, {}; load {}; medians of {ROUNDS}\n",
        device.instructions(),
        std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim()
    ));
    say(
        "| type | read | first pass | of the read rate | details, all pass | of it | details, none passes | of it | numpy.allclose | first pass faster by | memory beside the files |",
    );
    say("|---|---|---|---|---|---|---|---|---|---|---|");
    for (dtype, name) in
        [(Dtype::F32, "f32"), (Dtype::F16, "f16"), (Dtype::BF16, "bf16"), (Dtype::F64, "f64")]
    {
        let elements = mi << 20;
        let (a, b) = write(folder.path(), dtype, elements);
        row(dtype, name, elements, &a, &b, &device, numpy.as_deref());
    }
}

fn row(dtype: Dtype, name: &str, elements: usize, a: &Path, b: &Path, device: &Cpu, numpy: Option<&Path>) {
    let (candidate, reference) = (map(a), map(b));
    let tensor = |bytes| Tensor {
        dtype,
        shape: vec![elements as u64 / 4096, 4096],
        bytes: Cow::Borrowed(bytes),
        order: Order::C,
        big_endian: false,
        scale: None,
    };
    let (a_tensor, b_tensor) = (tensor(&candidate[..]), tensor(&reference[..]));
    let pair = Pair { reference: &b_tensor, candidate: &a_tensor };
    let tolerance = Tolerance { atol: ATOL, rtol: RTOL, equal_nan: false, bitwise: false };
    let nothing = Tolerance { atol: 0.0, rtol: 0.0, ..tolerance };
    let found = device.summary(pair, &tolerance).expect("a summary");
    assert_eq!((found.mismatches, found.finite), (0, elements as u64), "all pass");
    let different = device.summary(pair, &nothing).expect("a summary").mismatches;
    assert_eq!(different, elements as u64, "all differ");
    std::hint::black_box(read(&candidate, &reference));
    let mut oracle = numpy.filter(|_| dtype != Dtype::BF16).map(|python| Numpy::start(python, dtype, a, b));
    let mut times: [Vec<f64>; 5] = Default::default();
    let memory = Memory::watch(|| {
        for round in 0..ROUNDS {
            times[0].push(time(|| {
                std::hint::black_box(read(&candidate, &reference));
            }));
            times[1].push(time(|| {
                let _ = std::hint::black_box(device.summary(pair, &tolerance));
            }));
            times[2].push(time(|| {
                let _ = std::hint::black_box(device.details(pair, &tolerance, 5));
            }));
            // These take long and vary little.
            if round % 3 == 0 {
                times[3].push(time(|| {
                    let _ = std::hint::black_box(device.details(pair, &nothing, 5));
                }));
                if let Some(oracle) = &mut oracle {
                    times[4].push(oracle.round());
                }
            }
        }
    });
    let [read, first, details, wrong, numpy] = times.map(median);
    let (numpy, faster) = match oracle {
        Some(_) => (format!("{numpy:.0} ms"), format!("{:.1} ×", numpy / first)),
        None => ("none".into(), "–".into()),
    };
    let bytes = (2 * elements * dtype.size()) as f64;
    say(&format!(
        "| {name} | {read:.1} ms, {:.1} GB/s | {first:.1} ms | {:.0} % | {details:.1} ms | {:.0} % | {wrong:.0} ms | {:.0} % | {numpy} | {faster} | {memory:.1} MiB |",
        bytes / read / 1e6,
        read / first * 100.0,
        read / details * 100.0,
        read / wrong * 100.0,
    ));
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn time(what: impl FnOnce()) -> f64 {
    let start = Instant::now();
    what();
    start.elapsed().as_secs_f64() * 1e3
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Two files of numbers, each pair a few per cent apart.
fn write(folder: &Path, dtype: Dtype, elements: usize) -> (PathBuf, PathBuf) {
    let (a, b) = (folder.join("candidate"), folder.join("reference"));
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 24) as f32
    };
    let file = |path: &Path| BufWriter::with_capacity(1 << 20, File::create(path).expect("a file"));
    let (mut a_file, mut b_file) = (file(&a), file(&b));
    for _ in 0..elements {
        let size = 0.05 + 2.0 * random();
        let y = if random() < 0.5 { -size } else { size };
        let x = y * (1.015 + 0.02 * random());
        let put = |file: &mut BufWriter<File>, x: f32| {
            match dtype {
                Dtype::F32 => file.write_all(&x.to_le_bytes()),
                Dtype::F16 => file.write_all(&f16::from_f32(x).to_le_bytes()),
                Dtype::BF16 => file.write_all(&bf16::from_f32(x).to_le_bytes()),
                _ => file.write_all(&f64::from(x).to_le_bytes()),
            }
            .expect("written");
        };
        put(&mut a_file, x);
        put(&mut b_file, y);
    }
    (a, b)
}

fn map(path: &Path) -> memmap2::Mmap {
    let file = File::open(path).expect("a file");
    #[expect(unsafe_code, reason = "a mapping is unsafe by nature")]
    // SAFETY: the file is ours, and nobody writes to it while it is mapped.
    unsafe {
        memmap2::Mmap::map(&file).expect("a mapping")
    }
}

/// This machine's pure rate: every byte of two streams is read once, in the order and by as many threads as the passes.
fn read(a: &[u8], b: &[u8]) -> u64 {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut sum = 0;
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed) * CHUNK;
            if at >= a.len() {
                return sum;
            }
            let end = (at + CHUNK).min(a.len());
            sum ^= streams(&a[at..end], &b[at..end]);
        }
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..THREADS).map(|_| scope.spawn(work)).collect();
        others.into_iter().fold(work(), |sum, other| sum ^ other.join().expect("no panic"))
    })
}

/// The exclusive or of all bytes of two slices: the least that has to look at each.
fn streams(a: &[u8], b: &[u8]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        #[expect(unsafe_code, reason = "the compiler cannot know what the processor has")]
        // SAFETY: the processor was asked.
        return unsafe { wide(a, b) };
    }
    a.iter().chain(b).fold(0, |sum, byte| sum ^ u64::from(*byte))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn wide(a: &[u8], b: &[u8]) -> u64 {
    use std::arch::x86_64::{
        _mm512_loadu_si512, _mm512_reduce_add_epi64, _mm512_setzero_si512, _mm512_xor_si512,
    };
    let mut sums = [_mm512_setzero_si512(); 4];
    for (a, b) in a.as_chunks::<128>().0.iter().zip(b.as_chunks::<128>().0) {
        #[expect(unsafe_code, reason = "vectors are loaded through pointers")]
        // SAFETY: each load is of 64 of the 128 bytes of an array.
        let loaded = unsafe {
            [
                _mm512_loadu_si512(a.as_ptr().cast()),
                _mm512_loadu_si512(b.as_ptr().cast()),
                _mm512_loadu_si512(a.as_ptr().add(64).cast()),
                _mm512_loadu_si512(b.as_ptr().add(64).cast()),
            ]
        };
        for (sum, loaded) in sums.iter_mut().zip(loaded) {
            *sum = _mm512_xor_si512(*sum, loaded);
        }
    }
    sums.into_iter().fold(0, |sum, vector| sum ^ _mm512_reduce_add_epi64(vector) as u64)
}

/// How much memory of our own there is while something runs, above what there was before.
struct Memory;

impl Memory {
    fn watch(work: impl FnOnce()) -> f64 {
        let (before, most, done) = (Self::own(), AtomicU64::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    most.fetch_max(Self::own(), Ordering::Relaxed);
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
            });
            work();
            done.store(true, Ordering::Relaxed);
        });
        most.load(Ordering::Relaxed).saturating_sub(before) as f64 / 1024.0
    }

    /// KiB that no file backs.
    fn own() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    }
}

/// A Python with numpy; `None`, and said so, where there can be none.
fn numpy() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("numpy");
    let python = folder.join("bin/python");
    let run = |program: &Path, arguments: &[&str]| {
        let quiet =
            Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
        quiet.is_ok_and(|status| status.success())
    };
    let there = run(&python, &["-c", "import numpy"])
        || run(Path::new("python3"), &["-m", "venv", &folder.to_string_lossy()])
            && run(&python, &["-m", "pip", "install", "--quiet", "numpy"])
            && run(&python, &["-c", "import numpy"]);
    if !there {
        say("SKIPPED: numpy, which cannot be installed here");
    }
    there.then_some(python)
}

/// `numpy.allclose` over the same files, mapped and warm, one round whenever it is asked.
struct Numpy {
    child: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Numpy {
    fn start(python: &Path, dtype: Dtype, a: &Path, b: &Path) -> Self {
        const PROGRAM: &str = "
import numpy, sys, time
dtype, a, b, rtol, atol = sys.argv[1:]
a, b = (numpy.memmap(path, dtype=dtype, mode='r') for path in (a, b))
for _ in sys.stdin:
    start = time.perf_counter()
    assert numpy.allclose(a, b, rtol=float(rtol), atol=float(atol))
    print((time.perf_counter() - start) * 1e3, flush=True)
";
        let word = match dtype {
            Dtype::F32 => "<f4",
            Dtype::F16 => "<f2",
            _ => "<f8",
        };
        let mut child = Command::new(python)
            .args(["-c", PROGRAM, word])
            .args([a, b])
            .args([RTOL.to_string(), ATOL.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut numpy = Self { child, answers };
        // The first round maps and warms.
        numpy.round();
        numpy
    }

    fn round(&mut self) -> f64 {
        let input = self.child.stdin.as_mut().expect("a pipe");
        writeln!(input).and_then(|()| input.flush()).expect("asked");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("an answer");
        line.trim().parse().expect("milliseconds")
    }
}

impl Drop for Numpy {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
