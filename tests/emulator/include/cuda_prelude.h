// CUDA C++ for g++: what a kernel finds before its first line. A test double: see README.md for what it leaves out.
#pragma once

#include "../machine.h"

extern "C" {
extern EmuApi *emu_api;
extern unsigned char *emu_dynamic_shared;
}

// nvrtc.cpp looks for these two words after the preprocessor ran.
#define __global__ __emu_global__
#define __shared__ __emu_shared__
#define __launch_bounds__(...) __emu_bounds__(__VA_ARGS__)
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __grid_constant__
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __CUDA_ARCH__ 900
#define GIT_INCIDENT_EMULATED 1

#define threadIdx (emu_api->thread->index)
#define blockIdx (emu_api->block_index)
#define blockDim (emu_api->block_dim)
#define gridDim (emu_api->grid_dim)
static constexpr int warpSize = 32;

struct dim3 : EmuDim {
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : EmuDim{x, y, z} {}
    constexpr dim3(EmuDim d) : EmuDim(d) {}
};

#define EMU_VECTOR(EmuT, N) \
    struct alignas(sizeof(EmuT) * 2 > 16 ? 16 : sizeof(EmuT) * 2) N##2 { EmuT x, y; }; \
    struct N##1 { EmuT x; }; \
    struct N##3 { EmuT x, y, z; }; \
    struct alignas(sizeof(EmuT) * 4 > 16 ? 16 : sizeof(EmuT) * 4) N##4 { EmuT x, y, z, w; }; \
    static inline N##1 make_##N##1(EmuT x) { return {x}; } \
    static inline N##2 make_##N##2(EmuT x, EmuT y) { return {x, y}; } \
    static inline N##3 make_##N##3(EmuT x, EmuT y, EmuT z) { return {x, y, z}; } \
    static inline N##4 make_##N##4(EmuT x, EmuT y, EmuT z, EmuT w) { return {x, y, z, w}; }
EMU_VECTOR(signed char, char)
EMU_VECTOR(unsigned char, uchar)
EMU_VECTOR(short, short)
EMU_VECTOR(unsigned short, ushort)
EMU_VECTOR(int, int)
EMU_VECTOR(unsigned, uint)
EMU_VECTOR(long long, longlong)
EMU_VECTOR(unsigned long long, ulonglong)
EMU_VECTOR(float, float)
EMU_VECTOR(double, double)
#undef EMU_VECTOR

// Barriers. The line is the site: threads of one block that meet at different lines have diverged.
#define __syncthreads() ((void)emu_api->barrier(__LINE__, 0, EMU_NONE))
#define __syncthreads_count(p) ((int)emu_api->barrier(__LINE__, (p) ? 1 : 0, EMU_COUNT))
#define __syncthreads_and(p) ((int)emu_api->barrier(__LINE__, (p) ? 1 : 0, EMU_AND))
#define __syncthreads_or(p) ((int)emu_api->barrier(__LINE__, (p) ? 1 : 0, EMU_OR))

template <class EmuT> static inline uint64_t emu_bits(EmuT value) {
    static_assert(sizeof(EmuT) <= 8, "a warp exchanges at most 8 bytes");
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(EmuT));
    return bits;
}
template <class EmuT> static inline EmuT emu_value(uint64_t bits) {
    EmuT value;
    __builtin_memcpy(&value, &bits, sizeof(EmuT));
    return value;
}
enum EmuShuffle { EMU_IDX, EMU_UP, EMU_DOWN, EMU_XOR };
template <class EmuT>
static inline EmuT emu_shuffle(unsigned site, EmuShuffle how, unsigned mask, EmuT value, int by, int width = 32) {
    unsigned present = 0;
    const uint64_t *all = emu_api->warp(site, mask, emu_bits(value), &present);
    int lane = (int)emu_api->thread->lane, base = lane & ~(width - 1), from = lane;
    switch (how) {
        case EMU_IDX: from = base + (by & (width - 1)); break;
        case EMU_UP: from = lane - by < base ? lane : lane - by; break;
        case EMU_DOWN: from = lane + by >= base + width ? lane : lane + by; break;
        case EMU_XOR: from = (lane ^ by) >= base + width ? lane : lane ^ by; break;
    }
    // What a lane that takes no part would bring is undefined: nothing that looks like a result.
    return (present >> from & 1) != 0 ? emu_value<EmuT>(all[from]) : emu_value<EmuT>(0xfefefefefefefefeull);
}
#define __shfl_sync(...) emu_shuffle(__LINE__, EMU_IDX, __VA_ARGS__)
#define __shfl_up_sync(...) emu_shuffle(__LINE__, EMU_UP, __VA_ARGS__)
#define __shfl_down_sync(...) emu_shuffle(__LINE__, EMU_DOWN, __VA_ARGS__)
#define __shfl_xor_sync(...) emu_shuffle(__LINE__, EMU_XOR, __VA_ARGS__)

static inline void emu_warp_wait(unsigned site, unsigned mask = 0xffffffffu) {
    unsigned present = 0;
    emu_api->warp(site, mask, 0, &present);
}
#define __syncwarp(...) emu_warp_wait(__LINE__, ##__VA_ARGS__)
static inline unsigned emu_ballot(unsigned site, unsigned mask, int vote) {
    unsigned present = 0, found = 0;
    const uint64_t *all = emu_api->warp(site, mask, vote != 0, &present);
    for (int lane = 0; lane < 32; lane++)
        if ((present >> lane & 1) != 0 && all[lane] != 0) found |= 1u << lane;
    return found;
}
static inline int emu_all(unsigned site, unsigned mask, int vote) {
    return emu_ballot(site, mask, vote == 0) == 0;
}
#define __ballot_sync(m, p) emu_ballot(__LINE__, m, (p) ? 1 : 0)
#define __any_sync(m, p) (emu_ballot(__LINE__, m, (p) ? 1 : 0) != 0)
#define __all_sync(m, p) emu_all(__LINE__, m, (p) ? 1 : 0)
#define __activemask() (emu_api->alive())
template <class EmuT> static inline unsigned emu_match(unsigned site, unsigned mask, EmuT value) {
    unsigned present = 0, found = 0;
    const uint64_t *all = emu_api->warp(site, mask, emu_bits(value), &present);
    for (int lane = 0; lane < 32; lane++)
        if ((present >> lane & 1) != 0 && all[lane] == emu_bits(value)) found |= 1u << lane;
    return found;
}
#define __match_any_sync(m, v) emu_match(__LINE__, m, v)
template <class EmuT, class EmuF> static inline EmuT emu_reduce(unsigned site, unsigned mask, EmuT value, EmuF join) {
    unsigned present = 0;
    const uint64_t *all = emu_api->warp(site, mask, emu_bits(value), &present);
    bool first = true;
    EmuT sum{};
    for (int lane = 0; lane < 32; lane++)
        if ((present >> lane & 1) != 0) {
            sum = first ? emu_value<EmuT>(all[lane]) : join(sum, emu_value<EmuT>(all[lane]));
            first = false;
        }
    return sum;
}
#define __reduce_add_sync(m, v) emu_reduce(__LINE__, m, v, [](auto a, auto b) { return a + b; })
#define __reduce_max_sync(m, v) emu_reduce(__LINE__, m, v, [](auto a, auto b) { return a > b ? a : b; })
#define __reduce_min_sync(m, v) emu_reduce(__LINE__, m, v, [](auto a, auto b) { return a < b ? a : b; })
#define __reduce_or_sync(m, v) emu_reduce(__LINE__, m, v, [](auto a, auto b) { return a | b; })
#define __reduce_and_sync(m, v) emu_reduce(__LINE__, m, v, [](auto a, auto b) { return a & b; })
#define __reduce_xor_sync(m, v) emu_reduce(__LINE__, m, v, [](auto a, auto b) { return a ^ b; })

static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __threadfence_system() {}
static inline void __nanosleep(unsigned) { emu_api->yield(); }
static inline long long clock64() { return (long long)emu_api->clock(); }
static inline long long clock() { return (long long)emu_api->clock(); }
static inline void __trap() { emu_api->fail(715, "__trap"); }
#define printf(...) (emu_api->print(__VA_ARGS__))
#define assert(c) ((c) ? (void)0 : emu_api->fail(710, #c))

#include "cuda_atomics.h"
#include "cuda_math.h"
