// Shows that a device runs code at all.
//
// Inputs: `out`, one u32 on the device; `word`, any u32.
// Result: out[0] = ~word, by one thread.
// Launch: one block of one thread, no shared memory.
// Exact.

extern "C" __global__ void git_incident_probe_u32(unsigned *out, unsigned word) {
    if (blockIdx.x == 0 && threadIdx.x == 0) out[0] = ~word;
}
