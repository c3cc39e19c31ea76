// expect: mismatch nondeterministic
// One buffer: whoever is late reads sums of the next step.
extern "C" __global__ void run(const float *x, float *out, int n) {
    extern __shared__ float all[];
    int i = threadIdx.x;
    all[i] = x[blockIdx.x * n + i];
    __syncthreads();
    for (int step = 1; step < n; step *= 2) {
        if (i >= step) all[i] += all[i - step];
        __syncthreads();
    }
    out[blockIdx.x * n + i] = all[i];
}
