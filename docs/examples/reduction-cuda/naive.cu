// The same sums, one thread for each part and in double: nothing to get wrong in parallel.

#ifndef BLOCK
#define BLOCK 256
#endif

extern "C" __global__ void naive_sum(const float *x, float *sums, int n)
{
    double sum = 0.0;
    for (int start = blockIdx.x * BLOCK; start < n; start += gridDim.x * BLOCK)
        for (int i = start; i < start + BLOCK && i < n; i++)
            sum += x[i];
    sums[blockIdx.x] = (float)sum;
}
