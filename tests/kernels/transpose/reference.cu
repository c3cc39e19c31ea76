// out[j][i] = x[i][j].
extern "C" __global__ void run(const float *x, float *out, int rows, int columns) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) out[j * rows + i] = x[i * columns + j];
}
