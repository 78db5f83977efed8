/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Launches ahead of time: variants asked for before they are needed, and
 * prepared launches, whose choices are made once.
 */
#include <stdlib.h>
#include <string.h>

#include "api/queue.h"
#include "base/profile.h"

/* One launch as asked for, with room for its values behind it. */
struct asked {
    ompjit__call call;
    ompjit__request request;
    ompjit__geometry geometry;
    uint64_t values[];
};

static ompjit_status ask(const char *who, ompjit_kernel *kernel,
                         ompjit_device *dev, const ompjit_launch *launch,
                         const ompjit_arg *args, unsigned nargs,
                         struct asked **out, ompjit_error *err)
{
    if (!kernel || !dev || (nargs && !args))
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "%s: kernel, device and arguments are needed", who);
    const ompjit__kernel_desc *k = &kernel->mod->unit.kernels[kernel->index];
    struct asked *a =
        calloc(1, sizeof *a + k->nparams * sizeof a->values[0]);
    if (!a)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    a->call = (ompjit__call){kernel->mod, kernel->index, dev, &a->request,
                             a->values};
    ompjit_status status =
        ompjit__kernel_request(kernel, launch, &a->request, err);
    if (!status)
        status = ompjit__kernel_values(kernel, args, nargs, a->values, err);
    if (!status)
        status = ompjit__device_ready(dev, err);
    if (status) {
        free(a);
        return status;
    }
    ompjit__geometry_of(&a->call, &a->geometry);
    *out = a;
    return OMPJIT_OK;
}

static ompjit_specialize policy_of(const struct asked *a)
{
    return a->request.policy ? a->request.policy : a->call.mod->ctx->specialize;
}

static void key_of(const struct asked *a, ompjit__variant_key *key)
{
    if (policy_of(a) == OMPJIT_SPECIALIZE_OFF)
        ompjit__generic_key(&a->call, &a->geometry, key);
    else
        ompjit__special_key(&a->call, &a->geometry, key);
}

/* ---------------------------------------------------------- ahead of time */

ompjit_status ompjit_kernel_prepare(ompjit_kernel *kernel, ompjit_device *dev,
                                    const ompjit_launch *launch,
                                    const ompjit_arg *args, unsigned nargs,
                                    ompjit_error *err)
{
    struct asked *a;
    ompjit__variant_key key;
    ompjit_status status = ask("ompjit_kernel_prepare", kernel, dev, launch,
                               args, nargs, &a, err);
    if (status)
        return status;
    key_of(a, &key);
    status = ompjit__variant_request(kernel->mod, &key, err);
    free(a);
    return status;
}

ompjit_status ompjit_kernel_ready(ompjit_kernel *kernel, ompjit_device *dev,
                                  const ompjit_launch *launch,
                                  const ompjit_arg *args, unsigned nargs,
                                  int *ready, ompjit_error *err)
{
    struct asked *a;
    ompjit__variant_key key;
    if (!ready)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_kernel_ready: no place for the answer");
    ompjit_status status = ask("ompjit_kernel_ready", kernel, dev, launch, args,
                               nargs, &a, err);
    if (status)
        return status;
    key_of(a, &key);
    ompjit__variant *v = ompjit__variant_find(kernel->mod, &key);
    *ready = v != NULL;
    if (v)
        ompjit__variant_release(kernel->mod, v);
    free(a);
    return OMPJIT_OK;
}

void ompjit_kernel_cancel(ompjit_kernel *kernel)
{
    if (kernel)
        ompjit__variant_cancel(kernel->mod, kernel->index);
}

ompjit_status ompjit_module_variants(ompjit_module *mod,
                                     ompjit_variant_stats *stats,
                                     ompjit_error *err)
{
    if (!mod || !stats || stats->size != sizeof *stats)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_module_variants: a module and "
                            "OMPJIT_VARIANT_STATS_INIT are needed");
    ompjit__variants_stats(mod, stats);
    return OMPJIT_OK;
}

/* ------------------------------------------------------ prepared launches */

struct ompjit_bound {
    ompjit__prepared *prepared; /* the device's own way, or NULL */
    struct asked *asked;
    ompjit__variant *variant;
    ompjit__function *function;
    ompjit__environment environment;
    atomic_flag busy; /* the environment is in use */
    unsigned nargs;
    void **args;      /* of the ABI: addresses of values */
};

/* The ABI's arguments, the environment's before the kernel's own. */
static ompjit_status make_args(ompjit_bound *b, const ompjit__kernel_desc *k,
                               ompjit_error *err)
{
    b->args = calloc(k->nparams + 1, sizeof *b->args);
    if (!b->args)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    if (k->launch_env)
        b->args[b->nargs++] = &b->environment.device;
    for (unsigned i = 0; i < k->nparams; i++)
        b->args[b->nargs++] = &b->asked->values[i];
    return OMPJIT_OK;
}

/* What the caller passed may be gone later; the variant has its own. */
static void keep_arrays(ompjit_bound *b)
{
    const ompjit__variant_key *key = ompjit__variant_key_of(b->variant);
    ompjit__request *request = &b->asked->request;
    request->ncontents = key->ncontents;
    request->contents = key->contents;
    request->sized = key->sized;
    request->sizes = key->sizes;
}

static ompjit_status choose(ompjit_bound *b, ompjit_error *err)
{
    const ompjit__call *call = &b->asked->call;
    const ompjit__kernel_desc *k = &call->mod->unit.kernels[call->index];
    ompjit__variant_key key;
    key_of(b->asked, &key);
    ompjit_status status =
        ompjit__variant_get(call->mod, &key, 0, &b->variant, err);
    if (!status)
        keep_arrays(b);
    if (!status)
        status = ompjit__variant_function(call->mod, b->variant, call->index,
                                          &b->function, err);
    if (!status)
        ompjit__settle_geometry(call, b->function,
                                ompjit__variant_mode(b->variant, call->index),
                                &b->asked->geometry);
    if (!status)
        status = ompjit__environment_new(k, call->dev, &b->asked->geometry,
                                         &b->environment, err);
    if (!status)
        status = make_args(b, k, err);
    if (status || b->environment.block || !call->dev->ops->prepare ||
        call->mod->ctx->watched) /* then each launch is looked at */
        return status;
    return call->dev->ops->prepare(call->dev, b->function, &b->asked->geometry,
                                   b->args, &b->prepared, err);
}

/* Takes `a`, also on failure. */
static ompjit_status bind(struct asked *a, ompjit_bound **out,
                          ompjit_error *err)
{
    ompjit_bound *b = calloc(1, sizeof *b);
    if (!b) {
        free(a);
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    }
    b->asked = a;
    atomic_flag_clear(&b->busy);
    ompjit_status status = choose(b, err);
    if (status)
        ompjit_bound_destroy(b);
    else
        *out = b;
    return status;
}

ompjit_status ompjit__bound_copy(const ompjit_bound *bound, ompjit_bound **out,
                                 ompjit_error *err)
{
    const ompjit__call *call = &bound->asked->call;
    const ompjit__kernel_desc *k = &call->mod->unit.kernels[call->index];
    struct asked *a = ompjit__memdup(
        bound->asked, sizeof *a + k->nparams * sizeof a->values[0]);
    if (!a)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    a->call.request = &a->request;
    a->call.values = a->values;
    return bind(a, out, err);
}

ompjit_status ompjit_kernel_bind(ompjit_kernel *kernel, ompjit_device *dev,
                                 const ompjit_launch *launch,
                                 const ompjit_arg *args, unsigned nargs,
                                 ompjit_bound **bound, ompjit_error *err)
{
    struct asked *a;
    if (!bound)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_kernel_bind: no place for the launch");
    ompjit_status status = ask("ompjit_kernel_bind", kernel, dev, launch, args,
                               nargs, &a, err);
    if (status)
        return status;
    return bind(a, bound, err);
}

static ompjit_status launch(ompjit_bound *b, void **args, ompjit__queue *queue,
                            ompjit_error *err)
{
    ompjit_device *dev = b->asked->call.dev;
    const char *name = ompjit__call_name(&b->asked->call);
    uint64_t begin = ompjit__span_begin(dev->ctx, name);
    ompjit_status status = dev->ops->launch(dev, b->function,
                                            &b->asked->geometry, args,
                                            b->nargs, queue, err);
    ompjit__span_end(dev->ctx, queue ? OMPJIT__SPAN_SUBMIT
                                     : OMPJIT__SPAN_LAUNCH,
                     name, begin, 0);
    return status;
}

/* With an environment of its own, which is used until the launch has ended. */
static ompjit_status start_apart(ompjit_bound *b, ompjit__queue *queue,
                                 ompjit__inflight *inflight, ompjit_error *err)
{
    const ompjit__call *call = &b->asked->call;
    void *args[b->nargs];
    *inflight = (ompjit__inflight){.mod = call->mod, .dev = call->dev};
    ompjit_status status = ompjit__environment_new(
        &call->mod->unit.kernels[call->index], call->dev, &b->asked->geometry,
        &inflight->environment, err);
    if (status)
        return status;
    memcpy(args, b->args, sizeof args);
    args[0] = &inflight->environment.device;
    status = launch(b, args, queue, err);
    if (status)
        ompjit__inflight_end(inflight, false);
    return status;
}

/* With the environment that launches in the queue share, if they do. */
static ompjit_status start_sharing(ompjit_bound *b, ompjit_queue *queue,
                                   ompjit__inflight *inflight,
                                   ompjit_error *err)
{
    const ompjit__call *call = &b->asked->call;
    ompjit__sharing sharing;
    void *args[b->nargs];
    if (!ompjit__queue_shares(queue, &sharing))
        return start_apart(b, queue->queue, inflight, err);
    *inflight = (ompjit__inflight){.mod = call->mod, .dev = call->dev};
    memcpy(args, b->args, sizeof args);
    args[0] = &inflight->environment.device;
    pthread_mutex_lock(sharing.lock);
    ompjit_status status = ompjit__environment_share(
        &call->mod->unit.kernels[call->index], call->dev, &b->asked->geometry,
        sharing.environment, &inflight->environment, err);
    if (!status)
        status = launch(b, args, queue->queue, err);
    pthread_mutex_unlock(sharing.lock);
    if (status)
        ompjit__inflight_end(inflight, false);
    return status;
}

static ompjit_status run_apart(ompjit_bound *b, ompjit_error *err)
{
    ompjit__inflight inflight;
    ompjit_status status = start_apart(b, NULL, &inflight, err);
    if (!status)
        ompjit__inflight_end(&inflight, true);
    return status;
}

/* The kernel's teams count themselves in the environment: two launches at once
 * need two, and one that fails leaves it in the middle, busy for good. */
static ompjit_status run_counted(ompjit_bound *b, ompjit_error *err)
{
    if (atomic_flag_test_and_set_explicit(&b->busy, memory_order_acquire))
        return run_apart(b, err);
    ompjit_status status = launch(b, b->args, NULL, err);
    if (!status)
        atomic_flag_clear_explicit(&b->busy, memory_order_release);
    return status;
}

ompjit_status ompjit_bound_run(ompjit_bound *b, ompjit_error *err)
{
    if (!b)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_bound_run: no bound launch");
    if (b->prepared)
        return b->prepared->run(b->prepared, err);
    if (b->environment.block)
        return run_counted(b, err);
    return launch(b, b->args, NULL, err);
}

static ompjit_status record_step(const ompjit_bound *b, ompjit_queue *queue,
                                 ompjit_error *err)
{
    ompjit__step step = {0};
    ompjit_status status = ompjit__bound_copy(b, &step.bound, err);
    return status ? status : ompjit__step_add(queue, step, err);
}

static ompjit_status start(ompjit_bound *b, ompjit_queue *queue,
                           ompjit__inflight *inflight, ompjit_error *err)
{
    const ompjit__call *call = &b->asked->call;
    if (b->environment.block)
        return start_sharing(b, queue, inflight, err);
    *inflight = (ompjit__inflight){.mod = call->mod, .dev = call->dev};
    return launch(b, b->args, queue->queue, err);
}

/* The graph outlives the bound launch, and runs its variant. */
static ompjit_status record(ompjit_bound *b, ompjit_queue *queue,
                            ompjit_error *err)
{
    ompjit__inflight inflight;
    if (ompjit__records_steps(queue))
        return record_step(b, queue, err);
    ompjit_status status = start(b, queue, &inflight, err);
    if (status)
        return status;
    ompjit__variant_hold(b->variant);
    inflight.variant = b->variant;
    return ompjit__queue_use(queue, &inflight, err);
}

ompjit_status ompjit_bound_start(ompjit_bound *b, ompjit_queue *queue,
                                 ompjit_error *err)
{
    if (!b)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_bound_start: no bound launch");
    ompjit__inflight inflight;
    ompjit_status status =
        ompjit__queue_check(__func__, queue, b->asked->call.dev, err);
    if (status)
        return status;
    if (queue->recording)
        return record(b, queue, err);
    if (!b->environment.block)
        return launch(b, b->args, queue->queue, err);
    status = start_sharing(b, queue, &inflight, err);
    return status ? status : ompjit__queue_use(queue, &inflight, err);
}

/* What the variant takes for granted of parameter i, where `value` would change
 * that; else NULL. */
static const char *fixed(const ompjit_bound *b, unsigned i, uint64_t value)
{
    const ompjit__variant_key *key = ompjit__variant_key_of(b->variant);
    if (i < 64 && key->aligned >> i & 1 && value % OMPJIT__ALIGNMENT)
        return "that a multiple of 64 is passed for";
    if (value == b->asked->values[i])
        return NULL;
    for (uint32_t j = 0; j < key->ncontents; j++)
        if (key->contents[j].param == i)
            return "what is behind";
    return i < 64 && key->literal_mask >> i & 1 ? "the value of" : NULL;
}

ompjit_status ompjit_bound_set(ompjit_bound *b, unsigned i,
                               const ompjit_arg *arg, ompjit_error *err)
{
    if (!b || !arg)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_bound_set: a bound launch and an argument "
                            "are needed");
    const ompjit__call *call = &b->asked->call;
    const ompjit__kernel_desc *k = &call->mod->unit.kernels[call->index];
    if (!arg->name && i >= k->nparams)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "kernel %s has %u parameters, none is number %u",
                            k->name, k->nparams, i);
    uint64_t value;
    ompjit_status status = ompjit__kernel_value(
        &call->mod->kernels[call->index], arg, &i, &value, err);
    if (status)
        return status;
    const char *what = fixed(b, i, value);
    if (what)
        return ompjit__fail(err, OMPJIT_ERR_ARGUMENT, OMPJIT_STAGE_API,
                            "kernel %s: %s %s is compiled into the bound launch",
                            k->name, what, k->params[i].name);
    b->asked->values[i] = value;
    return OMPJIT_OK;
}

void ompjit_bound_destroy(ompjit_bound *b)
{
    if (!b)
        return;
    ompjit__environment_free(b->asked->call.dev, &b->environment,
                             !atomic_flag_test_and_set(&b->busy));
    if (b->variant)
        ompjit__variant_release(b->asked->call.mod, b->variant);
    free(b->prepared);
    free(b->args);
    free(b->asked);
    free(b);
}
