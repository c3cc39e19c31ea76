// expect: compile
// Not extern "C": the module has no such name.
__global__ void run(const float *x, const int *index, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * x[index[i]];
}
