//! One NVIDIA GPU through the driver's own library, loaded at run time.
//!
//! | file | what it knows |
//! |---|---|
//! | [`compare`] | comparing tensors, by the kernels of this program |
//! | [`library`] | whether the driver's library is there and has what is called |
//! | [`memory`] | buffers, plain or with unmapped pages around them; copies |
//! | [`module`] | PTX and machine code, kernels, launches |
//! | [`event`] | times on the device |
//! | [`nvrtc`] | CUDA source to PTX |
//! | [`probe`] | asking a child process whether all that works |
//! | [`error`] | what CUDA calls its errors |
//!
//! Nothing here panics where a driver is missing, old or broken, but a driver may crash or hang a process that calls
//! it: so [`probe::ask`] comes first, and kernels of strangers run in a process of their own. All `unsafe` of the
//! program's devices is in this folder. A context belongs to the thread that opened it.

pub mod compare;
pub mod error;
pub mod event;
pub mod library;
pub mod memory;
pub mod module;
pub mod nvrtc;
pub mod probe;

use std::rc::Rc;

use cudarc::driver::sys;
use serde::{Deserialize, Serialize};

use error::checked;
pub use error::{CudaError, Result};
pub use event::Event;
pub use memory::Buffer;
pub use module::{Argument, Function, Image, Launch, Module};

/// What the emulated device of the tests calls itself. It is no GPU and never stands in for one.
pub const EMULATED: &str = "git-incident emulated device";

/// What a GPU says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Info {
    /// Its position among the devices that this process sees.
    pub ordinal: u32,
    /// The model.
    pub name: String,
    /// Its identity, as `nvidia-smi` prints it.
    pub uuid: String,
    /// The newest CUDA that the driver knows: 13000 is 13.0.
    pub driver: i32,
    /// Compute capability: 90 is 9.0.
    pub capability: i32,
    /// Streaming multiprocessors.
    pub multiprocessors: i32,
    /// Threads that one of them holds at once.
    pub resident_threads: i32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Shared memory that one block may ask for, in bytes.
    pub shared_bytes: i32,
    /// Whether addresses can be reserved and mapped apart.
    pub virtual_memory: bool,
    /// Whether this is the emulated device of the tests.
    pub emulated: bool,
}

impl Info {
    /// The vendor and the model as records name them.
    pub fn class(&self) -> String {
        if self.emulated { format!("emulated/{}", self.name) } else { format!("nvidia/{}", self.name) }
    }
}

/// The primary context of a device; released when the last of what was made in it is gone.
#[derive(Debug)]
struct Context {
    device: sys::CUdevice,
    info: Info,
}

impl Drop for Context {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "a call into the driver")]
        // SAFETY: it was retained once when this was made. A failure leaves it to the end of the process.
        unsafe {
            let _ = sys::cuDevicePrimaryCtxRelease_v2(self.device);
        }
    }
}

/// An opened GPU. Clones share the context.
#[derive(Debug, Clone)]
pub struct Gpu(Rc<Context>);

impl Gpu {
    /// Opens the GPU at `ordinal` among those that this process sees.
    ///
    /// # Errors
    /// No driver, an old one, no such device, or a driver that fails.
    pub fn open(ordinal: u32) -> Result<Self> {
        let count = count()?;
        let device_ordinal = i32::try_from(ordinal).ok().filter(|o| *o < count).ok_or_else(|| {
            CudaError::plain(format!("there is no CUDA device {ordinal}: this process sees {count}"))
        })?;
        let mut device = 0;
        let mut context = std::ptr::null_mut();
        #[expect(unsafe_code, reason = "calls into the driver")]
        // SAFETY: the places are valid for the values that the driver writes; the context is used only after it
        // was retained.
        unsafe {
            checked("cuDeviceGet", sys::cuDeviceGet(&raw mut device, device_ordinal))?;
            let info = describe(device, ordinal)?;
            checked("cuDevicePrimaryCtxRetain", sys::cuDevicePrimaryCtxRetain(&raw mut context, device))?;
            let opened = Self(Rc::new(Context { device, info }));
            checked("cuCtxSetCurrent", sys::cuCtxSetCurrent(context))?;
            Ok(opened)
        }
    }

    /// What it says of itself.
    pub fn info(&self) -> &Info {
        &self.0.info
    }

    /// Waits for all that was asked of it. An earlier launch that went wrong says so here.
    ///
    /// # Errors
    /// What went wrong.
    pub fn synchronize(&self) -> Result<()> {
        #[expect(unsafe_code, reason = "a call into the driver")]
        // SAFETY: the context is current on this thread, which cannot have changed: this type stays on its thread.
        unsafe {
            checked("cuCtxSynchronize", sys::cuCtxSynchronize())
        }
    }
}

/// How many devices this process sees. Initialises the driver.
///
/// # Errors
/// No driver, an old one, or one that fails.
pub fn count() -> Result<i32> {
    library::ready()?;
    let mut count = 0;
    #[expect(unsafe_code, reason = "calls into the driver")]
    // SAFETY: the functions are there (`ready`), `count` is a place for the answer.
    unsafe {
        checked("cuInit", sys::cuInit(0))?;
        checked("cuDeviceGetCount", sys::cuDeviceGetCount(&raw mut count))?;
    }
    Ok(count)
}

fn describe(device: sys::CUdevice, ordinal: u32) -> Result<Info> {
    use sys::CUdevice_attribute_enum as Attribute;
    let attribute = |which| {
        let mut value = 0;
        #[expect(unsafe_code, reason = "a call into the driver")]
        // SAFETY: `value` is a place for the answer.
        let result = unsafe { sys::cuDeviceGetAttribute(&raw mut value, which, device) };
        checked("cuDeviceGetAttribute", result).map(|()| value)
    };
    let mut name = [0_u8; 256];
    let mut uuid = sys::CUuuid { bytes: [0; 16] };
    let mut driver = 0;
    let mut memory = 0;
    #[expect(unsafe_code, reason = "calls into the driver")]
    // SAFETY: each place is valid and as large as the driver is told.
    unsafe {
        checked("cuDeviceGetName", sys::cuDeviceGetName(name.as_mut_ptr().cast(), 255, device))?;
        checked("cuDeviceGetUuid_v2", sys::cuDeviceGetUuid_v2(&raw mut uuid, device))?;
        checked("cuDriverGetVersion", sys::cuDriverGetVersion(&raw mut driver))?;
        checked("cuDeviceTotalMem_v2", sys::cuDeviceTotalMem_v2(&raw mut memory, device))?;
    }
    let name: Vec<u8> = name.iter().copied().take_while(|b| *b != 0).collect();
    let name = super::one_line(&String::from_utf8_lossy(&name));
    Ok(Info {
        ordinal,
        emulated: name == EMULATED,
        name,
        uuid: uuid_text(uuid.bytes.map(|b| b.cast_unsigned())),
        driver,
        capability: attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)? * 10
            + attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        resident_threads: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
        memory_bytes: memory as u64,
        shared_bytes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        virtual_memory: attribute(Attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)? != 0,
    })
}

/// As `nvidia-smi` writes it.
fn uuid_text(bytes: [u8; 16]) -> String {
    let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    format!("GPU-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_written_as_nvidia_smi_does() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255];
        assert_eq!(uuid_text(bytes), "GPU-01020304-0506-0708-090a-0b0c0d0e0fff");
    }

    #[test]
    fn an_error_is_said_with_its_name() {
        let error = CudaError {
            call: "cuLaunchKernel",
            name: "CUDA_ERROR_ILLEGAL_ADDRESS".into(),
            text: "an illegal memory access was encountered".into(),
        };
        assert_eq!(
            error.to_string(),
            "cuLaunchKernel: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)"
        );
        assert!(error.is_lost());
        assert!(!CudaError::plain("no driver").is_lost());
        assert_eq!(CudaError::plain("no driver").to_string(), "no driver");
    }
}
