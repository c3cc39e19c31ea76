/* A stand-in for NVIDIA's management library, for tests: it says what stands in files of the folder $FAKE_NVML.
 *
 *   gpus            a line for each GPU: uuid|name|major|minor[|mig uuid]
 *   UUID.pids       numbers of the processes on it, one a line
 *   UUID.throttle   its throttle bits
 *   UUID.memory     bytes of its memory in use
 *   UUID.errors     uncorrected memory errors
 *   UUID.lost       when it is there, the GPU fell off the bus
 *   hang            when it is there, nothing answers
 *
 * It proves that our code asks and reads as it should. It says nothing of a real driver.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, INVALID = 2, UNSUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, LOST = 15 };

struct gpu { char uuid[96], name[96], mig[96]; int major, minor; };
struct handle { struct gpu *gpu; int part; };

static struct gpu gpus[16];
static struct handle whole[16], parts[16];
static int count;

static FILE *file(const char *uuid, const char *kind) {
    char path[4096];
    const char *folder = getenv("FAKE_NVML");
    snprintf(path, sizeof path, "%s/%s%s", folder ? folder : "/nonexistent", uuid, kind);
    return fopen(path, "r");
}

static void wait_if_told(void) {
    FILE *f = file("hang", "");
    if (f) { fclose(f); for (;;) sleep(1000); }
}

static unsigned long long number(const char *uuid, const char *kind, unsigned long long otherwise) {
    FILE *f = file(uuid, kind);
    if (f) { if (fscanf(f, "%llu", &otherwise) != 1) {} fclose(f); }
    return otherwise;
}

static const char *name_of(struct handle *h) { return h->part ? h->gpu->mig : h->gpu->uuid; }

static int lost(struct handle *h) {
    FILE *f = file(h->gpu->uuid, ".lost");
    wait_if_told();
    if (f) fclose(f);
    return f != NULL;
}

int nvmlInit_v2(void) {
    char line[512];
    wait_if_told();
    FILE *f = file("gpus", "");
    if (!f) return 9; /* the driver is not loaded */
    count = 0;
    while (count < 16 && fgets(line, sizeof line, f)) {
        struct gpu *g = &gpus[count];
        memset(g, 0, sizeof *g);
        if (sscanf(line, "%95[^|]|%95[^|]|%d|%d|%95s", g->uuid, g->name, &g->major, &g->minor, g->mig) < 4) continue;
        whole[count].gpu = parts[count].gpu = g;
        parts[count].part = 1;
        count++;
    }
    fclose(f);
    return OK;
}

int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int e) { return e == LOST ? "GPU is lost" : "an error"; }
int nvmlSystemGetDriverVersion(char *out, unsigned n) { snprintf(out, n, "570.10.07"); return OK; }
int nvmlSystemGetCudaDriverVersion_v2(int *out) { *out = 12080; return OK; }
int nvmlDeviceGetCount_v2(unsigned *out) { *out = count; return OK; }

int nvmlDeviceGetHandleByIndex_v2(unsigned at, struct handle **out) {
    if ((int)at >= count) return INVALID;
    *out = &whole[at];
    return OK;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, struct handle **out) {
    for (int i = 0; i < count; i++) {
        if (!strcmp(gpus[i].uuid, uuid)) { *out = &whole[i]; return OK; }
        if (gpus[i].mig[0] && !strcmp(gpus[i].mig, uuid)) { *out = &parts[i]; return OK; }
    }
    return NOT_FOUND;
}

int nvmlDeviceGetUUID(struct handle *h, char *out, unsigned n) {
    if (lost(h)) return LOST;
    snprintf(out, n, "%s", name_of(h));
    return OK;
}

int nvmlDeviceGetName(struct handle *h, char *out, unsigned n) {
    snprintf(out, n, "%s%s", h->gpu->name, h->part ? " MIG 1g.5gb" : "");
    return OK;
}

int nvmlDeviceGetCudaComputeCapability(struct handle *h, int *major, int *minor) {
    *major = h->gpu->major;
    *minor = h->gpu->minor;
    return OK;
}

int nvmlDeviceGetClockInfo(struct handle *h, int kind, unsigned *out) {
    if (h->part) return UNSUPPORTED;
    *out = kind == 2 ? 2619 : 1980;
    return OK;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(struct handle *h, unsigned long long *out) {
    if (h->part) return UNSUPPORTED;
    *out = number(h->gpu->uuid, ".throttle", 0);
    return OK;
}

int nvmlDeviceGetEccMode(struct handle *h, int *now, int *pending) { (void)h; *now = *pending = 1; return OK; }

int nvmlDeviceGetTotalEccErrors(struct handle *h, int kind, int counter, unsigned long long *out) {
    (void)counter;
    *out = kind == 1 ? number(h->gpu->uuid, ".errors", 0) : 0;
    return OK;
}

int nvmlDeviceGetMigMode(struct handle *h, unsigned *now, unsigned *pending) {
    *now = *pending = h->gpu->mig[0] && !h->part;
    return OK;
}

int nvmlDeviceGetMaxMigDeviceCount(struct handle *h, unsigned *out) { *out = h->gpu->mig[0] ? 7 : 0; return OK; }

int nvmlDeviceGetMigDeviceHandleByIndex(struct handle *h, unsigned at, struct handle **out) {
    if (at != 3 || !h->gpu->mig[0]) return NOT_FOUND;
    *out = &parts[h->gpu - gpus];
    return OK;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(struct handle *h, struct handle **out) {
    *out = &whole[h->gpu - gpus];
    return OK;
}

int nvmlDeviceGetPersistenceMode(struct handle *h, int *out) { (void)h; *out = 1; return OK; }
int nvmlDeviceGetTemperature(struct handle *h, int sensor, unsigned *out) { (void)h; (void)sensor; *out = 41; return OK; }

struct memory { unsigned version; unsigned long long total, reserved, free, used; };

int nvmlDeviceGetMemoryInfo_v2(struct handle *h, struct memory *out) {
    out->total = 80ULL << 30;
    out->reserved = 0;
    out->used = number(name_of(h), ".memory", 1ULL << 20);
    out->free = out->total - out->used;
    return OK;
}

struct process { unsigned pid; unsigned long long used; unsigned gpu_instance, compute_instance; };

int nvmlDeviceGetComputeRunningProcesses_v3(struct handle *h, unsigned *n, struct process *out) {
    unsigned found = 0, pid, room = out ? *n : 0;
    wait_if_told();
    FILE *f = file(name_of(h), ".pids");
    while (f && fscanf(f, "%u", &pid) == 1) {
        if (found < room) {
            memset(&out[found], 0, sizeof *out);
            out[found].pid = pid;
            out[found].gpu_instance = out[found].compute_instance = -1;
        }
        found++;
    }
    if (f) fclose(f);
    *n = found;
    return found > room ? TOO_SMALL : OK;
}
