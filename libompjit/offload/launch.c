/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * One kernel launch: choose the geometry and the variant, pass the launch
 * environment and the arguments, run.
 */
#include "device/check.h"
#include "offload/launch.h"

/* --------------------------------------------------- launch environment */

static size_t positive(int32_t n)
{
    return n > 0 ? (size_t)n : 0;
}

ompjit_status ompjit__environment_new(const ompjit__kernel_desc *k,
                                      ompjit_device *dev,
                                      const ompjit__geometry *g,
                                      ompjit__environment *env,
                                      ompjit_error *err)
{
    *env = (ompjit__environment){.device = (void *)UINTPTR_MAX};
    if (!k->launch_env || k->reduction_size <= 0)
        return OMPJIT_OK;
    size_t records = (size_t)g->teams[0] * g->teams[1] * g->teams[2];
    if (records < positive(k->reduction_length))
        records = positive(k->reduction_length);
    ompjit__launch_environment host = {0};
    void *block;
    size_t at = (sizeof host + 127) / 128 * 128;
    ompjit_status status = dev->ops->alloc(
        dev, at + records * (size_t)k->reduction_size, &block, err);
    if (status)
        return status;
    if (dev->ctx->check) /* clang's own code, not checked, writes the records */
        ompjit__memory_written(&dev->ctx->check->memory, block, 0);
    host.reduction_buffer = (char *)block + at;
    status = dev->ops->copy(dev, OMPJIT__COPY_TO, block, &host, sizeof host,
                            NULL, err);
    if (status) {
        dev->ops->free(dev, block, NULL);
        return status;
    }
    env->device = env->buffer = block;
    return OMPJIT_OK;
}

void ompjit__environment_free(ompjit_device *dev, ompjit__environment *env)
{
    if (env->buffer)
        dev->ops->free(dev, env->buffer, NULL);
}

/* ----------------------------------------------------------------- launch */

static ompjit_status start(const ompjit__kernel_desc *k, ompjit_device *dev,
                           ompjit__function *f, const ompjit__geometry *g,
                           const uint64_t *values, ompjit__queue *queue,
                           ompjit_error *err)
{
    ompjit__environment env;
    ompjit_status status = ompjit__environment_new(k, dev, g, &env, err);
    if (status)
        return status;
    void *args[k->nparams + 1];
    unsigned n = 0;
    if (k->launch_env)
        args[n++] = &env.device;
    for (unsigned i = 0; i < k->nparams; i++)
        args[n++] = (void *)&values[i];
    status = dev->ops->launch(dev, f, g, args, n, env.buffer ? NULL : queue,
                              err);
    ompjit__environment_free(dev, &env);
    return status;
}


/* Of launches that end at the same time any one is the last. */
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
        .folded_teams = key->teams != 0,
        .folded_threads = key->threads != 0,
        .folded_args = (uint32_t)__builtin_popcountll(key->literal_mask),
    };
    atomic_flag_clear_explicit(&kernel->last_lock, memory_order_release);
}

static ompjit_status run_call(const ompjit__call *call, ompjit__queue *queue,
                              ompjit_error *err)
{
    ompjit_module *mod = call->mod;
    const ompjit__kernel_desc *k = &mod->unit.kernels[call->index];
    ompjit__geometry g;
    ompjit__variant *v;
    ompjit__function *f;
    ompjit__geometry_of(call, &g);
    ompjit_status status = ompjit__choose_variant(call, &g, &v, err);
    if (status)
        return status;
    status = ompjit__variant_function(mod, v, call->index, &f, err);
    uint64_t begin = mod->ctx->profile ? ompjit__now() : 0;
    if (!status)
        status = start(k, call->dev, f, &g, call->values, queue, err);
    if (begin)
        ompjit__stage_done(mod->ctx, OMPJIT_STAGE_LAUNCH, begin);
    if (!status)
        remember(&mod->kernels[call->index], &g, v);
    ompjit__variant_release(mod, v);
    return status;
}

ompjit_status ompjit__run(ompjit_module *mod, unsigned index,
                          ompjit_device *dev, const ompjit__request *request,
                          const uint64_t *values, unsigned nvalues,
                          ompjit__queue *queue, ompjit_error *err)
{
    const ompjit__kernel_desc *k = &mod->unit.kernels[index];
    if (nvalues != k->nparams)
        return ompjit__fail(err, OMPJIT_ERR_ARGUMENT, OMPJIT_STAGE_LAUNCH,
                            "kernel %s takes %u arguments, got %u", k->name,
                            k->nparams, nvalues);
    ompjit__call call = {mod, index, dev, request, values};
    ompjit_status status = ompjit__device_ready(dev, err);
    return status ? status : run_call(&call, queue, err);
}

ompjit_status ompjit__module_symbol(ompjit_module *mod, ompjit_device *dev,
                                    const char *symbol, void **address,
                                    size_t *size, ompjit_error *err)
{
    static const ompjit__geometry one = {{1, 1, 1}, {1, 1, 1}, 0};
    ompjit__call call = {.mod = mod, .dev = dev};
    ompjit__variant_key key;
    ompjit__variant *v;
    ompjit_status status = ompjit__device_ready(dev, err);
    if (status)
        return status;
    ompjit__generic_key(&call, &one, &key);
    status = ompjit__variant_get(mod, &key, 0, &v, err);
    if (status)
        return status;
    status = dev->ops->symbol(dev, ompjit__variant_loaded(v), symbol, address,
                              size, err);
    ompjit__variant_release(mod, v);
    return status;
}
