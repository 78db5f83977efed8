/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Which image of a module will be wanted next, so that a worker can build it
 * beside what it is asked for now. A wrong guess costs processor time that
 * nobody waits for, so only the usual is guessed: generic code of teams of one
 * thread, for the host device; and no driver is started to look for a GPU that
 * nobody has asked for yet. Where spans are kept nothing is guessed: those of a
 * thread lie within each other.
 */
#include "door/door.h"
#include "launch/launch.h"

/* Has nothing of the kernel's own to be decided when it is launched? */
static bool is_usual(const ompjit__kernel_desc *k)
{
    return !k->observes_threads && !k->parallel &&
           k->mode != OMPJIT_MODE_BARE;
}

/* NULL: it is not known yet, or may want other code. */
static ompjit_device *usual_device(const ompjit_module *mod)
{
    ompjit_context *ctx = mod->ctx;
    ompjit_device *dev = ompjit__devices_at_hand(ctx) && ctx->ndevices
                             ? ctx->devices[0]
                             : NULL;
    bool usual = dev && dev->caps.lone_threads && !ctx->check && !ctx->tune &&
                 !ctx->spans &&
                 ctx->specialize != OMPJIT_SPECIALIZE_NOW &&
                 ompjit__can_specialize(mod, dev);
    return usual ? dev : NULL;
}

/* The key that a launch without clauses comes to. */
static bool usual_key(ompjit_module *mod, ompjit_device *dev,
                      ompjit__variant_key *key)
{
    static const ompjit__geometry one = {.teams = {1, 1, 1},
                                         .threads = {1, 1, 1}};
    ompjit__call call = {.mod = mod, .dev = dev};
    if (ompjit__device_ready(dev, NULL) || dev->limits.threads > 1 ||
        dev->limits.fewest_threads > 1)
        return false;
    ompjit__generic_key(&call, &one, key);
    return key->kernel == OMPJIT__ALL_KERNELS;
}

/* False: there is nothing to guess, or too little is known. */
bool ompjit__first_image(ompjit_module *mod, ompjit__image_order *out)
{
    ompjit_device *dev = usual_device(mod);
    ompjit__variant_key key;
    if (!dev || !mod->unit.nkernels || !is_usual(mod->unit.kernels) ||
        ompjit__variants_first(mod, dev) || !usual_key(mod, dev, &key))
        return false;
    *out = (ompjit__image_order){.spec.facts = key.facts};
    dev->ops->target(dev, out->arch, &out->format, &out->spec.ptx);
    return true;
}

/* If the last two builds were of neighbours in the unit, guesses the next
 * kernel. Notes this one as the last that was built. */
bool ompjit__next_spec(ompjit_module *mod, const ompjit__variant_key *key,
                       const ompjit__spec *of, ompjit__spec *out)
{
    if (key->kernel == OMPJIT__ALL_KERNELS || mod->ctx->spans ||
        !ompjit__variant_is_generic(key))
        return false;
    uint32_t before = atomic_exchange_explicit(
        &mod->variants.last_built, key->kernel + 1, memory_order_relaxed);
    uint32_t next = key->kernel + 1;
    if (!key->dev->caps.lone_threads || key->facts.threads.all != 1 ||
        before != key->kernel || !before || next >= mod->unit.nkernels ||
        !is_usual(&mod->unit.kernels[next]))
        return false;
    *out = *of;
    out->kernel = mod->unit.kernels[next].symbol;
    out->next = NULL;
    return true;
}
