// expect: illegal-address
// Follows an index from behind the list.
extern "C" __global__ void run(const float *x, const int *index, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * x[index[i + 8] * (i + 8 >= n ? 1 : 0) + index[i] * (i + 8 < n ? 1 : 0)];
}
