// Where mismatches fall and how large they are: histogram, counts along the axes, the largest distance in steps.
//
// Entries: git_incident_details_TYPE, TYPE one of f32 f64 f16 bf16 e4m3 e5m2 e4m3fnuz e5m2fnuz i64 u64.
// Inputs: as summary.cu; `steps`, what a distance in steps is (0: not asked for; 1: places of the stored type; 2: the
//   distance itself, of integers that came as f64; 3: binary exponents, of powers of two that came as f32); `shape`,
//   the length of each of the `rank` axes; `offsets`, where the counts of each axis begin, or 2^64 − 1 for an axis that
//   is not counted.
// Result: added to what stands there already, so that tensors may come in parts: histogram[2099], bin e + 1074 the number
//   of mismatching finite pairs whose distance has binary exponent e (1024 or, of f32, 128: it overflowed); counts; and the
//   larger of most_steps[0] and the largest distance in steps of a finite pair.
// Launch: any number of blocks of 256 threads, no dynamic shared memory.
// Exact.

#include "elements.cuh"

constexpr int BINS = 2099;
constexpr int LOWEST = -1074;

// Divides `whole` by `by` and gives the remainder. The compiler's own 64-bit division is a call, around which registers
// spill; positions beyond 2^32 are worth a slow loop.
__device__ __forceinline__ u64 divide(u64 &whole, u64 by) {
    if (((whole | by) >> 32) == 0) {
        const unsigned x = (unsigned)whole, y = (unsigned)by;
        whole = x / y;
        return x % y;
    }
    u64 rest = 0;
#pragma unroll 1
    for (int bit = 0; bit < 64; bit++) {
        rest = rest << 1 | whole >> 63;
        whole <<= 1;
        if (rest >= by) {
            rest -= by;
            whole |= 1;
        }
    }
    return rest;
}

template <class E>
__device__ __forceinline__ void details(const typename E::Word *candidate, const typename E::Word *reference, u64 n,
                                        u64 base, double wide_atol, double wide_rtol, unsigned flags, unsigned steps,
                                        const u64 *shape, const u64 *offsets, unsigned rank, u64 *counts, u64 *histogram,
                                        u64 *most_steps) {
    typedef typename E::Real Real;
    typedef typename E::Word Word;
    __shared__ unsigned bins[BINS];
    for (int bin = (int)threadIdx.x; bin < BINS; bin += (int)THREADS) bins[bin] = 0;
    __syncthreads();
    const Real atol = (Real)wide_atol, rtol = (Real)wide_rtol;
    u64 most = 0;
    walk<false>(candidate, reference, n, [&](const uint4 &as, const uint4 &bs, u64 first, unsigned valid) {
#pragma unroll 1
        for (unsigned j = 0; j < valid; j++) {
            const Word wa = word_of<Word>(as, j), wb = word_of<Word>(bs, j);
            const Real a = E::value(wa), b = E::value(wb), d = Distance<E>::of(wa, wb);
            const bool finite = below_infinity(magnitude(a)) && below_infinity(magnitude(b));
            if (finite && steps != 0) {
                u64 far = 0;
                if (steps == 1) far = E::steps(wa, wb);
                if (steps == 2) far = (u64)d;
                if (steps == 3) {
                    const int x = exponent(magnitude(a)), y = exponent(magnitude(b));
                    far = (u64)(x > y ? x - y : y - x);
                }
                most = far > most ? far : most;
            }
            if (matches<E>(wa, wb, d, finite, atol, rtol, flags)) continue;
            if (finite && d > 0) atomicAdd(&bins[exponent(d) - LOWEST], 1u);
            u64 rest = base + first + j;
#pragma unroll 1
            for (unsigned axis = rank; axis-- > 0;) {
                const u64 at = divide(rest, shape[axis]);
                if (offsets[axis] != NOWHERE) atomicAdd(&counts[offsets[axis] + at], 1ull);
            }
        }
    });
    if (most > 0) atomicMax(most_steps, most);
    __syncthreads();
    for (int bin = (int)threadIdx.x; bin < BINS; bin += (int)THREADS)
        if (bins[bin] != 0) atomicAdd(&histogram[bin], (u64)bins[bin]);
}

#define KERNEL(NAME, TYPE) \
    extern "C" __global__ void __launch_bounds__(THREADS) git_incident_details_##NAME( \
        const TYPE::Word *candidate, const TYPE::Word *reference, u64 n, u64 base, double atol, double rtol, \
        unsigned flags, unsigned steps, const u64 *shape, const u64 *offsets, unsigned rank, u64 *counts, \
        u64 *histogram, u64 *most_steps) { \
        details<TYPE>(candidate, reference, n, base, atol, rtol, flags, steps, shape, offsets, rank, counts, histogram, \
                      most_steps); \
    }
GIT_INCIDENT_FOR_EACH_TYPE(KERNEL)
