// The threads of one block, as fibers on the calling thread.
#pragma once

#include "machine.h"

// How a launch ended: 0, or a CUresult and why.
struct EmuEnd {
    int code;
    char why[256];
};

struct EmuLaunch {
    const EmuModule *module;
    const EmuKernel *kernel;
    EmuDim grid, block;
    unsigned dynamic_bytes;
    void **arguments;
    bool backwards;
    unsigned char poison;
};

EmuEnd emu_run(const EmuLaunch &launch);
