// expect: nondeterministic
// gate: grid = ["ceil(n / 64)"]
// gate: block = [64]
// Float atomics from every thread: the order of the additions, and with it the last bits, is chance.
extern "C" __global__ void run(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(out, x[i]);
}
