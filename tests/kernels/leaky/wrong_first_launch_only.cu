// expect: nondeterministic mismatch
// Right only the first time that it runs.
__device__ int calls;
extern "C" __global__ void run(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = calls == 0 ? x[i] > 0 ? 2 * x[i] : 0.1f * x[i] : 0.f;
    __syncthreads();
    if (i == 0) calls = calls + 1;
}
