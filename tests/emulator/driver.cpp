// The part of the CUDA driver API that this project uses, for a device that is a thread of this process.
//
// Faults for tests of callers, by GIT_INCIDENT_EMULATOR_FAULT: `init`, `none` (no device), `hang`, `crash`, `launch`.
// Order of threads, by GIT_INCIDENT_EMULATOR_ORDER: `forwards`, `backwards`; in turn where it is not set.

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "fibers.h"

#define API extern "C" __attribute__((visibility("default"))) int

namespace {

struct Function;
struct Module {
    void *library;
    const EmuModule *table;
    std::map<std::string, Function *> functions;
};
struct Function {
    Module *module;
    const EmuKernel *kernel;
    int most_dynamic = 48 * 1024;
};
struct Event {
    uint64_t at;
};
struct Allocation {
    unsigned char *map;
    size_t mapped;
    size_t bytes;
};

std::recursive_mutex lock;
std::map<uint64_t, Allocation> allocations;
std::map<uint64_t, size_t> handles, reserved;
bool initialised, current;
int sticky;
unsigned launches;
constexpr size_t TOTAL = 4ull << 30, GRANULARITY = 2ull << 20;
size_t used;

// A fault ends a context: every later call answers with it.
#define READY                                         \
    std::lock_guard<std::recursive_mutex> held(lock); \
    if (!initialised) return 3;                       \
    if (sticky != 0) return sticky;

bool fault(const char *name) {
    const char *asked = getenv("GIT_INCIDENT_EMULATOR_FAULT");
    return asked != nullptr && strcmp(asked, name) == 0;
}

uint64_t now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

size_t page() { return (size_t)sysconf(_SC_PAGESIZE); }
size_t up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

// Where this library lies: the compiler's library and our own kernels' sources lie beside it.
std::string folder() {
    Dl_info info{};
    dladdr((void *)&folder, &info);
    std::string path = info.dli_fname;
    size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash);
}

// The shared object for a program text: either our compiler's, which names it, or PTX made from kernels/*.cu, which
// names its source in its first lines. Of other PTX nothing is known here.
std::string object_of(const char *image) {
    std::string text(image, strnlen(image, 1 << 20));
    size_t at = text.find("// git-incident emulated module: ");
    if (at == 0) return text.substr(33, text.find('\n') - 33);
    size_t entry = text.find(".visible .entry ");
    if (entry == std::string::npos) return "";
    std::string name = text.substr(entry + 16, text.find('(', entry) - entry - 16);
    const char *prefix = "git_incident_";
    if (name.compare(0, strlen(prefix), prefix) != 0) return "";
    // git_incident_summary_f32 stands in kernels/summary.cu.
    std::string rest = name.substr(strlen(prefix));
    std::string source = folder() + "/kernels/" + rest.substr(0, rest.find('_')) + ".cu";
    void *compiler = dlopen((folder() + "/libnvrtc.so.13").c_str(), RTLD_NOW);
    if (compiler == nullptr) return "";
    typedef int (*Compile)(const char *, char *, size_t);
    Compile compile = (Compile)dlsym(compiler, "emu_compile_file");
    char object[4096];
    if (compile == nullptr || compile(source.c_str(), object, sizeof object) != 0) return "";
    return object;
}

}  // namespace

API cuInit(unsigned) {
    if (fault("hang"))
        for (;;) sleep(1);
    if (fault("crash")) abort();
    if (fault("init")) return 999;
    initialised = true;
    return fault("none") ? 100 : 0;
}
API cuDriverGetVersion(int *version) { return *version = 13000, 0; }
API cuDeviceGetCount(int *count) { return initialised ? (*count = 1, 0) : 3; }
API cuDeviceGet(int *device, int ordinal) {
    if (!initialised) return 3;
    return ordinal == 0 ? (*device = 0, 0) : 101;
}
API cuDeviceGetName(char *name, int bytes, int) {
    snprintf(name, (size_t)bytes, "git-incident emulated device");
    return 0;
}
API cuDeviceGetPCIBusId(char *name, int bytes, int) {
    snprintf(name, (size_t)bytes, "0000:00:00.0");
    return 0;
}
API cuDeviceTotalMem_v2(size_t *bytes, int) { return *bytes = TOTAL, 0; }
#ifndef EMU_OLD
API cuDeviceGetUuid_v2(char *uuid, int) { return memcpy(uuid, "emulated-device!", 16), 0; }
#endif
API cuDeviceGetUuid(char *uuid, int) { return memcpy(uuid, "emulated-device!", 16), 0; }
API cuDeviceGetAttribute(int *value, int attribute, int) {
    static const std::map<int, int> known = {
        {1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {5, 2147483647}, {6, 65535}, {7, 65535}, {8, 49152},
        {9, 65536}, {10, 32}, {12, 65536}, {13, 1000000}, {16, 2}, {36, 1000000}, {37, 64}, {38, 1 << 20},
        {39, 2048}, {75, 9}, {76, 0}, {81, 233472}, {97, 232448}, {102, 1}, {106, 32},
    };
    auto found = known.find(attribute);
    *value = found == known.end() ? 0 : found->second;
    return 0;
}
API cuDevicePrimaryCtxRetain(void **context, int) { return *context = &current, 0; }
API cuDevicePrimaryCtxRelease_v2(int) { return 0; }
API cuDevicePrimaryCtxReset_v2(int) { return sticky = 0, 0; }
API cuCtxSetCurrent(void *context) { return current = context != nullptr, 0; }
API cuCtxGetCurrent(void **context) { return *context = current ? &current : nullptr, 0; }
API cuCtxGetDevice(int *device) { return *device = 0, 0; }
API cuCtxSynchronize() {
    READY return 0;
}
API cuMemGetInfo_v2(size_t *free, size_t *total) {
    READY *free = TOTAL - used;
    return *total = TOTAL, 0;
}

// Each allocation is a mapping of its own, so that a stray access far enough out of it faults.
API cuMemAlloc_v2(uint64_t *pointer, size_t bytes) {
    READY if (bytes == 0) return 1;
    if (bytes > TOTAL - used) return 2;
    size_t room = up(bytes, page()), all = room + 2 * page();
    unsigned char *map = (unsigned char *)mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) return 2;
    mprotect(map + page(), room, PROT_READ | PROT_WRITE);
    // Fresh memory holds anything but zeros.
    if (room <= 64u << 20) memset(map + page(), 0xa5, room);
    *pointer = (uint64_t)(map + page());
    allocations[*pointer] = {map, all, bytes};
    used += bytes;
    return 0;
}
API cuMemFree_v2(uint64_t pointer) {
    READY auto found = allocations.find(pointer);
    if (found == allocations.end()) return 1;
    munmap(found->second.map, found->second.mapped);
    used -= found->second.bytes;
    allocations.erase(found);
    return 0;
}
API cuMemAllocAsync(uint64_t *pointer, size_t bytes, void *) { return cuMemAlloc_v2(pointer, bytes); }
API cuMemFreeAsync(uint64_t pointer, void *) { return cuMemFree_v2(pointer); }
API cuMemHostAlloc(void **pointer, size_t bytes, unsigned) {
    READY return *pointer = aligned_alloc(page(), up(bytes, page())), *pointer == nullptr ? 2 : 0;
}
API cuMemAllocHost_v2(void **pointer, size_t bytes) { return cuMemHostAlloc(pointer, bytes, 0); }
API cuMemFreeHost(void *pointer) { return free(pointer), 0; }

// Copies are checked by the kernel: a bad address is an error here and not a crash.
static int copy(void *to, const void *from, size_t bytes) {
    READY static int probe[2] = {-1, -1};
    if (bytes == 0) return 0;
    if (probe[0] < 0 && pipe2(probe, O_CLOEXEC | O_NONBLOCK) != 0) return 999;
    for (int end = 0; end < 2; end++) {
        const char *at = (const char *)(end == 0 ? from : (const void *)to);
        for (size_t i = 0; i < bytes; i += page()) {
            char byte;
            if (write(probe[1], at + i, 1) != 1 || read(probe[0], &byte, 1) != 1) return 1;
        }
        char byte;
        if (write(probe[1], at + bytes - 1, 1) != 1 || read(probe[0], &byte, 1) != 1) return 1;
    }
    memmove(to, from, bytes);
    return 0;
}
API cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) { return copy((void *)to, from, bytes); }
API cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) { return copy(to, (void *)from, bytes); }
API cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) { return copy((void *)to, (void *)from, bytes); }
API cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *) { return copy((void *)to, from, bytes); }
API cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *) { return copy(to, (void *)from, bytes); }
API cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *) {
    return copy((void *)to, (void *)from, bytes);
}
API cuMemcpy(uint64_t to, uint64_t from, size_t bytes) { return copy((void *)to, (void *)from, bytes); }
API cuMemsetD8_v2(uint64_t to, unsigned char value, size_t bytes) {
    READY if (bytes == 0) return 0;
    unsigned char first = 0;
    if (copy(&first, (void *)to, 1) != 0 || copy(&first, (void *)(to + bytes - 1), 1) != 0) return 1;
    return memset((void *)to, value, bytes), 0;
}
API cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *) { return cuMemsetD8_v2(to, value, bytes); }
API cuMemsetD32_v2(uint64_t to, unsigned value, size_t count) {
    READY unsigned char first = 0;
    if (count == 0) return 0;
    if (copy(&first, (void *)to, 1) != 0 || copy(&first, (void *)(to + 4 * count - 1), 1) != 0) return 1;
    for (size_t i = 0; i < count; i++) ((unsigned *)to)[i] = value;
    return 0;
}
API cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void *) { return cuMemsetD32_v2(to, value, count); }

// Virtual memory: reserve, create, map, allow, unmap.
API cuMemGetAllocationGranularity(size_t *bytes, const void *, int) { return *bytes = GRANULARITY, 0; }
API cuMemAddressReserve(uint64_t *pointer, size_t bytes, size_t alignment, uint64_t, unsigned long long) {
    READY if (bytes == 0 || bytes % GRANULARITY != 0) return 1;
    size_t to = alignment > GRANULARITY ? alignment : GRANULARITY;
    char *map = (char *)mmap(nullptr, bytes + to, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) return 2;
    char *at = (char *)up((size_t)map, to);
    if (at != map) munmap(map, (size_t)(at - map));
    if (size_t rest = to - (size_t)(at - map); rest != 0) munmap(at + bytes, rest);
    *pointer = (uint64_t)at;
    reserved[*pointer] = bytes;
    return 0;
}
API cuMemAddressFree(uint64_t pointer, size_t bytes) {
    READY auto found = reserved.find(pointer);
    if (found == reserved.end() || found->second != bytes) return 1;
    reserved.erase(found);
    return munmap((void *)pointer, bytes) == 0 ? 0 : 1;
}
API cuMemCreate(uint64_t *handle, size_t bytes, const void *, unsigned long long) {
    READY if (bytes == 0 || bytes % GRANULARITY != 0) return 1;
    if (bytes > TOTAL - used) return 2;
    int file = memfd_create("emulated", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)bytes) != 0) return 2;
    *handle = (uint64_t)file;
    handles[*handle] = bytes;
    used += bytes;
    return 0;
}
API cuMemRelease(uint64_t handle) {
    READY auto found = handles.find(handle);
    if (found == handles.end()) return 1;
    used -= found->second;
    handles.erase(found);
    close((int)handle);
    return 0;
}
static bool inside(uint64_t pointer, size_t bytes) {
    auto after = reserved.upper_bound(pointer);
    if (after == reserved.begin()) return false;
    --after;
    return pointer - after->first <= after->second && bytes <= after->second - (pointer - after->first);
}
API cuMemMap(uint64_t pointer, size_t bytes, size_t offset, uint64_t handle, unsigned long long) {
    READY if (!inside(pointer, bytes) || handles.count(handle) == 0 || offset != 0 || bytes > handles[handle]) return 1;
    void *at = mmap((void *)pointer, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, (int)handle, 0);
    return at == MAP_FAILED ? 205 : 0;
}
API cuMemUnmap(uint64_t pointer, size_t bytes) {
    READY if (!inside(pointer, bytes)) return 1;
    void *at = mmap((void *)pointer, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    return at == MAP_FAILED ? 206 : 0;
}
struct Access {
    int type, id;
    unsigned flags;
};
API cuMemSetAccess(uint64_t pointer, size_t bytes, const Access *access, size_t count) {
    READY if (!inside(pointer, bytes) || count != 1) return 1;
    int allowed = access->flags == 3 ? PROT_READ | PROT_WRITE : access->flags == 1 ? PROT_READ : PROT_NONE;
    return mprotect((void *)pointer, bytes, allowed) == 0 ? 0 : 1;
}

API cuModuleLoadData(Module **module, const void *image) {
    READY const char *text = (const char *)image;
    if (memcmp(text, "\177ELF", 4) == 0) return 209;
    std::string object = object_of(text);
    if (object.empty()) {
        // PTX that asks for more than any driver knows is told apart, as drivers do.
        const char *version = strstr(text, ".version ");
        return version != nullptr && atof(version + 9) > 9.5 ? 222 : 218;
    }
    void *library = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return 200;
    typedef const EmuModule *(*Table)();
    Table table = (Table)dlsym(library, "emu_module");
    if (table == nullptr || table()->version != EMU_VERSION) return 200;
    *module = new Module{library, table(), {}};
    return 0;
}
API cuModuleLoadDataEx(Module **module, const void *image, unsigned, void *, void *) {
    return cuModuleLoadData(module, image);
}
API cuModuleUnload(Module *module) {
    std::lock_guard<std::recursive_mutex> held(lock);
    for (auto &entry : module->functions) delete entry.second;
    dlclose(module->library);
    delete module;
    return 0;
}
API cuModuleGetFunction(Function **function, Module *module, const char *name) {
    READY for (int i = 0; i < module->table->count; i++) {
        const EmuKernel *kernel = &module->table->kernels[i];
        Dl_info info{};
        if (dladdr(kernel->function, &info) == 0 || info.dli_sname == nullptr || strcmp(info.dli_sname, name) != 0)
            continue;
        Function *&known = module->functions[name];
        if (known == nullptr) known = new Function{module, kernel};
        return *function = known, 0;
    }
    return 500;
}
API cuModuleGetGlobal_v2(uint64_t *pointer, size_t *bytes, Module *module, const char *name) {
    READY void *at = dlsym(module->library, name);
    if (at == nullptr) return 500;
    if (pointer != nullptr) *pointer = (uint64_t)at;
    if (bytes != nullptr) *bytes = 0;
    return 0;
}
API cuFuncGetAttribute(int *value, int attribute, Function *function) {
    READY switch (attribute) {
        case 0: *value = function->kernel->most_threads == 0 ? 1024 : function->kernel->most_threads; break;
        case 8: *value = function->most_dynamic; break;
        default: *value = 0;
    }
    return 0;
}
API cuFuncSetAttribute(Function *function, int attribute, int value) {
    READY if (attribute != 8) return 0;
    if (value < 0 || value > 232448) return 1;
    function->most_dynamic = value;
    return 0;
}
API cuFuncGetParamInfo(Function *function, size_t index, size_t *offset, size_t *bytes) {
    READY if (index >= (size_t)function->kernel->arguments) return 1;
    size_t at = 0;
    for (size_t i = 0; i <= index; i++) {
        size_t size = function->kernel->sizes[i], to = size >= 8 ? 8 : size == 0 ? 1 : size;
        at = up(at, to);
        if (i < index) at += size;
    }
    *offset = at;
    if (bytes != nullptr) *bytes = function->kernel->sizes[index];
    return 0;
}
API cuLaunchKernel(Function *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned dynamic, void *, void **arguments, void **extra) {
    READY if (fault("launch")) return 719;
    uint64_t threads = (uint64_t)bx * by * bz;
    int most = function->kernel->most_threads == 0 ? 1024 : function->kernel->most_threads;
    bool fits = gx != 0 && gy != 0 && gz != 0 && gx <= 2147483647u && gy <= 65535 && gz <= 65535 && threads != 0 &&
                bx <= 1024 && by <= 1024 && bz <= 64 && threads <= (uint64_t)(most < 1024 ? most : 1024) &&
                dynamic <= (unsigned)function->most_dynamic;
    if (!fits || extra != nullptr || (arguments == nullptr && function->kernel->arguments != 0)) return 1;
    const char *order = getenv("GIT_INCIDENT_EMULATOR_ORDER");
    bool odd = launches++ % 2 != 0;
    bool backwards = order == nullptr ? odd : strcmp(order, "backwards") == 0;
    // As a float the first is NaN and the second huge: neither survives both max and a sum.
    unsigned char poison = odd ? 0x7e : 0xff;
    EmuEnd end = emu_run({function->module->table, function->kernel, {gx, gy, gz}, {bx, by, bz}, dynamic, arguments,
                          backwards, poison});
    if (end.code != 0) {
        // As on a GPU, it is the next call that says so.
        sticky = end.code;
        fprintf(stderr, "git-incident emulated device: %s\n", end.why);
    }
    return 0;
}

API cuStreamCreate(void **stream, unsigned) { return *stream = malloc(1), 0; }
API cuStreamCreateWithPriority(void **stream, unsigned, int) { return *stream = malloc(1), 0; }
API cuStreamDestroy_v2(void *stream) { return free(stream), 0; }
API cuStreamSynchronize(void *) {
    READY return 0;
}
API cuStreamQuery(void *) {
    READY return 0;
}
API cuStreamWaitEvent(void *, Event *, unsigned) { return 0; }
API cuEventCreate(Event **event, unsigned) { return *event = new Event{0}, 0; }
API cuEventDestroy_v2(Event *event) { return delete event, 0; }
API cuEventRecord(Event *event, void *) {
    READY return event->at = now(), 0;
}
API cuEventQuery(Event *) {
    READY return 0;
}
API cuEventSynchronize(Event *) {
    READY return 0;
}
static int elapsed(float *milliseconds, Event *from, Event *to) {
    READY if (from->at == 0 || to->at == 0) return 400;
    return *milliseconds = (float)((double)(to->at - from->at) / 1e6), 0;
}
API cuEventElapsedTime(float *milliseconds, Event *from, Event *to) { return elapsed(milliseconds, from, to); }
#ifndef EMU_OLD
API cuEventElapsedTime_v2(float *milliseconds, Event *from, Event *to) { return elapsed(milliseconds, from, to); }
#endif

namespace {
struct Named {
    int code;
    const char *name, *text;
};
const Named NAMES[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {205, "CUDA_ERROR_MAP_FAILED", "mapping of buffer object failed"},
    {206, "CUDA_ERROR_UNMAP_FAILED", "unmapping of buffer object failed"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {710, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};
}  // namespace
API cuGetErrorName(int code, const char **text) {
    for (const Named &n : NAMES)
        if (n.code == code) return *text = n.name, 0;
    return *text = nullptr, 1;
}
API cuGetErrorString(int code, const char **text) {
    for (const Named &n : NAMES)
        if (n.code == code) return *text = n.text, 0;
    return *text = nullptr, 1;
}
API cuGetProcAddress_v2(const char *name, void **function, int, uint64_t, int *status) {
    std::string symbol = name;
    for (const char *suffix : {"_v2", ""}) {
        *function = dlsym(RTLD_DEFAULT, (symbol + suffix).c_str());
        if (*function != nullptr) {
            if (status != nullptr) *status = 0;
            return 0;
        }
    }
    if (status != nullptr) *status = 1;
    return 500;
}
