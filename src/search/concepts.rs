//! What words mean where GPUs are debugged: words that say nothing, words that say little, words that say the same, and
//! words that exclude each other.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::words::term;

/// Words that say nothing.
const EMPTY: &str = "a an the of to in on at by for from with without into onto over under is are was were be been \
    being am it its this that these those there here we i you they he she our my their and or but so then than as if \
    when while because since due which who what how why where do does did done doing has have had having can could \
    may might must shall should will would not no nor isn doesn didn don won wasn aren t s re ve ll d m also just \
    only really very still yet again too some any each every all both either more most much many few less such same \
    other another own about up down out off through via per get gets got getting make makes made making let lets \
    see seems seem appear appears actually probably perhaps likely maybe think suspect guess believe theory \
    hypothesis idea try tries trying tried attempt whether thing things one ones way now once ever even instead \
    use uses used using between during within";

/// Words that say little: they stand in most descriptions of any bug.
const WEAK: &str = "bug issue problem error wrong bad fail failure break broken cause root reason fix fixed change set \
    value result output run test case code kernel gpu cuda step first large small big high low new old call \
    happen occur come go give take need want look find show happens leave behind keep become right correct incorrect \
    proper properly full whole part side point way time actual current different never always sometimes";

/// Words that say the same, a line each; the first one stands for all.
const SAME: &[&str] = &[
    "barrier syncthreads sync synchronize synchronise synchronization synchronisation fence membar syncwarp",
    "race racy unsynchronized unsynchronised hazard ordering",
    "missing lacks lack omitted absent forgotten forgot forget skipped skips skip miss omits omit",
    "twice double doubled duplicate duplicated two",
    "shared smem lds",
    "memory mem ram storage",
    "uninitialized uninitialised garbage unwritten uninit poison poisoned",
    "zero zeroed zeros cleared clear zeroing reset memset",
    "last final tail trailing remainder end ragged",
    "tile block blocks chunk",
    "mask masked masking predicate predicated guard guarded",
    "outofbounds oob overrun overread overruns overrunning past beyond overshoot",
    "illegal invalid",
    "nan nans notanumber",
    "inf infinity infinite",
    "overflow overflows wrap wraps wraparound overflowing saturate saturates exceed exceeds",
    "scale scaling scaled factor multiplier",
    "stride strides pitch",
    "transpose transposed swapped swap flipped exchanged reversed interchanged",
    "precision rounding round accuracy truncation truncated truncate",
    "accumulate accumulator accumulation accumulates sum summation summed reduction reduce reduces",
    "half fp16 float16 f16",
    "single fp32 float32 f32 float",
    "bfloat bf16 bfloat16",
    "double64 fp64 float64 f64",
    "fp8 e4m3 e5m2 float8",
    "softmax exponent exponential exp",
    "maximum max rowmax",
    "attention attn flash",
    "key keys kcache",
    "cache cached caches caching",
    "stale outdated old leftover previous earlier",
    "hang hangs hung stuck deadlock deadlocks freeze freezes blocked blocks blocking waits forever stalls stall",
    "timeout timed expire expires expired",
    "rank ranks worker workers process processes peer peers",
    "allreduce collective nccl rccl allgather",
    "stream streams queue",
    "event events signal",
    "async asynchronous nonblocking",
    "graph graphs captured capture capturing",
    "allocator allocation alloc malloc allocate allocates allocated caching",
    "leak leaks leaking grows growing growth",
    "free freed release released releases dealloc",
    "recycled reuse reused reuses recycle recycles",
    "driver drivers",
    "compiler nvcc ptxas compile compiles compiled compilation build builds built",
    "version versions release",
    "upgrade upgraded update updated bump bumped newer",
    "downgrade downgraded older",
    "register registers spill spills spilled spilling",
    "occupancy residency resident",
    "grid launch launches launched geometry",
    "index indices offset offsets subscript indexing",
    "address pointer pointers addresses ptr",
    "alignment aligned misaligned unaligned align alignof",
    "vector vectorized vectorised float4 wide",
    "thread threads lane lanes",
    "warp warps wavefront",
    "read reads load loads loaded loading fetch fetches fetched",
    "write writes store stores stored writing written writeback",
    "row rows",
    "column columns col cols",
    "head heads",
    "batch batches",
    "length len size extent",
    "sequence seq seqlen context",
    "padding pad padded pads",
    "odd uneven nonmultiple indivisible divisible multiple",
    "shape shapes dimension dimensions dim dims",
    "layout layouts order format",
    "weight weights parameter parameters param params",
    "gradient gradients grad grads",
    "random seed seeds rng seeded randomness",
    "nondeterministic nondeterminism flaky intermittent sporadic sporadically intermittently occasionally",
    "tolerance tolerances atol rtol threshold epsilon eps",
    "network fabric interconnect infiniband ib rdma",
    "nvlink link links",
    "temperature thermal overheating heat hot cooling",
    "throttle throttled throttling",
    "clock clocks frequency frequencies",
    "disk filesystem volume nfs",
    "container docker image pod",
    "node host machine server box",
    "environment env variable variables",
    "library libs lib libraries package dependency",
    "slow slower slowdown regress regression",
    "crash crashes crashed segfault segfaults abort aborts dies died killed kills kill",
    "oom outofmemory exhausted exhaustion exhausts",
    "fragmentation fragmented fragments fragment",
    "disable disabled disabling deactivate off",
    "enable enabled enabling activate",
    "remove removed removing drop dropped drops delete deleted deletes",
    "add added adding insert inserted inserting",
    "increase increased increasing raise raised raising bump larger",
    "decrease decreased decreasing lower lowered lowering smaller shrink",
    "before prior ahead early earlier premature prematurely",
    "after following late later",
    "forward fwd",
    "backward bwd backprop backpropagation",
    "compute calculate calculated computed computes calculation computing",
    "quantize quantization quantisation quantized quantised dequantize dequantization dequant",
    "config configuration configured setting settings misconfigured flag flags option options",
    "start starts startup init initialization initialisation initialize initialise",
    "dataset data loader dataloader input inputs",
    "checkpoint checkpoints snapshot snapshots",
    "position positions positional rotary rope",
    "causal triangular",
    "token tokens",
    "expert experts moe router routing",
    "concurrent concurrently parallel simultaneously together",
    "atomic atomics atomicadd",
    "denormal denormals subnormal subnormals ftz flush",
    "fma fused contract contraction fmad",
    "permission permissions denied privilege access",
    "port socket connection connect connects",
    "lock locks mutex locked",
    "retry retries retried",
    "partial incomplete partially",
    "limit limits cap capped",
    "constant hardcoded hardwired literal fixed",
    "divide division divided denominator normalize normalization normalise normalisation normalized",
    "negative minus sign signed",
    "integer int32 int i32",
    "long int64 i64",
];

/// Words that exclude each other: texts that hold different ones of a line speak of different things.
const RIVALS: &[&str] = &[
    "forward backward",
    "read write",
    "row column",
    "enable disable",
    "increase decrease",
    "before after",
    "add remove",
    "upgrade downgrade",
    "half single bfloat double64 fp8",
    "maximum minimum",
    "first last",
    "key query value",
    "prefill decode",
    "host device",
    "negative positive",
    "warp block grid",
    "shared global register constant",
    "nan inf",
    "allreduce broadcast scatter gather",
    "driver compiler firmware",
    "left right",
    "upper lower",
    "producer consumer",
    "train eval inference",
    "stride offset alignment",
    "scale bias",
    "temperature power",
    "network disk",
    "integer long",
];

/// Phrases, in terms, that say what one word says.
const PHRASES: &[(&str, &str)] = &[
    ("out of bound", "outofbounds"),
    ("not a number", "nan"),
    ("out of memori", "outofmemory"),
    ("left out", "missing"),
    ("leav out", "missing"),
    ("too soon", "early"),
    ("too earli", "early"),
    ("too late", "late"),
    ("not deterministic", "nondeterministic"),
    ("tim out", "timeout"),
    ("run out", "exhausted"),
    ("no long", "missing"),
    ("shut down", "stop"),
    ("at random", "random"),
];

struct Tables {
    weight: HashMap<String, f64>,
    same: HashMap<String, String>,
    rivals: HashMap<String, Vec<usize>>,
}

fn tables() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(|| {
        let mut same: HashMap<String, String> = HashMap::new();
        for line in SAME {
            let first = line.split_whitespace().next().map(term).unwrap_or_default();
            for word in line.split_whitespace() {
                same.entry(term(word)).or_insert_with(|| first.clone());
            }
        }
        let concept = |word: &str| {
            let term = term(word);
            same.get(&term).cloned().unwrap_or(term)
        };
        let mut weight = HashMap::new();
        for word in WEAK.split_whitespace() {
            weight.insert(term(word), 0.3);
        }
        for word in EMPTY.split_whitespace() {
            weight.insert(term(word), 0.0);
        }
        let mut rivals: HashMap<String, Vec<usize>> = HashMap::new();
        for (n, line) in RIVALS.iter().enumerate() {
            for word in line.split_whitespace() {
                rivals.entry(concept(word)).or_default().push(n);
            }
        }
        Tables { weight, same, rivals }
    })
}

/// How much a term says: 0 for nothing, 1 for a word of its own.
pub fn weight(term: &str) -> f64 {
    tables().weight.get(term).copied().unwrap_or(1.0)
}

/// The term that stands for all that say the same.
pub fn concept(term: &str) -> &str {
    tables().same.get(term).map_or(term, String::as_str)
}

/// The groups of rivals a concept belongs to.
pub fn rivals(concept: &str) -> &'static [usize] {
    tables().rivals.get(concept).map_or(&[], Vec::as_slice)
}

/// The concepts of a text that say something, in their order, with their weights.
pub fn concepts(text: &str) -> Vec<(String, f64)> {
    of_terms(&super::words::terms(text))
}

/// The same, of the terms of a text.
pub fn of_terms(terms: &[String]) -> Vec<(String, f64)> {
    let mut found: Vec<(String, f64)> = Vec::with_capacity(terms.len());
    let mut at = 0;
    while at < terms.len() {
        // `out of bounds`, `left out` and the like are one word each.
        let joined = PHRASES.iter().find(|(phrase, _)| {
            phrase.split(' ').enumerate().all(|(n, word)| terms.get(at + n).is_some_and(|t| t == word))
        });
        if let Some((phrase, means)) = joined {
            found.push((concept(&super::words::term(means)).to_owned(), 1.0));
            at += phrase.split(' ').count();
            continue;
        }
        let term = &terms[at];
        let weight = weight(term);
        if weight > 0.0 {
            found.push((concept(term).to_owned(), weight));
        }
        at += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_say_the_same_are_one_concept() {
        let first = |text: &str| concepts(text).first().cloned().unwrap_or_default().0;
        assert_eq!(first("__syncthreads"), first("a barrier"));
        assert_eq!(first("out of bounds"), first("OOB"));
        assert_eq!(first("reading"), first("loads"));
        assert_ne!(first("reading"), first("writing"));
        assert!(concepts("it is the same as before the other").len() <= 1);
    }

    #[test]
    fn rivals_know_each_other() {
        let group = |word: &str| rivals(concept(&term(word))).to_vec();
        assert_eq!(group("fp16"), group("bfloat16"));
        assert!(!group("fp16").is_empty());
        assert!(group("banana").is_empty());
    }
}
