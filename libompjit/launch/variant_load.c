/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A variant's image: built or taken from the cache, loaded on its device, told
 * which device it is on and which functions its kernels call through pointers,
 * and its variables constructed.
 */
#include <stdlib.h>

#include "context/ompt.h"
#include "cache/cache.h"
#include "launch/module.h"
#include "launch/variant.h"

/* ------------------------------------------------ calls through pointers */

/* Under the lock of the module's variants: its own table for the device, else
 * the device's common one; NULL: there is none. */
static const ompjit__calls *calls_of(ompjit__variants *all,
                                     const ompjit_device *dev)
{
    const ompjit__calls *c = all->calls;
    while (c && c->dev != dev)
        c = c->next;
    return c ? c : atomic_load(&dev->calls);
}

/* Tells an image which device it is on, and what `calls` (or NULL) has. */
static ompjit_status fill_environment(ompjit_device *dev,
                                      ompjit__loaded *loaded,
                                      const ompjit__calls *calls,
                                      bool prebuilt, ompjit_error *err)
{
    ompjit__device_environment env = ompjit__environment_of(dev);
    void *address;
    size_t size;
    if (calls)
        ompjit__calls_tell(calls, &env);
    ompjit_status status = dev->ops->symbol(
        dev, loaded, OMPJIT__DEVICE_ENVIRONMENT, &address, &size, err);
    /* Machine code may have an older runtime's, which has fewer fields. */
    if (!status && prebuilt && size < sizeof env)
        return dev->ops->copy(dev, OMPJIT__COPY_TO, address, &env, size, NULL,
                              err);
    if (!status && size != sizeof env)
        status = ompjit__fail(err, OMPJIT_ERR_ABI, OMPJIT_STAGE_LOAD,
                              OMPJIT__DEVICE_ENVIRONMENT
                              " has %zu bytes, not %zu", size, sizeof env);
    if (!status)
        status = dev->ops->copy(dev, OMPJIT__COPY_TO, address, &env,
                                sizeof env, NULL, err);
    return status;
}

/* The lock is held for the look-up alone: tables stay until the module ends. */
static ompjit_status enter_environment(ompjit_module *mod, ompjit__variant *v,
                                       ompjit_error *err)
{
    ompjit_device *dev = v->key.dev;
    v->environment = true;
    pthread_mutex_lock(&mod->variants.lock);
    const ompjit__calls *calls = calls_of(&mod->variants, dev);
    pthread_mutex_unlock(&mod->variants.lock);
    return fill_environment(dev, v->loaded, calls, mod->unit.nprebuilt != 0,
                            err);
}

void ompjit__calls_free_all(ompjit__variants *all)
{
    ompjit__calls_free(all->calls);
}

void ompjit__device_calls_free(ompjit_device *dev)
{
    ompjit__calls_free(atomic_load(&dev->calls));
}

/* Tables that were replaced stay until the device goes: kernels that run may
 * read them. */
ompjit_status ompjit__device_calls(ompjit_device *dev,
                                   const ompjit__indirect_call *calls,
                                   size_t n, ompjit_error *err)
{
    ompjit__calls *c = NULL;
    ompjit_status status = ompjit__calls_new(dev, calls, n, &c, err);
    if (status)
        return status;
    c->next = atomic_load(&dev->calls);
    atomic_store(&dev->calls, c);
    return OMPJIT_OK;
}

/* The new table comes first, and images that are loaded are told of it under
 * the lock. */
ompjit_status ompjit__variants_calls(ompjit_module *mod, ompjit_device *dev,
                                     const ompjit__indirect_call *calls,
                                     size_t n, ompjit_error *err)
{
    ompjit__variants *all = &mod->variants;
    ompjit__calls *c = NULL;
    ompjit_status status = ompjit__calls_new(dev, calls, n, &c, err);
    if (status)
        return status;
    pthread_mutex_lock(&all->lock);
    c->next = all->calls;
    all->calls = c;
    for (ompjit__variant *v = all->all; !status && v; v = v->next_all)
        if (v->key.dev == dev && v->environment)
            status = fill_environment(dev, v->loaded, c,
                                      mod->unit.nprebuilt != 0, err);
    pthread_mutex_unlock(&all->lock);
    return status;
}

/* ---------------------------------------------------------------- images */

/* One team of one thread runs the constructors, and is waited for. */
static ompjit_status run_constructors(ompjit_device *dev,
                                      ompjit__loaded *loaded, ompjit_error *err)
{
    static const ompjit__geometry one = {.teams = {1, 1, 1},
                                         .threads = {1, 1, 1}};
    ompjit__function *function;
    ompjit_status status = dev->ops->function(
        dev, loaded, OMPJIT__CONSTRUCTORS, &function, err);
    return status ? status
                  : dev->ops->launch(dev, function, &one, NULL, 0, NULL, err);
}

/* On failure nothing is loaded. */
static ompjit_status load(ompjit_module *mod, const ompjit__image *image,
                          ompjit__variant *v, ompjit__loaded *base,
                          ompjit_error *err)
{
    ompjit_device *dev = v->key.dev;
    ompjit_status status = dev->ops->load(dev, image, base, &v->loaded, err);
    if (status)
        return status;
    if (ompjit__ompt())
        ompjit__ompt_device_loaded((int)dev->number, image->bytes.data,
                                   image->bytes.size);
    if (image->environment)
        status = enter_environment(mod, v, err);
    if (!status && image->constructors)
        status = run_constructors(dev, v->loaded, err);
    if (status)
        dev->ops->unload(dev, v->loaded);
    return status;
}

/* Has the image for v->key built, or takes it from the cache, and loads it. */
static ompjit_status build(ompjit_module *mod, ompjit__variant *v,
                           ompjit__loaded *base, ompjit_error *err)
{
    const ompjit__variant_key *key = &v->key;
    ompjit__spec spec = {.facts = key->facts, .import_globals = base != NULL};
    if (key->kernel != OMPJIT__ALL_KERNELS)
        spec.kernel = mod->unit.kernels[key->kernel].symbol;
    char arch[32];
    ompjit_format format;
    key->dev->ops->target(key->dev, arch, &format, &spec.ptx);
    ompjit__spec next;
    if (ompjit__next_spec(mod, key, &spec, &next))
        spec.next = &next;
    ompjit__image image = {0};
    ompjit_status status = ompjit__build_cached(mod->ctx, &mod->unit, arch,
                                                format, &spec, &image, err);
    if (status)
        return status;
    uint64_t start = ompjit__now();
    status = load(mod, &image, v, base, err);
    ompjit__stage_done(mod->ctx, OMPJIT_STAGE_LOAD, start);
    if (!status) {
        v->modes = image.modes;
        image.modes = (ompjit__buf){0};
        if (!key->dev->caps.keeps_modes)
            ompjit__note_modes(mod, key->kernel, &v->modes);
    }
    ompjit__image_free(&image);
    return status;
}

/* Without the lock. On success the variant is the caller's, to publish; else
 * its memory is spare again. */
ompjit_status ompjit__variant_make(ompjit_module *mod,
                                   const ompjit__variant_key *key,
                                   ompjit__variant *base, ompjit__variant **out,
                                   ompjit_error *err)
{
    size_t n = key->kernel == OMPJIT__ALL_KERNELS ? mod->unit.nkernels : 1;
    ompjit__variant *v = ompjit__variant_take_spare(&mod->variants);
    if (!v)
        return ompjit__no_memory(err, OMPJIT_STAGE_LAUNCH);
    v->pinned = !base;
    v->environment = false;
    v->functions = calloc(n ? n : 1, sizeof *v->functions);
    ompjit_status status = OMPJIT_OK;
    if (!ompjit__variant_copy_key(&v->key, key) || !v->functions)
        status = ompjit__no_memory(err, OMPJIT_STAGE_LAUNCH);
    if (!status)
        status = build(mod, v, base ? base->loaded : NULL, err);
    if (status)
        ompjit__variant_give_spare(&mod->variants, v);
    else
        *out = v;
    return status;
}
