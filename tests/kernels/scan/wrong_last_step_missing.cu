// expect: mismatch
// One step too few: what is half a row away is not added.
extern "C" __global__ void run(const float *x, float *out, int n) {
    extern __shared__ float both[];
    float *from = both, *to = both + n;
    int i = threadIdx.x;
    from[i] = x[blockIdx.x * n + i];
    __syncthreads();
    for (int step = 1; step < n / 2; step *= 2) {
        to[i] = i >= step ? from[i] + from[i - step] : from[i];
        __syncthreads();
        float *other = from;
        from = to;
        to = other;
    }
    out[blockIdx.x * n + i] = from[i];
}
