// expect: unwritten
// The last block thinks that it has nothing to do.
extern "C" __global__ void run(const float *x, float *out, int columns) {
    __shared__ float part[64];
    const float *row = x + blockIdx.x * columns;
    float best = -INFINITY;
    for (int j = threadIdx.x; j < columns; j += blockDim.x) best = fmaxf(best, row[j]);
    part[threadIdx.x] = best;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0 && blockIdx.x + 1 < gridDim.x) out[blockIdx.x] = part[0];
}
