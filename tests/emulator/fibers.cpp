// Runs a launch: block after block, and in a block thread after thread until each waits or has left.
//
// That order is what makes a race show: without a barrier the first thread reads what the last has not yet written.
// Every second launch of a process runs backwards (blocks and threads), so a result that depends on the order
// changes from launch to launch. Shared memory is poisoned before every block.

#include "fibers.h"

#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <vector>

namespace {

enum State { FRESH, READY, AT_BARRIER, AT_WARP, LEFT };

struct Fiber {
    void *stack_pointer = nullptr;
    unsigned char *top = nullptr;
};

struct Thread {
    EmuThread seen;
    State state;
    Fiber *fiber;
    unsigned site;
    unsigned vote;
    unsigned mask;
    uint64_t value;
    const uint64_t *result;
    unsigned present;
};

// Lanes read what was exchanged after they wake, some of them late: a few exchanges are kept.
constexpr unsigned KEPT = 64;

struct Warp {
    uint64_t values[KEPT][32];
    unsigned next = 0;
};

constexpr size_t STACK = 128 * 1024;

struct Machine {
    EmuApi api{};
    const EmuLaunch *launch = nullptr;
    std::vector<Thread> threads;
    std::vector<Warp> warps;
    std::vector<Fiber *> idle;
    void *scheduler = nullptr;
    unsigned current = 0;
    unsigned barrier_result = 0;
    sigjmp_buf out;
    bool running = false;
    unsigned char alternate[64 * 1024];
    EmuEnd end{};
};

thread_local Machine *machine;

#if defined(__x86_64__)
extern "C" void emu_switch(void **save, void *load);
__asm__(
    ".text\n.globl emu_switch\n.hidden emu_switch\n.type emu_switch,@function\n"
    "emu_switch:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
    ".size emu_switch,.-emu_switch\n");
#elif defined(__aarch64__)
extern "C" void emu_switch(void **save, void *load);
__asm__(
    ".text\n.globl emu_switch\n.hidden emu_switch\n.type emu_switch,%function\n"
    "emu_switch:\n"
    "sub sp,sp,#160\n"
    "stp x19,x20,[sp]\nstp x21,x22,[sp,#16]\nstp x23,x24,[sp,#32]\nstp x25,x26,[sp,#48]\n"
    "stp x27,x28,[sp,#64]\nstp x29,x30,[sp,#80]\nstp d8,d9,[sp,#96]\nstp d10,d11,[sp,#112]\n"
    "stp d12,d13,[sp,#128]\nstp d14,d15,[sp,#144]\n"
    "mov x9,sp\nstr x9,[x0]\nmov sp,x1\n"
    "ldp x19,x20,[sp]\nldp x21,x22,[sp,#16]\nldp x23,x24,[sp,#32]\nldp x25,x26,[sp,#48]\n"
    "ldp x27,x28,[sp,#64]\nldp x29,x30,[sp,#80]\nldp d8,d9,[sp,#96]\nldp d10,d11,[sp,#112]\n"
    "ldp d12,d13,[sp,#128]\nldp d14,d15,[sp,#144]\n"
    "add sp,sp,#160\nret\n"
    ".size emu_switch,.-emu_switch\n");
#else
#error "the emulator knows x86-64 and aarch64"
#endif

[[noreturn]] void leave(int code, const char *format, ...) {
    Machine *m = machine;
    m->end.code = code;
    va_list list;
    va_start(list, format);
    vsnprintf(m->end.why, sizeof m->end.why, format, list);
    va_end(list);
    siglongjmp(m->out, 1);
}

void pause_here() {
    Machine *m = machine;
    emu_switch(&m->threads[m->current].fiber->stack_pointer, m->scheduler);
}

extern "C" void emu_fiber_main() {
    for (;;) {
        Machine *m = machine;
        m->launch->kernel->call(m->launch->arguments);
        m = machine;
        Thread &thread = m->threads[m->current];
        thread.state = LEFT;
        m->idle.push_back(thread.fiber);
        pause_here();
    }
}

Fiber *fiber() {
    Machine *m = machine;
    Fiber *found;
    if (m->idle.empty()) {
        size_t page = (size_t)sysconf(_SC_PAGESIZE);
        unsigned char *base = (unsigned char *)mmap(nullptr, STACK + page, PROT_READ | PROT_WRITE,
                                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED) leave(2, "no memory for the stack of a thread");
        mprotect(base, page, PROT_NONE);
        found = new Fiber;
        found->top = base + page + STACK;
    } else {
        found = m->idle.back();
        m->idle.pop_back();
    }
    // Each thread starts at the beginning, whatever the fiber did before.
    void **at = (void **)found->top;
#if defined(__x86_64__)
    *--at = nullptr;
    *--at = (void *)emu_fiber_main;
    for (int i = 0; i < 6; i++) *--at = nullptr;
#else
    at -= 20;
    memset(at, 0, 160);
    at[11] = (void *)emu_fiber_main;
#endif
    found->stack_pointer = at;
    return found;
}

unsigned api_barrier(unsigned site, unsigned value, int) {
    Machine *m = machine;
    Thread &thread = m->threads[m->current];
    thread.state = AT_BARRIER;
    thread.site = site;
    thread.vote = value;
    pause_here();
    return m->barrier_result;
}

// The votes that __syncthreads_and and _or count: every kind is answered from one count.
unsigned api_barrier_voting(unsigned site, unsigned value, int vote) {
    unsigned count = api_barrier(site, value, vote);
    unsigned all = (unsigned)machine->threads.size();
    switch (vote) {
        case EMU_AND: return count == all;
        case EMU_OR: return count != 0;
        default: return count;
    }
}

// The lanes of a warp that exist: the last warp of a block may be cut.
unsigned width(unsigned warp) {
    size_t left = machine->threads.size() - (size_t)warp * 32;
    return left >= 32 ? 32 : (unsigned)left;
}

const uint64_t *api_warp(unsigned site, unsigned mask, uint64_t value, unsigned *present) {
    Machine *m = machine;
    Thread &thread = m->threads[m->current];
    unsigned warp = m->current / 32, lanes = width(warp);
    if ((mask >> thread.seen.lane & 1) == 0)
        leave(719, "lane %u of warp %u is not named in its own mask %08x", thread.seen.lane, warp, mask);
    thread.state = AT_WARP;
    thread.site = site;
    thread.mask = mask;
    thread.value = value;
    unsigned here = 0;
    bool all = true;
    for (unsigned lane = 0; lane < lanes; lane++) {
        if ((mask >> lane & 1) == 0) continue;
        Thread &other = m->threads[warp * 32 + lane];
        if (other.state == AT_WARP && other.mask == mask && other.site == site)
            here |= 1u << lane;
        else
            all = false;
    }
    if (all) {
        Warp &w = m->warps[warp];
        uint64_t *values = w.values[w.next++ % KEPT];
        for (unsigned lane = 0; lane < lanes; lane++) {
            if ((here >> lane & 1) == 0) continue;
            Thread &other = m->threads[warp * 32 + lane];
            values[lane] = other.value;
            other.result = values;
            other.present = here;
            other.state = READY;
        }
    } else {
        pause_here();
    }
    Thread &again = m->threads[m->current];
    *present = again.present;
    return again.result;
}

unsigned api_alive() {
    Machine *m = machine;
    unsigned warp = m->current / 32, found = 0;
    for (unsigned lane = 0; lane < width(warp); lane++)
        if (m->threads[warp * 32 + lane].state != LEFT) found |= 1u << lane;
    return found;
}

void api_yield() {
    Machine *m = machine;
    m->threads[m->current].state = READY;
    pause_here();
}

void api_fail(int code, const char *why) { leave(code, "%s", why); }

int api_print(const char *format, ...) {
    va_list list;
    va_start(list, format);
    int written = vfprintf(stderr, format, list);
    va_end(list);
    return written;
}

uint64_t api_clock() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

// Where this module keeps the calling thread's thread-local data: all its __shared__ variables and nothing else.
struct Shared {
    const void *inside;
    unsigned char *from;
    size_t bytes;
};

int look(dl_phdr_info *info, size_t, void *data) {
    Shared *shared = (Shared *)data;
    bool ours = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) &part = info->dlpi_phdr[i];
        const unsigned char *from = (const unsigned char *)info->dlpi_addr + part.p_vaddr;
        if (part.p_type == PT_LOAD && shared->inside >= from && shared->inside < from + part.p_memsz) ours = true;
    }
    if (!ours) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS) {
            shared->from = (unsigned char *)info->dlpi_tls_data;
            shared->bytes = info->dlpi_phdr[i].p_memsz;
        }
    return 1;
}

void say_stuck() {
    Machine *m = machine;
    const EmuDim &b = m->api.block_index;
    unsigned left = 0, waiting = 0, warped = 0, site = 0;
    bool sites = false;
    const Thread *example = nullptr;
    for (const Thread &t : m->threads) {
        left += t.state == LEFT;
        warped += t.state == AT_WARP;
        if (t.state == AT_BARRIER) {
            if (waiting++ != 0 && t.site != site) sites = true;
            site = t.site;
        }
        if (t.state == AT_WARP && example == nullptr) example = &t;
    }
    if (sites)
        leave(719, "barrier divergence in block (%u,%u,%u): threads wait at different __syncthreads", b.x, b.y, b.z);
    if (waiting != 0)
        leave(719, "barrier divergence in block (%u,%u,%u): %u threads wait at __syncthreads, %u have left, %u wait "
                   "for lanes of their warp", b.x, b.y, b.z, waiting, left, warped);
    leave(719, "warp divergence in block (%u,%u,%u): thread (%u,%u,%u) waits for lanes of mask %08x that do not come",
          b.x, b.y, b.z, example->seen.index.x, example->seen.index.y, example->seen.index.z, example->mask);
}

// Lets everyone who waits at the barrier go when the whole block is there.
bool release() {
    Machine *m = machine;
    unsigned count = 0;
    for (const Thread &t : m->threads) {
        if (t.state != AT_BARRIER || t.site != m->threads[0].site) return false;
        count += t.vote;
    }
    for (Thread &t : m->threads) t.state = READY;
    m->barrier_result = count;
    return true;
}

void run_block(const Shared &shared) {
    Machine *m = machine;
    const EmuLaunch &l = *m->launch;
    if (shared.from != nullptr) memset(shared.from, l.poison, shared.bytes);
    memset(*l.module->dynamic_shared, l.poison, l.dynamic_bytes);
    unsigned n = (unsigned)m->threads.size();
    for (unsigned i = 0; i < n; i++) {
        Thread &t = m->threads[i];
        t = Thread{};
        t.seen.index = {i % l.block.x, i / l.block.x % l.block.y, i / (l.block.x * l.block.y)};
        t.seen.lane = i % 32;
    }
    for (;;) {
        bool progress = false, rest = false;
        for (unsigned k = 0; k < n; k++) {
            unsigned i = l.backwards ? n - 1 - k : k;
            Thread &t = m->threads[i];
            if (t.state == FRESH) t.fiber = fiber();
            if (t.state == FRESH || t.state == READY) {
                m->current = i;
                m->api.thread = &t.seen;
                emu_switch(&m->scheduler, t.fiber->stack_pointer);
                progress = true;
            }
            rest |= t.state != LEFT;
        }
        if (!rest) return;
        if (!release() && !progress) say_stuck();
    }
}

void on_fault(int number, siginfo_t *info, void *) {
    Machine *m = machine;
    if (m == nullptr || !m->running) {
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    const EmuDim &b = m->api.block_index, &t = m->api.thread->index;
    if (number == SIGFPE)
        leave(719, "an integer division by zero in thread (%u,%u,%u) of block (%u,%u,%u)", t.x, t.y, t.z, b.x, b.y, b.z);
    leave(700, "thread (%u,%u,%u) of block (%u,%u,%u) touched %p", t.x, t.y, t.z, b.x, b.y, b.z, info->si_addr);
}

constexpr int FAULTS[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

}  // namespace

EmuEnd emu_run(const EmuLaunch &launch) {
    if (machine == nullptr) machine = new Machine;
    Machine *m = machine;
    m->launch = &launch;
    m->end = EmuEnd{};
    m->api.barrier = api_barrier_voting;
    m->api.warp = api_warp;
    m->api.alive = api_alive;
    m->api.yield = api_yield;
    m->api.fail = api_fail;
    m->api.print = api_print;
    m->api.clock = api_clock;
    m->api.block_dim = launch.block;
    m->api.grid_dim = launch.grid;
    m->api.dynamic_bytes = launch.dynamic_bytes;
    *launch.module->api = &m->api;
    unsigned n = launch.block.x * launch.block.y * launch.block.z;
    m->threads.assign(n, Thread{});
    m->warps.assign((n + 31) / 32, Warp{});

    launch.module->touch();
    Shared shared{launch.kernel->function, nullptr, 0};
    dl_iterate_phdr(look, &shared);

    // Dynamic shared memory ends at a page that nobody may touch.
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (launch.dynamic_bytes + page - 1) / page * page;
    unsigned char *dynamic = (unsigned char *)mmap(nullptr, room + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(dynamic, room, PROT_READ | PROT_WRITE);
    *launch.module->dynamic_shared = dynamic + (room - launch.dynamic_bytes) / 16 * 16;

    stack_t own{}, before{};
    own.ss_sp = m->alternate;
    own.ss_size = sizeof m->alternate;
    sigaltstack(&own, &before);
    struct sigaction action {}, old[4];
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (int i = 0; i < 4; i++) sigaction(FAULTS[i], &action, &old[i]);

    if (sigsetjmp(m->out, 1) == 0) {
        m->running = true;
        uint64_t blocks = (uint64_t)launch.grid.x * launch.grid.y * launch.grid.z;
        for (uint64_t k = 0; k < blocks; k++) {
            uint64_t i = launch.backwards ? blocks - 1 - k : k;
            m->api.block_index = {(unsigned)(i % launch.grid.x), (unsigned)(i / launch.grid.x % launch.grid.y),
                                  (unsigned)(i / launch.grid.x / launch.grid.y)};
            run_block(shared);
        }
    }
    m->running = false;
    for (int i = 0; i < 4; i++) sigaction(FAULTS[i], &old[i], nullptr);
    sigaltstack(&before, nullptr);
    munmap(dynamic, room + page);
    return m->end;
}
