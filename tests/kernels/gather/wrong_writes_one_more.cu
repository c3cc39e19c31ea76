// expect: margin illegal-address
// Writes out[n].
extern "C" __global__ void run(const float *x, const int *index, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) out[i] = i < n ? 2.0f * x[index[i]] : 0.0f;
}
