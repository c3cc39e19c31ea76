//! The driver's library: whether it is there and has what is called here.
//!
//! `cudarc` looks a symbol up when it is first called, and panics where it is missing. So everything that this folder
//! calls is looked up once before anything is called.

use std::sync::OnceLock;

use cudarc::driver::sys;

use super::error::{CudaError, Result};

/// Every function of the driver that is called in this folder, but for those in [`WHERE_PRESENT`].
const CALLED: &[&str] = &[
    "cuInit",
    "cuDriverGetVersion",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDeviceGetUuid_v2",
    "cuDeviceTotalMem_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemcpyHtoD_v2",
    "cuMemcpyDtoH_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemsetD8_v2",
    "cuMemGetAllocationGranularity",
    "cuMemAddressReserve",
    "cuMemAddressFree",
    "cuMemCreate",
    "cuMemMap",
    "cuMemSetAccess",
    "cuMemUnmap",
    "cuMemRelease",
    "cuModuleLoadDataEx",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuFuncGetAttribute",
    "cuFuncSetAttribute",
    "cuLaunchKernel",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuEventElapsedTime_v2",
    "cuGetErrorName",
    "cuGetErrorString",
];

/// Functions that are called only where the driver has them.
const WHERE_PRESENT: &[&str] = &["cuFuncGetParamInfo"];

/// Why the driver's library cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unusable {
    /// There is none.
    Absent,
    /// It is older than this program needs: the function that it lacks.
    Lacks(&'static str),
}

impl From<Unusable> for CudaError {
    fn from(why: Unusable) -> Self {
        match why {
            Unusable::Absent => Self::plain("there is no CUDA driver here: libcuda.so cannot be loaded"),
            Unusable::Lacks(name) => {
                Self::plain(format!("the CUDA driver is too old or damaged: it has no {name}"))
            }
        }
    }
}

/// Loads the driver's library and looks for all that is called here.
pub fn look() -> std::result::Result<(), Unusable> {
    static FOUND: OnceLock<std::result::Result<(), Unusable>> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            #[expect(unsafe_code, reason = "loading a library runs its constructors")]
            // SAFETY: the library is the one that the loader finds under NVIDIA's name; trusting it is the user's
            // choice, as with every program that uses a GPU.
            let present = unsafe { sys::is_culib_present() };
            if !present {
                return Err(Unusable::Absent);
            }
            CALLED.iter().find(|name| !has(name)).map_or(Ok(()), |name| Err(Unusable::Lacks(name)))
        })
        .clone()
}

/// Whether the loaded driver has this function.
fn has(name: &str) -> bool {
    #[expect(unsafe_code, reason = "looking a symbol up")]
    // SAFETY: the library is present, so this does not panic; the symbol is only looked for and never called.
    unsafe {
        sys::culib().get::<*const ()>(name.as_bytes()).is_ok()
    }
}

/// Whether kernels can be asked for their parameters.
pub(super) fn knows_parameters() -> bool {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    *KNOWN.get_or_init(|| WHERE_PRESENT.iter().all(|name| has(name)))
}

/// The error where the library cannot be used.
pub(super) fn ready() -> Result<()> {
    look().map_err(CudaError::from)
}
