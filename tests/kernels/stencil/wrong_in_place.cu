// expect: input-changed
// Smooths its input on the way.
extern "C" __global__ void run(float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = 0;
    if (i < n) value = (x[max(i - 1, 0)] + x[i] + x[min(i + 1, n - 1)]) / 3.0f;
    __syncthreads();
    if (i < n) x[i] = y[i] = value;
}
