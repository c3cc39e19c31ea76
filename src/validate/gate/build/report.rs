//! What compilers say of the kernels they made: read from a log, line by line, whatever else stands in it.
//!
//! | said by | form |
//! |---|---|
//! | `ptxas -v`, `nvcc -Xptxas -v` | `Compiling entry function '…' for 'sm_90'`, `Function properties for …`, `Used 8 registers, …` |
//! | `ptxas --warn-on-spills` | `Registers are spilled to local memory in function '…', …` |
//! | `cuobjdump --dump-resource-usage` | `Function …:`, `REG:8 STACK:0 SHARED:1024 …` |
//! | clang for AMD, `-Rpass-analysis=kernel-resource-usage` | remarks: `Function Name: …`, `VGPRs: 10`, … |
//! | AMD assembly, the metadata at its end | `amdhsa.kernels:` with `.vgpr_count:`, `.vgpr_spill_count:`, … |

/// No build says more of more functions.
const MOST_FUNCTIONS: usize = 20_000;

/// Longer lines say nothing of a kernel.
const LONGEST_LINE: usize = 16 * 1024;

/// An AMD register that is spilled takes so many bytes of every lane.
const REGISTER_BYTES: u64 = 4;

/// What was said of one function.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Function {
    /// Its name, as the compiler writes it.
    pub name: String,
    /// What it was compiled for, where that was said.
    pub arch: Option<String>,
    /// Whether it is a kernel, and not a function that kernels call.
    pub entry: bool,
    /// Registers of a thread: all of them on NVIDIA, VGPRs on AMD.
    pub registers: Option<u64>,
    /// Bytes that a thread spills: the larger of stores and loads; on AMD four for each spilled register.
    pub spills: Option<u64>,
    /// Bytes of a thread's stack frame or scratch.
    pub stack: Option<u64>,
    /// Bytes of a block's static shared memory.
    pub shared: Option<u64>,
}

/// What was said of all functions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// In the order in which they were reported.
    pub functions: Vec<Function>,
    /// Whether a line belongs to no function: two compilers wrote at the same time.
    pub stray: bool,
}

/// Reads a log.
pub fn read(log: &[u8]) -> Report {
    let mut reader = Reader::default();
    for line in log.split(|byte| *byte == b'\n') {
        if line.len() <= LONGEST_LINE {
            reader.line(String::from_utf8_lossy(line).trim_end());
        }
    }
    reader.report.functions.retain(|function| !function.name.is_empty());
    reader.report
}

#[derive(Default)]
struct Reader {
    report: Report,
    arch: Option<String>,
    /// The entry whose registers were not reported yet, as ptxas goes on.
    open: Option<usize>,
    /// Whose stack and spills come next.
    properties: Option<usize>,
    /// The function of cuobjdump's next line.
    dumped: Option<usize>,
    /// The function that AMD remarks are about.
    remarked: Option<usize>,
    metadata: Metadata,
}

/// Where in AMD's metadata a line stands.
#[derive(Default)]
struct Metadata {
    inside: bool,
    /// How far the dash before a kernel is indented.
    dash: Option<usize>,
    current: Option<usize>,
    /// The first kernel of this document.
    first: usize,
}

impl Reader {
    fn line(&mut self, line: &str) {
        if line.contains("remark:") {
            self.remark(line);
        } else if let Some(at) = line.find("ptxas ") {
            self.ptxas(&line[at..]);
        } else if !self.metadata(line) && !self.frame(line) {
            self.dump(line.trim_start());
        }
    }

    fn add(&mut self, function: Function) -> Option<usize> {
        (self.report.functions.len() < MOST_FUNCTIONS).then(|| {
            self.report.functions.push(function);
            self.report.functions.len() - 1
        })
    }

    fn named(&mut self, name: &str, entry: bool) -> Option<usize> {
        let known = |f: &Function| f.name == name && f.arch == self.arch;
        if let Some(index) = self.report.functions.iter().rposition(known) {
            return Some(index);
        }
        let arch = self.arch.clone();
        self.add(Function { name: name.to_owned(), arch, entry, ..Function::default() })
    }

    fn ptxas(&mut self, line: &str) {
        if let Some(rest) = after(line, "Compiling entry function '") {
            let Some((name, rest)) = rest.split_once('\'') else {
                return;
            };
            self.arch = after(rest, "for '").and_then(|rest| rest.split('\'').next()).map(str::to_owned);
            let arch = self.arch.clone();
            let function = Function { name: name.to_owned(), arch, entry: true, ..Function::default() };
            self.open = self.add(function);
            self.properties = None;
        } else if let Some(name) = after(line, "Function properties for ") {
            let name = name.trim().trim_matches('\'');
            let of_open = self.open.filter(|open| self.report.functions[*open].name == name);
            self.properties = of_open.or_else(|| self.named(name, false));
        } else if let Some(rest) = after(line, "spilled to local memory in function '") {
            if let Some((name, rest)) = rest.split_once('\'')
                && let Some(index) = self.named(name, true)
            {
                self.amounts(index, rest);
            }
        } else if let Some(rest) = after(line, " : Used ").or_else(|| after(line, ": Used ")) {
            let Some(open) = self.open.take() else {
                self.report.stray = true;
                return;
            };
            let function = &mut self.report.functions[open];
            function.registers = rest.split(' ').next().and_then(|number| number.parse().ok());
            function.shared = Some(0);
            self.amounts(open, rest);
        }
    }

    /// `288 bytes stack frame, 284 bytes spill stores, 284 bytes spill loads`
    fn frame(&mut self, line: &str) -> bool {
        if !line.contains("bytes stack frame") {
            return false;
        }
        match self.properties.take() {
            Some(index) => {
                let function = &mut self.report.functions[index];
                function.spills.get_or_insert(0);
                self.amounts(index, line);
            }
            None => self.report.stray = true,
        }
        true
    }

    /// Amounts in bytes, between commas. One that is said twice counts at its larger value.
    fn amounts(&mut self, index: usize, text: &str) {
        let function = &mut self.report.functions[index];
        for field in text.split(',') {
            let Some((amount, what)) = field.trim().split_once(" bytes ") else {
                continue;
            };
            // Old versions write what the program and what the runtime takes: `48+16`.
            let parts: Option<Vec<u64>> = amount.split('+').map(|part| part.parse().ok()).collect();
            let Some(amount) = parts.map(|parts| parts.into_iter().fold(0, u64::saturating_add)) else {
                continue;
            };
            let place = match what.trim() {
                "stack frame" | "cumulative stack size" => &mut function.stack,
                "spill stores" | "spill loads" => &mut function.spills,
                "smem" => &mut function.shared,
                _ => continue,
            };
            *place = Some(place.unwrap_or(0).max(amount));
        }
    }

    fn dump(&mut self, line: &str) {
        if let Some(arch) = line.strip_prefix("arch = ") {
            self.arch = Some(arch.trim().to_owned());
        } else if let Some(name) = line.strip_prefix("Function ").and_then(|rest| rest.strip_suffix(':')) {
            let arch = self.arch.clone();
            let function = Function { name: name.to_owned(), arch, entry: true, ..Function::default() };
            self.dumped = self.add(function);
        } else if line.starts_with("REG:")
            && let Some(index) = self.dumped.take()
        {
            let function = &mut self.report.functions[index];
            for (key, amount) in line.split_whitespace().filter_map(|field| field.split_once(':')) {
                match key {
                    "REG" => function.registers = amount.parse().ok(),
                    "STACK" => function.stack = amount.parse().ok(),
                    "SHARED" => function.shared = amount.parse().ok(),
                    _ => {}
                }
            }
        }
    }

    fn remark(&mut self, line: &str) {
        let line = line.split(" [-R").next().unwrap_or(line);
        if let Some(name) = after(line, "Function Name: ") {
            let name = name.trim().to_owned();
            self.remarked = self.add(Function { name, entry: true, ..Function::default() });
            return;
        }
        let (Some(index), Some((key, amount))) = (self.remarked, line.rsplit_once(": ")) else {
            return;
        };
        let key = key.rsplit(": ").next().unwrap_or(key).trim();
        let key = match key {
            "VGPRs" => ".vgpr_count",
            "ScratchSize [bytes/lane]" => ".private_segment_fixed_size",
            "LDS Size [bytes/block]" => ".group_segment_fixed_size",
            "VGPRs Spill" => ".vgpr_spill_count",
            "SGPRs Spill" => ".sgpr_spill_count",
            _ => return,
        };
        self.amd(index, key, amount.trim());
    }

    /// A line of AMD's metadata; whether it was one.
    fn metadata(&mut self, line: &str) -> bool {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if text == "amdhsa.kernels:" {
            let first = self.report.functions.len();
            self.metadata = Metadata { inside: true, first, ..Metadata::default() };
            return true;
        }
        if let Some(target) = text.strip_prefix("amdhsa.target:") {
            let target = target.trim().trim_matches(['\'', '"']);
            let arch = target.rsplit_once("--").map_or(target, |(_, arch)| arch);
            let first = self.metadata.first.min(self.report.functions.len());
            for function in &mut self.report.functions[first..] {
                function.arch.get_or_insert_with(|| arch.to_owned());
            }
            self.metadata = Metadata::default();
            return true;
        }
        if !self.metadata.inside {
            return false;
        }
        let item = text.strip_prefix("- ");
        let dash = *self.metadata.dash.get_or_insert(indent);
        if item.is_some() && indent == dash {
            self.metadata.current = self.add(Function { entry: true, ..Function::default() });
        } else if indent <= dash {
            self.metadata.inside = false;
            return false;
        } else if indent != dash + 2 {
            return true;
        }
        let (Some(index), Some((key, value))) =
            (self.metadata.current, item.unwrap_or(text).trim_start().split_once(':'))
        else {
            return true;
        };
        let value = value.trim();
        if key == ".name" {
            value.trim_matches(['\'', '"']).clone_into(&mut self.report.functions[index].name);
        } else {
            self.amd(index, key, value);
        }
        true
    }

    fn amd(&mut self, index: usize, key: &str, amount: &str) {
        let Ok(amount) = amount.parse::<u64>() else {
            return;
        };
        let function = &mut self.report.functions[index];
        match key {
            ".vgpr_count" => function.registers = Some(amount),
            ".private_segment_fixed_size" => function.stack = Some(amount),
            ".group_segment_fixed_size" => function.shared = Some(amount),
            ".vgpr_spill_count" | ".sgpr_spill_count" => {
                let bytes = amount.saturating_mul(REGISTER_BYTES);
                function.spills = Some(function.spills.unwrap_or(0).saturating_add(bytes));
            }
            _ => {}
        }
    }
}

fn after<'a>(line: &'a str, words: &str) -> Option<&'a str> {
    line.split_once(words).map(|(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one(log: &str) -> Function {
        let report = read(log.as_bytes());
        assert_eq!(report.functions.len(), 1, "{report:?}");
        assert!(!report.stray, "{report:?}");
        report.functions.into_iter().next().unwrap()
    }

    #[test]
    fn ptxas_of_several_versions() {
        let now = "ptxas info    : 0 bytes gmem\n\
                   ptxas info    : Compiling entry function 'fill' for 'sm_90'\n\
                   ptxas info    : Function properties for fill\n    \
                   288 bytes stack frame, 284 bytes spill stores, 292 bytes spill loads\n\
                   ptxas info    : Used 24 registers, used 1 barriers, 288 bytes cumulative stack size, 1024 bytes smem\n\
                   ptxas info    : Compile time = 8.275 ms\n";
        let expected = Function {
            name: "fill".into(),
            arch: Some("sm_90".into()),
            entry: true,
            registers: Some(24),
            spills: Some(292),
            stack: Some(288),
            shared: Some(1024),
        };
        assert_eq!(one(now), expected);
        let windows = now.replace('\n', "\r\n");
        assert_eq!(one(&windows), expected);
        let old = "make: entering\n\
                   ptxas info    : Compiling entry function '_Z4fillPf' for 'sm_20'\n\
                   ptxas info    : Function properties for _Z4fillPf\n    \
                   0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
                   ptxas info    : Used 10 registers, 48+16 bytes smem, 44 bytes cmem[0]\n";
        let read = one(old);
        assert_eq!((read.registers, read.spills, read.shared), (Some(10), Some(0), Some(64)));
    }

    #[test]
    fn device_functions_and_several_architectures_are_apart() {
        let one = |arch: &str, registers: u32| {
            format!(
                "ptxas info    : Compiling entry function 'k' for '{arch}'\n\
                 ptxas info    : Function properties for k\n\
                 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
                 ptxas info    : Used {registers} registers, used 0 barriers\n\
                 ptxas info    : Function properties for helper\n\
                 64 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\n"
            )
        };
        let report = read((one("sm_80", 20) + &one("sm_90", 22)).as_bytes());
        let found: Vec<_> = report
            .functions
            .iter()
            .map(|f| (f.name.as_str(), f.arch.as_deref().unwrap(), f.entry, f.registers, f.spills))
            .collect();
        assert_eq!(
            found,
            [
                ("k", "sm_80", true, Some(20), Some(0)),
                ("helper", "sm_80", false, None, Some(8)),
                ("k", "sm_90", true, Some(22), Some(0)),
                ("helper", "sm_90", false, None, Some(8)),
            ]
        );
    }

    #[test]
    fn a_warning_of_spills_alone_and_interleaved_lines() {
        let warning = "ptxas warning : Registers are spilled to local memory in function 'k', \
                       284 bytes spill stores, 280 bytes spill loads\n";
        assert_eq!((one(warning).spills, one(warning).registers), (Some(284), None));
        let two = "ptxas info : Compiling entry function 'a' for 'sm_80'\n\
                   ptxas info : Compiling entry function 'b' for 'sm_80'\n\
                   ptxas info : Used 8 registers\nptxas info : Used 9 registers\n";
        let report = read(two.as_bytes());
        assert!(report.stray);
        assert_eq!(report.functions[0].registers, None);
    }

    #[test]
    fn cuobjdump_and_amd() {
        let dump = "Fatbin elf code:\narch = sm_80\nResource usage:\n Common:\n  GLOBAL:0\n Function _Z4fillPf:\n  \
                    REG:8 STACK:0 SHARED:1024 LOCAL:0 CONSTANT[0]:364 TEXTURE:0\n";
        let read = one(dump);
        assert_eq!((read.name.as_str(), read.arch.as_deref()), ("_Z4fillPf", Some("sm_80")));
        assert_eq!((read.registers, read.spills, read.shared), (Some(8), None, Some(1024)));
        let field = |text: &str| {
            format!("k.hip:10:0: remark:     {text} [-Rpass-analysis=kernel-resource-usage]\n   10 | {{\n")
        };
        let remarks = field("Function Name: _Z4fillPf")
            + &field("TotalSGPRs: 24")
            + &field("VGPRs: 10")
            + &field("AGPRs: 0")
            + &field("ScratchSize [bytes/lane]: 16")
            + &field("Occupancy [waves/SIMD]: 16")
            + &field("SGPRs Spill: 1")
            + &field("VGPRs Spill: 3")
            + &field("LDS Size [bytes/block]: 512");
        let read = one(&remarks);
        assert_eq!(
            (read.registers, read.stack, read.spills, read.shared),
            (Some(10), Some(16), Some(16), Some(512))
        );
    }

    #[test]
    fn amd_metadata_knows_kernels_from_their_arguments() {
        let assembly = "\t.amdgpu_metadata\n---\namdhsa.kernels:\n  - .agpr_count:     0\n    .args:\n      \
                        - .address_space:  global\n        .name:           out\n        .offset:         0\n    \
                        .group_segment_fixed_size: 256\n    .name:           _Z4fillPf\n    \
                        .private_segment_fixed_size: 8\n    .sgpr_spill_count: 0\n    .vgpr_count:     33\n    \
                        .vgpr_spill_count: 2\n  - .name: second\n    .vgpr_count: 5\n\
                        amdhsa.target:   'amdgcn-amd-amdhsa--gfx90a'\namdhsa.version:\n  - 1\n  - 2\n...\n";
        let report = read(assembly.as_bytes());
        assert_eq!(report.functions.len(), 2, "{report:?}");
        let first = &report.functions[0];
        assert_eq!((first.name.as_str(), first.arch.as_deref()), ("_Z4fillPf", Some("gfx90a")));
        assert_eq!(
            (first.registers, first.spills, first.stack, first.shared),
            (Some(33), Some(8), Some(8), Some(256))
        );
        assert_eq!((report.functions[1].name.as_str(), report.functions[1].registers), ("second", Some(5)));
    }

    proptest! {
        #[test]
        fn reads_anything(log in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = read(&log);
        }

        #[test]
        fn reads_lines_in_any_order(lines in prop::collection::vec(prop::sample::select(vec![
            "ptxas info : Compiling entry function 'k' for 'sm_80'", "ptxas info : Compiling entry function '",
            "ptxas info : Function properties for k", "ptxas info : Function properties for ",
            " 8 bytes stack frame, 4 bytes spill stores, 99999999999999999999 bytes spill loads",
            "ptxas info : Used 8 registers, 4+18446744073709551615 bytes smem", "ptxas info : Used ",
            "amdhsa.kernels:", "  - .name: a", "    .vgpr_spill_count: 18446744073709551615", "- x", "amdhsa.target: gfx",
            "remark: Function Name: z", "remark: VGPRs Spill: 4", "Function f:", "REG:x STACK:", "arch = sm_1",
        ]), 0..40)) {
            let report = read(lines.join("\n").as_bytes());
            prop_assert!(report.functions.len() <= lines.len());
        }
    }
}
