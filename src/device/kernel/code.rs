//! From a source to functions that can be launched, each compiled once in a process.

use std::collections::BTreeMap;
use std::path::Path;

use super::files;
use crate::device::cuda::{CudaError, Function, Gpu, Image, Module, nvrtc};
use crate::validate::kernel::Launch;

/// The most lines of a compiler's log that are kept.
const MOST_LINES: usize = 60;

/// Why there is no function.
pub(super) enum Wrong {
    /// The code is wrong: in one line, and the compiler's own lines.
    Code(String, Vec<String>),
    /// The driver refused at launch time: reserved for what only shows then.
    Driver(CudaError),
    /// There is no compiler, or it takes no such options.
    Compiler(String),
    /// The gate is wrong: a file is missing, the parameters are others.
    Gate(String),
}

/// What was compiled so far.
#[derive(Default)]
pub(super) struct Modules(BTreeMap<(String, Vec<String>), Module>);

impl Modules {
    /// The function of a launch, checked against the sizes of what it will be given.
    pub(super) fn function(
        &mut self,
        gpu: &Gpu,
        worktree: &Path,
        launch: &Launch,
        sizes: &[usize],
    ) -> Result<Function, Wrong> {
        let key = (launch.source.clone(), launch.options.clone());
        if !self.0.contains_key(&key) {
            let module = load(gpu, worktree, launch)?;
            self.0.insert(key.clone(), module);
        }
        let function = match self.0.get(&key).map(|module| module.function(&launch.entry)) {
            Some(Ok(function)) => function,
            Some(Err(error)) if error.name == "CUDA_ERROR_NOT_FOUND" => {
                return Err(Wrong::Code(
                    format!("{} has no kernel {} ({})", launch.source, launch.entry, error.name),
                    vec!["a kernel keeps its name only as extern \"C\" __global__".into()],
                ));
            }
            Some(Err(error)) => return Err(Wrong::Driver(error)),
            None => return Err(Wrong::Gate(format!("{} was not loaded", launch.source))),
        };
        if let Some(taken) = function.parameters().filter(|taken| taken != sizes) {
            let list = |sizes: &[usize]| sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            return Err(Wrong::Gate(format!(
                "{} takes {} parameters of {} bytes, and the gate declares {} of {}",
                launch.entry,
                taken.len(),
                list(&taken),
                sizes.len(),
                list(sizes)
            )));
        }
        Ok(function)
    }
}

fn load(gpu: &Gpu, worktree: &Path, launch: &Launch) -> Result<Module, Wrong> {
    let source = files::source(worktree, &launch.source).map_err(Wrong::Gate)?;
    let text = |bytes: Vec<u8>| {
        String::from_utf8(bytes).map_err(|_| Wrong::Code(format!("{} is no text", launch.source), Vec::new()))
    };
    // The configuration takes these endings in lower case only.
    let loaded = match Path::new(&launch.source).extension().and_then(|ending| ending.to_str()) {
        Some("cubin") => gpu.load(Image::Cubin(&source)),
        Some("ptx") => gpu.load(Image::Ptx(&text(source)?)),
        _ => gpu.load(Image::Ptx(&compile(gpu, worktree, launch, &text(source)?)?)),
    };
    loaded.map_err(|error| {
        let what = format!("{} cannot be loaded: {}", launch.source, first_line(&error));
        if error.name == "CUDA_ERROR_UNSUPPORTED_PTX_VERSION" {
            // Newer than this machine's driver: nothing is wrong with it.
            return Wrong::Compiler(what);
        }
        Wrong::Code(what, error.text.lines().skip(1).take(MOST_LINES).map(str::to_owned).collect())
    })
}

/// An error in one line: what an assembler had to say may have several.
pub(super) fn first_line(error: &CudaError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

fn compile(gpu: &Gpu, worktree: &Path, launch: &Launch, source: &str) -> Result<String, Wrong> {
    let mut options = vec![format!("--gpu-architecture=compute_{}", gpu.info().capability)];
    options.extend_from_slice(&launch.options);
    let own = Path::new(&launch.source).parent().map_or_else(String::new, |own| own.display().to_string());
    for include in std::iter::once(&own).chain(&launch.include) {
        let place = files::folder(worktree, include).map_err(Wrong::Gate)?;
        options.push(format!("-I{}", place.display()));
    }
    options.extend(toolkit().map(|place| format!("-I{place}")));
    match nvrtc::compile(source, &launch.source, &options) {
        Ok(compiled) => Ok(compiled.ptx),
        Err(error) if error.name == "NVRTC_ERROR_COMPILATION" => {
            let mut lines: Vec<String> = error.text.lines().take(MOST_LINES).map(str::to_owned).collect();
            let more = error.text.lines().count().saturating_sub(MOST_LINES);
            if more > 0 {
                lines.push(format!("and {more} more lines"));
            }
            Err(Wrong::Code(format!("{} does not compile", launch.source), lines))
        }
        Err(error) => Err(Wrong::Compiler(first_line(&error))),
    }
}

/// Where the toolkit's own headers are, if it is installed: `cuda_fp16.h` and its like.
fn toolkit() -> Option<String> {
    let named =
        ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os).map(std::path::PathBuf::from);
    named
        .chain(["/usr/local/cuda".into()])
        .map(|home| home.join("include"))
        .find(|include| include.is_absolute() && include.join("cuda_fp16.h").is_file())
        .map(|include| include.display().to_string())
}
