// The first pass: counts, maxima, sums. Reads every element once.
//
// Entries: git_incident_summary_TYPE, TYPE one of f32 f64 f16 bf16 e4m3 e5m2 e4m3fnuz e5m2fnuz i64 u64.
// Inputs: `candidate` and `reference`, n elements each, contiguous, little-endian, aligned to 16 bytes and
//   padded to a multiple of 16; `base`, the
//   position of the first; atol and rtol; flags (1: NaN equals NaN, 2: bitwise).
// Result: partials[block], one for each block, which the host joins in the order of the blocks.
// Launch: any number of blocks of 256 threads, no dynamic shared memory.
// Exact: counts, first positions, maxima (the host's joining keeps that). The sums are of at most n / threads terms in
//   f64 a thread and then of a tree, so their error is far below the bound that is stated for them.
// Bytes: 2 · n · size, read once. Aimed at 85 % of the device's copy rate.

#include "elements.cuh"

struct Partial {
    u64 mismatches, not_finite;
    u64 nan_reference, nan_candidate, nan_first;
    u64 inf_reference, inf_candidate, inf_first;
    double max_abs, max_rel;
    double sum_difference, sum_reference;
};

// What is rarely counted: of the whole block, so that no thread spends registers on it.
struct Rare {
    unsigned not_finite, nan_reference, nan_candidate, inf_reference, inf_candidate;
    u64 nan_first, inf_first;
};

// What a thread carries along.
template <class Real> struct Running {
    u64 mismatches;
    Real max_abs, max_rel;
    double sum_difference, sum_reference;
};

// A pair whose elements are both finite, but for its relative error. Products of the sums are fused: sums have a bound,
// not a prescribed rounding.
template <class Real> __device__ __forceinline__ void count(Running<Real> &run, Real d, Real b) {
    run.max_abs = d > run.max_abs ? d : run.max_abs;
    run.sum_difference = __fma_rn((double)d, (double)d, run.sum_difference);
    run.sum_reference = __fma_rn((double)b, (double)b, run.sum_reference);
}

// Dividing is slow, and rarely raises the maximum: first a product that is never too large to see it.
template <class Real> __device__ __forceinline__ bool may_raise(const Running<Real> &run, Real d, Real b) {
    return d >= mul(mul(run.max_rel, magnitude(b)), shy(d)) && b != 0;
}
template <class Real> __device__ __forceinline__ void raise(Running<Real> &run, Real d, Real b) {
    const Real relative = quotient(d, magnitude(b));
    run.max_rel = relative > run.max_rel ? relative : run.max_rel;
}

// A pair that needs a division, or of which something is infinite or NaN, or whose distance overflowed.
template <class E>
__device__ __forceinline__ void rare_pair(Running<typename E::Real> &run, Rare &rare, typename E::Word wa,
                                          typename E::Word wb, u64 position, typename E::Real atol,
                                          typename E::Real rtol, unsigned flags, bool counted) {
    typedef typename E::Real Real;
    const Real a = E::value(wa), b = E::value(wb), d = Distance<E>::of(wa, wb);
    const bool finite = below_infinity(magnitude(a)) && below_infinity(magnitude(b));
    if (finite && b != 0) raise(run, d, b);
    // The common case was counted already.
    if (counted && below_infinity(d)) return;
    run.mismatches += !matches<E>(wa, wb, d, finite, atol, rtol, flags);
    if (finite) {
        count(run, d, b);
        return;
    }
    const bool nan_a = a != a, nan_b = b != b;
    const bool inf_a = !nan_a && !below_infinity(magnitude(a)), inf_b = !nan_b && !below_infinity(magnitude(b));
    atomicAdd(&rare.not_finite, 1u);
    if (nan_a) atomicAdd(&rare.nan_candidate, 1u);
    if (nan_b) atomicAdd(&rare.nan_reference, 1u);
    if (inf_a) atomicAdd(&rare.inf_candidate, 1u);
    if (inf_b) atomicAdd(&rare.inf_reference, 1u);
    if (nan_a || nan_b) atomicMin(&rare.nan_first, position);
    if (inf_a || inf_b) atomicMin(&rare.inf_first, position);
}

template <class T> __device__ __forceinline__ T from_lane(T mine, unsigned by) {
    return __shfl_down_sync(0xffffffffu, mine, by);
}

template <class Real> __device__ __forceinline__ void join(Running<Real> &into, const Running<Real> &other) {
    into.mismatches += other.mismatches;
    into.max_abs = other.max_abs > into.max_abs ? other.max_abs : into.max_abs;
    into.max_rel = other.max_rel > into.max_rel ? other.max_rel : into.max_rel;
    into.sum_difference = add(into.sum_difference, other.sum_difference);
    into.sum_reference = add(into.sum_reference, other.sum_reference);
}

template <class E>
__device__ __forceinline__ void summary(const typename E::Word *candidate, const typename E::Word *reference, u64 n,
                                        u64 base, double wide_atol, double wide_rtol, unsigned flags,
                                        Partial *partials) {
    typedef typename E::Real Real;
    typedef typename E::Word Word;
    constexpr unsigned N = 16 / sizeof(Word);
    __shared__ Rare rare;
    if (threadIdx.x == 0) rare = {0, 0, 0, 0, 0, NOWHERE, NOWHERE};
    __syncthreads();

    const Real atol = (Real)wide_atol, rtol = (Real)wide_rtol;
    Running<Real> run = {0, 0, 0, 0, 0};
    walk<true>(candidate, reference, n, [&](const uint4 &as, const uint4 &bs, u64 first, unsigned valid) {
        unsigned odd = 0;
        const bool whole = valid == N;
        if (whole) {
#pragma unroll (N > 8 ? 4 : N)
            for (unsigned j = 0; j < N; j++) {
                const Word wa = word_of<Word>(as, j), wb = word_of<Word>(bs, j);
                const Real b = E::value(wb), d = Distance<E>::of(wa, wb);
                // False for NaN, too. Where it holds, both are finite.
                const bool common = below_infinity(d);
                const bool good = (flags & BITWISE) != 0
                                      ? Equal<E>::bitwise(wa, wb)
                                      : Equal<E>::are(wa, wb) || d <= add(atol, mul(rtol, magnitude(b)));
                run.mismatches += common && !good;
                // Zeros change nothing.
                count(run, common ? d : (Real)0, common ? b : (Real)0);
                odd |= (!common || may_raise(run, d, b) ? 1u : 0u) << j;
            }
        } else {
            odd = (1u << valid) - 1;
        }
        // One pair at a time: rarely, and for the tensors' last bytes.
#pragma unroll 1
        for (; odd != 0; odd &= odd - 1) {
            const unsigned j = (unsigned)__ffs((int)odd) - 1;
            rare_pair<E>(run, rare, word_of<Word>(as, j), word_of<Word>(bs, j), base + first + j, atol, rtol, flags,
                         whole);
        }
    });

#pragma unroll 1
    for (unsigned by = LANES / 2; by > 0; by /= 2) {
        const Running<Real> other = {from_lane(run.mismatches, by), from_lane(run.max_abs, by),
                                     from_lane(run.max_rel, by), from_lane(run.sum_difference, by),
                                     from_lane(run.sum_reference, by)};
        join(run, other);
    }
    __shared__ Running<Real> warps[THREADS / LANES];
    if (threadIdx.x % LANES == 0) warps[threadIdx.x / LANES] = run;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned w = 1; w < THREADS / LANES; w++) join(run, warps[w]);
        partials[blockIdx.x] = {run.mismatches,
                                rare.not_finite,
                                rare.nan_reference,
                                rare.nan_candidate,
                                rare.nan_first,
                                rare.inf_reference,
                                rare.inf_candidate,
                                rare.inf_first,
                                (double)run.max_abs,
                                (double)run.max_rel,
                                run.sum_difference,
                                run.sum_reference};
    }
}

#define KERNEL(NAME, TYPE) \
    extern "C" __global__ void __launch_bounds__(THREADS) git_incident_summary_##NAME( \
        const TYPE::Word *candidate, const TYPE::Word *reference, u64 n, u64 base, double atol, double rtol, \
        unsigned flags, Partial *partials) { \
        summary<TYPE>(candidate, reference, n, base, atol, rtol, flags, partials); \
    }
GIT_INCIDENT_FOR_EACH_TYPE(KERNEL)
