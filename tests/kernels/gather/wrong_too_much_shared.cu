// expect: launch
// gate: shared = "512 * 1024 * 1024"
// Asks for more shared memory than there is.
extern "C" __global__ void run(const float *x, const int *index, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * x[index[i]];
}
