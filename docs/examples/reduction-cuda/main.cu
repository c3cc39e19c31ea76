// Runs the kernel once, for tools that watch a program: exits with 0 when the sum is right.

#include <cmath>
#include <cstdio>
#include <vector>

#include "reduce.cu"

#define MUST(call)                                                                      \
    do {                                                                                \
        cudaError_t status = (call);                                                    \
        if (status != cudaSuccess) {                                                    \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));        \
            return 2;                                                                   \
        }                                                                               \
    } while (0)

int main()
{
    const int n = 100003, blocks = 32;
    std::vector<float> x(n), sums(blocks);
    double expected = 0.0, found = 0.0;
    for (int i = 0; i < n; i++)
        expected += x[i] = (float)((i * 7919L) % 1000) / 1000.0f;

    float *device_x, *device_sums;
    MUST(cudaMalloc(&device_x, n * sizeof(float)));
    MUST(cudaMalloc(&device_sums, blocks * sizeof(float)));
    MUST(cudaMemcpy(device_x, x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    reduce_sum<<<blocks, BLOCK>>>(device_x, device_sums, n);
    MUST(cudaGetLastError());
    MUST(cudaMemcpy(sums.data(), device_sums, blocks * sizeof(float), cudaMemcpyDeviceToHost));
    MUST(cudaFree(device_x));
    MUST(cudaFree(device_sums));

    for (float sum : sums)
        found += sum;
    std::printf("sum %.3f, expected %.3f\n", found, expected);
    return std::fabs(found - expected) <= 1e-4 * expected ? 0 : 1;
}
