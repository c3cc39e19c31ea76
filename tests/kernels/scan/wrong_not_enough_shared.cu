// expect: mismatch nondeterministic illegal-address
// gate: shared = "4 * n"
// Asks for one buffer and uses two.
extern "C" __global__ void run(const float *x, float *out, int n) {
    extern __shared__ float both[];
    float *from = both, *to = both + n;
    int i = threadIdx.x;
    from[i] = x[blockIdx.x * n + i];
    __syncthreads();
    for (int step = 1; step < n; step *= 2) {
        to[i] = i >= step ? from[i] + from[i - step] : from[i];
        __syncthreads();
        float *other = from;
        from = to;
        to = other;
    }
    out[blockIdx.x * n + i] = from[i];
}
