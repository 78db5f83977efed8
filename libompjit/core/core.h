/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The objects that stages hand to each other, and the stages' entry points:
 *
 *   source --frontend--> unit --build--> image --device.load--> loaded
 *
 * A unit is a module's checked IR, an image is what one target runs (a cubin or
 * a host object, all the same to everybody but its device), loaded is an image
 * on a device. Units and images do not change once they are made, so any thread
 * reads them without a lock; templates and a CUDA source's PTX, which are added
 * to a unit later, have locks of their own.
 */
#ifndef OMPJIT_CORE_H
#define OMPJIT_CORE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"
#include "base/digest.h"
#include "base/fork.h"
#include "base/pack.h"
#include "core/facts.h"
#include "optimizer/opt.h"
#include "ompjit_tune.h"

/* ------------------------------------------------------------------ unit */

enum ompjit__param_kind {
    OMPJIT__PARAM_POINTER,
    OMPJIT__PARAM_INTEGER,
    OMPJIT__PARAM_FLOAT,
    OMPJIT__PARAM_SCALAR, /* one of these two, or a small structure */
    OMPJIT__PARAM_WORD   /* any of these: machine code does not tell */
};

/* One parameter of a kernel as the application sees it (the launch environment
 * that the ABI puts first is not among them). Filled by frontend/describe/. */
typedef struct ompjit__param {
    char *name;        /* "" if the IR has none                             */
    uint8_t kind;      /* enum ompjit__param_kind                           */
    uint8_t bytes;     /* of the IR parameter: what the kernel ABI passes   */
    uint16_t source_order; /* its place among the parameters as declared    */
    uint32_t size;     /* of the source value; 0: not known                 */
    uint64_t map_type; /* tgt_map_type from the host half; 0: unknown       */
} ompjit__param;

#define OMPJIT__ANY_THREADS UINT32_MAX

/* A kernel as the runtime wing knows it, which reads no IR: what launches ask
 * of it, what they may give it, and what its code does. Filled by
 * frontend/describe/ before the unit's IR is optimized. */
typedef struct ompjit__kernel_desc {
    char *symbol;        /* __omp_offloading_fe00_a7200e_saxpy_l3          */
    char *name;          /* saxpy                                          */
    unsigned line;       /* 3; 0 unknown                                   */
    uint8_t mode;        /* ompjit_mode                                    */
    bool launch_env;     /* the ABI's parameter 0 is the launch environment */
    int32_t min_threads, max_threads; /* of the configuration environment: */
    int32_t min_teams, max_teams;     /* 0 or less: no bound               */
    int32_t reduction_size, reduction_length; /* bytes, records            */
    uint32_t teams;      /* a launch gets unless it asks; 0: any number.
                            A region without a teams construct has 1       */
    bool parallel;       /* has parallel regions and no teams construct    */
    bool free_region;    /* has parallel regions without num_threads       */
    bool observes_threads; /* can get other results from a team of one
                            thread than from others: observe.c        */
    uint32_t num_threads; /* that num_threads clauses ask for at most; 0: it
                            has none; OMPJIT__ANY_THREADS: they are not all
                            constants                                      */
    uint32_t thread_limit; /* threads that a team gets by the construct's
                            clauses; 0: none, or what only a launch knows  */
    uint64_t written;    /* bit i: may write through parameter i; those from
                            the 64th on count as written                   */
    bool writes_loaded;  /* may write through a pointer that it loads from
                            storage of the application's                   */
    ompjit__param *params;
    unsigned nparams;
    bool cuda;           /* of a CUDA source: a launch says its geometry   */
    bool openmp;         /* and it calls the OpenMP runtime, which numbers
                            threads in one dimension                       */
    bool any_params;     /* nobody tells which it has: `params` has none   */
} ompjit__kernel_desc;

/* A `declare target` variable, by the host half's offload entries
 * (abi/offload.h). */
typedef struct ompjit__global_desc {
    char *symbol;
    uint64_t size;  /* bytes; of the requires entry: its clauses (RequiresTy) */
    uint32_t flags; /* enum ompjit__entry_flag                             */
} ompjit__global_desc;

typedef struct ompjit__unit {
    char *name;              /* for messages                               */
    ompjit__buf device_bc;   /* verified bitcode of the inner dialect      */
    ompjit__buf host_bc;     /* size 0: there is no host half              */
    ompjit__kernel_desc *kernels;
    unsigned nkernels;
    ompjit__global_desc *globals;
    unsigned nglobals;
    unsigned opt_level;      /* 0 to 3                                     */
    ompjit__opts opts;       /* of the optimizer of device code            */
    bool from_source;        /* clang made both halves, of one text        */
    bool unread;             /* no worker has read it: it is sent at once  */
    struct ompjit__templates *templates; /* core/template.h              */
    struct ompjit__cuda *cuda; /* a CUDA source (cuda_image.h), or NULL.
                                  device_bc is empty where clang cannot compile
                                  it                                       */
    struct ompjit__prebuilt *prebuilt; /* core/prebuilt.h; device_bc is empty
                                  where there are any                      */
    unsigned nprebuilt;
    uint8_t digest[32];      /* of all that images depend on, but for the
                                CUDA source; by ompjit__unit_seal          */
    uint8_t host_digest[32]; /* of host_bc, by the same                    */
    bool chunk_is_default;   /* no loop asks for schedule(static, 1), so one
                                in the device code is clang's own choice   */
    bool stays_generic;      /* on GPUs: it has variables that images of the
                                unit cannot share there, as they may hold the
                                address of a function of one image         */
    bool own_lines;          /* nobody asked for line tables: they are for
                                messages, and have no place in PTX         */
    ompjit__buf signatures;  /* of its functions (core/signature.h); size 0:
                                nobody asked for them so far               */
    ompjit__buf passing;     /* how they are called (core/signature.h)     */
} ompjit__unit;

/* How a host half is read, together. */
enum ompjit__half_flag {
    OMPJIT__HALF_OWN_LINES = 1,   /* nobody asked for its line information,
                                     which is dropped                       */
    OMPJIT__HALF_ALL_NUMBERS = 2, /* its device half is compiled by
                                     ompjit__early_numbers                  */
    OMPJIT__HALF_SIGNATURES = 4,  /* the unit has the signatures of its
                                     functions                              */
    OMPJIT__HALF_OF_SOURCE = 8    /* clang or flang has made it here        */
};

/* Frees all that hangs from it, and leaves zeros. Nobody else uses it. */
void ompjit__unit_free(ompjit__unit *unit);
/* Is a variable of that name among the unit's globals? */
bool ompjit__unit_has_global(const ompjit__unit *unit, const char *symbol);
/* Fills the unit's digests; false when memory runs out. Once, when nothing of
 * it changes any more. */
bool ompjit__unit_seal(ompjit__unit *unit);
/* unit_pack.c: as bytes, without templates, CUDA source, from_source,
 * unread and own_lines, which whoever reads it sets. `out` is set on success only. */
void ompjit__unit_pack(const ompjit__unit *unit, ompjit__buf *out);
bool ompjit__unit_unpack(ompjit__reader *r, ompjit__unit *out);
/* A digest that no unit shares which would give other images, host halves or
 * messages; all 0 when memory runs out. Line tables do not count. */
void ompjit__unit_identity(const ompjit__unit *unit,
                           uint8_t out[OMPJIT__DIGEST]);

/* ---------------------------------------------------------- front ends */

typedef struct ompjit__frontend ompjit__frontend;

/* ------------------------------------------------------ specialization */

/* Bytes of which a pointer is a multiple where the fact `aligned` says so: a
 * cache line, and the longest vector (AVX-512). */
enum { OMPJIT__ALIGNMENT = 64 };

/* The runtime's function that a CUDA kernel which calls it begins with. */
#define OMPJIT__CUDA_BEGIN "ompjit_cuda_begin"

/* The facts that a build depends on beside the unit and the target.
 * Zero-initialised: nothing is folded. */
typedef struct ompjit__spec {
    const char *kernel;     /* symbol of the one kernel to keep; NULL: all  */
    ompjit__facts facts;    /* of that kernel                               */
    uint32_t ptx;           /* the newest version that the driver reads, in
                               tenths; 0: there is no driver to ask         */
    bool import_globals;    /* mutable variables are another image's        */
    bool keeps_environments; /* of kernels: somebody else will launch the
                               image, and reads there how                   */
    const struct ompjit__spec *next; /* of the build that will most likely be
                               asked for behind this one, of the same unit and
                               target; NULL: none. No part of the packed form */
} ompjit__spec;

/* spec_pack.c. An unpacked one has its own arrays, which spec_free frees; what
 * its contents point to stays in the bytes that were read. */
void ompjit__spec_pack(const ompjit__spec *spec, ompjit__buf *out);
bool ompjit__spec_unpack(ompjit__reader *r, ompjit__spec *out);
void ompjit__spec_free(ompjit__spec *spec);

/* A symbol's definition by its address in this process. */
typedef struct ompjit__absolute {
    const char *name;
    void *address;
} ompjit__absolute;

/* ----------------------------------------------------------------- image */

enum ompjit__image_kind {
    OMPJIT__IMAGE_CUBIN,
    OMPJIT__IMAGE_PTX,   /* for the driver's own compiler */
    OMPJIT__IMAGE_OBJECT, /* a relocatable host object    */
    OMPJIT__IMAGE_LIBRARY /* a shared host library        */
};

/* The resources of one kernel in an image. For host objects only the shared
 * sizes are filled. */
typedef struct ompjit__usage {
    char *symbol;
    ompjit_resources res;
} ompjit__usage;

typedef struct ompjit__variable {
    char *name;
    uint64_t size; /* bytes */
} ompjit__variable;

/* Symbols that the back end makes in an image for its device to find: the table
 * of imported variables' addresses on a GPU (passes/import.cc), and the kernel
 * that runs constructors. */
#define OMPJIT__IMPORTS "ompjit_imports"
#define OMPJIT__CONSTRUCTORS "ompjit_constructors"

typedef struct ompjit__image {
    enum ompjit__image_kind kind;
    ompjit__buf bytes;
    ompjit__buf ptx;       /* CUBIN: the text it came from, which a driver
                              takes that refuses the cubin                 */
    ompjit__usage *usage;  /* one for each kernel that the image has       */
    unsigned nusage;
    ompjit__variable *globals; /* variables that it exports, or,          */
    unsigned nglobals;         /* where imports_globals, imports: CUBIN and
                                  PTX by the table OMPJIT__IMPORTS, which has
                                  their addresses in this order            */
    bool imports_globals;
    bool constructors; /* has the kernel OMPJIT__CONSTRUCTORS, which whoever
                          loads it runs                                 */
    bool environment; /* reads OMPJIT__DEVICE_ENVIRONMENT, which whoever
                         loads it fills                                 */
    bool lines; /* somebody asked for line tables: debuggers are told      */
    ompjit__buf modes; /* CUBIN, PTX: a byte for each of the unit's kernels, the
                          ompjit_mode that openmp-opt has left it in    */
    ompjit__buf remarks; /* optimizer/remark.h, each once                        */
    char arch[32]; /* a name of arch.def */
} ompjit__image;

/* Accepts NULL and zeros; leaves zeros. */
void ompjit__image_free(ompjit__image *image);
/* image_pack.c; `out` is set on success only */
void ompjit__image_pack(const ompjit__image *image, ompjit__buf *out);
bool ompjit__image_unpack(ompjit__reader *r, ompjit__image *out);

/* -------------------------------------------------------------- compiler */

/* The compiler's part of a context: its settings, where its messages and times
 * go, and what it keeps between calls. Reports may come from any thread that
 * calls it. */
typedef struct ompjit__compiler {
    unsigned llvm_limit_ms; /* for a stage in this process; 0: any time   */
    unsigned worker_limit_ms; /* the same in a worker                     */
    uint64_t memory_limit; /* bytes, a worker's; 0: any                   */
    bool in_process;     /* no worker is asked                            */
    atomic_uint cancels; /* how often what is compiled has been cancelled */
    ompjit_assembler assembler;
    bool checks;         /* host kernels are instrumented                 */
    bool cancellation;   /* what device code cancels is cancelled         */
    bool explains;       /* the log says why data is copied               */
    ompjit_log_fn *log;  /* NULL: none                                    */
    void *log_data;
    void (*stage_done)(void *data, ompjit_stage stage, uint64_t start,
                       uint64_t end);
    void *stage_data;
    pthread_mutex_t machines_lock;
    struct ompjit__machine *machines; /* idle ones, under machines_lock;
                                         NULL in the runtime wing:
                                         backend/machine.c                */
} ompjit__compiler;

/* A message of any length, to the compiler's log, if there is one. */
void ompjit__report(const ompjit__compiler *compiler, const char *format, ...)
    OMPJIT__PRINTF(2, 3);
/* ompjit__fail for another tool's words: where they are longer than an error
 * can be, the log gets all of them, and the text ends by saying so. compiler
 * NULL: no log. */
ompjit_status ompjit__fail_reported(const ompjit__compiler *compiler,
                                    ompjit_error *err, ompjit_status status,
                                    ompjit_stage stage, const char *format,
                                    ...) OMPJIT__PRINTF(5, 6);
/* Adds now-start to a stage. */
void ompjit__report_stage(const ompjit__compiler *compiler, ompjit_stage stage,
                          uint64_t start);

/* --------------------------------------------------------------- context */

/* The settings, which api/context.c makes and which do not change afterwards
 * but where a comment says so, and what is made when it is first needed. It is
 * here and not in context/ because every room of the runtime wing hangs state
 * from it or reads settings; the compiler wing sees only `compiler`. */
struct ompjit_context {
    pthread_mutex_t lock;      /* devices, frontend, clang, host_memory    */
    ompjit__fork_lock at_fork;
    char *devices_option;      /* as the user wrote it; NULL: auto         */
    char *clang;               /* NULL until first needed, then a path     */
    unsigned clang_limit_ms;   /* of one run                               */
    ompjit_host_memory host_memory; /* not DEFAULT. A checked program that
                                  requires unified memory changes it, under
                                  the lock (device/check/report.c)         */
    struct ompjit__check *check; /* device/check/check.h; NULL: none are made */
    bool profile;              /* launches are timed                       */
    bool watched, ranges;      /* spans are asked for: at all, by NVTX     */
    struct ompjit__profile *spans; /* context/profile.h; NULL: none are kept  */
    char *profile_to;          /* where to in the end: "1" is the log; NULL:
                                  nowhere                                  */
    ompjit_specialize specialize; /* never DEFAULT                         */
    unsigned sightings;        /* AUTO: launches before a variant is built */
    uint64_t device_heap, device_stack; /* bytes; 0: the driver's choice    */
    size_t staging;            /* bytes that one long copy of pageable memory
                                  goes through; 0: the driver's            */
    unsigned max_variants;     /* of a kernel on a device; UINT_MAX: any   */
    bool explain;              /* modules say what became of them          */
    const char *link_advice;   /* loader/jit.h; NULL: that to programs     */
    bool tune;                 /* target constructs try geometries         */
    ompjit__opts opts;         /* of modules that do not say               */
    char *record;              /* file for a list of variants; NULL: none  */
    bool keeps_signals; /* the library installs no signal handler */
    uint32_t run_limit_ms; /* of launches that do not say; 0: any time */
    ompjit_log_fn *log;        /* NULL: none; called by any thread         */
    void *log_data;

    const struct ompjit__device_registry *device_registry; /* kinds there are */
    ompjit_device **devices;   /* set once, under lock                     */
    unsigned ndevices;
    atomic_bool serves_executable; /* the process's own has registered images */
    atomic_bool hands_out_functions; /* of host halves: others than main */
    atomic_bool told_of_guess; /* mapping/strided.c                        */
    atomic_bool devices_known; /* set last: then devices and ndevices stay, and
                                  are read without the lock                */

    ompjit__frontend *frontend; /* NULL until first needed                 */
    struct ompjit__cache *cache; /* NULL: off                              */
    ompjit__compiler compiler;
    struct ompjit__tgt *tgt;    /* state of the served programs            */
    _Atomic uint64_t requires;  /* by them: enum ompjit__requires_flag     */
    _Atomic uint32_t info;      /* told of them: enum ompjit__info_flag    */
    struct ompjit__background *background; /* context/background.c        */

    _Atomic uint64_t stage_ns[OMPJIT_STAGE_COUNT]; /* of all threads       */
    _Atomic uint64_t stage_count[OMPJIT_STAGE_COUNT];
};

/* A message of any length, to the context's log, if there is one. Any thread;
 * not under a lock that the application's function may need. */
void ompjit__log(ompjit_context *ctx, const char *format, ...)
    OMPJIT__PRINTF(2, 3);
/* ompjit__fail for what another tool said: where that is longer than an error
 * can be, the log gets all of it, and the text ends by saying so. ctx NULL: no
 * log. */
ompjit_status ompjit__fail_logged(ompjit_context *ctx, ompjit_error *err,
                                  ompjit_status status, ompjit_stage stage,
                                  const char *format, ...)
    OMPJIT__PRINTF(5, 6);
/* A message that was asked for: to the log, or to stderr where there is
 * none. */
void ompjit__tell(ompjit_context *ctx, const char *message);
void ompjit__log_stderr(void *data, const char *message); /* a log */
/* Adds end-start (nanoseconds of ompjit__now) to a stage, and a span to the
 * profile. For stage_done now is the end. */
void ompjit__stage_was(ompjit_context *ctx, ompjit_stage stage, uint64_t start,
                       uint64_t end);
void ompjit__stage_done(ompjit_context *ctx, ompjit_stage stage,
                        uint64_t start);
/* Ends clang's processes that wait for a source, and frees; accepts NULL.
 * frontend/clang/front_end.c */
void ompjit__frontend_free(ompjit__frontend *frontend);

#endif
