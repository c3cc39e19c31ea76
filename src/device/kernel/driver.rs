//! The few calls of the CUDA driver and of its compiler that a launch needs: each checked, each with its name when it
//! fails.
//!
//! Only our own child process comes here: a library that is broken takes the child with it, and nobody else.

use std::ffi::{CStr, CString, c_void};

use cudarc::driver::{result, sys};
use cudarc::nvrtc;

use crate::validate::kernel::{DeviceSeen, EMULATED};

/// More dynamic shared memory than this has to be asked for.
const SHARED_WITHOUT_ASKING: u32 = 48 << 10;

/// What a call said that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// The driver's own name: `CUDA_ERROR_ILLEGAL_ADDRESS`.
    pub(super) name: String,
    /// What it says of it.
    pub(super) what: String,
}

impl Failure {
    fn of(error: result::DriverError) -> Self {
        let text = |text: Result<&CStr, result::DriverError>| {
            text.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let name = text(error.error_name());
        let name = if name.is_empty() { format!("CUDA error {}", error.0 as u32) } else { name };
        Self { name, what: text(error.error_string()) }
    }

    /// In one line.
    pub(super) fn line(&self) -> String {
        if self.what.is_empty() { self.name.clone() } else { format!("{} ({})", self.name, self.what) }
    }
}

type Result<T> = std::result::Result<T, Failure>;

/// A device with its context, current in this thread.
pub(super) struct Gpu {
    ordinal: i32,
    capability: (i32, i32),
    granularity: usize,
    guarded: bool,
    seen: DeviceSeen,
}

/// A module of code on the device.
pub(super) struct Module(sys::CUmodule);

/// A function of a module.
#[derive(Clone, Copy)]
pub(super) struct Function(sys::CUfunction);

/// Memory on the device, with nothing mapped before and behind it where the device can do that.
pub(super) struct Memory {
    /// Where the mapped part begins.
    pub(super) address: sys::CUdeviceptr,
    bytes: usize,
    reserved: Option<(sys::CUdeviceptr, usize, sys::CUmemGenericAllocationHandle)>,
}

/// Why a source was not compiled.
pub(super) enum Refused {
    /// There is no compiler.
    NoCompiler,
    /// The compiler does not take the options it was given, ours among them.
    Options(String),
    /// The source is wrong: the compiler's log.
    Source(String),
}

impl Gpu {
    /// Opens the first device that this process may see; the error says in one line why there is none.
    #[expect(unsafe_code, reason = "the driver is a C library")]
    pub(super) fn open() -> std::result::Result<Self, String> {
        let said = |what: &str, error: result::DriverError| format!("{what}: {}", Failure::of(error).line());
        // SAFETY: asks the loader only.
        if !unsafe { sys::is_culib_present() } {
            return Err("there is no CUDA driver here (libcuda)".into());
        }
        result::init().map_err(|e| said("the CUDA driver does not start", e))?;
        let mut version = 0;
        // SAFETY: writes one integer that is ours.
        unsafe { sys::cuDriverGetVersion(&raw mut version) }.result().map_err(|e| said("the CUDA driver", e))?;
        if result::device::get_count().map_err(|e| said("the CUDA driver", e))? < 1 {
            return Err("the CUDA driver sees no device".into());
        }
        let device = result::device::get(0).map_err(|e| said("the device", e))?;
        let name = result::device::get_name(device).map_err(|e| said("the device", e))?;
        let uuid = result::device::get_uuid(device).map_err(|e| said("the device", e))?;
        let attribute = |which| {
            // SAFETY: the device is the one that was just found.
            unsafe { result::device::get_attribute(device, which) }
        };
        let major = attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
        let minor = attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
        let virtual_memory =
            attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
        let capability = (major.map_err(|e| said("the device", e))?, minor.map_err(|e| said("the device", e))?);
        // SAFETY: the device exists; the context is this process's own and is never released before it ends.
        let context = unsafe { result::primary_ctx::retain(device) }.map_err(|e| said("the device", e))?;
        // SAFETY: the context was just retained.
        unsafe { result::ctx::set_current(context) }.map_err(|e| said("the device", e))?;
        let mut gpu = Self {
            ordinal: device,
            capability,
            granularity: 4096,
            guarded: virtual_memory.is_ok_and(|supported| supported == 1),
            seen: DeviceSeen {
                name: name.trim().to_owned(),
                uuid: uuid_text(uuid),
                capability: format!("{}.{}", capability.0, capability.1),
                driver: format!("{}.{}", version / 1000, version % 1000 / 10),
                nvrtc: None,
                guarded: false,
            },
        };
        if gpu.guarded {
            let mut bytes = 0_usize;
            let wanted = sys::CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
            let properties = gpu.properties();
            // SAFETY: reads the properties, writes one number; both are ours.
            let found = unsafe { sys::cuMemGetAllocationGranularity(&raw mut bytes, &raw const properties, wanted) };
            gpu.guarded = found.result().is_ok() && bytes > 0;
            gpu.granularity = bytes.max(4096);
        }
        gpu.seen.guarded = gpu.guarded;
        Ok(gpu)
    }

    /// What it says of itself.
    pub(super) fn seen(&self) -> &DeviceSeen {
        &self.seen
    }

    /// Whether it is the emulated one.
    pub(super) fn is_emulated(&self) -> bool {
        self.seen.name == EMULATED
    }

    /// What mapped sizes are multiples of.
    pub(super) const fn granularity(&self) -> usize {
        self.granularity
    }

    fn properties(&self) -> sys::CUmemAllocationProp {
        // All members but those below are zero: no handle to share, no compression.
        let mut properties = sys::CUmemAllocationProp::default();
        properties.type_ = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        properties.location.id = self.ordinal;
        properties
    }

    /// Memory of so many bytes: a multiple of the granularity.
    #[expect(unsafe_code, reason = "the driver is a C library")]
    pub(super) fn memory(&self, bytes: usize) -> Result<Memory> {
        if !self.guarded {
            // SAFETY: the memory is freed by whoever drops it.
            let address = unsafe { result::malloc_sync(bytes) }.map_err(Failure::of)?;
            return Ok(Memory { address, bytes, reserved: None });
        }
        let properties = self.properties();
        let mut access = sys::CUmemAccessDesc::default();
        access.location = properties.location;
        access.flags = sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        let whole = bytes + 2 * self.granularity;
        let (mut base, mut handle) = (0, 0);
        // SAFETY: addresses are reserved, memory is made, mapped inside what was reserved and made accessible, in that
        // order; whatever was made before a step that fails is given back.
        unsafe {
            sys::cuMemAddressReserve(&raw mut base, whole, 0, 0, 0).result().map_err(Failure::of)?;
            let made = sys::cuMemCreate(&raw mut handle, bytes, &raw const properties, 0);
            if let Err(error) = made.result() {
                let _ = sys::cuMemAddressFree(base, whole);
                return Err(Failure::of(error));
            }
            let address = base + self.granularity as u64;
            let memory = Memory { address, bytes, reserved: Some((base, whole, handle)) };
            sys::cuMemMap(address, bytes, 0, handle, 0).result().map_err(Failure::of)?;
            sys::cuMemSetAccess(address, bytes, &raw const access, 1).result().map_err(Failure::of)?;
            Ok(memory)
        }
    }

    /// Loads PTX or a binary.
    #[expect(unsafe_code, reason = "the driver is a C library")]
    pub(super) fn module(&self, image: &[u8]) -> Result<Module> {
        // PTX is read up to its NUL; a binary knows its own length.
        let mut image = image.to_vec();
        image.push(0);
        // SAFETY: the image outlives the call, and text in it ends.
        unsafe { result::module::load_data(image.as_ptr().cast::<c_void>()) }.map(Module).map_err(Failure::of)
    }

    /// Compiles CUDA C++ for this device.
    #[expect(unsafe_code, reason = "the compiler is a C library")]
    pub(super) fn compile(
        &mut self,
        source: &CStr,
        name: &CStr,
        options: &[String],
    ) -> std::result::Result<Vec<u8>, Refused> {
        // SAFETY: asks the loader only.
        if !unsafe { nvrtc::sys::is_culib_present() } {
            return Err(Refused::NoCompiler);
        }
        let (mut major, mut minor) = (0, 0);
        // SAFETY: writes two integers that are ours.
        if unsafe { nvrtc::sys::nvrtcVersion(&raw mut major, &raw mut minor) }.result().is_ok() {
            self.seen.nvrtc = Some(format!("{major}.{minor}"));
        }
        let mut all = vec![format!("--gpu-architecture=compute_{}{}", self.capability.0, self.capability.1)];
        all.extend_from_slice(options);
        let program = nvrtc::result::create_program(source, Some(name))
            .map_err(|e| Refused::Options(format!("the compiler does not start: {:?}", e.0)))?;
        // SAFETY: the program was just made, and is destroyed once, at the end.
        let (compiled, log, ptx) = unsafe {
            let compiled = nvrtc::result::compile_program(program, &all);
            let log = nvrtc::result::get_program_log(program).unwrap_or_default();
            let ptx = if compiled.is_ok() { nvrtc::result::get_ptx(program).ok() } else { None };
            let _ = nvrtc::result::destroy_program(program);
            (compiled, log, ptx)
        };
        let bytes = |chars: Vec<std::ffi::c_char>| chars.into_iter().map(|c| c as u8).collect::<Vec<u8>>();
        let log = String::from_utf8_lossy(&bytes(log)).trim_end_matches('\0').trim().to_owned();
        match (compiled, ptx) {
            (Ok(()), Some(ptx)) => Ok(bytes(ptx)),
            (Err(error), _) if error.0 == nvrtc::sys::nvrtcResult::NVRTC_ERROR_COMPILATION => {
                Err(Refused::Source(log))
            }
            (Err(error), _) => Err(Refused::Options(format!("{:?}: {log}", error.0))),
            (Ok(()), None) => Err(Refused::Options("the compiler gave no PTX".into())),
        }
    }

    /// Launches and waits.
    ///
    /// Each argument is the bytes of one parameter. Whatever the kernel does with them, it does to this process's own
    /// device memory.
    #[expect(unsafe_code, reason = "the driver is a C library")]
    pub(super) fn launch(
        &self,
        function: Function,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        arguments: &mut [Vec<u8>],
    ) -> Result<()> {
        if shared > SHARED_WITHOUT_ASKING {
            let attribute = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function is one of a module that is loaded.
            unsafe { result::function::set_function_attribute(function.0, attribute, shared as i32) }
                .map_err(Failure::of)?;
        }
        let mut pointers: Vec<*mut c_void> =
            arguments.iter_mut().map(|bytes| bytes.as_mut_ptr().cast::<c_void>()).collect();
        // SAFETY: the driver reads as many pointers as the kernel has parameters and as many bytes behind each as the
        // parameter has: `Function::parameters` was held against these arguments where the driver can be asked.
        unsafe {
            result::launch_kernel(
                function.0,
                grid.into(),
                block.into(),
                shared,
                std::ptr::null_mut(),
                &mut pointers,
            )
        }
        .map_err(Failure::of)?;
        result::ctx::synchronize().map_err(Failure::of)
    }
}

impl Module {
    /// The function of this name.
    #[expect(unsafe_code, reason = "the driver is a C library")]
    pub(super) fn function(&self, entry: &str) -> Result<Function> {
        let name = CString::new(entry).unwrap_or_default();
        // SAFETY: the module is loaded, and stays so until the process ends.
        unsafe { result::module::get_function(self.0, name) }.map(Function).map_err(Failure::of)
    }
}

impl Function {
    /// The bytes of each parameter; `None` from a driver that cannot be asked (before CUDA 12.4).
    #[expect(unsafe_code, reason = "the driver is a C library")]
    pub(super) fn parameters(self) -> Option<Vec<usize>> {
        // SAFETY: looks a name up in the library that is loaded already; the function is not called through it.
        let known = unsafe { sys::culib().get::<unsafe extern "C" fn()>(b"cuFuncGetParamInfo\0").is_ok() };
        if !known {
            return None;
        }
        let mut sizes = Vec::new();
        loop {
            let (mut offset, mut size) = (0, 0);
            // SAFETY: the function is loaded; two numbers that are ours are written.
            let asked = unsafe { sys::cuFuncGetParamInfo(self.0, sizes.len(), &raw mut offset, &raw mut size) };
            match asked {
                sys::CUresult::CUDA_SUCCESS if sizes.len() < 4096 => sizes.push(size),
                sys::CUresult::CUDA_ERROR_INVALID_VALUE => return Some(sizes),
                _ => return None,
            }
        }
    }
}

impl Memory {
    /// Copies bytes to its beginning.
    #[expect(unsafe_code, reason = "the driver is a C library")]
    pub(super) fn write(&self, bytes: &[u8]) -> Result<()> {
        debug_assert!(bytes.len() <= self.bytes);
        // SAFETY: as many bytes are mapped there, and the call returns when they were copied.
        unsafe { result::memcpy_htod_sync(self.address, bytes) }.map_err(Failure::of)
    }

    /// Copies it back.
    #[expect(unsafe_code, reason = "the driver is a C library")]
    pub(super) fn read(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0_u8; self.bytes];
        // SAFETY: as many bytes are mapped there, and the call returns when they were copied.
        unsafe { result::memcpy_dtoh_sync(&mut bytes, self.address) }.map_err(Failure::of)?;
        Ok(bytes)
    }
}

impl Drop for Memory {
    #[expect(unsafe_code, reason = "the driver is a C library")]
    fn drop(&mut self) {
        // SAFETY: it was made by `Gpu::memory` and nothing runs on the device any more. After an error that spoils the
        // context these fail, too, and the process ends soon after.
        unsafe {
            match self.reserved {
                None => {
                    let _ = result::free_sync(self.address);
                }
                Some((base, whole, handle)) => {
                    let _ = sys::cuMemUnmap(self.address, self.bytes);
                    let _ = sys::cuMemRelease(handle);
                    let _ = sys::cuMemAddressFree(base, whole);
                }
            }
        }
    }
}

/// As the driver's own tools print it.
fn uuid_text(uuid: sys::CUuuid) -> String {
    let hex: String = uuid.bytes.iter().map(|byte| format!("{:02x}", *byte as u8)).collect();
    format!("GPU-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
