//! Memory on the device.

use cudarc::driver::sys;

use super::error::{CudaError, Result, checked};
use super::{Context, Gpu};
use std::rc::Rc;

/// Bytes on the device, freed when this is dropped.
#[derive(Debug)]
pub struct Buffer {
    address: u64,
    bytes: usize,
    kind: Kind,
    context: Rc<Context>,
}

#[derive(Debug)]
enum Kind {
    /// `cuMemAlloc`; nothing was allocated where there are no bytes.
    Plain,
    /// A reserved range of addresses of which only a part is mapped.
    Guarded { start: u64, reserved: usize, mapped: usize, handle: u64 },
}

impl Gpu {
    /// Bytes on the device, of any content, aligned to 256 bytes at least. No bytes have the address 0.
    ///
    /// # Errors
    /// Out of memory, or a lost device.
    pub fn allocate(&self, bytes: usize) -> Result<Buffer> {
        let mut address = 0;
        if bytes > 0 {
            #[expect(unsafe_code, reason = "a call into the driver")]
            // SAFETY: `address` is a place for the answer.
            let result = unsafe { sys::cuMemAlloc_v2(&raw mut address, bytes) };
            checked("cuMemAlloc", result)?;
        }
        Ok(Buffer { address, bytes, kind: Kind::Plain, context: Rc::clone(&self.0) })
    }

    /// Bytes on the device with nothing mapped directly behind them: they end where a page ends, if their size is a
    /// multiple of `align` (a power of two that is at most a page); else up to `align` − 1 bytes before that. At least
    /// one page before the mapped ones is unmapped, too.
    ///
    /// # Errors
    /// A device without virtual memory, out of memory, or a lost device.
    pub fn guarded(&self, bytes: usize, align: usize) -> Result<Buffer> {
        if !self.info().virtual_memory {
            return Err(CudaError::plain("this device cannot map addresses apart"));
        }
        if !align.is_power_of_two() || align > 4096 {
            return Err(CudaError::plain(format!("{align} is no alignment for a guarded buffer")));
        }
        let location = sys::CUmemLocation {
            type_: sys::CUmemLocationType_enum::CU_MEM_LOCATION_TYPE_DEVICE,
            id: self.0.device,
        };
        let properties = sys::CUmemAllocationProp {
            type_: sys::CUmemAllocationType_enum::CU_MEM_ALLOCATION_TYPE_PINNED,
            requestedHandleTypes: sys::CUmemAllocationHandleType_enum::CU_MEM_HANDLE_TYPE_NONE,
            location,
            win32HandleMetaData: std::ptr::null_mut(),
            allocFlags: sys::CUmemAllocationProp_st__bindgen_ty_1 {
                compressionType: 0,
                gpuDirectRDMACapable: 0,
                usage: 0,
                reserved: [0; 4],
            },
        };
        let mut page = 0;
        #[expect(unsafe_code, reason = "a call into the driver")]
        // SAFETY: the properties are whole, `page` is a place for the answer.
        let result = unsafe {
            sys::cuMemGetAllocationGranularity(
                &raw mut page,
                &raw const properties,
                sys::CUmemAllocationGranularity_flags_enum::CU_MEM_ALLOC_GRANULARITY_MINIMUM,
            )
        };
        checked("cuMemGetAllocationGranularity", result)?;
        let mapped = bytes.max(1).div_ceil(page.max(1)) * page.max(1);
        let reserved = mapped + 2 * page;
        let mut start = 0;
        let mut handle = 0;
        #[expect(unsafe_code, reason = "calls into the driver")]
        // SAFETY: sizes are multiples of the granularity. What was made is taken back when a later step fails; the
        // mapped range lies inside of the reserved one.
        unsafe {
            checked("cuMemAddressReserve", sys::cuMemAddressReserve(&raw mut start, reserved, 0, 0, 0))?;
            let free = |error| {
                let _ = sys::cuMemAddressFree(start, reserved);
                error
            };
            checked("cuMemCreate", sys::cuMemCreate(&raw mut handle, mapped, &raw const properties, 0))
                .map_err(free)?;
            let release = |error| {
                let _ = sys::cuMemRelease(handle);
                free(error)
            };
            let first = start + page as u64;
            checked("cuMemMap", sys::cuMemMap(first, mapped, 0, handle, 0)).map_err(release)?;
            let access = sys::CUmemAccessDesc {
                location,
                flags: sys::CUmemAccess_flags_enum::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
            };
            checked("cuMemSetAccess", sys::cuMemSetAccess(first, mapped, &raw const access, 1)).map_err(
                |error| {
                    let _ = sys::cuMemUnmap(first, mapped);
                    release(error)
                },
            )?;
            let address = (first + (mapped - bytes) as u64) & !(align as u64 - 1);
            Ok(Buffer {
                address,
                bytes,
                kind: Kind::Guarded { start: first, reserved, mapped, handle },
                context: Rc::clone(&self.0),
            })
        }
    }
}

impl Buffer {
    /// Where it is on the device.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    fn range(&self, offset: usize, bytes: usize) -> Result<u64> {
        if offset.checked_add(bytes).is_none_or(|end| end > self.bytes) {
            return Err(CudaError::plain(format!(
                "{bytes} bytes at {offset} are not in a buffer of {}",
                self.bytes
            )));
        }
        Ok(self.address + offset as u64)
    }

    /// Copies from the host; waits until it is done.
    ///
    /// # Errors
    /// Not in the buffer, or a lost device.
    pub fn write(&self, offset: usize, from: &[u8]) -> Result<()> {
        let to = self.range(offset, from.len())?;
        if from.is_empty() {
            return Ok(());
        }
        #[expect(unsafe_code, reason = "a call into the driver")]
        // SAFETY: the range is in the buffer, and the driver reads no more than `from`.
        let result = unsafe { sys::cuMemcpyHtoD_v2(to, from.as_ptr().cast(), from.len()) };
        checked("cuMemcpyHtoD", result)
    }

    /// Copies to the host; waits until it is done.
    ///
    /// # Errors
    /// Not in the buffer, or a lost device, which is also how an earlier launch that went wrong shows.
    pub fn read(&self, offset: usize, to: &mut [u8]) -> Result<()> {
        let from = self.range(offset, to.len())?;
        if to.is_empty() {
            return Ok(());
        }
        #[expect(unsafe_code, reason = "a call into the driver")]
        // SAFETY: the range is in the buffer, and the driver writes no more than `to`.
        let result = unsafe { sys::cuMemcpyDtoH_v2(to.as_mut_ptr().cast(), from, to.len()) };
        checked("cuMemcpyDtoH", result)
    }

    /// All of it, on the host.
    ///
    /// # Errors
    /// As [`Buffer::read`].
    pub fn to_vec(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.bytes];
        self.read(0, &mut bytes)?;
        Ok(bytes)
    }

    /// Sets `bytes` bytes from `offset` on.
    ///
    /// # Errors
    /// Not in the buffer, or a lost device.
    pub fn fill(&self, offset: usize, bytes: usize, value: u8) -> Result<()> {
        let at = self.range(offset, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        #[expect(unsafe_code, reason = "a call into the driver")]
        // SAFETY: the range is in the buffer.
        let result = unsafe { sys::cuMemsetD8_v2(at, value, bytes) };
        checked("cuMemsetD8", result)
    }

    /// Starts copying all of another buffer of the same size; [`Gpu::synchronize`] waits for it.
    ///
    /// # Errors
    /// Another size, or a lost device.
    pub fn copy_from(&self, other: &Self) -> Result<()> {
        if self.bytes != other.bytes {
            return Err(CudaError::plain(format!("{} bytes do not fit {}", other.bytes, self.bytes)));
        }
        if self.bytes == 0 {
            return Ok(());
        }
        #[expect(unsafe_code, reason = "a call into the driver")]
        // SAFETY: both buffers have so many bytes, and both live until the driver is done: freeing waits.
        let result = unsafe {
            sys::cuMemcpyDtoDAsync_v2(self.address, other.address, self.bytes, std::ptr::null_mut())
        };
        checked("cuMemcpyDtoDAsync", result)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // The context outlives its buffers.
        let _ = &self.context;
        #[expect(unsafe_code, reason = "calls into the driver")]
        // SAFETY: it was made by the matching calls and is freed once. On a lost device this fails, and the end of
        // the process frees it. A kernel may still use mapped memory: unmapping does not wait by itself.
        unsafe {
            match self.kind {
                Kind::Plain if self.bytes == 0 => {}
                Kind::Plain => {
                    let _ = sys::cuMemFree_v2(self.address);
                }
                Kind::Guarded { start, reserved, mapped, handle } => {
                    let _ = sys::cuCtxSynchronize();
                    let _ = sys::cuMemUnmap(start, mapped);
                    let _ = sys::cuMemRelease(handle);
                    let page = (reserved - mapped) as u64 / 2;
                    let _ = sys::cuMemAddressFree(start - page, reserved);
                }
            }
        }
    }
}
