/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A module: a unit, and what of it is loaded where; and functions that work on
 * a module and a kernel. The unit does not change; what launches learn is in
 * atomics, so that a launch whose variant is there takes no lock.
 */
#ifndef OMPJIT_MODULE_H
#define OMPJIT_MODULE_H

#include "launch/request.h"
#include "launch/variant_table.h"

struct ompjit__image_order; /* door/door.h */

/* The automatic policy's record of a kernel's launches. Threads that write it
 * at once may lose a count: it is for a guess. */
typedef struct ompjit__sightings {
    _Atomic uint32_t launches;     /* that found no variant */
    _Atomic uint64_t given_up;     /* mask: arguments that keep changing */
    struct ompjit__sighting {
        _Atomic uint64_t hash;     /* of a variant's key           */
        _Atomic uint32_t count;    /* launches that asked for it   */
    } seen[64];
    _Atomic uint64_t last[64];     /* values, by parameter */
    _Atomic uint32_t changes[64];  /* how often they were others */
} ompjit__sightings;

struct ompjit_kernel {
    ompjit_module *mod;
    unsigned index;
    uint64_t eligible;             /* parameters that can be folded */
    _Atomic uint64_t contents;     /* pointers to fold the contents of */
    _Atomic bool made_spmd;        /* a GPU's image has it as SPMD      */
    ompjit__sightings *_Atomic sightings; /* NULL until automatic   */
    struct ompjit__tuning *_Atomic tuning; /* launch/tune.h        */
    atomic_flag last_lock;         /* of the next two, held for moments */
    ompjit_launch_info last;       /* and the device it ran on      */
    ompjit_device *last_device;
};

/* How the host half of a module that is one of several finds names of the
 * others. It is kept by the caller as long as the module. */
typedef struct ompjit__linkage {
    /* Asked before all else; NULL: the name is nobody's. */
    void *(*find)(void *data, const char *name);
    void *data;
} ompjit__linkage;

struct ompjit_module {
    ompjit_context *ctx;
    ompjit__unit unit;
    pthread_mutex_t lock;          /* of what is made later, below */
    ompjit__fork_lock at_fork;
    ompjit__variants variants;     /* locks for itself             */
    ompjit_kernel *kernels;        /* one for each of the unit's   */
    struct ompjit__hostjit *hostjit; /* NULL until first needed    */
    struct ompjit__functions *functions; /* likewise; under lock   */
    struct ompjit__pointer *pointers; /* to functions; under lock   */
    bool holds_faults;             /* for its functions; under lock */
    const ompjit__linkage *linkage;  /* NULL: it stands alone      */
    struct ompjit__cell *cells;      /* api/module.c               */
};

/* The unit's description of a kernel, which does not change. */
static inline const ompjit__kernel_desc *
ompjit__desc_of(const ompjit_kernel *kernel)
{
    return &kernel->mod->unit.kernels[kernel->index];
}

/* Parameters whose values can be folded: variant_policy.c */
uint64_t ompjit__eligible(const ompjit__kernel_desc *k);
/* Pointers to what is folded as values are: variant_policy.c */
uint64_t ompjit__small_structs(const ompjit__kernel_desc *k);
/* Made on first use; NULL where memory runs out. variant_policy.c */
ompjit__sightings *ompjit__sightings_of(ompjit_kernel *kernel);

/* Tells what became of the module's kernels: api/explain.c */
void ompjit__explain_module(ompjit_module *mod);
/* Adds a variant that was built to the context's record. The caller has the
 * variants' lock, also while the file is written. variant_list.c */
void ompjit__record_variant(ompjit_module *mod,
                            const struct ompjit__variant_key *key);
/* tune.c */
void ompjit__tuning_free(ompjit_kernel *kernel);

/* Notes the modes of kernels that an image for a GPU tells (image->modes): they
 * hold for other images, too. For one kernel, or OMPJIT__ALL_KERNELS:
 * variant_policy.c */
void ompjit__note_modes(ompjit_module *mod, uint32_t kernel,
                        const ompjit__buf *modes);

/* The name of the kernel's function for people; the whole one of C++ where the
 * function is of a template, or others have the short one, too. malloc'd, or
 * NULL. api/kernel.c */
char *ompjit__kernel_title(const ompjit_kernel *kernel);

/* The bytes of the value that a launch gives: the source's where it is known.
 * arguments.c */
uint32_t ompjit__value_size(const ompjit__param *p);
/* A bound on threads or teams as the unit has it; 0: none. */
static inline uint32_t ompjit__bound(int32_t n)
{
    return n > 0 ? (uint32_t)n : 0;
}
/* The number of the parameter that the argument names; `i` where it names none.
 * ARGUMENT error where there is none of that name. arguments.c */
ompjit_status ompjit__find_param(const ompjit__kernel_desc *k,
                                 const ompjit_arg *arg, unsigned i,
                                 unsigned *at, ompjit_error *err);
/* NULL and an INVALID error where the kernel has no such one: arguments.c */
const ompjit__param *ompjit__kernel_param_at(const ompjit_kernel *kernel,
                                             unsigned i, ompjit_error *err);

/* INVALID where there is no kernel or no device, or where the device is another
 * context's. `who` is the function of the API. launch_options.c */
ompjit_status ompjit__kernel_on(const char *who, const ompjit_kernel *kernel,
                                const ompjit_device *dev, ompjit_error *err);
/* The same, and where there are arguments without an array of them. */
ompjit_status ompjit__launch_check(const char *who, const ompjit_kernel *kernel,
                                   const ompjit_device *dev,
                                   const ompjit_arg *args, unsigned nargs,
                                   ompjit_error *err);
/* The arrays of a request by the API. Those that it does not name stay as they
 * are. */
typedef struct ompjit__fact_arrays {
    uint64_t sizes[64];
    ompjit__contents contents[16];
} ompjit__fact_arrays;

/* The request of a launch by the API: launch_options.c */
ompjit_status ompjit__kernel_request(ompjit_kernel *kernel,
                                     const ompjit_launch *launch,
                                     ompjit__request *request,
                                     ompjit_error *err);
/* The request of one that is not launched, and need not say its geometry. */
ompjit_status ompjit__kernel_folds(ompjit_kernel *kernel,
                                   const ompjit_launch *launch,
                                   ompjit__request *request,
                                   ompjit_error *err);
/* The values: values[i] is the bytes of parameter i in the low end. Adds to the
 * request what the arguments say beside; it points into *arrays, which must
 * live as long. arguments.c */
ompjit_status ompjit__kernel_values(ompjit_kernel *kernel,
                                    const ompjit_arg *args, unsigned nargs,
                                    uint64_t *values, ompjit__request *request,
                                    ompjit__fact_arrays *arrays,
                                    ompjit_error *err);
/* The same for what one argument says of parameter `at`, beside its value. */
ompjit_status ompjit__kernel_facts(ompjit_kernel *kernel, const ompjit_arg *arg,
                                   unsigned at, ompjit__request *request,
                                   ompjit__fact_arrays *arrays,
                                   ompjit_error *err);
/* One argument for parameter *at, or the one it names. */
ompjit_status ompjit__kernel_value(ompjit_kernel *kernel, const ompjit_arg *arg,
                                   unsigned *at, uint64_t *value,
                                   ompjit_error *err);

/* A build that will soon be asked for is made beside something else. A guess:
 * foresight.c
 *
 * The image that the module's first launch will want, to be built beside the
 * module's host half. `out` refers to the module. */
bool ompjit__first_image(ompjit_module *mod, struct ompjit__image_order *out);
/* The spec of the variant that is built after the one of the key, whose spec is
 * `of`. `out` refers to the module and to the key. */
bool ompjit__next_spec(ompjit_module *mod,
                       const struct ompjit__variant_key *key,
                       const ompjit__spec *of, ompjit__spec *out);

/* As ompjit__door_build, by the cache where it has the image. If several
 * threads or processes want the same, one builds it and the others wait for a
 * while. build_cached.c */
ompjit_status ompjit__build_cached(ompjit_context *ctx,
                                   const ompjit__unit *unit, const char *arch,
                                   ompjit_format format,
                                   const ompjit__spec *spec,
                                   ompjit__image *out, ompjit_error *err);

#endif
