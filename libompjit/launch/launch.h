/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The parts of a launch, for launch.c, which makes one at once, and
 * api/bound.c, which prepares one and makes it many times.
 */
#ifndef OMPJIT_LAUNCH_H
#define OMPJIT_LAUNCH_H

#include "launch/module.h"
#include "abi/offload.h"
#include "mapping/present_table.h"

/* One launch of a kernel, as it was asked for. Refers to its caller's request
 * and values, which must live until it has been started. */
typedef struct ompjit__call {
    ompjit_module *mod;
    uint32_t index;                 /* of the kernel */
    ompjit_device *dev;
    const ompjit__request *request;
    const uint64_t *values;         /* one for each parameter */
    unsigned nvalues;               /* of a kernel with any_params */
} ompjit__call;

static inline const char *ompjit__call_name(const ompjit__call *call)
{
    return call->mod->unit.kernels[call->index].name;
}

/* The geometry that the call runs with, by what it asks for, what is known to
 * be best (tune.h), and the device. geometry.c */
void ompjit__geometry_of(const ompjit__call *call, ompjit__geometry *g);

/* Completes the geometry when the kernel is compiled, in `mode`
 * (ompjit_mode), and loaded. geometry.c */
void ompjit__settle_geometry(const ompjit__call *call,
                             const ompjit__function *function, int mode,
                             ompjit__geometry *g);

/* Which variant a launch runs, by the policy asked for: found, awaited, built
 * or, where the policy says so, a generic one in place of one that is not
 * ready. It is held, and the caller releases it. Errors are those of the build.
 * variant_policy.c */
ompjit_status ompjit__choose_variant(const ompjit__call *call,
                                     const ompjit__geometry *g,
                                     ompjit__variant **out, ompjit_error *err);
/* False where only the module's generic code can run on the device. */
bool ompjit__can_specialize(const ompjit_module *mod, const ompjit_device *dev);
/* The key of the specialized variant that the call asks for, and of the
 * generic one. */
void ompjit__special_key(const ompjit__call *call, const ompjit__geometry *g,
                         ompjit__variant_key *key);
void ompjit__generic_key(const ompjit__call *call, const ompjit__geometry *g,
                         ompjit__variant_key *key);

/* KernelLaunchEnvironmentTy and its reduction buffer on the device, where the
 * kernel takes one. The buffer has a record for each team, so that no team
 * ever waits for another to free one (runtime-bc relies on it). A launch that
 * ends well leaves it ready for the next, of any kernel: the device keeps a
 * few. launch_environment.c */
typedef struct ompjit__environment {
    void *device; /* the kernel's argument; ~0 where none is needed */
    struct ompjit__environment_block *block; /* NULL: none */
} ompjit__environment;

/* On success env->device is the kernel's argument, also where it takes none.
 * Freed by ompjit__environment_free. */
ompjit_status ompjit__environment_new(const ompjit__kernel_desc *k,
                                      ompjit_device *dev,
                                      const ompjit__geometry *g,
                                      ompjit__environment *env,
                                      ompjit_error *err);
/* Does the kernel need one in device memory, for reductions? */
bool ompjit__environment_needed(const ompjit__kernel_desc *k);
/* The same for a kernel that does, in a queue, whose launches share one: none
 * begins before the one before it has ended. Under sharing->lock, which covers
 * the launch as well. `shared`, all zero at first, becomes a larger one where it
 * must, and env->block what it was, which launches in the queue may still use.
 */
ompjit_status ompjit__environment_share(const ompjit__kernel_desc *k,
                                        ompjit_device *dev,
                                        const ompjit__geometry *g,
                                        ompjit__environment *shared,
                                        ompjit__environment *env,
                                        ompjit_error *err);
/* After a launch that failed, under sharing->lock: the queue has the one again
 * that earlier launches use, and env->block is the larger one, which none
 * uses. */
void ompjit__environment_unshare(ompjit__environment *shared,
                                 ompjit__environment *env);
/* `ready`: no launch uses it, and the last one that did ended well. */
void ompjit__environment_free(ompjit_device *dev, ompjit__environment *env,
                              bool ready);

/* The objects that a launch, or an update in a queue, needs until it has ended.
 * */
typedef struct ompjit__inflight {
    ompjit_module *mod;
    ompjit_device *dev;
    ompjit__variant *variant; /* held; NULL: by somebody else */
    ompjit__mapped *mapped;   /* held; NULL: a launch         */
    ompjit__environment environment;
    uint64_t begin; /* where launches are timed */
    const char *kernel; /* its name, there */
    bool queued;
} ompjit__inflight;

/* The state that the launches in one of the application's queues share, and the
 * lock under which they are put there. */
typedef struct ompjit__sharing {
    pthread_mutex_t *lock;
    ompjit__environment *environment;
} ompjit__sharing;

/* As ompjit__run, but the launch may go on in `queue` when this returns. The
 * caller ends *inflight when it has waited. `sharing` NULL: the launch has its
 * environment for itself. */
ompjit_status ompjit__start(const ompjit__call *call, ompjit__queue *queue,
                            const ompjit__sharing *sharing,
                            ompjit__inflight *inflight, ompjit_error *err);
/* Gives back what the launch used, and tells the profile. `well`: it was waited
 * for without an error, so that its environment may serve the next. Once for
 * each, by any thread. */
void ompjit__inflight_end(ompjit__inflight *inflight, bool well);

#endif
