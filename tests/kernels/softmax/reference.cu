// Softmax along each row, in double.
extern "C" __global__ void run(const float *x, float *out, int columns) {
    const float *row = x + blockIdx.x * columns;
    double best = row[0], sum = 0;
    for (int j = 1; j < columns; j++) best = row[j] > best ? row[j] : best;
    for (int j = 0; j < columns; j++) sum += exp(row[j] - best);
    for (int j = 0; j < columns; j++) out[blockIdx.x * columns + j] = (float)(exp(row[j] - best) / sum);
}
