// expect: margin mismatch illegal-address
// Counts one bin further: the last behind the end.
extern "C" __global__ void run(const int *x, int *bins, int n) {
    __shared__ int own[32];
    if (threadIdx.x < 32) own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[x[i]], 1);
    __syncthreads();
    if (threadIdx.x < 32) atomicAdd(&bins[threadIdx.x + 1], own[threadIdx.x]);
}
