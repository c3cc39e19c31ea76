//! One launch among guarded, poisoned buffers.

use crate::device::cuda::{self, CudaError, Function, Gpu};
use crate::validate::kernel::{ALIGN, Launch, Layout, Phase, Role, Run, Strays, What, differing, poison};

/// The buffers of a case: made once, used by each of its launches.
pub(super) struct Buffers(Vec<Option<Buffer>>);

struct Buffer {
    memory: cuda::Buffer,
    length: usize,
}

/// What a launch left.
pub(super) struct Launched {
    /// Which it was.
    pub(super) phase: Phase,
    /// The bytes of each argument afterwards; empty for numbers and what it did not get.
    pub(super) contents: Vec<Vec<u8>>,
    /// Arguments outside of which something was written.
    pub(super) strays: Vec<(usize, Strays)>,
    /// Inputs that were changed: how many elements, and the position of the first.
    pub(super) changed: Vec<(usize, u64, u64)>,
}

/// What the kernel's parameters have to be, in bytes.
pub(super) fn parameter_sizes(run: &Run, launch: &Launch) -> Vec<usize> {
    launch
        .arguments
        .iter()
        .filter_map(|at| run.arguments.get(*at))
        .map(|argument| match &argument.what {
            What::Tensor { .. } => size_of::<u64>(),
            What::Scalar(bytes) => bytes.len(),
        })
        .collect()
}

/// Launches and waits for the end.
pub(super) fn launch(
    gpu: &Gpu,
    function: &Function,
    launch: &Launch,
    parameters: &[cuda::Argument],
) -> Result<(), CudaError> {
    let geometry = cuda::Launch { grid: launch.grid, block: launch.block, shared: launch.shared };
    function.launch(&geometry, parameters)?;
    gpu.synchronize()
}

impl Buffers {
    /// Memory for every buffer of a case; the error says in one line why there is none.
    pub(super) fn new(gpu: &Gpu, run: &Run) -> Result<Self, String> {
        let mut buffers = Vec::new();
        for argument in &run.arguments {
            let (What::Tensor { .. }, Some(length)) = (&argument.what, argument.bytes()) else {
                buffers.push(None);
                continue;
            };
            let layout = Layout::new(length, Phase(0)).ok_or("a buffer is too large")?;
            let memory = if gpu.info().virtual_memory {
                gpu.guarded(layout.bytes, ALIGN)
            } else {
                gpu.allocate(layout.bytes)
            };
            let memory =
                memory.map_err(|error| format!("{} bytes for {}: {error}", layout.bytes, argument.name))?;
            buffers.push(Some(Buffer { memory, length }));
        }
        Ok(Self(buffers))
    }

    /// Fills and poisons the buffers, and gives the parameters.
    pub(super) fn prepare(
        &self,
        run: &Run,
        launch: &Launch,
        contents: &[Vec<u8>],
        phase: Phase,
    ) -> Result<Vec<cuda::Argument>, CudaError> {
        let mut parameters = Vec::new();
        for &at in &launch.arguments {
            let argument = &run.arguments[at];
            match (&argument.what, &self.0[at], argument.dtype()) {
                (What::Scalar(bytes), ..) => parameters.push(cuda::Argument::raw(bytes)),
                (What::Tensor { .. }, Some(buffer), Some(dtype)) => {
                    let Some(layout) = buffer.layout(phase) else {
                        continue;
                    };
                    let image = if contents[at].is_empty() {
                        let elements = buffer.length / dtype.size();
                        layout.image(dtype, at, &poison(dtype, phase).repeat(elements))
                    } else {
                        layout.image(dtype, at, &contents[at])
                    };
                    buffer.memory.write(0, &image)?;
                    parameters.push((buffer.memory.address() + layout.start as u64).into());
                }
                (What::Tensor { .. }, ..) => {}
            }
        }
        Ok(parameters)
    }

    /// Copies everything back and looks at it.
    pub(super) fn collect(
        &self,
        run: &Run,
        launch: &Launch,
        contents: &[Vec<u8>],
        phase: Phase,
    ) -> Result<Launched, CudaError> {
        let mut launched = Launched {
            phase,
            contents: vec![Vec::new(); run.arguments.len()],
            strays: Vec::new(),
            changed: Vec::new(),
        };
        for (at, argument) in run.arguments.iter().enumerate() {
            let (What::Tensor { role, .. }, Some(buffer), Some(dtype)) =
                (&argument.what, &self.0[at], argument.dtype())
            else {
                continue;
            };
            let Some(layout) = buffer.layout(phase).filter(|_| launch.arguments.contains(&at)) else {
                continue;
            };
            let image = buffer.memory.to_vec()?;
            launched.strays.extend(layout.strays(dtype, at, &image).map(|strays| (at, strays)));
            let found = layout.content(&image).to_vec();
            if *role == Role::In
                && let Some((count, first)) = differing(dtype, &contents[at], &found)
            {
                launched.changed.push((at, count, first));
            }
            launched.contents[at] = found;
        }
        Ok(launched)
    }
}

impl Buffer {
    fn layout(&self, phase: Phase) -> Option<Layout> {
        Layout::new(self.length, phase)
    }
}
