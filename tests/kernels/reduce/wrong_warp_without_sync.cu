// expect: mismatch nondeterministic
// The last warp counts on lanes that move in step: no __syncwarp, not even volatile.
extern "C" __global__ void run(const float *x, float *out, int n) {
    __shared__ float part[256];
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 32; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x < 32)
        for (int half = 32; half > 0; half /= 2) part[threadIdx.x] += part[threadIdx.x + half];
    if (threadIdx.x == 0) out[0] = part[0];
}
