// Both sides by minimum and maximum.
extern "C" __global__ void run(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = fmaxf(2 * x[i], 0.f) + fminf(0.1f * x[i], 0.f);
}
