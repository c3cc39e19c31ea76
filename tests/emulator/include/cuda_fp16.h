// binary16 as CUDA's header has it, as much as small kernels need. Every operation is done in float and rounded once.
#pragma once

static inline unsigned short emu_half_bits(float value) {
    unsigned bits = __float_as_uint(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return (unsigned short)(sign | 0x7fffu);
    if (magnitude >= 0x47800000u) return (unsigned short)(sign | 0x7c00u);
    if (magnitude < 0x38800000u) {
        // Subnormal: adding this number rounds at the last place that a half has.
        float rounded = __uint_as_float(magnitude) + __uint_as_float(0x3f000000u);
        return (unsigned short)(sign | (__float_as_uint(rounded) - 0x3f000000u));
    }
    unsigned odd = magnitude >> 13 & 1;
    return (unsigned short)(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}
static inline float emu_half_value(unsigned short half) {
    unsigned sign = (half & 0x8000u) << 16, rest = half & 0x7fffu;
    float value = __uint_as_float(rest << 13) * __uint_as_float(0x77800000u);
    unsigned bits = rest >= 0x7c00u ? (rest << 13 | 0x7f800000u) : __float_as_uint(value);
    return __uint_as_float(sign | bits);
}

struct __half {
    unsigned short bits;
    __half() = default;
    __half(float value) : bits(emu_half_bits(value)) {}
    __half(double value) : bits(emu_half_bits((float)value)) {}
    __half(int value) : bits(emu_half_bits((float)value)) {}
    operator float() const { return emu_half_value(bits); }
    __half &operator+=(__half o) { return *this = __half((float)*this + (float)o); }
    __half &operator-=(__half o) { return *this = __half((float)*this - (float)o); }
    __half &operator*=(__half o) { return *this = __half((float)*this * (float)o); }
};
typedef __half half;
struct alignas(4) __half2 { __half x, y; };
typedef __half2 half2;
static inline __half operator+(__half a, __half b) { return __half((float)a + (float)b); }
static inline __half operator-(__half a, __half b) { return __half((float)a - (float)b); }
static inline __half operator*(__half a, __half b) { return __half((float)a * (float)b); }
static inline __half operator/(__half a, __half b) { return __half((float)a / (float)b); }
static inline float __half2float(__half h) { return (float)h; }
static inline __half __float2half(float f) { return __half(f); }
static inline __half __float2half_rn(float f) { return __half(f); }
static inline __half __hadd(__half a, __half b) { return a + b; }
static inline __half __hsub(__half a, __half b) { return a - b; }
static inline __half __hmul(__half a, __half b) { return a * b; }
static inline __half __hfma(__half a, __half b, __half c) { return __half((float)a * (float)b + (float)c); }
static inline __half __ushort_as_half(unsigned short b) { __half h; h.bits = b; return h; }
static inline unsigned short __half_as_ushort(__half h) { return h.bits; }
static inline float2 __half22float2(__half2 h) { return {(float)h.x, (float)h.y}; }
static inline __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
