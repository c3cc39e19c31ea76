// expect: nondeterministic unwritten mismatch
// Writes only where it finds NaN.
extern "C" __global__ void run(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && out[i] != out[i]) out[i] = x[i] > 0 ? 2 * x[i] : 0.1f * x[i];
}
