/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * NVTX ranges without NVIDIA's headers. A profiler (Nsight Systems) names its
 * library in NVTX_INJECTION64_PATH; it is loaded and told where pointers to the
 * NVTX functions are, into which it puts its own. libnvToolsExt, where the
 * application has loaded it, has them by name.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "context/profile.h"

typedef int push_fn(const char *message);
typedef int pop_fn(void);
typedef void any_fn(void);

/* Numbers and layouts of NVTX 3 (nvtxTypes.h): NvtxExportTableID,
 * NvtxCallbackModule, NvtxCallbackIdCore. They are a binary interface, which
 * NVIDIA keeps. */
enum { CALLBACKS = 1, VERSION_INFO = 3 };   /* export tables     */
enum { CORE = 1 };                          /* module            */
enum { PUSH_A = 9, POP = 11, SLOTS = 16 };  /* functions of CORE */

/* NvtxExportTableCallbacks: by it the profiler asks for a module's table of
 * addresses, in each of which it then stores a function. */
typedef struct callbacks {
    size_t size;
    int (*table)(int module, any_fn ****out, unsigned *n);
} callbacks;

/* NvtxExportTableVersionInfo: the version of NVTX that the client has. */
typedef struct version_info {
    size_t size;
    uint32_t version, reserved;
    void (*set_version)(uint32_t version);
} version_info;

/* The profiler fills them, before anybody calls: written under `once`, read
 * without a lock by whoever has been told that they are there. */
static any_fn *slots[SLOTS];
static push_fn *push;
static pop_fn *pop;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Only the functions that are used have slots that anybody reads; the profiler
 * may fill the rest as well. Slot 0 is none's. 0: there is no such module. */
static int core_table(int module, any_fn ****out, unsigned *n)
{
    static any_fn *ignored[SLOTS];
    static any_fn **table[SLOTS + 1];
    if (module != CORE)
        return 0;
    for (int i = 0; i < SLOTS; i++)
        table[i] = i == PUSH_A || i == POP ? &slots[i] : &ignored[i];
    *out = table;
    if (n)
        *n = SLOTS;
    return 1;
}

/* The version is the profiler's; nothing depends on it. */
static void set_version(uint32_t version)
{
}

/* The profiler asks for tables by their numbers; NULL: there is none of that
 * one. */
static const void *export_table(uint32_t id)
{
    static const callbacks all = {sizeof all, core_table};
    static const version_info info = {sizeof info, 3, 0, set_version};
    return id == CALLBACKS      ? (const void *)&all
           : id == VERSION_INFO ? (const void *)&info
                                : NULL;
}

/* The profiler's library is loaded as NVTX's own header would load it, and
 * stays. */
static void find(void)
{
    typedef int initialize_fn(const void *(*)(uint32_t));
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *tool = path && *path ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
    initialize_fn *initialize =
        tool ? (initialize_fn *)dlsym(tool, "InitializeInjectionNvtx2") : NULL;
    if (initialize && initialize(export_table)) {
        push = (push_fn *)slots[PUSH_A];
        pop = (pop_fn *)slots[POP];
    }
    const char *there =
        push && pop ? NULL : ompjit__library_here("libnvToolsExt.so");
    void *old = there ? dlopen(there, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (old) {
        push = (push_fn *)dlsym(old, "nvtxRangePushA");
        pop = (pop_fn *)dlsym(old, "nvtxRangePop");
    }
}

bool ompjit__nvtx_there(void)
{
    pthread_once(&once, find);
    return push && pop;
}

/* Only where ompjit__nvtx_there has said that there is a profiler. */
void ompjit__nvtx_push(const char *name)
{
    push(name);
}

void ompjit__nvtx_pop(void)
{
    pop();
}
