// From global memory.
extern "C" __global__ void run(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = (x[max(i - 1, 0)] + x[i] + x[min(i + 1, n - 1)]) / 3.0f;
}
