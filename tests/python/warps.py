"""A stand-in for Triton, on numpy: as much of it as docs/examples/reduction-triton uses.

Its memory is stricter than a GPU's: what one warp stores another one sees after a barrier, and never before. So a missing
barrier is wrong every time. It compiles nothing, and its time says nothing.
"""

import sys
import types

import numpy as np

WARP = 32


class Memory:
    """One tensor, and what each warp has stored in it since the last barrier."""

    def __init__(self, tensor, warps):
        self.values = (tensor.numpy() if hasattr(tensor, "numpy") else tensor).reshape(-1)
        self.stored = np.zeros((warps, self.values.size), self.values.dtype)
        self.pending = np.zeros((warps, self.values.size), bool)

    def flush(self):
        for stored, pending in zip(self.stored, self.pending):
            self.values[pending] = stored[pending]
        self.pending[...] = False


class Pointer:
    def __init__(self, memory, offset=0):
        self.memory, self.offset = memory, offset

    def __add__(self, offset):
        return Pointer(self.memory, self.offset + offset)


class Program:
    current = None

    def __init__(self, index, lanes):
        self.index, self.lanes, self.memories = index, lanes, []
        self.warp = np.arange(lanes) // WARP


def _where(pointer, mask):
    lanes = Program.current.lanes
    offset = np.broadcast_to(pointer.offset, (lanes,))
    mask = np.broadcast_to(True if mask is None else mask, (lanes,))
    wrong = mask & ((offset < 0) | (offset >= pointer.memory.values.size))
    if wrong.any():
        raise IndexError("out of bounds at %d" % offset[wrong][0])
    return np.where(mask, offset, 0), mask


def load(pointer, mask=None, other=0.0):
    offset, mask = _where(pointer, mask)
    memory, warp = pointer.memory, Program.current.warp
    if not memory.values.size:
        return np.full(offset.shape, other, memory.values.dtype)
    seen = np.where(memory.pending[warp, offset], memory.stored[warp, offset], memory.values[offset])
    return np.where(mask, seen, np.asarray(other, memory.values.dtype))


def store(pointer, value, mask=None):
    offset, mask = _where(pointer, mask)
    memory, warp = pointer.memory, Program.current.warp
    memory.stored[warp[mask], offset[mask]] = np.broadcast_to(value, offset.shape)[mask]
    memory.pending[warp[mask], offset[mask]] = True


def debug_barrier():
    for memory in Program.current.memories:
        memory.flush()


def jit(function):
    class Kernel:
        def __getitem__(self, grid):
            def launch(*arguments, BLOCK, **more):
                for index in range(grid[0]):
                    Program.current = program = Program(index, BLOCK)
                    given = []
                    for argument in arguments:
                        if hasattr(argument, "shape"):
                            program.memories.append(Memory(argument, -(-BLOCK // WARP)))
                            argument = Pointer(program.memories[-1])
                        given.append(argument)
                    function(*given, BLOCK=BLOCK, **more)
                    debug_barrier()

            return launch

    return Kernel()


def install():
    triton, language = types.ModuleType("triton"), types.ModuleType("triton.language")
    triton.jit, triton.language, triton.__version__ = jit, language, "a stand-in"
    language.load, language.store, language.debug_barrier = load, store, debug_barrier
    language.program_id = lambda axis: Program.current.index
    language.arange = np.arange
    language.zeros = lambda shape, dtype: np.zeros(shape, dtype)
    language.float32, language.constexpr = np.float32, object
    sys.modules["triton"], sys.modules["triton.language"] = triton, language
