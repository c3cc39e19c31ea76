// expect: margin illegal-address
// Four at a time, and no care for the tail.
extern "C" __global__ void run(const float *x, const int *index, float *out, int n) {
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
        for (int j = 0; j < 4; j++) out[i + j] = 2.0f * x[index[i + j] & 127];
}
