//! compute-sanitizer's log: its findings, its summary, and what it says it did not do.
//!
//! Every line of the tool begins with `=========`. A line with one space after it begins something, a line with more
//! says more of it.

use super::finding::{self, Finding, Site, number, position, short};

/// Longer lines are skipped.
const LONGEST_LINE: usize = 16 * 1024;

/// So many findings are read; the rest is counted.
const MOST_FINDINGS: usize = 10_000;

/// Words of a run that checked nothing, or not all of it.
const UNCHECKED: [&str; 9] = [
    "Target application terminated before first instrumented",
    "Target application doesn't exist",
    "Target application returned an error",
    "process didn't terminate successfully",
    "No attachable process found",
    "Internal Sanitizer",
    "Errors might go undetected",
    "Results might be incorrect",
    "ot supported",
];

/// What the summary lines say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Errors, or hazards that count as errors or warnings.
    pub findings: u64,
}

/// What a log says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Log {
    /// Whether the tool ran at all.
    pub banner: bool,
    /// `ERROR SUMMARY`.
    pub errors: Option<Summary>,
    /// `RACECHECK SUMMARY`.
    pub hazards: Option<Summary>,
    /// The findings, in their order.
    pub findings: Vec<Finding>,
    /// How many there are.
    pub total: u64,
    /// Why not everything was checked, in the tool's words.
    pub unchecked: Option<String>,
}

/// Reads a log.
pub fn read(log: &[u8]) -> Log {
    let mut found = Log::default();
    let mut open = false;
    for line in log.split(|byte| *byte == b'\n').filter(|line| line.len() <= LONGEST_LINE) {
        let line = String::from_utf8_lossy(line);
        let Some(rest) = line.trim_start().strip_prefix("=========") else {
            continue;
        };
        let rest = rest.trim_start_matches('=').trim_end();
        let text = rest.trim_start();
        if text.is_empty() {
            open = false;
        } else if rest.starts_with("  ") && finding::kind(text) != Some("unused memory") {
            if open && let Some(last) = found.findings.last_mut() {
                more(last, text);
            }
        } else {
            open = found.begin(text);
        }
    }
    found
}

impl Log {
    /// Something begins; whether it is a finding that is kept.
    fn begin(&mut self, text: &str) -> bool {
        if text == "COMPUTE-SANITIZER" {
            self.banner = true;
        } else if let Some(rest) = text.strip_prefix("ERROR SUMMARY: ") {
            add(&mut self.errors, rest);
        } else if let Some(rest) = text.strip_prefix("RACECHECK SUMMARY: ") {
            add(&mut self.hazards, rest);
        } else if finding::kind(text) != Some("API error")
            && UNCHECKED.iter().any(|words| text.contains(words))
        {
            // The last one says most: others come before it whenever a program fails.
            self.unchecked = Some(short(finding::without_severity(text)));
        } else if let Some(kind) = finding::kind(text) {
            self.total += 1;
            if self.findings.len() < MOST_FINDINGS {
                self.findings.push(begun(kind, text));
                return true;
            }
        } else if finding::without_severity(text) != text || text.starts_with("Internal") {
            self.unchecked = Some(short(text));
        }
        false
    }
}

/// A summary without a number counts as one finding: it is not a clean one.
fn add(summary: &mut Option<Summary>, rest: &str) {
    let said = summary.get_or_insert_with(Summary::default);
    said.findings = said.findings.saturating_add(number(rest).unwrap_or(1));
}

fn begun(kind: &'static str, text: &str) -> Finding {
    let text = finding::without_severity(text);
    let mut finding = Finding::new(kind, text);
    if kind == "race"
        && let Some((before, site)) = text.split_once(" access at ")
    {
        let access = before.rsplit(' ').next().map(str::to_owned);
        finding.text = "Race reported".into();
        finding.site = Some(Site { access, ..Site::read(site) });
    } else if let Some((_, site)) =
        text.split_once(") at ").filter(|_| kind == "barrier error" || kind == "deadlock")
    {
        finding.site = Some(Site::read(site));
    }
    finding
}

/// A line that says more of a finding.
fn more(finding: &mut Finding, text: &str) {
    if let Some(site) = text.strip_prefix("at ") {
        finding.site.get_or_insert_with(|| Site::read(site));
    } else if let Some(rest) = text.strip_prefix("by thread ") {
        let thread = position(rest);
        if let Some(site) = &mut finding.site {
            site.thread = thread;
        }
        finding.block =
            rest.split_once("in block ").and_then(|(_, rest)| position(rest)).or(finding.block.take());
    } else if let Some((access, site)) =
        text.strip_prefix("and ").and_then(|rest| rest.split_once(" access at "))
    {
        finding.hazards = site.rsplit_once('[').and_then(|(_, rest)| number(rest));
        finding.other = Some(Site { access: Some(short(access)), ..Site::read(site) });
    } else if text.starts_with("Address ") {
        finding.address = Some(short(text));
    } else if text.starts_with("and is ") {
        if let Some(address) = &mut finding.address {
            *address = short(&format!("{address} {text}"));
        }
    } else if let Some(frame) = text.strip_prefix("Device Frame:") {
        // The last one is the kernel: it was called by the host.
        finding.kernel = Some(Site::read(frame).function);
    } else if let Some((access, rest)) = text.split_once(" Thread ")
        && let Some((thread, site)) = rest.split_once(" at ")
    {
        let site = Site { access: Some(short(access)), thread: position(thread.trim()), ..Site::read(site) };
        if finding.site.is_none() {
            finding.site = Some(site);
        } else {
            finding.other.get_or_insert(site);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn log(lines: &[&str]) -> Log {
        let text = lines.iter().fold(String::new(), |text, line| text + "=========" + line + "\n");
        read(text.as_bytes())
    }

    #[test]
    fn an_access_out_of_bounds_in_a_called_function() {
        let found = log(&[
            " COMPUTE-SANITIZER",
            " Invalid __global__ write of size 4 bytes",
            "     at store(float *, int)+0xb0 in tail.cu:39",
            "     by thread (31,0,0) in block (7,0,0)",
            "     Address 0x7cc43a800400 is out of bounds",
            "     and is 1 bytes after the nearest allocation at 0x7cc43a800000 of size 1,024 bytes",
            "         Device Frame: tail(float *)+0x30 in tail.cu:44",
            "     Saved host backtrace up to driver entry point at kernel launch time",
            "         Host Frame: main [0xae66] in tail",
            "",
            " ERROR SUMMARY: 1 error",
        ]);
        assert!(found.banner);
        assert_eq!((found.errors, found.total), (Some(Summary { findings: 1 }), 1));
        assert_eq!(found.unchecked, None);
        let finding = &found.findings[0];
        assert_eq!((finding.kind, finding.bytes), ("invalid access", Some(4)));
        assert_eq!(
            finding.said(),
            "Invalid __global__ write of size 4 bytes at store(float *, int) (tail.cu:39), in tail(float *), thread \
             (31,0,0), block (7,0,0): Address 0x7cc43a800400 is out of bounds and is 1 bytes after the nearest \
             allocation at 0x7cc43a800000 of size 1,024 bytes"
        );
    }

    #[test]
    fn races_in_both_forms() {
        let found = log(&[
            " COMPUTE-SANITIZER",
            " Error: Race reported between Write access at sum(int *, int *)+0x90 in /src/k.cu:41",
            "     and Read access at sum(int *, int *)+0x100 in /src/k.cu:51 [508 hazards]",
            "",
            " Warning: (Warp Level Programming) Potential RAW hazard detected at __shared__ 0x8c in block (0,0,0) :",
            "     Write Thread (35,0,0) at sum(int *, int *)+0x90 in /src/w.cu:44",
            "     Read Thread (32,0,0) at sum(int *, int *)+0x120 in /src/w.cu:56",
            "     Current Value : 35",
            "",
            " RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)",
        ]);
        assert_eq!(found.hazards, Some(Summary { findings: 2 }));
        assert_eq!(
            found.findings[0].said(),
            "race between write at sum(int *, int *) (k.cu:41) and read at sum(int *, int *) (k.cu:51), 508 hazards"
        );
        assert_eq!(
            found.findings[1].said(),
            "hazard RAW between write at sum(int *, int *) (w.cu:44) and read at sum(int *, int *) (w.cu:56), \
             thread (35,0,0), block (0,0,0)"
                .replace(", block (0,0,0)", "")
        );
        assert_eq!(found.findings[1].block.as_deref(), Some("(0,0,0)"));
    }

    #[test]
    fn uninitialized_barrier_and_api() {
        let found = log(&[
            " COMPUTE-SANITIZER",
            " Uninitialized __global__ memory read of size 4 bytes",
            "     at add(int *)+0x70 in m.cu:41",
            "     by thread (31,0,0) in block (1,0,0)",
            "     Address 0x7f3c7ec000fc",
            "",
            " Barrier error detected. Divergent thread(s) in block.",
            "     at [clone k(int *, int *)] outline()+0x11f0 in t.cu:42",
            "     by thread (32,0,0) in block (0,0,0)",
            "         Device Frame: k(int *, int *)+0xe40 in t.cu:60",
            "",
            " Program hit cudaErrorInvalidValue (error 1) due to \"invalid argument\" on CUDA API call to cudaMemcpy.",
            "     Saved host backtrace up to driver entry point at error",
            "",
            " ERROR SUMMARY: 3 errors",
        ]);
        let kinds: Vec<_> = found.findings.iter().map(|f| f.kind).collect();
        assert_eq!(kinds, ["uninitialized read", "barrier error", "API error"]);
        assert_eq!(found.findings[1].kernel.as_deref(), Some("k(int *, int *)"));
    }

    #[test]
    fn what_checked_nothing_says_so() {
        let found = log(&[
            " COMPUTE-SANITIZER",
            " Error: process didn't terminate successfully",
            "     The application may have hit an error when dereferencing Unified Memory from the host.",
            " Error: Target application terminated before first instrumented API call",
        ]);
        assert_eq!(
            found.unchecked.as_deref(),
            Some("Target application terminated before first instrumented API call")
        );
        assert_eq!((found.errors, found.total), (None, 0));
        for line in [
            " Internal Sanitizer Error: The Sanitizer encountered an error while launching k",
            " Warning: Detected overflow of tracked cuda::barrier structures. Results might be incorrect.",
            " Error: something that nobody has seen before",
        ] {
            let found = log(&[" COMPUTE-SANITIZER", line, " ERROR SUMMARY: 0 errors"]);
            assert!(found.unchecked.is_some(), "{line}");
        }
        assert_eq!(read(b"hello\n"), Log::default());
    }

    #[test]
    fn a_call_that_is_not_supported_is_a_finding() {
        let line = " Program hit cudaErrorNotSupported (error 801) due to \"operation not supported\" on CUDA API call";
        let found = log(&[" COMPUTE-SANITIZER", line, " ERROR SUMMARY: 1 error"]);
        assert_eq!((found.total, found.unchecked), (1, None));
    }

    #[test]
    fn a_summary_that_cannot_be_read_is_not_clean() {
        let found = log(&[" COMPUTE-SANITIZER", " ERROR SUMMARY: none", " ERROR SUMMARY: 1,000 errors"]);
        assert_eq!(found.errors, Some(Summary { findings: 1001 }));
    }

    proptest! {
        #[test]
        fn reads_anything(log in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = read(&log);
        }

        #[test]
        fn reads_lines_in_any_order(lines in prop::collection::vec(prop::sample::select(vec![
            " COMPUTE-SANITIZER", " ERROR SUMMARY: 99999999999999999999 errors", " RACECHECK SUMMARY: ", "",
            " Error: Race reported between Write access at ", "     and Read access at [ hazards]", "     at +0x in :",
            "     by thread ( in block (", "     Address ", "     and is ", "     Device Frame:", " Potential WAW hazard",
            "     Write Thread (1 at x", " Invalid é of size ", "é", "     at é+0xé in é:é",
        ]), 0..40)) {
            let found = log(&lines);
            prop_assert!(found.findings.len() as u64 <= found.total);
            for finding in &found.findings {
                let _ = (finding.said(), finding.json("memcheck"));
            }
        }
    }
}
