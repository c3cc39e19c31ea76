// expect: mismatch illegal-address
// The last element looks at the one behind it.
extern "C" __global__ void run(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = (x[max(i - 1, 0)] + x[i] + x[i + 1]) / 3.0f;
}
