//! CUDA source to PTX, by NVIDIA's run-time compiler.
//!
//! The compiler is no part of the driver. It is looked for where the loader looks, then in the toolkits and Python
//! packages that the environment names. `cudarc` panics where it is missing, so it is looked for first.

use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cudarc::nvrtc::{result, sys};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use super::error::{CudaError, Result};

/// The most that is kept of what the compiler says, in bytes.
const LOG: usize = 64 * 1024;

/// What the compiler made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// The PTX.
    pub ptx: String,
    /// What it said: warnings, or nothing.
    pub log: String,
}

/// The libraries of the compiler, in the order in which they have to be loaded.
const LIBRARIES: &[&str] = &["libnvrtc-builtins.so.13.0", "libnvrtc.so.13"];

/// Loads the compiler.
///
/// # Errors
/// There is none.
fn ready() -> Result<()> {
    static FOUND: OnceLock<bool> = OnceLock::new();
    let found = *FOUND.get_or_init(|| present() || (load_from(&places()) && present()));
    if found {
        return Ok(());
    }
    Err(CudaError::plain(
        "there is no NVRTC here, which compiles CUDA source: set CUDA_PATH to a CUDA toolkit, or install the Python \
         package nvidia-cuda-nvrtc into the active virtual environment",
    ))
}

fn present() -> bool {
    #[expect(unsafe_code, reason = "loading a library runs its constructors")]
    // SAFETY: the library is the one that the loader finds under NVIDIA's name.
    unsafe {
        sys::is_culib_present()
    }
}

/// Folders that may hold the compiler, from what the user's environment names and where toolkits are installed.
fn places() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for name in ["CUDA_PATH", "CUDA_HOME"] {
        if let Some(root) = std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute()) {
            found.push(root.join("lib64"));
            found.push(root.join("lib"));
            found.push(root.join("targets/x86_64-linux/lib"));
        }
    }
    found.push(PathBuf::from("/usr/local/cuda/lib64"));
    for name in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        let Some(root) = std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute()) else {
            continue;
        };
        found.push(root.join("lib"));
        let pythons = std::fs::read_dir(root.join("lib")).into_iter().flatten().flatten().take(64);
        for python in pythons {
            let packages = python.path().join("site-packages/nvidia");
            found.push(packages.join("cu13/lib"));
            found.push(packages.join("cuda_nvrtc/lib"));
        }
    }
    found
}

/// Loads the compiler from the first folder that has it; it stays loaded.
fn load_from(folders: &[PathBuf]) -> bool {
    folders.iter().filter(|f| f.join("libnvrtc.so.13").is_file()).any(|folder| {
        LIBRARIES.iter().map(|name| folder.join(name)).filter(|path| path.is_file()).all(|path| keep(&path))
    })
}

fn keep(path: &Path) -> bool {
    #[expect(unsafe_code, reason = "loading a library runs its constructors")]
    // SAFETY: it lies in a folder that the user's own environment names as a toolkit or virtual environment.
    let loaded = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) };
    // Later lookups by its name find what is loaded already, so it must not be unloaded.
    loaded.map(std::mem::forget).is_ok()
}

/// The compiler's version, such as (13, 0).
///
/// # Errors
/// There is none.
pub fn version() -> Result<(i32, i32)> {
    ready()?;
    let (mut major, mut minor) = (0, 0);
    #[expect(unsafe_code, reason = "a call into the compiler")]
    // SAFETY: the library is there (`ready`); both places are valid.
    let result = unsafe { sys::nvrtcVersion(&raw mut major, &raw mut minor) };
    named("nvrtcVersion", result)?;
    Ok((major, minor))
}

fn named(call: &'static str, result: sys::nvrtcResult) -> Result<()> {
    if result == sys::nvrtcResult::NVRTC_SUCCESS {
        return Ok(());
    }
    Err(CudaError { call, name: format!("{result:?}"), text: String::new() })
}

/// Compiles `source`; `name` is what messages call it. Options are NVRTC's own, such as `--fmad=false`.
///
/// # Errors
/// No compiler, a wrong option, or source that does not compile: then `text` is the compiler's log.
pub fn compile(source: &str, name: &str, options: &[String]) -> Result<Compiled> {
    ready()?;
    let nul = |_| CudaError::plain("there is a NUL in the source, its name or an option");
    let source = CString::new(source).map_err(nul)?;
    let name = CString::new(name).map_err(nul)?;
    let options: Vec<CString> = options
        .iter()
        .map(|o| CString::new(o.as_str()))
        .collect::<std::result::Result<_, _>>()
        .map_err(nul)?;
    let options: Vec<Vec<u8>> = options.into_iter().map(CString::into_bytes).collect();
    let program = Program::new(&source, &name)?;
    #[expect(unsafe_code, reason = "calls into the compiler")]
    // SAFETY: the program exists until `program` is dropped, and is compiled before its PTX is read.
    unsafe {
        let done = result::compile_program(program.0, &options);
        let log = program.log();
        done.map_err(|e| CudaError {
            call: "nvrtcCompileProgram",
            name: format!("{:?}", e.0),
            text: log.clone(),
        })?;
        let ptx = result::get_ptx(program.0).map_err(|e| CudaError {
            call: "nvrtcGetPTX",
            name: format!("{:?}", e.0),
            text: String::new(),
        })?;
        let bytes: Vec<u8> = ptx.iter().map(|c| c.cast_unsigned()).take_while(|b| *b != 0).collect();
        let ptx = String::from_utf8(bytes).map_err(|_| CudaError::plain("the compiler's PTX is no text"))?;
        Ok(Compiled { ptx, log })
    }
}

/// A program of the compiler, destroyed when this is dropped.
struct Program(sys::nvrtcProgram);

impl Program {
    fn new(source: &CStr, name: &CStr) -> Result<Self> {
        result::create_program(source, Some(name)).map(Self).map_err(|e| CudaError {
            call: "nvrtcCreateProgram",
            name: format!("{:?}", e.0),
            text: String::new(),
        })
    }

    /// What the compiler said.
    fn log(&self) -> String {
        #[expect(unsafe_code, reason = "a call into the compiler")]
        // SAFETY: the program exists.
        let log = unsafe { result::get_program_log(self.0) };
        let bytes: Vec<u8> = log
            .unwrap_or_default()
            .iter()
            .map(|c| c.cast_unsigned())
            .take_while(|b| *b != 0)
            .take(LOG)
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "a call into the compiler")]
        // SAFETY: it was created once and is destroyed once.
        unsafe {
            let _ = result::destroy_program(self.0);
        }
    }
}
