// expect: unwritten
// Fours only.
extern "C" __global__ void run(const float *x, const int *index, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4 * 4) out[i] = 2.0f * x[index[i]];
}
