// expect: mismatch unwritten nondeterministic illegal-address
// The index is kept in eight bits.
extern "C" __global__ void run(const float *x, const int *index, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    i = (signed char)i;
    if (i >= 0 && i < n) out[i] = 2.0f * x[index[i]];
}
