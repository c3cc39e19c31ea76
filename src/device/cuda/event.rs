//! Moments on the device.

use std::rc::Rc;
use std::time::Duration;

use cudarc::driver::sys;

use super::error::{Result, checked};
use super::{Context, Gpu};

/// A moment between two things that the device was asked to do.
#[derive(Debug)]
pub struct Event {
    handle: sys::CUevent,
    context: Rc<Context>,
}

impl Gpu {
    /// The moment when all that was asked so far will be done.
    ///
    /// # Errors
    /// A lost device.
    pub fn event(&self) -> Result<Event> {
        let mut handle = std::ptr::null_mut();
        #[expect(unsafe_code, reason = "calls into the driver")]
        // SAFETY: `handle` is a place for the answer; the event exists when it is recorded.
        unsafe {
            checked("cuEventCreate", sys::cuEventCreate(&raw mut handle, 0))?;
            let event = Event { handle, context: Rc::clone(&self.0) };
            checked("cuEventRecord", sys::cuEventRecord(handle, std::ptr::null_mut()))?;
            Ok(event)
        }
    }
}

impl Event {
    /// How long after `earlier` this was; waits for it.
    ///
    /// # Errors
    /// A lost device.
    pub fn since(&self, earlier: &Self) -> Result<Duration> {
        let mut milliseconds = 0.0_f32;
        #[expect(unsafe_code, reason = "calls into the driver")]
        // SAFETY: both events were recorded; `milliseconds` is a place for the answer.
        unsafe {
            checked("cuEventSynchronize", sys::cuEventSynchronize(self.handle))?;
            checked(
                "cuEventElapsedTime",
                sys::cuEventElapsedTime_v2(&raw mut milliseconds, earlier.handle, self.handle),
            )?;
        }
        Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1000.0))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // The context outlives its events.
        let _ = &self.context;
        #[expect(unsafe_code, reason = "a call into the driver")]
        // SAFETY: it was created once and is destroyed once.
        unsafe {
            let _ = sys::cuEventDestroy_v2(self.handle);
        }
    }
}
