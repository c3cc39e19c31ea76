// A thread for each element.
extern "C" __global__ void run(const float *a, const float *b, float *c, int m, int n, int k) {
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int l = 0; l < k; l++) sum += a[i * k + l] * b[l * n + j];
    c[i * n + j] = sum;
}
