// expect: margin illegal-address
// No mask: the last block goes on.
extern "C" __global__ void run(const float *x, const int *index, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = i < n ? 2.0f * x[index[i]] : 1.0f;
}
