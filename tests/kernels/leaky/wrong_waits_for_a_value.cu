// expect: hang
// gate: timeout = "8s"
// Never ends where an element is above 3.
extern "C" __global__ void run(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    volatile float here = i < n ? x[i] : 0;
    while (here > 3) {
    }
    if (i < n) out[i] = x[i] > 0 ? 2 * x[i] : 0.1f * x[i];
}
