// Elements as they are stored, as they are compared, and how a kernel walks over two tensors of them.
//
// The arithmetic is that of src/validate/compare/mod.rs: every operation rounded to the compute type, to nearest, ties
// to even; nothing fused (--fmad=false, and intrinsics that never fuse); nothing flushed to zero.
#pragma once

typedef unsigned long long u64;

constexpr unsigned THREADS = 256;
constexpr unsigned LANES = 32;
constexpr u64 NOWHERE = ~0ull;

// Flags of a launch.
constexpr unsigned EQUAL_NAN = 1;
constexpr unsigned BITWISE = 2;

// ---- compute types

__device__ __forceinline__ float add(float a, float b) { return __fadd_rn(a, b); }
__device__ __forceinline__ float sub(float a, float b) { return __fsub_rn(a, b); }
__device__ __forceinline__ float mul(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ float quotient(float a, float b) { return __fdiv_rn(a, b); }
__device__ __forceinline__ double add(double a, double b) { return __dadd_rn(a, b); }
__device__ __forceinline__ double sub(double a, double b) { return __dsub_rn(a, b); }
__device__ __forceinline__ double mul(double a, double b) { return __dmul_rn(a, b); }
__device__ __forceinline__ double quotient(double a, double b) { return __ddiv_rn(a, b); }
__device__ __forceinline__ float magnitude(float a) { return __uint_as_float(__float_as_uint(a) & 0x7fffffffu); }
__device__ __forceinline__ double magnitude(double a) {
    return __longlong_as_double(__double_as_longlong(a) & 0x7fffffffffffffffll);
}
__device__ __forceinline__ bool same_bits(float a, float b) { return __float_as_uint(a) == __float_as_uint(b); }
__device__ __forceinline__ bool same_bits(double a, double b) {
    return __double_as_longlong(a) == __double_as_longlong(b);
}
// Not for NaN.
__device__ __forceinline__ bool below_infinity(float a) { return a < __uint_as_float(0x7f800000u); }
__device__ __forceinline__ bool below_infinity(double a) { return a < __longlong_as_double(0x7ff0000000000000ll); }
__device__ __forceinline__ u64 ordered_bits(double a) { return (u64)__double_as_longlong(a); }

// A little less than 1: what a product is multiplied by before it may rule a division out.
__device__ __forceinline__ float shy(float) { return 0.9999997f; }
__device__ __forceinline__ double shy(double) { return 0.9999999999999; }

// ⌊log2 d⌋ of a positive d; one past the largest where it is infinite.
__device__ __forceinline__ int exponent(float d) {
    unsigned bits = __float_as_uint(d), power = bits >> 23;
    return power == 0 ? -118 - __clz((int)bits) : (int)power - 127;
}
__device__ __forceinline__ int exponent(double d) {
    u64 bits = (u64)__double_as_longlong(d);
    int power = (int)(bits >> 52);
    return power == 0 ? -1011 - __clzll((long long)bits) : power - 1023;
}

// ---- stored types: `Word` as it lies in memory, `Real` as it is compared

// How far from zero a float of `WIDTH` bits is, in steps, with its sign; both zeros are at 0.
template <unsigned WIDTH> __device__ __forceinline__ u64 steps_between(u64 a, u64 b) {
    const u64 sign = 1ull << (WIDTH - 1);
    u64 x = a & (sign - 1), y = b & (sign - 1);
    if (((a ^ b) & sign) != 0) return x + y;
    return x > y ? x - y : y - x;
}

// A small float without infinities: its exponent and mantissa are moved to where binary32 has them, and a product that
// is exact puts the bias right, subnormals included.
__device__ __forceinline__ float widened(unsigned magnitude, unsigned shift, float scale, unsigned sign) {
    return __uint_as_float(__float_as_uint(mul(__uint_as_float(magnitude << shift), scale)) | sign);
}
__device__ __forceinline__ float not_a_number() { return __uint_as_float(0x7fc00000u); }

struct F32 {
    typedef unsigned Word;
    typedef float Real;
    static __device__ __forceinline__ float value(Word w) { return __uint_as_float(w); }
    static __device__ __forceinline__ u64 steps(Word a, Word b) { return steps_between<32>(a, b); }
};
struct F64 {
    typedef u64 Word;
    typedef double Real;
    static __device__ __forceinline__ double value(Word w) { return __longlong_as_double((long long)w); }
    static __device__ __forceinline__ u64 steps(Word a, Word b) { return steps_between<64>(a, b); }
};
struct F16 {
    typedef unsigned short Word;
    typedef float Real;
    static __device__ __forceinline__ float value(Word w) {
#ifdef GIT_INCIDENT_EMULATED
        unsigned sign = (unsigned)(w & 0x8000) << 16;
        if ((w & 0x7c00) == 0x7c00) return __uint_as_float(sign | 0x7f800000u | (unsigned)(w & 0x3ff) << 13);
        return widened(w & 0x7fff, 13, 5.192296858534828e33f, sign);
#else
        float f;
        asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(w));
        return f;
#endif
    }
    static __device__ __forceinline__ u64 steps(Word a, Word b) { return steps_between<16>(a, b); }
};
struct BF16 {
    typedef unsigned short Word;
    typedef float Real;
    static __device__ __forceinline__ float value(Word w) { return __uint_as_float((unsigned)w << 16); }
    static __device__ __forceinline__ u64 steps(Word a, Word b) { return steps_between<16>(a, b); }
};
struct Byte {
    typedef unsigned char Word;
    typedef float Real;
    static __device__ __forceinline__ u64 steps(Word a, Word b) { return steps_between<8>(a, b); }
    static __device__ __forceinline__ unsigned sign(Word w) { return (unsigned)(w & 0x80) << 24; }
};
struct E4M3 : Byte {
    static __device__ __forceinline__ float value(Word w) {
        return (w & 0x7f) == 0x7f ? not_a_number() : widened(w & 0x7f, 20, 1.329227995784916e36f, sign(w));
    }
};
struct E5M2 : Byte {
    static __device__ __forceinline__ float value(Word w) {
        unsigned magnitude = w & 0x7f;
        if (magnitude >= 0x7c) return magnitude > 0x7c ? not_a_number() : __uint_as_float(sign(w) | 0x7f800000u);
        return widened(magnitude, 21, 5.192296858534828e33f, sign(w));
    }
};
struct E4M3Z : Byte {
    static __device__ __forceinline__ float value(Word w) {
        return w == 0x80 ? not_a_number() : widened(w & 0x7f, 20, 6.64613997892458e35f, sign(w));
    }
};
struct E5M2Z : Byte {
    static __device__ __forceinline__ float value(Word w) {
        return w == 0x80 ? not_a_number() : widened(w & 0x7f, 21, 2.596148429267414e33f, sign(w));
    }
};
struct I64 {
    typedef u64 Word;
    typedef double Real;
    static __device__ __forceinline__ double value(Word w) { return __ll2double_rn((long long)w); }
    static __device__ __forceinline__ u64 steps(Word a, Word b) {
        return (long long)a > (long long)b ? a - b : b - a;
    }
};
struct U64 {
    typedef u64 Word;
    typedef double Real;
    static __device__ __forceinline__ double value(Word w) { return __ull2double_rn(w); }
    static __device__ __forceinline__ u64 steps(Word a, Word b) { return a > b ? a - b : b - a; }
};

// |a − b|, rounded once. Of 64-bit integers the exact distance is what is rounded.
template <class E> struct Distance {
    static __device__ __forceinline__ typename E::Real of(typename E::Word a, typename E::Word b) {
        return magnitude(sub(E::value(a), E::value(b)));
    }
};
template <> struct Distance<I64> {
    static __device__ __forceinline__ double of(u64 a, u64 b) { return __ull2double_rn(I64::steps(a, b)); }
};
template <> struct Distance<U64> {
    static __device__ __forceinline__ double of(u64 a, u64 b) { return __ull2double_rn(U64::steps(a, b)); }
};
// Integers that are the same are equal; others are not, even where they round to one number.
template <class E> struct Equal {
    static __device__ __forceinline__ bool are(typename E::Word a, typename E::Word b) {
        return E::value(a) == E::value(b);
    }
    static __device__ __forceinline__ bool bitwise(typename E::Word a, typename E::Word b) {
        return same_bits(E::value(a), E::value(b));
    }
};
template <> struct Equal<I64> {
    static __device__ __forceinline__ bool are(u64 a, u64 b) { return a == b; }
    static __device__ __forceinline__ bool bitwise(u64 a, u64 b) { return a == b; }
};
template <> struct Equal<U64> {
    static __device__ __forceinline__ bool are(u64 a, u64 b) { return a == b; }
    static __device__ __forceinline__ bool bitwise(u64 a, u64 b) { return a == b; }
};

// Whether a pair matches. `finite` says whether both are.
template <class E>
__device__ __forceinline__ bool matches(typename E::Word wa, typename E::Word wb, typename E::Real d, bool finite,
                                        typename E::Real atol, typename E::Real rtol, unsigned flags) {
    typename E::Real a = E::value(wa), b = E::value(wb);
    if (a != a && b != b) return (flags & EQUAL_NAN) != 0;
    if ((flags & BITWISE) != 0) return Equal<E>::bitwise(wa, wb);
    return Equal<E>::are(wa, wb) || (finite && d <= add(atol, mul(rtol, magnitude(b))));
}

// ---- walking

// Element `j` of 16 bytes. Where j is not known to the compiler, this needs no local memory.
template <class W> __device__ __forceinline__ W word_of(const uint4 &v, unsigned j) {
    constexpr unsigned PER = 4 / sizeof(W);
    const unsigned part = j / PER;
    const unsigned whole = (part & 2) != 0 ? ((part & 1) != 0 ? v.w : v.z) : ((part & 1) != 0 ? v.y : v.x);
    return (W)(whole >> (j % PER * 8 * sizeof(W)));
}
template <> __device__ __forceinline__ u64 word_of<u64>(const uint4 &v, unsigned j) {
    return j != 0 ? (u64)v.w << 32 | v.z : (u64)v.y << 32 | v.x;
}

// Calls visit(16 bytes of the candidate, 16 of the reference, index of the first element, how many count) for this
// thread's share; with AHEAD, the next 16 bytes of either are on their way meanwhile. Both tensors are aligned to 16
// bytes and padded to a multiple of 16.
template <bool AHEAD, class W, class V>
__device__ __forceinline__ void walk(const W *__restrict__ candidate, const W *__restrict__ reference, u64 n, V visit) {
    constexpr unsigned N = 16 / sizeof(W);
    const u64 stride = (u64)gridDim.x * THREADS, vectors = (n + N - 1) / N;
    const uint4 *as = (const uint4 *)candidate, *bs = (const uint4 *)reference;
    u64 v = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (v >= vectors) return;
    if constexpr (AHEAD) {
        uint4 a = __ldcs(as + v), b = __ldcs(bs + v);
        for (;;) {
            const u64 next = v + stride;
            uint4 c = a, d = b;
            if (next < vectors) {
                c = __ldcs(as + next);
                d = __ldcs(bs + next);
            }
            const u64 left = n - v * N;
            visit(a, b, v * N, left < N ? (unsigned)left : N);
            if (next >= vectors) return;
            a = c;
            b = d;
            v = next;
        }
    } else {
#pragma unroll 1
        for (; v < vectors; v += stride) {
            const u64 left = n - v * N;
            visit(__ldcs(as + v), __ldcs(bs + v), v * N, left < N ? (unsigned)left : N);
        }
    }
}

// One kernel for every stored type.
#define GIT_INCIDENT_FOR_EACH_TYPE(KERNEL) \
    KERNEL(f32, F32) KERNEL(f64, F64) KERNEL(f16, F16) KERNEL(bf16, BF16) KERNEL(e4m3, E4M3) KERNEL(e5m2, E5M2) \
    KERNEL(e4m3fnuz, E4M3Z) KERNEL(e5m2fnuz, E5M2Z) KERNEL(i64, I64) KERNEL(u64, U64)
