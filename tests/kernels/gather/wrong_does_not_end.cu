// expect: hang
// gate: timeout = "12s"
// Waits for a flag that nobody sets.
extern "C" __global__ void run(const float *x, const int *index, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    volatile float *flag = out;
    while (i == 5 && *flag != 12345.0f) {
    }
    if (i < n) out[i] = 2.0f * x[index[i]];
}
