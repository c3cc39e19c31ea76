// expect: mismatch
// Another factor for one size.
extern "C" __global__ void run(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] > 0 ? (n == 1000 ? 2.1f : 2.f) * x[i] : 0.1f * x[i];
}
