// expect: launch
// Compiled for 32 threads at most, launched with 64.
extern "C" __global__ void __launch_bounds__(32) run(const float *x, const int *index, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * x[index[i]];
}
