// expect: mismatch
// Whole strides only: what is left over is not added.
extern "C" __global__ void run(const float *x, float *out, int n) {
    __shared__ float part[256];
    float sum = 0;
    for (int j = 0; j < n / blockDim.x; j++) sum += x[j * blockDim.x + threadIdx.x];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[0] = part[0];
}
