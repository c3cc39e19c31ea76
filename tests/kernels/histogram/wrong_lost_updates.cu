// expect: mismatch nondeterministic
// Reads, waits, writes: no atomics.
extern "C" __global__ void run(const int *x, int *bins, int n) {
    for (int first = blockIdx.x * blockDim.x; first < n; first += gridDim.x * blockDim.x) {
        int i = first + threadIdx.x;
        int seen = i < n ? bins[x[i]] : 0;
        __syncthreads();
        if (i < n) bins[x[i]] = seen + 1;
        __syncthreads();
    }
}
