// expect: launch
// gate: block = [2048]
// gate: grid = [1]
// A block of 2048 threads.
extern "C" __global__ void run(const float *x, const int *index, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * x[index[i]];
}
