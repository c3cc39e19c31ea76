// expect: margin mismatch unwritten
// Everything one place too early.
extern "C" __global__ void run(const float *x, const int *index, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i - 1] = 2.0f * x[index[i]];
}
