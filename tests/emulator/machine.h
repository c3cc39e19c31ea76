// What the emulated driver and a compiled kernel module say to each other.
//
// A module is an ordinary shared object made from CUDA source by g++ with cuda_prelude.h before it. The driver runs
// its blocks in turn and the threads of a block as fibers on one operating-system thread, so nothing here is atomic.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define EMU_VERSION 1

struct EmuDim {
    unsigned x, y, z;
};

// The thread that runs now.
struct EmuThread {
    EmuDim index;
    unsigned lane;
};

// How __syncthreads and its relatives combine what the threads bring.
enum EmuVote { EMU_NONE, EMU_COUNT, EMU_AND, EMU_OR };

// What a module may ask of the driver.
struct EmuApi {
    EmuThread *thread;
    EmuDim block_index, block_dim, grid_dim;
    unsigned dynamic_bytes;
    // Waits for the whole block; `site` tells barriers of different places apart.
    unsigned (*barrier)(unsigned site, unsigned value, int vote);
    // Waits for the lanes of `mask`; gives the values of all lanes, and which of them took part.
    const uint64_t *(*warp)(unsigned site, unsigned mask, uint64_t value, unsigned *present);
    // The lanes of this warp that have not left.
    unsigned (*alive)(void);
    // Lets other threads run: called now and then by atomics that code may spin on.
    void (*yield)(void);
    // Ends the launch with this CUresult.
    void (*fail)(int code, const char *why);
    // printf of a kernel: to stderr, because stdout belongs to the program's results.
    int (*print)(const char *format, ...);
    uint64_t (*clock)(void);
};

struct EmuKernel {
    void *function;                // its symbol is the entry's name
    void (*call)(void **arguments);
    int arguments;
    const size_t *sizes;
    int most_threads;              // of __launch_bounds__, or 0
};

struct EmuModule {
    int version;
    EmuApi **api;
    unsigned char **dynamic_shared;
    const EmuKernel *kernels;
    int count;
    void (*touch)(void);           // makes this thread's shared memory exist
};
