// Through a tile, padded against bank conflicts.
extern "C" __global__ void run(const float *x, float *out, int rows, int columns) {
    __shared__ float tile[16][17];
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i < rows && j < columns) tile[threadIdx.y][threadIdx.x] = x[i * columns + j];
    __syncthreads();
    int r = blockIdx.x * 16 + threadIdx.y, c = blockIdx.y * 16 + threadIdx.x;
    if (r < columns && c < rows) out[r * rows + c] = tile[threadIdx.x][threadIdx.y];
}
