// expect: mismatch
// Begins the shuffles at 8: every warp loses half of its lanes.
extern "C" __global__ void run(const float *x, float *out, int n) {
    __shared__ float part[32];
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
    for (int step = 8; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < blockDim.x / 32; warp++) sum += part[warp];
        out[0] = sum;
    }
}
