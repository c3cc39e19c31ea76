// The next of the worst mismatches. Launched once for each that is wanted.
//
// Entries: git_incident_worst_TYPE, TYPE one of f32 f64 f16 bf16 e4m3 e5m2 e4m3fnuz e5m2fnuz i64 u64.
// Inputs: as summary.cu; `finite`: 1 for mismatching pairs that are both finite, in the order of falling distances, equal
//   ones by position; 0 for the other mismatches, by position; `after_key` and `after_position`: the one that was found
//   last, or twice 2^64 − 1 to begin.
// Result: found[block], the first of the block's share that comes after that one: the bits of its distance as f64 (0 of
//   pairs that are not finite) and its position; 2^64 − 1 as position where there is none. The host takes the largest
//   key, and of equal keys the lowest position.
// Launch: any number of blocks of 256 threads, no dynamic shared memory.
// Exact.

#include "elements.cuh"

struct Found {
    u64 key, position;
};

// An empty place is worse than everything.
__device__ __forceinline__ bool before(const Found &x, const Found &y) {
    if (x.position == NOWHERE || y.position == NOWHERE) return y.position == NOWHERE && x.position != NOWHERE;
    return x.key > y.key || (x.key == y.key && x.position < y.position);
}

template <class E>
__device__ __forceinline__ void worst(const typename E::Word *candidate, const typename E::Word *reference, u64 n,
                                      u64 base, double wide_atol, double wide_rtol, unsigned flags, unsigned finite,
                                      u64 after_key, u64 after_position, Found *found) {
    typedef typename E::Real Real;
    typedef typename E::Word Word;
    const Real atol = (Real)wide_atol, rtol = (Real)wide_rtol;
    const bool begin = after_position == NOWHERE;
    Found best = {0, NOWHERE};
    walk<false>(candidate, reference, n, [&](const uint4 &as, const uint4 &bs, u64 first, unsigned valid) {
#pragma unroll 1
        for (unsigned j = 0; j < valid; j++) {
            const Word wa = word_of<Word>(as, j), wb = word_of<Word>(bs, j);
            const Real a = E::value(wa), b = E::value(wb), d = Distance<E>::of(wa, wb);
            const bool numbers = below_infinity(magnitude(a)) && below_infinity(magnitude(b));
            if (numbers != (finite != 0) || matches<E>(wa, wb, d, numbers, atol, rtol, flags)) continue;
            const Found here = {numbers ? ordered_bits((double)d) : 0, base + first + j};
            const bool later = here.key < after_key || (here.key == after_key && here.position > after_position);
            if ((begin || later) && before(here, best)) best = here;
        }
    });
#pragma unroll 1
    for (unsigned by = LANES / 2; by > 0; by /= 2) {
        Found other;
        other.key = __shfl_down_sync(0xffffffffu, best.key, by);
        other.position = __shfl_down_sync(0xffffffffu, best.position, by);
        if (before(other, best)) best = other;
    }
    __shared__ Found warps[THREADS / LANES];
    if (threadIdx.x % LANES == 0) warps[threadIdx.x / LANES] = best;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned w = 1; w < THREADS / LANES; w++)
            if (before(warps[w], best)) best = warps[w];
        found[blockIdx.x] = best;
    }
}

#define KERNEL(NAME, TYPE) \
    extern "C" __global__ void __launch_bounds__(THREADS) git_incident_worst_##NAME( \
        const TYPE::Word *candidate, const TYPE::Word *reference, u64 n, u64 base, double atol, double rtol, \
        unsigned flags, unsigned finite, u64 after_key, u64 after_position, Found *found) { \
        worst<TYPE>(candidate, reference, n, base, atol, rtol, flags, finite, after_key, after_position, found); \
    }
GIT_INCIDENT_FOR_EACH_TYPE(KERNEL)
