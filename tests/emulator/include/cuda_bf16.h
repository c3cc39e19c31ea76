// bfloat16 as CUDA's header has it, as much as small kernels need. Every operation is done in float and rounded once.
#pragma once

struct __nv_bfloat16 {
    unsigned short bits;
    __nv_bfloat16() = default;
    __nv_bfloat16(float value) {
        unsigned b = __float_as_uint(value);
        bits = (b & 0x7fffffffu) > 0x7f800000u ? 0x7fff : (unsigned short)((b + 0x7fffu + (b >> 16 & 1)) >> 16);
    }
    __nv_bfloat16(double value) : __nv_bfloat16((float)value) {}
    __nv_bfloat16(int value) : __nv_bfloat16((float)value) {}
    operator float() const { return __uint_as_float((unsigned)bits << 16); }
};
typedef __nv_bfloat16 nv_bfloat16;
struct alignas(4) __nv_bfloat162 { __nv_bfloat16 x, y; };
static inline __nv_bfloat16 operator+(__nv_bfloat16 a, __nv_bfloat16 b) { return {(float)a + (float)b}; }
static inline __nv_bfloat16 operator-(__nv_bfloat16 a, __nv_bfloat16 b) { return {(float)a - (float)b}; }
static inline __nv_bfloat16 operator*(__nv_bfloat16 a, __nv_bfloat16 b) { return {(float)a * (float)b}; }
static inline __nv_bfloat16 operator/(__nv_bfloat16 a, __nv_bfloat16 b) { return {(float)a / (float)b}; }
static inline float __bfloat162float(__nv_bfloat16 b) { return (float)b; }
static inline __nv_bfloat16 __float2bfloat16(float f) { return __nv_bfloat16(f); }
static inline __nv_bfloat16 __float2bfloat16_rn(float f) { return __nv_bfloat16(f); }
