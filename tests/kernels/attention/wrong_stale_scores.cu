// expect: mismatch nondeterministic
// The next tile's scores come while others still read these.
// A block for each query, a thread for each column; keys in tiles of 8, the sums scaled when the maximum grows.
extern "C" __global__ void run(const float *q, const float *k, const float *v, float *o, int s, int d, float scale) {
    __shared__ float scores[8];
    int i = blockIdx.x, e = threadIdx.x;
    float best = -INFINITY, sum = 0, total = 0;
    for (int first = 0; first < s; first += 8) {
        if (e < 8) {
            int j = first + e;
            float dot = -INFINITY;
            if (j < s && j <= i) {
                dot = 0;
                for (int l = 0; l < d; l++) dot += q[i * d + l] * k[j * d + l];
                dot *= scale;
            }
            scores[e] = dot;
        }
        __syncthreads();
        float larger = best;
        for (int t = 0; t < 8; t++) larger = fmaxf(larger, scores[t]);
        float shrink = expf(best - larger);
        sum *= shrink;
        total *= shrink;
        for (int t = 0; t < 8 && first + t < s; t++) {
            float weight = expf(scores[t] - larger);
            sum += weight;
            total += weight * v[(first + t) * d + e];
        }
        best = larger;
    }
    o[i * d + e] = total / sum;
}
