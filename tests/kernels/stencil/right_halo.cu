// With a halo in shared memory.
extern "C" __global__ void run(const float *x, float *y, int n) {
    __shared__ float near[34];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x + 1;
    near[t] = x[i < n ? i : n - 1];
    if (threadIdx.x == 0) near[0] = x[i > 0 ? i - 1 : 0];
    if (threadIdx.x == blockDim.x - 1) near[t + 1] = x[i + 1 < n ? i + 1 : n - 1];
    __syncthreads();
    if (i < n) y[i] = (near[t - 1] + near[t] + near[t + 1]) / 3.0f;
}
