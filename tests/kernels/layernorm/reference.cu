// (x - mean) / sqrt(variance + epsilon) * gamma along each row, in double.
extern "C" __global__ void run(const float *x, const float *gamma, float *y, int d, float epsilon) {
    const float *row = x + blockIdx.x * d;
    double mean = 0, variance = 0;
    for (int j = 0; j < d; j++) mean += row[j];
    mean /= d;
    for (int j = 0; j < d; j++) variance += (row[j] - mean) * (row[j] - mean);
    variance /= d;
    for (int j = 0; j < d; j++)
        y[blockIdx.x * d + j] = (float)((row[j] - mean) / sqrt(variance + epsilon) * gamma[j]);
}
