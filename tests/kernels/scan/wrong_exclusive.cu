// expect: mismatch
// Leaves out the element itself.
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
    out[blockIdx.x * n + i] = i > 0 ? from[i - 1] : 0.0f;
}
