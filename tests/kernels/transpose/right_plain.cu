// Without shared memory.
extern "C" __global__ void run(const float *x, float *out, int rows, int columns) {
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i < rows && j < columns) out[j * rows + i] = x[i * columns + j];
}
