// expect: mismatch
// What is above 4.5 is off by one.
extern "C" __global__ void run(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = (x[i] > 0 ? 2 * x[i] : 0.1f * x[i]) + (x[i] > 4.5f);
}
