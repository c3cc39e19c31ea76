// expect: illegal-address margin
// Writes a page behind the end.
extern "C" __global__ void run(const float *x, const int *index, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i + (i == 7 ? 2000 : 0)] = 2.0f * x[index[i]];
}
