//! What the CUDA driver or its compiler complained about.

use std::ffi::CStr;
use std::fmt;

use cudarc::driver::sys;

/// A call that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CudaError {
    /// The call, such as `cuLaunchKernel`; empty where it did not come to one.
    pub call: &'static str,
    /// CUDA's own name of the error, such as `CUDA_ERROR_ILLEGAL_ADDRESS`; empty where it did not come to a call.
    pub name: String,
    /// What it means, in one line or, for a compiler, in as many as it wrote.
    pub text: String,
}

impl CudaError {
    /// Trouble that CUDA has no name for.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { call: "", name: String::new(), text: text.into() }
    }

    /// Whether the context is lost with it: no later call in this process can work.
    pub fn is_lost(&self) -> bool {
        matches!(
            self.name.as_str(),
            "CUDA_ERROR_ILLEGAL_ADDRESS"
                | "CUDA_ERROR_LAUNCH_TIMEOUT"
                | "CUDA_ERROR_ASSERT"
                | "CUDA_ERROR_HARDWARE_STACK_ERROR"
                | "CUDA_ERROR_ILLEGAL_INSTRUCTION"
                | "CUDA_ERROR_MISALIGNED_ADDRESS"
                | "CUDA_ERROR_INVALID_ADDRESS_SPACE"
                | "CUDA_ERROR_INVALID_PC"
                | "CUDA_ERROR_LAUNCH_FAILED"
                | "CUDA_ERROR_ECC_UNCORRECTABLE"
                | "CUDA_ERROR_CONTAINED"
        )
    }
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.call.is_empty() {
            return f.write_str(&self.text);
        }
        write!(f, "{}: {}", self.call, self.name)?;
        if !self.text.is_empty() {
            write!(f, " ({})", self.text)?;
        }
        Ok(())
    }
}

impl std::error::Error for CudaError {}

/// A result of this module.
pub type Result<T> = std::result::Result<T, CudaError>;

/// The error of `call` unless its result is success.
pub(super) fn checked(call: &'static str, result: sys::CUresult) -> Result<()> {
    if result == sys::CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    Err(CudaError { call, name: name(result), text: text(result) })
}

fn name(result: sys::CUresult) -> String {
    let mut found = std::ptr::null();
    #[expect(unsafe_code, reason = "a call into the driver")]
    // SAFETY: `found` is a place for the pointer; the driver gives a constant string or leaves it null.
    unsafe {
        if sys::cuGetErrorName(result, &raw mut found) == sys::CUresult::CUDA_SUCCESS && !found.is_null() {
            return CStr::from_ptr(found).to_string_lossy().into_owned();
        }
    }
    format!("{result:?}")
}

fn text(result: sys::CUresult) -> String {
    let mut found = std::ptr::null();
    #[expect(unsafe_code, reason = "a call into the driver")]
    // SAFETY: as above.
    unsafe {
        if sys::cuGetErrorString(result, &raw mut found) == sys::CUresult::CUDA_SUCCESS && !found.is_null() {
            return CStr::from_ptr(found).to_string_lossy().into_owned();
        }
    }
    String::new()
}
