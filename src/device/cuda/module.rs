//! Code for the device: loading it, finding a kernel in it, launching that.

use std::ffi::{CString, c_void};
use std::rc::Rc;

use cudarc::driver::sys;

use super::error::{CudaError, Result, checked};
use super::{Buffer, Context, Gpu, library};

/// The most that is kept of what the driver's assembler says.
const LOG: usize = 16 * 1024;

/// The most arguments that a kernel can have here.
const MOST_ARGUMENTS: usize = 256;

/// Code as the driver takes it.
#[derive(Debug, Clone, Copy)]
pub enum Image<'a> {
    /// PTX, which the driver assembles for its device.
    Ptx(&'a str),
    /// Machine code in an ELF file.
    Cubin(&'a [u8]),
}

/// Loaded code; unloaded when it and all its functions are gone.
#[derive(Debug, Clone)]
pub struct Module(Rc<Loaded>);

#[derive(Debug)]
struct Loaded {
    handle: sys::CUmodule,
    context: Rc<Context>,
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // The context outlives its modules.
        let _ = &self.context;
        #[expect(unsafe_code, reason = "a call into the driver")]
        // SAFETY: it was loaded once and is unloaded once; no function of it is left.
        unsafe {
            let _ = sys::cuModuleUnload(self.handle);
        }
    }
}

/// A kernel.
#[derive(Debug, Clone)]
pub struct Function {
    handle: sys::CUfunction,
    name: String,
    module: Module,
}

/// The geometry of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub shared: u32,
}

/// The bytes of one argument, as the kernel sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument(Vec<u8>);

impl Argument {
    /// A value with exactly these bytes.
    pub fn raw(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl From<&Buffer> for Argument {
    fn from(buffer: &Buffer) -> Self {
        buffer.address().into()
    }
}

macro_rules! from_number {
    ($($number:ty),+) => {$(
        impl From<$number> for Argument {
            fn from(value: $number) -> Self {
                Self(value.to_ne_bytes().to_vec())
            }
        }
    )+};
}
from_number!(i32, u32, i64, u64, f32, f64);

impl Gpu {
    /// Loads code.
    ///
    /// # Errors
    /// Code that this device or driver does not take, with what its assembler said.
    pub fn load(&self, image: Image<'_>) -> Result<Module> {
        use sys::CUjit_option_enum as Jit;
        let held;
        let start: *const c_void = match image {
            Image::Ptx(text) => {
                held = CString::new(text).map_err(|_| CudaError::plain("there is a NUL in the PTX"))?;
                held.as_ptr().cast()
            }
            Image::Cubin(bytes) if bytes.starts_with(b"\x7fELF") && bytes.len() > 64 => bytes.as_ptr().cast(),
            Image::Cubin(_) => {
                return Err(CudaError::plain("this is no cubin: it does not begin as an ELF file does"));
            }
        };
        let mut log = vec![0_u8; LOG];
        let mut options = [Jit::CU_JIT_ERROR_LOG_BUFFER, Jit::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values: [*mut c_void; 2] =
            [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(LOG - 1)];
        let mut handle = std::ptr::null_mut();
        #[expect(unsafe_code, reason = "a call into the driver")]
        // SAFETY: text ends with NUL; for machine code the driver trusts the headers of the file, as it always does.
        // The log has the size that is told, and the driver copies all it needs before it returns.
        let result = unsafe {
            sys::cuModuleLoadDataEx(&raw mut handle, start, 2, options.as_mut_ptr(), values.as_mut_ptr())
        };
        checked("cuModuleLoadData", result).map_err(|mut error| {
            let said: Vec<u8> = log.iter().copied().take_while(|b| *b != 0).collect();
            let said = String::from_utf8_lossy(&said);
            if !said.trim().is_empty() {
                error.text = format!("{}; {}", error.text, said.trim());
            }
            error
        })?;
        Ok(Module(Rc::new(Loaded { handle, context: Rc::clone(&self.0) })))
    }
}

impl Module {
    /// The kernel of this name, as it is mangled.
    ///
    /// # Errors
    /// There is none.
    pub fn function(&self, name: &str) -> Result<Function> {
        let c_name =
            CString::new(name).map_err(|_| CudaError::plain("there is a NUL in the entry's name"))?;
        let mut handle = std::ptr::null_mut();
        #[expect(unsafe_code, reason = "a call into the driver")]
        // SAFETY: the module is loaded, the name ends with NUL.
        let result = unsafe { sys::cuModuleGetFunction(&raw mut handle, self.0.handle, c_name.as_ptr()) };
        checked("cuModuleGetFunction", result).map_err(|mut error| {
            error.text = format!("{}: {name}", error.text);
            error
        })?;
        Ok(Function { handle, name: name.to_owned(), module: self.clone() })
    }
}

impl Function {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The most threads that a block of it can have.
    ///
    /// # Errors
    /// A lost device.
    pub fn most_threads(&self) -> Result<i32> {
        let mut value = 0;
        #[expect(unsafe_code, reason = "a call into the driver")]
        // SAFETY: the function's module is loaded; `value` is a place for the answer.
        let result = unsafe {
            sys::cuFuncGetAttribute(
                &raw mut value,
                sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                self.handle,
            )
        };
        checked("cuFuncGetAttribute", result).map(|()| value)
    }

    /// The sizes of its parameters in bytes; `None` where the driver does not tell (before CUDA 12.4).
    pub fn parameters(&self) -> Option<Vec<usize>> {
        if !library::knows_parameters() {
            return None;
        }
        let mut sizes = Vec::new();
        while sizes.len() < MOST_ARGUMENTS {
            let (mut offset, mut size) = (0, 0);
            #[expect(unsafe_code, reason = "a call into the driver")]
            // SAFETY: the driver has the function (`knows_parameters`); both places are valid.
            let result =
                unsafe { sys::cuFuncGetParamInfo(self.handle, sizes.len(), &raw mut offset, &raw mut size) };
            if result != sys::CUresult::CUDA_SUCCESS {
                break;
            }
            sizes.push(size);
        }
        Some(sizes)
    }

    /// Starts it. What goes wrong on the device is said by a later call, [`Gpu::synchronize`] or a copy.
    ///
    /// A kernel can write wherever the device can, and a wrong number of arguments makes the driver read past them where
    /// it cannot be asked how many there are: kernels of strangers are launched in a process that is nothing else.
    ///
    /// # Errors
    /// Arguments or a geometry that do not fit it, or a lost device.
    pub fn launch(&self, launch: &Launch, arguments: &[Argument]) -> Result<()> {
        if let Some(sizes) = self.parameters() {
            let given: Vec<usize> = arguments.iter().map(|a| a.0.len()).collect();
            if sizes != given {
                return Err(CudaError::plain(format!(
                    "{} takes {} arguments of {sizes:?} bytes, given are {} of {given:?}",
                    self.name,
                    sizes.len(),
                    given.len()
                )));
            }
        }
        if launch.shared > 48 << 10 {
            #[expect(unsafe_code, reason = "a call into the driver")]
            // SAFETY: the function's module is loaded.
            let result = unsafe {
                sys::cuFuncSetAttribute(
                    self.handle,
                    sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                    launch.shared.cast_signed(),
                )
            };
            checked("cuFuncSetAttribute", result)?;
        }
        // Whatever type the kernel reads, its bytes are aligned.
        let mut held: Vec<Vec<u128>> = arguments.iter().map(|a| aligned(&a.0)).collect();
        let mut pointers: Vec<*mut c_void> = held.iter_mut().map(|h| h.as_mut_ptr().cast()).collect();
        // Room for a kernel that takes more than it was given.
        let mut spare = [0_u128; 32];
        pointers.resize(pointers.len().max(MOST_ARGUMENTS), spare.as_mut_ptr().cast());
        let ([gx, gy, gz], [bx, by, bz]) = (launch.grid, launch.block);
        #[expect(unsafe_code, reason = "a call into the driver")]
        // SAFETY: the module is loaded; the driver copies the arguments before it returns, and each pointer has at
        // least the bytes of its parameter: checked above, or, where the driver does not tell, given by the caller
        // with zeros behind them.
        let result = unsafe {
            sys::cuLaunchKernel(
                self.handle,
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                launch.shared,
                std::ptr::null_mut(),
                pointers.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        let _ = &self.module;
        checked("cuLaunchKernel", result)
    }
}

/// The same bytes at an aligned place, with zeros behind them.
fn aligned(bytes: &[u8]) -> Vec<u128> {
    let mut words: Vec<u128> = bytes
        .chunks(16)
        .map(|chunk| {
            let mut word = [0; 16];
            word[..chunk.len()].copy_from_slice(chunk);
            u128::from_ne_bytes(word)
        })
        .collect();
    words.push(0);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_keep_their_bytes() {
        for length in [0, 1, 4, 8, 15, 16, 17, 40] {
            let bytes: Vec<u8> = (0..length).collect();
            let held: Vec<u8> = aligned(&bytes).iter().flat_map(|w| w.to_ne_bytes()).collect();
            assert_eq!(&held[..bytes.len()], bytes);
            assert!(held.len() > bytes.len() && held[bytes.len()..].iter().all(|b| *b == 0));
        }
    }
}
