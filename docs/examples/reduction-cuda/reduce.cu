// Sums an array: every block leaves the sum of its part in sums[blockIdx.x].
//
// The parts are strided by the whole grid. A block adds its threads' sums in shared memory, half of them in each step.

#ifndef BLOCK
#define BLOCK 256
#endif

extern "C" __global__ void reduce_sum(const float *x, float *sums, int n)
{
    __shared__ float part[BLOCK];
    float sum = 0.0f;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK)
        sum += x[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = part[0];
}
