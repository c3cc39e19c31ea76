// expect: mismatch
// Keeps the sum in half.
#include <cuda_fp16.h>
extern "C" __global__ void run(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float as[16][16], bs[16][16];
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int l = 0; l < k; l += 16) {
        as[threadIdx.y][threadIdx.x] = i < m && l + threadIdx.x < k ? a[i * k + l + threadIdx.x] : 0.0f;
        bs[threadIdx.y][threadIdx.x] = l + threadIdx.y < k && j < n ? b[(l + threadIdx.y) * n + j] : 0.0f;
        __syncthreads();
        for (int p = 0; p < 16; p++) sum = __half2float(__float2half(sum + as[threadIdx.y][p] * bs[p][threadIdx.x]));
        __syncthreads();
    }
    if (i < m && j < n) c[i * n + j] = sum;
}
