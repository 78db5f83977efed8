/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Images of the host device: objects that the loader links with the functions
 * of the engine.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "abi/host_layout.h"
#include "context/executable.h"
#include "device/check/check.h"
#include "device/engine/fault.h"
#include "device/engine/libc.h"
#include "device/engine/lock.h"
#include "device/host/host.h"
#include "frontend/flang/flang.h"
#include "loader/jit.h"
#include "loader/libraries.h"
#include "runtime-bc/host_abi.h"

/* The engine's functions that kernels call; they find it before the process's
 * own symbols. */
#define WAIT "ompjit_host_wait" /* what passes/host/wait_loops.cc calls */
#define ENGINE(name) {#name, (void *)name}
static const ompjit__absolute engine[] = {
    ENGINE(ompjit_host_self),        ENGINE(ompjit_host_barrier),
    ENGINE(ompjit_host_warp_sync),   ENGINE(ompjit_host_shuffle),
    ENGINE(ompjit_host_active_mask), ENGINE(ompjit_host_yield),
    ENGINE(ompjit_host_trap),        ENGINE(ompjit_host_wtime),
    ENGINE(ompjit_host_clock),       ENGINE(ompjit_host_vprintf),
    ENGINE(ompjit_host_assert_failed), ENGINE(ompjit_host_lock_holder),
    ENGINE(ompjit_host_lock_lost),   ENGINE(ompjit_complex),
    ENGINE(ompjit_complexf),
    {WAIT, (void *)ompjit_host_yield},
    {"malloc", (void *)ompjit_host_malloc},
    {"calloc", (void *)ompjit_host_calloc},
    {"realloc", (void *)ompjit_host_realloc},
    {"free", (void *)ompjit_host_free},
    {"abort", (void *)ompjit_host_abort},
    {"pthread_exit", (void *)ompjit_host_pthread_exit},
    {"setjmp", (void *)ompjit_host_setjmp},
    {"_setjmp", (void *)ompjit_host_setjmp},
    {"__sigsetjmp", (void *)ompjit_host_sigsetjmp},
    {"longjmp", (void *)ompjit_host_longjmp},
    {"_longjmp", (void *)ompjit_host_longjmp},
    {"siglongjmp", (void *)ompjit_host_longjmp},
    {"__longjmp_chk", (void *)ompjit_host_longjmp},
};
#undef ENGINE

void ompjit__host_unload(ompjit_device *dev, ompjit__loaded *loaded)
{
    if (!loaded)
        return;
    while (loaded->functions) {
        ompjit__function *f = loaded->functions;
        loaded->functions = f->next;
        free(f->symbol);
        free(f);
    }
    for (unsigned i = 0; i < loaded->nvariables; i++)
        free(loaded->variables[i].name);
    free(loaded->variables);
    if (loaded->checked)
        ompjit__check_unload(dev->ctx->check, loaded->jit);
    ompjit__buf_free(&loaded->object);
    ompjit__jit_free(loaded->jit);
    if (loaded->library)
        ompjit__library_unload(loaded);
    free(loaded);
}

static ompjit_status copy_variables(const ompjit__image *image,
                                    ompjit__loaded *loaded, ompjit_error *err)
{
    loaded->variables =
        calloc(image->nglobals + 1, sizeof *loaded->variables);
    if (!loaded->variables)
        return ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    for (; loaded->nvariables < image->nglobals; loaded->nvariables++) {
        const ompjit__variable *from = &image->globals[loaded->nvariables];
        ompjit__variable *to = &loaded->variables[loaded->nvariables];
        *to = (ompjit__variable){ompjit__strdup(from->name), from->size};
        if (!to->name)
            return ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    }
    return OMPJIT_OK;
}

/* Variables that the image imports, at base's addresses. */
static ompjit_status import_globals(const ompjit__image *image,
                                    ompjit__loaded *base,
                                    ompjit__loaded *loaded, ompjit_error *err)
{
    for (unsigned i = 0; i < image->nglobals; i++) {
        ompjit__absolute def = {.name = image->globals[i].name};
        ompjit_status status =
            ompjit__jit_lookup(base->jit, def.name, &def.address, err);
        if (!status)
            status = ompjit__jit_define(loaded->jit, &def, 1, err);
        if (status)
            return status;
    }
    return OMPJIT_OK;
}

static ompjit_status define_engine(ompjit__check *check, ompjit__jit *jit,
                                   ompjit_error *err)
{
    const size_t n = OMPJIT__COUNT(engine);
    if (check)
        return ompjit__check_define(jit, engine, n, err);
    ompjit__jit_share(jit, engine, n);
    return OMPJIT_OK;
}

/* ompjit__jit_find: the process's symbols, those of the libraries of C++ and C,
 * and what flang leaves to its runtime library in device code. Without the
 * library these are undefined. An executable that has registered its images means
 * its own variables, which with requires unified_shared_memory have no copies in
 * device code. */
static void *find_symbol(void *data, const char *name)
{
    ompjit_context *ctx = data;
    ompjit_error err;
    void *address = dlsym(RTLD_DEFAULT, name);
    if (!address && atomic_load_explicit(&ctx->serves_executable,
                                         memory_order_relaxed))
        address = ompjit__executable_symbol(name);
    if (!address)
        address = ompjit__libraries_find(name);
    return address || !ompjit__flang_runtime_has(name)
               ? address
               : ompjit__flang_runtime(ctx, name, &err);
}

static bool names(const ompjit__image *image, const char *text)
{
    return memmem(image->bytes.data, image->bytes.size, text, strlen(text));
}

static ompjit_status link_image(ompjit_device *dev, const ompjit__image *image,
                                ompjit__loaded *base, ompjit__loaded *loaded,
                                ompjit_error *err)
{
    const ompjit__absolute environment = {OMPJIT__DEVICE_ENVIRONMENT,
                                          &loaded->environment};
    ompjit_status status = define_engine(dev->ctx->check, loaded->jit, err);
    if (!status)
        status = ompjit__jit_define(loaded->jit, &environment, 1, err);
    if (!status && image->imports_globals)
        status = import_globals(image, base, loaded, err);
    if (!status)
        status = ompjit__jit_add_object(loaded->jit, image->bytes.data,
                                        image->bytes.size, err);
    void *shared_size;
    if (!status)
        status = ompjit__jit_lookup(loaded->jit, OMPJIT__SHARED_SIZE_SYMBOL,
                                    &shared_size, err);
    if (status)
        return status;
    loaded->shared_size = *(const uint32_t *)shared_size;
    ompjit__buf_add(&loaded->object, image->bytes.data, image->bytes.size);
    loaded->waits = names(image, WAIT);
    if (names(image, "alloc") || names(image, "free"))
        ompjit__fault_find_heap();
    return loaded->object.failed ? ompjit__no_memory(err, OMPJIT_STAGE_LOAD)
                                 : OMPJIT_OK;
}

/* The advice where device code lacks symbols, unless the context has another. */
static const char advice[] =
    "Device code uses them. A variable that no map of the region names has to "
    "be declare target; a function can come from a further source "
    "(ompjit_module_from_sources; ompjit run a.c b.c --), a library (-l), or "
    "the application, where it is linked with -rdynamic.";

static ompjit_status load_object(ompjit_device *dev,
                                 const ompjit__image *image,
                                 ompjit__loaded *base, ompjit__loaded *loaded,
                                 ompjit_error *err)
{
    ompjit_status status = ompjit__jit_new("host kernels", &loaded->jit, err);
    if (!status && image->lines)
        ompjit__jit_debug(loaded->jit);
    if (!status) {
        ompjit__jit_search(loaded->jit, find_symbol, dev->ctx);
        ompjit__jit_advise(loaded->jit, dev->ctx->link_advice
                                            ? dev->ctx->link_advice
                                            : advice);
    }
    if (!status)
        status = copy_variables(image, loaded, err);
    if (!status)
        status = link_image(dev, image, base, loaded, err);
    if (!status && dev->ctx->check) {
        status = ompjit__check_load(dev->ctx->check, loaded->jit, err);
        loaded->checked = !status;
    }
    return status;
}

/* From the first image on, as from then on kernels may run. */
static void catch_faults(ompjit_device *dev)
{
    ompjit__host *host = dev->state;
    if (dev->ctx->keeps_signals || atomic_exchange(&host->catches, true))
        return;
    ompjit__fault_hold();
}

ompjit_status ompjit__host_load(ompjit_device *dev, const ompjit__image *image,
                                ompjit__loaded *base, ompjit__loaded **out,
                                ompjit_error *err)
{
    catch_faults(dev);
    ompjit__loaded *loaded = calloc(1, sizeof *loaded);
    if (!loaded)
        return ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    loaded->dev = dev;
    ompjit_status status =
        image->kind == OMPJIT__IMAGE_LIBRARY
            ? ompjit__library_load(dev, image, loaded, err)
            : load_object(dev, image, base, loaded, err);
    if (status) {
        ompjit__host_unload(dev, loaded);
        return status;
    }
    *out = loaded;
    return OMPJIT_OK;
}

ompjit_status ompjit__host_symbol(ompjit_device *dev, ompjit__loaded *loaded,
                                  const char *name, void **address,
                                  size_t *size, ompjit_error *err)
{
    if (loaded->library)
        return ompjit__library_symbol(loaded, name, address, size, err);
    if (!strcmp(name, OMPJIT__DEVICE_ENVIRONMENT)) {
        *address = &loaded->environment;
        *size = sizeof loaded->environment;
        return OMPJIT_OK;
    }
    for (unsigned i = 0; i < loaded->nvariables; i++)
        if (!strcmp(loaded->variables[i].name, name)) {
            *size = loaded->variables[i].size;
            return ompjit__jit_lookup(loaded->jit, name, address, err);
        }
    return ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_LOAD,
                        "no variable %s on the host device", name);
}
