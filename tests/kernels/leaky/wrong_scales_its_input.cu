// expect: input-changed
// Writes the result over its input first.
extern "C" __global__ void run(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float *own = (float *)x;
    own[i] = x[i] > 0 ? 2 * x[i] : 0.1f * x[i];
    out[i] = own[i];
}
