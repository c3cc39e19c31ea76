// expect: mismatch
// Adds the first element of each stride twice.
extern "C" __global__ void run(const float *x, float *out, int n) {
    __shared__ float part[256];
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i] + (i % blockDim.x == 0 ? x[i] : 0.0f);
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[0] = part[0];
}
