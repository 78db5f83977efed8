/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Tools that watch the process by OMPT. libomp starts them, and hands their
 * functions for devices to whoever asks by ompt_libomp_connect, as LLVM's
 * libomptarget does. That starts libomp, so it is asked only where there is a
 * tool: OMP_TOOL_LIBRARIES names one, or some object of the process has
 * ompt_start_tool, which libomp has, too, for processes without a tool.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "context/ompt.h"
#include "device/engine/libomp.h"
#include "omptarget/program.h"

/* Devices are bits of a word: tools hear nothing of those beyond. */
enum { MOST_DEVICES = 64 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic uint64_t devices; /* that the tool knows, by their numbers */

/* ------------------------------------------------------------------- search */

/* The object that has an address; NULL: none. */
static const void *object_of(const void *address)
{
    Dl_info info;
    return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

/* The kernel's own object is in the list, and cannot be opened. */
static bool has_tool(const struct link_map *object)
{
    const char *name = *object->l_name ? object->l_name : NULL;
    void *handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    const void *at = handle ? dlsym(handle, "ompt_start_tool") : NULL;
    bool found = at && object_of(at) !=
                           object_of(dlsym(handle, "__kmpc_fork_call"));
    if (handle)
        dlclose(handle);
    return found;
}

/* Looks through all objects of the process, those that were opened with
 * RTLD_LOCAL too. */
static bool any_has_tool(void)
{
    void *self = dlopen(NULL, RTLD_LAZY);
    struct link_map *object = NULL;
    bool found = false;
    if (!self || dlinfo(self, RTLD_DI_LINKMAP, &object))
        object = NULL;
    for (; object && !found; object = object->l_next)
        found = has_tool(object);
    if (self)
        dlclose(self);
    return found;
}

/* Does a tool watch this process? OMP_TOOL=disabled forbids it. */
static bool is_asked_for(void)
{
    const char *use = getenv("OMP_TOOL");
    const char *libraries = getenv("OMP_TOOL_LIBRARIES");
    if (use && !strcasecmp(use, "disabled"))
        return false;
    return (libraries && *libraries) || any_has_tool();
}

/* ------------------------------------------------------------------ connect */

/* libomp calls it when a tool wants to hear of devices; 1: so it does. */
static int initialize(ompjit__ompt_lookup *lookup, int initial_device,
                      ompjit__ompt_data *data)
{
    ompjit__ompt_set(lookup);
    return 1;
}

/* libomp calls it when the tool has ended. */
static void finalize(ompjit__ompt_data *data)
{
    ompjit__ompt_end();
}

/* A handler of exit, younger than libomp's, which ends the tool. */
static void end_devices(void)
{
    if (!ompjit__ompt())
        return;
    uint64_t known = atomic_exchange(&devices, 0);
    for (int i = 0; i < MOST_DEVICES; i++)
        if (known >> i & 1)
            ompjit__ompt_device_end(i);
    ompjit__ompt_end();
}

/* libomp asks for the process's devices when it starts. */
static void ask_libomp(void)
{
    static ompjit__ompt_result result = {initialize, finalize, {0}};
    const struct ompjit__libomp *omp;
    void (*ask)(ompjit__ompt_result *) = NULL;
    if (!is_asked_for() || ompjit__libomp(&omp, NULL))
        return;
    void *at = dlsym(omp->handle, "ompt_libomp_connect");
    memcpy(&ask, &at, sizeof ask);
    if (ask)
        ask(&result);
    if (ompjit__ompt())
        atexit(end_devices);
}

/* Once in the process. Without a tool this tells the rest of the library that
 * there will be none. */
static void connect(void)
{
    ask_libomp();
    if (!ompjit__ompt())
        ompjit__ompt_end();
}

/* Two threads that meet a device at once tell of it once: the bit decides. */
void ompjit__ompt_meet(const ompjit_device *dev)
{
    pthread_once(&once, connect);
    if (!ompjit__ompt() || dev->number >= MOST_DEVICES)
        return;
    const uint64_t bit = UINT64_C(1) << dev->number;
    if (atomic_load_explicit(&devices, memory_order_acquire) & bit ||
        atomic_fetch_or(&devices, bit) & bit)
        return;
    ompjit__ompt_host((int)dev->ctx->ndevices);
    ompjit__ompt_device_begin((int)dev->number, dev->ops->name);
}
