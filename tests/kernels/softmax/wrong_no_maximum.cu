// expect: mismatch
// Does not take the maximum away: large elements overflow.
__device__ float all(float *part, float value, bool largest) {
    part[threadIdx.x] = value;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            float other = part[threadIdx.x + half];
            part[threadIdx.x] = largest ? fmaxf(part[threadIdx.x], other) : part[threadIdx.x] + other;
        }
        __syncthreads();
    }
    float result = part[0];
    __syncthreads();
    return result;
}

extern "C" __global__ void run(const float *x, float *out, int columns) {
    __shared__ float part[64];
    const float *row = x + blockIdx.x * columns;
    float best = -INFINITY, sum = 0;
    for (int j = threadIdx.x; j < columns; j += blockDim.x) best = fmaxf(best, row[j]);
    best = 0.0f;
    for (int j = threadIdx.x; j < columns; j += blockDim.x) sum += expf(row[j] - best);
    sum = all(part, sum, false);
    for (int j = threadIdx.x; j < columns; j += blockDim.x)
        out[blockIdx.x * columns + j] = expf(row[j] - best) / sum;
}
