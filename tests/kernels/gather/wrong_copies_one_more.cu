// expect: margin illegal-address
// Doubles what lies behind the input into what lies behind the output: NaN into NaN.
extern "C" __global__ void run(const float *x, const int *index, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) out[i] = 2.0f * x[i < n ? index[i] : n];
}
