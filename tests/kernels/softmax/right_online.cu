// One pass: the sum is scaled whenever the maximum grows.
extern "C" __global__ void run(const float *x, float *out, int columns) {
    __shared__ float bests[64], sums[64];
    const float *row = x + blockIdx.x * columns;
    float best = -INFINITY, sum = 0;
    for (int j = threadIdx.x; j < columns; j += blockDim.x) {
        float larger = fmaxf(best, row[j]);
        sum = sum * expf(best - larger) + expf(row[j] - larger);
        best = larger;
    }
    bests[threadIdx.x] = best;
    sums[threadIdx.x] = sum;
    __syncthreads();
    float all = -INFINITY, total = 0;
    for (int i = 0; i < blockDim.x; i++) all = fmaxf(all, bests[i]);
    for (int i = 0; i < blockDim.x; i++) total += sums[i] * expf(bests[i] - all);
    for (int j = threadIdx.x; j < columns; j += blockDim.x)
        out[blockIdx.x * columns + j] = expf(row[j] - all) / total;
}
