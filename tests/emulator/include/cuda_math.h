// Functions that CUDA has without a header. Each single operation is rounded as the host rounds it: to nearest, ties
// to even, nothing fused, nothing flushed. exp, log and their like are the host's, not a GPU's.
#pragma once

#define EMU_DOUBLE_AND_FLOAT(NAME) \
    extern "C" double NAME(double) noexcept; \
    extern "C" float NAME##f(float) noexcept;
EMU_DOUBLE_AND_FLOAT(exp)
EMU_DOUBLE_AND_FLOAT(exp2)
EMU_DOUBLE_AND_FLOAT(expm1)
EMU_DOUBLE_AND_FLOAT(log)
EMU_DOUBLE_AND_FLOAT(log2)
EMU_DOUBLE_AND_FLOAT(log10)
EMU_DOUBLE_AND_FLOAT(log1p)
EMU_DOUBLE_AND_FLOAT(sqrt)
EMU_DOUBLE_AND_FLOAT(cbrt)
EMU_DOUBLE_AND_FLOAT(sin)
EMU_DOUBLE_AND_FLOAT(cos)
EMU_DOUBLE_AND_FLOAT(tan)
EMU_DOUBLE_AND_FLOAT(asin)
EMU_DOUBLE_AND_FLOAT(acos)
EMU_DOUBLE_AND_FLOAT(atan)
EMU_DOUBLE_AND_FLOAT(sinh)
EMU_DOUBLE_AND_FLOAT(cosh)
EMU_DOUBLE_AND_FLOAT(tanh)
EMU_DOUBLE_AND_FLOAT(erf)
EMU_DOUBLE_AND_FLOAT(erfc)
EMU_DOUBLE_AND_FLOAT(floor)
EMU_DOUBLE_AND_FLOAT(ceil)
EMU_DOUBLE_AND_FLOAT(trunc)
EMU_DOUBLE_AND_FLOAT(round)
EMU_DOUBLE_AND_FLOAT(rint)
EMU_DOUBLE_AND_FLOAT(nearbyint)
EMU_DOUBLE_AND_FLOAT(fabs)
#undef EMU_DOUBLE_AND_FLOAT
#define EMU_DOUBLE_AND_FLOAT(NAME) \
    extern "C" double NAME(double, double) noexcept; \
    extern "C" float NAME##f(float, float) noexcept;
EMU_DOUBLE_AND_FLOAT(pow)
EMU_DOUBLE_AND_FLOAT(fmod)
EMU_DOUBLE_AND_FLOAT(fmax)
EMU_DOUBLE_AND_FLOAT(fmin)
EMU_DOUBLE_AND_FLOAT(fdim)
EMU_DOUBLE_AND_FLOAT(atan2)
EMU_DOUBLE_AND_FLOAT(hypot)
EMU_DOUBLE_AND_FLOAT(copysign)
EMU_DOUBLE_AND_FLOAT(nextafter)
#undef EMU_DOUBLE_AND_FLOAT
extern "C" double fma(double, double, double) noexcept;
extern "C" float fmaf(float, float, float) noexcept;
extern "C" double ldexp(double, int) noexcept;
extern "C" float ldexpf(float, int) noexcept;
extern "C" void *memcpy(void *, const void *, size_t) noexcept;
extern "C" void *memset(void *, int, size_t) noexcept;

#define EMU_OVERLOAD(NAME) \
    static inline float NAME(float x) { return NAME##f(x); }
EMU_OVERLOAD(exp)
EMU_OVERLOAD(log)
EMU_OVERLOAD(sqrt)
EMU_OVERLOAD(sin)
EMU_OVERLOAD(cos)
EMU_OVERLOAD(tanh)
EMU_OVERLOAD(floor)
EMU_OVERLOAD(ceil)
EMU_OVERLOAD(fabs)
#undef EMU_OVERLOAD
static inline float pow(float x, float y) { return powf(x, y); }

static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
static inline float __expf(float x) { return expf(x); }
static inline float __exp2f(float x) { return exp2f(x); }
static inline float __logf(float x) { return logf(x); }
static inline float __log2f(float x) { return log2f(x); }
static inline float __sinf(float x) { return sinf(x); }
static inline float __cosf(float x) { return cosf(x); }
static inline float __powf(float x, float y) { return powf(x, y); }
static inline float __fdividef(float x, float y) { return x / y; }
static inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __frcp_rn(float a) { return 1.0f / a; }
static inline float __fsqrt_rn(float a) { return sqrtf(a); }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dsub_rn(double a, double b) { return a - b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __ddiv_rn(double a, double b) { return a / b; }
static inline double __dsqrt_rn(double a) { return sqrt(a); }
static inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
static inline float __double2float_rn(double a) { return (float)a; }
static inline double __ll2double_rn(long long a) { return (double)a; }
static inline double __ull2double_rn(unsigned long long a) { return (double)a; }
static inline float __int2float_rn(int a) { return (float)a; }
static inline float __uint2float_rn(unsigned a) { return (float)a; }
static inline int __float2int_rn(float a) { return (int)rintf(a); }
static inline int __float2int_rz(float a) { return (int)a; }

static inline int __float_as_int(float x) { return emu_value<int>(emu_bits(x)); }
static inline unsigned __float_as_uint(float x) { return emu_value<unsigned>(emu_bits(x)); }
static inline float __int_as_float(int x) { return emu_value<float>(emu_bits(x)); }
static inline float __uint_as_float(unsigned x) { return emu_value<float>(emu_bits(x)); }
static inline long long __double_as_longlong(double x) { return emu_value<long long>(emu_bits(x)); }
static inline double __longlong_as_double(long long x) { return emu_value<double>(emu_bits(x)); }

static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned)x); }
static inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned __brev(unsigned x) {
    unsigned y = 0;
    for (int i = 0; i < 32; i++) y |= (x >> i & 1) << (31 - i);
    return y;
}
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
static inline int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline int __mul24(int a, int b) { return a * b; }
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
    return (unsigned)((((unsigned long long)high << 32 | low) << (by & 31)) >> 32);
}

template <class EmuT> static inline EmuT __ldg(const EmuT *at) { return *at; }
template <class EmuT> static inline EmuT __ldcs(const EmuT *at) { return *at; }
template <class EmuT> static inline EmuT __ldcg(const EmuT *at) { return *at; }
template <class EmuT> static inline EmuT __ldca(const EmuT *at) { return *at; }
template <class EmuT> static inline void __stcs(EmuT *at, EmuT value) { *at = value; }
template <class EmuT> static inline void __stcg(EmuT *at, EmuT value) { *at = value; }
template <class EmuT> static inline void __stwt(EmuT *at, EmuT value) { *at = value; }

// isnan and its like are macros' names in some headers: functions of their own here.
static inline bool isnan(float x) { return x != x; }
static inline bool isnan(double x) { return x != x; }
static inline bool isinf(float x) { return __builtin_isinf(x) != 0; }
static inline bool isinf(double x) { return __builtin_isinf(x) != 0; }
static inline bool isfinite(float x) { return __builtin_isfinite(x) != 0; }
static inline bool isfinite(double x) { return __builtin_isfinite(x) != 0; }
static inline bool signbit(float x) { return __builtin_signbit(x) != 0; }

template <class EmuA, class EmuB> static inline auto max(EmuA a, EmuB b) -> decltype(a + b) {
    using EmuC = decltype(a + b);
    EmuC x = (EmuC)a, y = (EmuC)b;
    return x > y || y != y ? x : y;
}
template <class EmuA, class EmuB> static inline auto min(EmuA a, EmuB b) -> decltype(a + b) {
    using EmuC = decltype(a + b);
    EmuC x = (EmuC)a, y = (EmuC)b;
    return x < y || y != y ? x : y;
}
template <class EmuT> static inline EmuT abs(EmuT x) { return x < 0 || (x == 0 && 1 / (double)x < 0) ? -x : x; }

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define CUDART_INF_F __builtin_inff()
#define CUDART_NAN_F __builtin_nanf("")
#define FLT_MAX __FLT_MAX__
#define FLT_MIN __FLT_MIN__
#define FLT_EPSILON __FLT_EPSILON__
#define INT_MAX __INT_MAX__
#define INT_MIN (-__INT_MAX__ - 1)
