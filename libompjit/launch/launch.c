/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * One kernel launch: choose the geometry and the variant, pass the launch
 * environment and the arguments, run. From the variant's hold on, an `inflight`
 * has all that must be given back when the kernel has ended; with a queue that
 * is later, and by whoever waits.
 */
#include <string.h>

#include "context/info.h"
#include "context/profile.h"
#include "launch/launch.h"

/* ----------------------------------------------------------------- launch */

/* The ABI's arguments: the environment before the kernel's own. */
static ompjit_status submit(const ompjit__call *call, ompjit__function *f,
                            const ompjit__geometry *g, void **environment,
                            ompjit__queue *queue, ompjit_error *err)
{
    const ompjit__kernel_desc *k = &call->mod->unit.kernels[call->index];
    unsigned nvalues = k->any_params ? call->nvalues : k->nparams, n = 0;
    /* A variable-length array on the stack: kernels have few parameters. */
    void *args[nvalues + 1];
    if (k->launch_env)
        args[n++] = environment;
    for (unsigned i = 0; i < nvalues; i++)
        args[n++] = (void *)&call->values[i];
    return call->dev->ops->launch(call->dev, f, g, args, n, queue, err);
}

/* Launches with an environment that no other launch uses meanwhile. */
static ompjit_status submit_alone(const ompjit__call *call, ompjit__function *f,
                                  const ompjit__geometry *g,
                                  ompjit__queue *queue,
                                  ompjit__environment *environment,
                                  ompjit_error *err)
{
    const ompjit__kernel_desc *k = &call->mod->unit.kernels[call->index];
    ompjit_status status =
        ompjit__environment_new(k, call->dev, g, environment, err);
    return status ? status
                  : submit(call, f, g, &environment->device, queue, err);
}

/* Launches with the queue's environment. The lock covers the launch, too: one
 * with a larger environment must not come before those that still have the
 * smaller one. */
static ompjit_status submit_sharing(const ompjit__call *call,
                                    ompjit__function *f,
                                    const ompjit__geometry *g,
                                    ompjit__queue *queue,
                                    const ompjit__sharing *sharing,
                                    ompjit__environment *environment,
                                    ompjit_error *err)
{
    const ompjit__kernel_desc *k = &call->mod->unit.kernels[call->index];
    pthread_mutex_lock(sharing->lock);
    ompjit_status status = ompjit__environment_share(
        k, call->dev, g, sharing->environment, environment, err);
    if (!status)
        status = submit(call, f, g, &environment->device, queue, err);
    if (status)
        ompjit__environment_unshare(sharing->environment, environment);
    pthread_mutex_unlock(sharing->lock);
    return status;
}

/* Called when a launch is submitted. Of several at once any one is kept. */
static void remember(ompjit_kernel *kernel, const ompjit__geometry *g,
                     const ompjit__variant *v)
{
    if (atomic_flag_test_and_set_explicit(&kernel->last_lock,
                                          memory_order_acquire))
        return;
    const ompjit__variant_key *key = ompjit__variant_key_of(v);
    kernel->last_device = key->dev;
    kernel->last = (ompjit_launch_info){
        .teams = g->teams[0] * g->teams[1] * g->teams[2],
        .threads = g->threads[0] * g->threads[1] * g->threads[2],
        .folded_teams = key->facts.teams.all != 0,
        .folded_threads = key->facts.threads.all != 0,
        .folded_args =
            (uint32_t)__builtin_popcountll(key->facts.literals.mask),
    };
    atomic_flag_clear_explicit(&kernel->last_lock, memory_order_release);
}

/* The environment goes back to the device, and holds end. `begin` is 0 where no
 * profile is kept. */
void ompjit__inflight_end(ompjit__inflight *inflight, bool well)
{
    ompjit__environment_free(inflight->dev, &inflight->environment, well);
    if (inflight->begin) {
        ompjit__stage_done(inflight->mod->ctx, OMPJIT_STAGE_LAUNCH,
                           inflight->begin);
        ompjit__span_add(inflight->mod->ctx,
                         inflight->queued ? OMPJIT__SPAN_QUEUED
                                          : OMPJIT__SPAN_LAUNCH,
                         inflight->kernel, inflight->begin, 0);
    }
    if (inflight->variant)
        ompjit__variant_release(inflight->mod, inflight->variant);
    if (inflight->mapped)
        ompjit__mapped_let_go(inflight->dev, inflight->mapped);
}

/* Tells whoever asked that the kernel may have begun. */
static void note_begun(const ompjit__call *call, ompjit_status status)
{
    if (call->request->begun && (!status || ompjit__kernel_ran(status)))
        *call->request->begun = true;
}

/* For LIBOMPTARGET_INFO. */
static void tell_launch(const ompjit__call *call, const ompjit__kernel_desc *k,
                        const ompjit__variant *v, const ompjit__geometry *g)
{
    unsigned known = ompjit__variant_mode(v, call->index);
    unsigned mode = known == OMPJIT_MODE_BARE ? k->mode : known;
    ompjit__info_of_plugin(call->mod->ctx, call->dev->number, "Launching kernel "
                           "%s with [%u,%u,%u] blocks and [%u,%u,%u] threads in "
                           "%s mode", k->symbol, g->teams[0], g->teams[1],
                           g->teams[2], g->threads[0], g->threads[1],
                           g->threads[2],
                           mode == OMPJIT_MODE_BARE      ? "BARE"
                           : mode == OMPJIT_MODE_GENERIC ? "Generic"
                           : mode == OMPJIT_MODE_SPMD    ? "SPMD"
                                                         : "Generic-SPMD");
}

/* A failure after the variant was chosen ends the inflight here. */
ompjit_status ompjit__start(const ompjit__call *call, ompjit__queue *queue,
                            const ompjit__sharing *sharing,
                            ompjit__inflight *inflight, ompjit_error *err)
{
    ompjit_module *mod = call->mod;
    const ompjit__kernel_desc *k = &mod->unit.kernels[call->index];
    ompjit__geometry g;
    ompjit__function *f;
    *inflight = (ompjit__inflight){.mod = mod, .dev = call->dev};
    ompjit__geometry_of(call, &g);
    ompjit_status status =
        ompjit__choose_variant(call, &g, &inflight->variant, err);
    if (status)
        return status;
    status = ompjit__variant_function(mod, inflight->variant, call->index, &f,
                                      err);
    if (!status)
        ompjit__settle_geometry(
            call, f, ompjit__variant_mode(inflight->variant, call->index), &g);
    if (!status && ompjit__informs(mod->ctx, OMPJIT__INFO_LAUNCH))
        tell_launch(call, k, inflight->variant, &g);
    /* Read once, so that a push has its pop whatever another thread sets
     * meanwhile. */
    bool ranged = mod->ctx->ranges;
    inflight->begin = mod->ctx->profile ? ompjit__now() : 0;
    inflight->kernel = k->name;
    inflight->queued = queue != NULL;
    if (ranged)
        ompjit__nvtx_push(k->name);
    if (!status) {
        status = sharing && ompjit__environment_needed(k)
                     ? submit_sharing(call, f, &g, queue, sharing,
                                      &inflight->environment, err)
                     : submit_alone(call, f, &g, queue,
                                    &inflight->environment, err);
        note_begun(call, status);
    }
    if (ranged)
        ompjit__nvtx_pop();
    if (status)
        ompjit__inflight_end(inflight, false);
    else
        remember(&mod->kernels[call->index], &g, inflight->variant);
    return status;
}

/* Launches and waits. Without a queue the device's `launch` itself waits. */
static ompjit_status run_call(const ompjit__call *call, ompjit__queue *queue,
                              ompjit_error *err)
{
    ompjit__inflight inflight;
    /* On failure nothing is in flight, and there is nothing to end. */
    ompjit_status status = ompjit__start(call, queue, NULL, &inflight, err);
    if (!status) {
        if (queue)
            status = call->dev->ops->queues->wait(call->dev, queue, err);
        ompjit__inflight_end(&inflight, !status);
    }
    return status;
}

/* Machine code that does not say what its first parameter is takes a launch
 * environment where it has one parameter more than there are arguments, and
 * where it says nothing of parameters, if the program is of a compiler that
 * passes one. */
static bool lacks_environment(const ompjit_module *mod, unsigned index,
                              const ompjit__request *request, unsigned nvalues)
{
    const ompjit__kernel_desc *k = &mod->unit.kernels[index];
    return k->any_params ? request->passes_environment
                         : mod->unit.nprebuilt && !k->launch_env &&
                               nvalues + 1 == k->nparams;
}

ompjit_status ompjit__run(ompjit_module *mod, unsigned index,
                          ompjit_device *dev, const ompjit__request *request,
                          const uint64_t *values, unsigned nvalues,
                          ompjit__queue *queue, ompjit_error *err)
{
    const ompjit__kernel_desc *k = &mod->unit.kernels[index];
    /* Room for the values with an environment in front. */
    uint64_t with[nvalues + 1];
    if (lacks_environment(mod, index, request, nvalues)) {
        with[0] = (uintptr_t)OMPJIT__NO_LAUNCH_ENVIRONMENT;
        if (nvalues)
            memcpy(with + 1, values, nvalues * sizeof *with);
        values = with;
        nvalues++;
    }
    if (nvalues != k->nparams && !k->any_params)
        return ompjit__fail(err, OMPJIT_ERR_ARGUMENT, OMPJIT_STAGE_LAUNCH,
                            "kernel %s takes %u arguments, got %u", k->name,
                            k->nparams, nvalues);
    ompjit__call call = {mod, index, dev, request, values, nvalues};
    ompjit_status status = ompjit__device_ready(dev, err);
    return status ? status : run_call(&call, queue, err);
}

/* Without an image on the device it builds the generic one, for a geometry that
 * asks for nothing. */
ompjit_status ompjit__module_symbol(ompjit_module *mod, ompjit_device *dev,
                                    const char *symbol, void **address,
                                    size_t *size, ompjit_error *err)
{
    static const ompjit__geometry one = {.teams = {1, 1, 1},
                                         .threads = {1, 1, 1}};
    ompjit__call call = {.mod = mod, .dev = dev};
    ompjit__variant_key key;
    ompjit__variant *v;
    ompjit_status status = ompjit__device_ready(dev, err);
    if (status)
        return status;
    ompjit__loaded *first = ompjit__variants_first(mod, dev);
    if (first)
        return dev->ops->symbol(dev, first, symbol, address, size, err);
    ompjit__generic_key(&call, &one, &key);
    status = ompjit__variant_get(mod, &key, 0, &v, err);
    if (status)
        return status;
    status = dev->ops->symbol(dev, ompjit__variant_loaded(v), symbol, address,
                              size, err);
    ompjit__variant_release(mod, v);
    return status;
}
