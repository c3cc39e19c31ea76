// The mean of each element and its neighbours; at the ends the element stands in for the one that is not there.
extern "C" __global__ void run(const float *x, float *y, int n) {
    for (int i = 0; i < n; i++) y[i] = (x[i > 0 ? i - 1 : 0] + x[i] + x[i + 1 < n ? i + 1 : n - 1]) / 3.0f;
}
