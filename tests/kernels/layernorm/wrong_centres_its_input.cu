// expect: input-changed
// Takes the mean away in place, in the input.
__device__ float all(float value) {
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
    return value;
}

extern "C" __global__ void run(float *x, const float *gamma, float *y, int d, float epsilon) {
    float *row = x + blockIdx.x * d;
    float mean = 0, variance = 0;
    for (int j = threadIdx.x; j < d; j += 32) mean += row[j] - row[0];
    mean = all(mean) / d + row[0];
    __syncthreads();
    for (int j = threadIdx.x; j < d; j += 32) row[j] -= mean;
    for (int j = threadIdx.x; j < d; j += 32) variance += row[j] * row[j];
    variance = all(variance) / d;
    float factor = 1.0f / sqrtf(variance + epsilon);
    for (int j = threadIdx.x; j < d; j += 32) y[blockIdx.x * d + j] = row[j] * factor * gamma[j];
}
