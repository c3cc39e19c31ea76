// expect: mismatch
// Adds up in half: eleven bits for a thousand terms.
#include <cuda_fp16.h>
extern "C" __global__ void run(const float *x, float *out, int n) {
    __shared__ float part[256];
    __half sum = __float2half(0.0f);
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum = __float2half(__half2float(sum) + x[i]);
    part[threadIdx.x] = __half2float(sum);
    __syncthreads();
    if (threadIdx.x == 0) {
        __half all = __float2half(0.0f);
        for (int i = 0; i < blockDim.x; i++) all = __float2half(__half2float(all) + part[i]);
        out[0] = __half2float(all);
    }
}
