// Causal attention of one head, in double.
extern "C" __global__ void run(const float *q, const float *k, const float *v, float *o, int s, int d, float scale) {
    int i = blockIdx.x;
    double best = -1e300, sum = 0;
    for (int pass = 0; pass < 2; pass++) {
        sum = 0;
        for (int e = 0; e < d; e++) {
            double total = 0;
            sum = 0;
            for (int j = 0; j <= i; j++) {
                double dot = 0;
                for (int l = 0; l < d; l++) dot += (double)q[i * d + l] * k[j * d + l];
                dot *= scale;
                if (pass == 0) best = dot > best ? dot : best;
                else {
                    sum += exp(dot - best);
                    total += exp(dot - best) * v[j * d + e];
                }
            }
            if (pass == 1) o[i * d + e] = (float)(total / sum);
        }
    }
}
