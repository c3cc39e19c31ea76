// Whatever the grid is.
extern "C" __global__ void run(const float *x, const int *index, float *out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = 2.0f * x[index[i]];
}
