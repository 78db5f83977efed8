/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Launches ahead of time: variants asked for before they are needed, and
 * prepared launches (ompjit_bound), whose choices are made once: geometry,
 * variant, launch environment, and the array of addresses that a device's
 * `launch` gets. A run takes no lock and allocates nothing. A bound launch may
 * run in several threads at once; setting an argument is for one, alone.
 *
 * A prepared launch goes ask (arguments to a request), bind, choose (request to
 * a choice), and then any number of runs.
 */
#include <stdlib.h>
#include <string.h>

#include "api/queue.h"
#include "base/structs.h"
#include "context/profile.h"

/* One launch as asked for, with room for its values behind it. `settled` is
 * what launches have: `geometry`, which variants are found by, completed for
 * the variant that was chosen. One allocation, freed by free: nothing in it
 * owns memory. */
struct asked {
    ompjit__call call;
    ompjit__request request;
    ompjit__fact_arrays arrays;
    ompjit__geometry geometry, settled;
    uint64_t values[];
};

/* Checks and reads what a launch would be asked for; `who` is the function of
 * the API. *out is malloc'd. The arrays of facts still refer to the caller's
 * contents. On failure nothing is left allocated. */
static ompjit_status ask(const char *who, ompjit_kernel *kernel,
                         ompjit_device *dev, const ompjit_launch *launch,
                         const ompjit_arg *args, unsigned nargs,
                         struct asked **out, ompjit_error *err)
{
    ompjit_status status =
        ompjit__launch_check(who, kernel, dev, args, nargs, err);
    if (status)
        return status;
    const ompjit__kernel_desc *k = &kernel->mod->unit.kernels[kernel->index];
    struct asked *a =
        calloc(1, sizeof *a + k->nparams * sizeof a->values[0]);
    if (!a)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    a->call = (ompjit__call){kernel->mod, kernel->index, dev, &a->request,
                             a->values, 0};
    status = ompjit__kernel_request(kernel, launch, &a->request, err);
    if (!status)
        status = ompjit__kernel_values(kernel, args, nargs, a->values,
                                       &a->request, &a->arrays, err);
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

/* The launch's policy, else the context's. */
static ompjit_specialize policy_of(const struct asked *a)
{
    return a->request.policy ? a->request.policy : a->call.mod->ctx->specialize;
}

/* AUTO is as NOW here: who prepares a launch has said that it comes. */
static void key_of(const struct asked *a, ompjit__variant_key *key)
{
    if (policy_of(a) == OMPJIT_SPECIALIZE_OFF)
        ompjit__generic_key(&a->call, &a->geometry, key);
    else
        ompjit__special_key(&a->call, &a->geometry, key);
}

/* ---------------------------------------------------------- ahead of time */

/* The key is copied where the build goes to the background thread, so the
 * request can be freed here. Does not wait for the build. */
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

/* Builds nothing. The hold of the variant that was found ends here, so by the
 * time of the launch it may have been evicted. */
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

/* Builds that run go on; only those that wait are dropped. */
void ompjit_kernel_cancel(ompjit_kernel *kernel)
{
    if (kernel)
        ompjit__variant_cancel(kernel->mod, kernel->index);
}

ompjit_status ompjit_module_variants(ompjit_module *mod,
                                     ompjit_variant_stats *stats,
                                     ompjit_error *err)
{
    ompjit_variant_stats full;
    ompjit_status status =
        ompjit__result_check(OMPJIT__STRUCT_variant_stats, stats, err);
    if (status)
        return status;
    if (!mod)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_module_variants: no module");
    ompjit__variants_stats(mod, &full);
    ompjit__result_fill(OMPJIT__STRUCT_variant_stats, &full, stats);
    return OMPJIT_OK;
}

/* ------------------------------------------------------ prepared launches */

/* The choices for the arguments. `asked`, `variant` (a hold) and `environment`
 * are its own. Freed by `drop`, which takes one where all but `asked` is
 * missing. */
struct choice {
    ompjit__prepared *prepared; /* the device's own way, or NULL */
    struct asked *asked;
    ompjit__variant *variant;
    ompjit__function *function;
    ompjit__environment environment;
    unsigned nargs;
    void **args; /* of the ABI: addresses of values, and in the bound launch */
};

/* `busy` is only used where the environment has a block. Otherwise runs share
 * nothing that changes, and need no flag. */
struct ompjit_bound {
    struct choice now;
    atomic_flag busy; /* the environment is in use */
};

/* The ABI's arguments, the environment's before the kernel's own. args[i]
 * points at values in `asked`, so that ompjit_bound_set changes what the next
 * run passes without making the array again. */
static ompjit_status make_args(ompjit_bound *b, const ompjit__kernel_desc *k,
                               ompjit_error *err)
{
    b->now.args = calloc(k->nparams + 1, sizeof *b->now.args);
    if (!b->now.args)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    if (k->launch_env)
        b->now.args[b->now.nargs++] = &b->now.environment.device;
    for (unsigned i = 0; i < k->nparams; i++)
        b->now.args[b->now.nargs++] = &b->now.asked->values[i];
    return OMPJIT_OK;
}

/* The caller's memory may be gone later; the variant has its own. So the facts
 * of the request point into the variant's key, which lives as long as the hold.
 */
static void keep_arrays(ompjit_bound *b)
{
    ompjit__facts_borrow(&b->now.asked->request.facts,
                         &ompjit__variant_key_of(b->now.variant)->facts);
}

/* Gets and holds the variant, which may be built now, completes the geometry
 * for it, makes the environment and the arguments, and has the device prepare
 * the launch. On failure the parts that there are stay in b->now, for `drop`. A
 * launch with an environment is not prepared: two runs at once need two of
 * them, which is known only when they run. */
static ompjit_status choose(ompjit_bound *b, ompjit_error *err)
{
    struct choice *c = &b->now;
    const ompjit__call *call = &c->asked->call;
    const ompjit__kernel_desc *k = &call->mod->unit.kernels[call->index];
    ompjit__geometry *settled = &c->asked->settled;
    ompjit__variant_key key;
    *settled = c->asked->geometry;
    key_of(c->asked, &key);
    ompjit_status status =
        ompjit__variant_get(call->mod, &key, 0, &c->variant, err);
    if (!status)
        keep_arrays(b);
    if (!status)
        status = ompjit__variant_function(call->mod, c->variant, call->index,
                                          &c->function, err);
    if (!status)
        ompjit__settle_geometry(call, c->function,
                                ompjit__variant_mode(c->variant, call->index),
                                settled);
    if (!status)
        status = ompjit__environment_new(k, call->dev, settled,
                                         &c->environment, err);
    if (!status)
        status = make_args(b, k, err);
    if (status || c->environment.block || !call->dev->ops->prepare ||
        call->mod->ctx->watched) /* then each launch is looked at */
        return status;
    return call->dev->ops->prepare(call->dev, c->function, settled, c->args,
                                   &c->prepared, err);
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
    b->now.asked = a;
    atomic_flag_clear(&b->busy);
    ompjit_status status = choose(b, err);
    if (status)
        ompjit_bound_destroy(b);
    else
        *out = b;
    return status;
}

/* The request, once more; NULL: no memory. Pointers to the old one's own fields
 * are set to the new one's. The facts' arrays stay where they are, in the old
 * variant's key, until `choose` has moved them. */
static struct asked *asked_again(const ompjit_bound *bound)
{
    const ompjit__call *call = &bound->now.asked->call;
    const ompjit__kernel_desc *k = &call->mod->unit.kernels[call->index];
    struct asked *a = ompjit__memdup(
        bound->now.asked, sizeof *a + k->nparams * sizeof a->values[0]);
    if (a) {
        a->call.request = &a->request;
        a->call.values = a->values;
    }
    return a;
}

/* No other thread may set an argument of `bound` meanwhile. */
ompjit_status ompjit__bound_copy(const ompjit_bound *bound, ompjit_bound **out,
                                 ompjit_error *err)
{
    struct asked *a = asked_again(bound);
    return a ? bind(a, out, err) : ompjit__no_memory(err, OMPJIT_STAGE_API);
}

/* *bound is set on success only, and freed by ompjit_bound_destroy. */
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

/* By the device's own operation; `queue` NULL: to the end. `args` is read
 * before this returns. In a profile the span of a queued launch is its
 * submission only. */
static ompjit_status launch(ompjit_bound *b, void **args, ompjit__queue *queue,
                            ompjit_error *err)
{
    ompjit_device *dev = b->now.asked->call.dev;
    const char *name = ompjit__call_name(&b->now.asked->call);
    uint64_t begin = ompjit__span_begin(dev->ctx, name);
    ompjit_status status = dev->ops->launch(dev, b->now.function,
                                            &b->now.asked->settled, args,
                                            b->now.nargs, queue, err);
    ompjit__span_end(dev->ctx, queue ? OMPJIT__SPAN_SUBMIT
                                     : OMPJIT__SPAN_LAUNCH,
                     name, begin, 0);
    return status;
}

/* With an environment of its own, which is used until the launch has ended.
 * args[0] is the environment's: only kernels that take one come here. On
 * success the caller ends *inflight when the launch has ended; on failure that
 * was done. */
static ompjit_status start_apart(ompjit_bound *b, ompjit__queue *queue,
                                 ompjit__inflight *inflight, ompjit_error *err)
{
    const ompjit__call *call = &b->now.asked->call;
    void *args[b->now.nargs];
    *inflight = (ompjit__inflight){.mod = call->mod, .dev = call->dev};
    ompjit_status status = ompjit__environment_new(
        &call->mod->unit.kernels[call->index], call->dev,
        &b->now.asked->settled, &inflight->environment, err);
    if (status)
        return status;
    memcpy(args, b->now.args, sizeof args);
    args[0] = &inflight->environment.device;
    status = launch(b, args, queue, err);
    if (status)
        ompjit__inflight_end(inflight, false);
    return status;
}

/* With the environment that launches in the queue share, if they do. The
 * queue's lock is held over the launch too: launches must be in the queue in
 * the order in which they have got the environment, since a larger one takes
 * the place of the one before. */
static ompjit_status start_sharing(ompjit_bound *b, ompjit_queue *queue,
                                   ompjit__inflight *inflight,
                                   ompjit_error *err)
{
    const ompjit__call *call = &b->now.asked->call;
    ompjit__sharing sharing;
    void *args[b->now.nargs];
    if (!ompjit__queue_shares(queue, &sharing))
        return start_apart(b, queue->queue, inflight, err);
    *inflight = (ompjit__inflight){.mod = call->mod, .dev = call->dev};
    memcpy(args, b->now.args, sizeof args);
    args[0] = &inflight->environment.device;
    pthread_mutex_lock(sharing.lock);
    ompjit_status status = ompjit__environment_share(
        &call->mod->unit.kernels[call->index], call->dev,
        &b->now.asked->settled, sharing.environment, &inflight->environment,
        err);
    if (!status)
        status = launch(b, args, queue->queue, err);
    if (status)
        ompjit__environment_unshare(sharing.environment,
                                    &inflight->environment);
    pthread_mutex_unlock(sharing.lock);
    if (status)
        ompjit__inflight_end(inflight, false);
    return status;
}

/* Without a queue the launch has ended when start_apart returns. */
static ompjit_status run_apart(ompjit_bound *b, ompjit_error *err)
{
    ompjit__inflight inflight;
    ompjit_status status = start_apart(b, NULL, &inflight, err);
    if (!status)
        ompjit__inflight_end(&inflight, true);
    return status;
}

/* The kernel's teams count themselves in the environment: two launches at once
 * need two, and one that fails leaves it in the middle, busy for good. Nobody
 * waits for a busy environment: the second thread makes one for its run, or
 * takes one that the device keeps. */
static ompjit_status run_counted(ompjit_bound *b, ompjit_error *err)
{
    if (atomic_flag_test_and_set_explicit(&b->busy, memory_order_acquire))
        return run_apart(b, err);
    ompjit_status status = launch(b, b->now.args, NULL, err);
    if (!status)
        atomic_flag_clear_explicit(&b->busy, memory_order_release);
    return status;
}

/* Three ways, the fastest first. Returns when the kernel has ended. */
ompjit_status ompjit_bound_run(ompjit_bound *b, ompjit_error *err)
{
    if (!b)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_bound_run: no bound launch");
    if (b->now.prepared)
        return b->now.prepared->run(b->now.prepared, err);
    if (b->now.environment.block)
        return run_counted(b, err);
    return launch(b, b->now.args, NULL, err);
}

/* For a device without graphs: the launch as it is now becomes a step. A copy,
 * since the application may set arguments or destroy the bound launch before
 * the graph runs. */
static ompjit_status record_step(const ompjit_bound *b, ompjit_queue *queue,
                                 ompjit_error *err)
{
    ompjit__step step = {0};
    ompjit_status status = ompjit__bound_copy(b, &step.bound, err);
    return status ? status : ompjit__step_add(queue, step, err);
}

/* Into the queue; *inflight has what it uses beside the bound launch. Used for
 * recording alone: ompjit_bound_start goes its own, shorter way. */
static ompjit_status start(ompjit_bound *b, ompjit_queue *queue,
                           ompjit__inflight *inflight, ompjit_error *err)
{
    const ompjit__call *call = &b->now.asked->call;
    if (b->now.environment.block)
        return start_sharing(b, queue, inflight, err);
    *inflight = (ompjit__inflight){.mod = call->mod, .dev = call->dev};
    return launch(b, b->now.args, queue->queue, err);
}

/* The graph outlives the bound launch, and runs its variant. The driver has
 * copied the arguments (cuLaunchKernel), so only the variant and the
 * environment have to be kept. */
static ompjit_status record(ompjit_bound *b, ompjit_queue *queue,
                            ompjit_error *err)
{
    ompjit__inflight inflight;
    if (ompjit__records_steps(queue))
        return record_step(b, queue, err);
    ompjit_status status = start(b, queue, &inflight, err);
    if (status)
        return status;
    ompjit__variant_hold(b->now.variant);
    inflight.variant = b->now.variant;
    return ompjit__queue_use(queue, &inflight, err);
}

/* No hold on the variant is taken for the queue: the bound launch has one, and
 * may not be destroyed before the queue was waited for. `queue->recording` is
 * read without the lock: only the thread that records uses such a queue. */
ompjit_status ompjit_bound_start(ompjit_bound *b, ompjit_queue *queue,
                                 ompjit_error *err)
{
    if (!b)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_bound_start: no bound launch");
    ompjit__inflight inflight;
    ompjit_status status =
        ompjit__queue_check(__func__, queue, b->now.asked->call.dev, err);
    if (status)
        return status;
    if (queue->recording)
        return record(b, queue, err);
    if (!b->now.environment.block)
        return launch(b, b->now.args, queue->queue, err);
    status = start_sharing(b, queue, &inflight, err);
    return status ? status : ompjit__queue_use(queue, &inflight, err);
}

/* The fact about parameter i in the variant that `value` would change; else
 * NULL. Its text is what the error says before the parameter's name. A value
 * that stays as it is changes nothing, and is never refused. */
static const char *fixed(const ompjit_bound *b, unsigned i, uint64_t value)
{
    const ompjit__facts *f = &ompjit__variant_key_of(b->now.variant)->facts;
    if (value == b->now.asked->values[i])
        return NULL;
    for (uint32_t j = 0; j < f->contents.n; j++)
        if (f->contents.list[j].param == i)
            return "what is behind ";
    return i < 64 && f->literals.mask >> i & 1 ? "" : NULL;
}

/* `well`: its environment may serve other launches. False where a launch has
 * left it in the middle: then it is freed. */
static void drop(struct choice *c, bool well)
{
    ompjit__environment_free(c->asked->call.dev, &c->environment, well);
    if (c->variant)
        ompjit__variant_release(c->asked->call.mod, c->variant);
    free(c->prepared);
    free(c->args);
    free(c->asked);
}

/* Another variant for that value, which may have to be built. The choice that
 * there was stays in place after a failure, so the bound launch still runs with
 * its old value. The flag tells whether a failed run has left the old
 * environment in the middle; the new one is not busy. */
static ompjit_status choose_again(ompjit_bound *b, unsigned i, uint64_t value,
                                  ompjit_error *err)
{
    struct choice before = b->now;
    struct asked *a = asked_again(b);
    if (!a)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    a->values[i] = value;
    b->now = (struct choice){.asked = a};
    ompjit_status status = choose(b, err);
    if (status) {
        drop(&b->now, true);
        b->now = before;
    } else {
        drop(&before, !atomic_flag_test_and_set(&b->busy));
        atomic_flag_clear(&b->busy);
    }
    return status;
}

/* Does the variant count on a pointer that is more aligned? Its code may fault
 * with such a value, as vector loads of aligned data do. */
static bool is_too_odd(const ompjit_bound *b, unsigned i, uint64_t value)
{
    uint64_t aligned = ompjit__variant_key_of(b->now.variant)->facts.aligned;
    return i < 64 && aligned >> i & 1 && value % OMPJIT__ALIGNMENT;
}

/* `i` is the parameter's number where `arg` names none. Alone: no lock guards
 * the values against a run. */
ompjit_status ompjit_bound_set(ompjit_bound *b, unsigned i,
                               const ompjit_arg *arg, ompjit_error *err)
{
    if (!b || !arg)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_bound_set: a bound launch and an argument "
                            "are needed");
    const ompjit__call *call = &b->now.asked->call;
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
                            "kernel %s: %s%s is compiled into the bound launch",
                            k->name, what, k->params[i].name);
    if (is_too_odd(b, i, value))
        return choose_again(b, i, value, err);
    b->now.asked->values[i] = value;
    return OMPJIT_OK;
}

/* The caller makes sure that no thread runs it and that no queue has work of
 * it. The environment goes back to the device where the last run ended well. */
void ompjit_bound_destroy(ompjit_bound *b)
{
    if (!b)
        return;
    drop(&b->now, !atomic_flag_test_and_set(&b->busy));
    free(b);
}
