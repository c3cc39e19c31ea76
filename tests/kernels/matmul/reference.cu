// c = a b, in double.
extern "C" __global__ void run(const float *a, const float *b, float *c, int m, int n, int k) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int l = 0; l < k; l++) sum += (double)a[i * k + l] * b[l * n + j];
            c[i * n + j] = (float)sum;
        }
}
