/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit_tune.h - variants of kernels, what they use, warm-up and tuning. The
 * conventions of ompjit.h hold.
 */
#ifndef OMPJIT_TUNE_H
#define OMPJIT_TUNE_H

#include "ompjit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------- ahead of time */

/* Has the variant that such a launch would run compiled and loaded in the
 * background (where `specialize` says AUTO or NOW, the one for these values;
 * else the generic one), and returns at once. A failure shows at the launch. */
ompjit_status ompjit_kernel_prepare(ompjit_kernel *kernel, ompjit_device *dev,
                                    const ompjit_launch *launch,
                                    const ompjit_arg *args, unsigned nargs,
                                    ompjit_error *err);
/* Whether that variant is ready: 1 or 0. */
ompjit_status ompjit_kernel_ready(ompjit_kernel *kernel, ompjit_device *dev,
                                  const ompjit_launch *launch,
                                  const ompjit_arg *args, unsigned nargs,
                                  int *ready, ompjit_error *err);
/* Gives up the kernel's background compiles that have not begun. */
void ompjit_kernel_cancel(ompjit_kernel *kernel);

/* Asks that what target regions map `to` the kernel's parameter of that name,
 * an array of OMPJIT_CONTENTS_MAX bytes at most, be compiled into it where
 * values are folded: for arrays of coefficients that seldom change. It is left
 * alone where it is also mapped from, present before, or reached by another
 * pointer. Private copies of at most 8 bytes are folded unasked. INVALID where
 * the parameter is no pointer. */
ompjit_status ompjit_kernel_fold_contents(ompjit_kernel *kernel,
                                          const char *param,
                                          ompjit_error *err);

/* --------------------------------------------------------------- variants */

/* Counts of a module's variants, on all devices together. */
typedef struct ompjit_variant_stats {
    size_t size;          /* OMPJIT_VARIANT_STATS_INIT           */
    uint64_t live;        /* loaded now                          */
    uint64_t builds;      /* made so far, from cache or compiled */
    uint64_t failures;    /* that did not compile or load        */
    uint64_t evictions;   /* unloaded for others                 */
    uint64_t pending;     /* being built or waiting for that     */
} ompjit_variant_stats;
#define OMPJIT_VARIANT_STATS_INIT OMPJIT_SIZED(ompjit_variant_stats)

ompjit_status ompjit_module_variants(ompjit_module *mod,
                                     ompjit_variant_stats *stats,
                                     ompjit_error *err);

/* The geometry and variant of the kernel's last launch on the device. */
typedef struct ompjit_launch_info {
    size_t size;             /* OMPJIT_LAUNCH_INFO_INIT            */
    uint32_t teams, threads; /* of all dimensions together         */
    int folded_teams, folded_threads; /* 1: compiled in as constants */
    uint32_t folded_args;    /* how many arguments were            */
    uint32_t unused;         /* 0                                  */
} ompjit_launch_info;
#define OMPJIT_LAUNCH_INFO_INIT OMPJIT_SIZED(ompjit_launch_info)

ompjit_status ompjit_kernel_last_launch(ompjit_kernel *kernel,
                                        ompjit_device *dev,
                                        ompjit_launch_info *info,
                                        ompjit_error *err);

/* Whether an argument's value can be compiled into its kernel, or why not. */
typedef enum ompjit_foldable {
    OMPJIT_FOLDABLE = 0,       /* a scalar, complex number or struct of at
                                  most 8 bytes that is passed by value      */
    OMPJIT_FOLDABLE_POINTER,   /* an address; alignment and non-aliasing can
                                  be folded                                 */
    OMPJIT_FOLDABLE_COPY_BACK, /* storage that is mapped from the device: the
                                  kernel may change it                      */
    OMPJIT_FOLDABLE_SECTION,   /* storage of a size known at run time only  */
    OMPJIT_FOLDABLE_TOO_LARGE, /* storage of more than 8 bytes              */
    OMPJIT_FOLDABLE_STORAGE,   /* less, but the kernel is passed its address*/
    OMPJIT_FOLDABLE_TOO_MANY   /* the 65th parameter or a later one         */
} ompjit_foldable;

/* One parameter, and what the automatic policy has seen of its values. */
typedef struct ompjit_param_state {
    size_t size;              /* OMPJIT_PARAM_STATE_INIT                   */
    ompjit_foldable foldable;
    int given_up;             /* 1: AUTO does not fold it any more: it
                                 changed at more than half of 16 or more   */
    char why[128];            /* the same in words                         */
    uint64_t storage;         /* bytes that it is mapped with, where the
                                 program's code says so; 0: not known, or
                                 passed by value                           */
    uint32_t launches;        /* that AUTO found no variant for            */
    uint32_t changes;         /* of these brought another value than the one
                                 before                                    */
} ompjit_param_state;
#define OMPJIT_PARAM_STATE_INIT OMPJIT_SIZED(ompjit_param_state)

ompjit_status ompjit_kernel_param_state(ompjit_kernel *kernel, unsigned i,
                                        ompjit_param_state *state,
                                        ompjit_error *err);

/* The facts about one parameter that a variant has folded. */
typedef struct ompjit_variant_param {
    uint32_t facts;   /* OMPJIT_FOLD_LITERALS, _ALIGNMENT, _NOALIAS, _CONTENTS
                         and _SIZES together: those that are folded         */
    uint32_t unused;  /* 0                                                  */
    uint64_t value;   /* LITERALS: its bytes in the low end                 */
    uint64_t bytes;   /* SIZES: that it points to                           */
} ompjit_variant_param;

/* One loaded variant that a kernel's launches can run. */
typedef struct ompjit_variant_info {
    size_t size;              /* the library's                             */
    ompjit_device *device;
    int generic;              /* 1: made for all values                    */
    uint32_t teams, threads;  /* folded; 0: not                            */
    uint32_t resident_teams;  /* as ompjit_launch has it                   */
    uint32_t unused;          /* 0                                         */
    uint32_t nparams;
    const ompjit_variant_param *params; /* in the kernel's order; valid
                                 during the call                           */
} ompjit_variant_info;

/* Called for a variant. Other than 0 ends the walk. */
typedef int ompjit_variant_fn(void *data, const ompjit_variant_info *info);

/* Calls `fn` for each variant of the kernel there is at this moment, the newest
 * first. */
ompjit_status ompjit_kernel_variants(ompjit_kernel *kernel,
                                     ompjit_variant_fn *fn, void *data,
                                     ompjit_error *err);

/* All of that for a kernel, but for the code, as text: its parameters, its
 * variants and what is tuned. Free with ompjit_bytes_free. */
ompjit_status ompjit_kernel_explain(ompjit_kernel *kernel, char **text,
                                    ompjit_error *err);

/* -------------------------------------------------------------- resources */

/* The resources that a kernel's code takes on an architecture. */
typedef struct ompjit_resources {
    size_t size;            /* OMPJIT_RESOURCES_INIT                        */
    uint32_t registers;
    uint32_t shared_static; /* bytes a team                                 */
    uint32_t local;         /* bytes a thread, stack                        */
    uint32_t spill_stores;  /* bytes; 0 if not known                        */
    uint32_t spill_loads;
    uint32_t constant;      /* bytes of constant banks                      */
    uint32_t max_threads;   /* a team may have; 0: no bound                 */
    uint32_t code;          /* bytes                                        */
    uint32_t instructions;  /* of the machine, padding included on a GPU    */
    uint32_t ptx;           /* instructions of the PTX; 0: for the host, or
                               not known                                    */
} ompjit_resources;
#define OMPJIT_RESOURCES_INIT OMPJIT_SIZED(ompjit_resources)

/* The resources of the generic kernel on a GPU's architecture ("sm_90"), read
 * back from the cubin. */
ompjit_status ompjit_kernel_resources(ompjit_kernel *kernel, const char *arch,
                                      ompjit_resources *res,
                                      ompjit_error *err);

/* Those of the kernel compiled for `arch` ("sm_90", "host") as a launch with
 * these arguments would have it; nothing is loaded. For the host only code,
 * instructions and spills are told. Only what is given is folded: the arguments
 * of `args`, which stand by their names or in the kernel's order and need not
 * be all, and of `launch` (NULL: nothing) teams, threads, fold and
 * resident_teams. A pointer's alignment counts, unless OMPJIT_ARG_VARIES says
 * otherwise. For the host a team has one thread unless launch says otherwise,
 * as the device has it. */
ompjit_status ompjit_kernel_code(ompjit_kernel *kernel, const char *arch,
                                 const ompjit_launch *launch,
                                 const ompjit_arg *args, unsigned nargs,
                                 ompjit_resources *res, ompjit_error *err);

/* The limits of a multiprocessor of an architecture. */
typedef struct ompjit_arch_info {
    size_t size;            /* OMPJIT_ARCH_INFO_INIT                        */
    uint32_t warps, teams;  /* that it runs at the same time                */
    uint32_t threads;       /* in these warps                               */
    uint32_t registers;     /* of 32 bits                                   */
    uint32_t shared;        /* bytes of team-shared memory                  */
    uint32_t team_shared;   /* bytes of it that one team may have           */
    uint32_t team_reserved; /* bytes that CUDA takes of it for each team    */
    uint32_t unused;        /* 0                                            */
} ompjit_arch_info;
#define OMPJIT_ARCH_INFO_INIT OMPJIT_SIZED(ompjit_arch_info)

/* `arch` is a GPU's, "sm_90", or a product, "H100"; also of those that code is
 * made for no more: sm_35, sm_60 and sm_70, "K40", "P100", "V100". TARGET error
 * otherwise. Needs no such device. */
ompjit_status ompjit_arch_info_get(const char *arch, ompjit_arch_info *info,
                                   ompjit_error *err);

/* The limits that keep more teams from a multiprocessor. */
typedef enum ompjit_limit {
    OMPJIT_LIMIT_WARPS = 1,
    OMPJIT_LIMIT_TEAMS = 2,
    OMPJIT_LIMIT_REGISTERS = 4,
    OMPJIT_LIMIT_SHARED = 8 /* team-shared memory */
} ompjit_limit;

typedef struct ompjit_occupancy {
    size_t size;         /* OMPJIT_OCCUPANCY_INIT                           */
    uint32_t teams;      /* that run on a multiprocessor at the same time;
                            0: a team does not fit at all                   */
    uint32_t warps;      /* in them                                         */
    uint32_t most_warps; /* that it could run                               */
    uint32_t limits;     /* OMPJIT_LIMIT_... together                       */
} ompjit_occupancy;
#define OMPJIT_OCCUPANCY_INIT OMPJIT_SIZED(ompjit_occupancy)

/* As cuOccupancyMaxActiveBlocksPerMultiprocessor, of a kernel that uses
 * so much (ompjit_kernel_resources), launched with so many threads a team and
 * bytes of dynamic team-shared memory, where nobody has asked for more cache
 * than that leaves. `arch` as above. Needs no device. */
ompjit_status ompjit_occupancy_get(const char *arch,
                                   const ompjit_resources *use,
                                   uint32_t threads, uint32_t dynamic_shared,
                                   ompjit_occupancy *out, ompjit_error *err);

/* --------------------------------------------------------------- warm-up */

/* A list of variants is text, a line for each:
 *
 *     saxpy_l3 threads=1 teams=8 n=0x400 a=0x40000000 aligned=0xc size:x=0x1000
 *
 * the kernel (its symbol from the function's name on), what is folded, and the
 * arguments' values and sizes by name, or by number where they have none. The
 * line `*`, perhaps with threads=1, is the module's generic code. # begins a
 * comment. Contexts with a `record` file add to it, each line by one write;
 * variants with folded contents and those with a geometry in y or z are left
 * out. */

/* Called for each line that names no variant of the module. */
typedef void ompjit_warm_fn(void *data, unsigned line, const char *why);

/* Has the variants of such a file built for the device in the background, in
 * the file's order. Lines that are wrong, or of other modules, are told to
 * `bad` (which may be NULL) and skipped. *requested (or NULL) receives how many
 * builds were asked for. IO where the file cannot be read, has more than 64 MiB,
 * or is a pipe through which nothing comes for 10 seconds. */
ompjit_status ompjit_module_warm(ompjit_module *mod, ompjit_device *dev,
                                 const char *path, ompjit_warm_fn *bad,
                                 void *data, unsigned *requested,
                                 ompjit_error *err);

/* ---------------------------------------------------------------- tuning */

/* Launches that name neither teams nor threads, in a program whose environment
 * names none, run with the geometry that was found best for this device and
 * size class: tripcounts with the same highest bit. It is kept in the cache
 * beside compiled code, for the same IR and library. */

typedef struct ompjit_region {
    void *device; /* address on the device */
    size_t size;  /* bytes                 */
} ompjit_region;

typedef struct ompjit_geometry {
    uint32_t teams, threads; /* 0: the device's choice */
} ompjit_geometry;

typedef struct ompjit_tune_options {
    size_t size;                 /* OMPJIT_TUNE_OPTIONS_INIT               */
    const ompjit_geometry *tries;/* what to try beside the default; NULL: a
                                    set for the device                     */
    const ompjit_region *saved;  /* what the kernel changes: copied aside, put
                                    back before each run and in the end    */
    unsigned ntries;
    unsigned nsaved;
    unsigned repeats;            /* runs of each, the fastest counts; 0: 3 */
    uint32_t unused;             /* 0                                      */
} ompjit_tune_options;
#define OMPJIT_TUNE_OPTIONS_INIT OMPJIT_SIZED(ompjit_tune_options)

typedef struct ompjit_tuned {
    size_t size;                 /* OMPJIT_TUNED_INIT                      */
    uint32_t teams, threads;     /* to ask for; 0: the device's choice     */
    uint64_t ns;                 /* of the fastest run                     */
    uint64_t default_ns;         /* with the device's choice               */
    uint32_t tried, failed;      /* geometries that ran, and did not; 0 both
                                    where it was found in the cache        */
} ompjit_tuned;
#define OMPJIT_TUNED_INIT OMPJIT_SIZED(ompjit_tuned)

/* Runs the kernel many times, on the arguments given, and remembers the fastest
 * geometry for launches with a tripcount of launch->tripcount's size class (0,
 * not known, is a class of its own). If `launch` names teams or threads, these
 * are not varied and nothing is remembered. A kernel prints, and allocates
 * on the device, at every run. A geometry that cannot be launched is
 * left out; an error is one of the default geometry or of saving data.
 * `options` and `tuned` may be NULL. Nothing else should use the device
 * meanwhile. */
ompjit_status ompjit_kernel_tune(ompjit_kernel *kernel, ompjit_device *dev,
                                 const ompjit_launch *launch,
                                 const ompjit_arg *args, unsigned nargs,
                                 const ompjit_tune_options *options,
                                 ompjit_tuned *tuned, ompjit_error *err);

/* The geometry that is known for a tripcount; NOT_FOUND where none is. */
ompjit_status ompjit_kernel_tuned(ompjit_kernel *kernel, ompjit_device *dev,
                                  uint64_t tripcount, ompjit_tuned *tuned,
                                  ompjit_error *err);

#ifdef __cplusplus
}
#endif
#endif
