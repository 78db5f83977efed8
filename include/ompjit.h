/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit.h - compile and run OpenMP target regions at run time.
 *
 * An application hands the library C with OpenMP pragmas, LLVM IR or bitcode;
 * the library compiles it for a device (this machine's CPU, or an NVIDIA GPU)
 * and runs it there.
 *
 * Conventions, true of every function unless its comment says otherwise:
 *  - A function that can fail returns an ompjit_status: 0 on success, negative
 *    on failure. Results are stored through the last parameters before `err`,
 *    and only on success.
 *  - INVALID is returned where an object, a text or a place for a result is NULL
 *    and the function's comment does not allow that, where an enumeration has
 *    no such value, and where objects of two contexts meet in one call. Of the
 *    functions without a status, those that fill a struct then fill it with 0,
 *    those that return something return 0 or NULL, and the rest do nothing.
 *  - `err` may be NULL. If it is not, a failure fills it: the status, the stage
 *    that failed and a text that names the object, the cause, and what the
 *    compiler, assembler or driver said. Success leaves it alone.
 *  - Strings and arrays passed in are copied; the caller keeps its own.
 *  - Any thread may call any function on any object, also at the same time as
 *    others, but nobody may use an object while another thread destroys it.
 *  - The library never aborts, exits only where after_failure in
 *    ompjit_context_options says so, and prints only what the environment
 *    asks for (OMPJIT_LOG, OMPJIT_PROFILE and the like) and what kernels print.
 *    It changes neither the locale nor the working directory, and of signal
 *    handlers only those that keep_signals in ompjit_context_options says.
 */
#ifndef OMPJIT_H
#define OMPJIT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OMPJIT_VERSION_MAJOR 0
#define OMPJIT_VERSION_MINOR 1
#define OMPJIT_VERSION_PATCH 0

/* The library's version as text, "0.1.0". Never freed. */
const char *ompjit_version(void);

/* ---------------------------------------------------------------- errors */

typedef enum ompjit_status {
    OMPJIT_OK = 0,
    OMPJIT_ERR_INVALID = -1,     /* an argument is out of its domain        */
    OMPJIT_ERR_NO_MEMORY = -2,   /* host or device memory ran out           */
    OMPJIT_ERR_SOURCE = -3,      /* source that does not compile            */
    OMPJIT_ERR_IR = -4,          /* IR that does not parse, verify or fit   */
    OMPJIT_ERR_ABI = -5,         /* a use of the runtime against its ABI    */
    OMPJIT_ERR_NOT_FOUND = -6,   /* no such kernel, function, row or device */
    OMPJIT_ERR_ARGUMENT = -7,    /* kernel arguments that do not fit        */
    OMPJIT_ERR_GEOMETRY = -8,    /* a launch the kernel or device can't do  */
    OMPJIT_ERR_TARGET = -9,      /* unknown architecture                    */
    OMPJIT_ERR_COMPILE = -10,    /* the back end failed                     */
    OMPJIT_ERR_ASSEMBLE = -11,   /* PTX that became no cubin                */
    OMPJIT_ERR_LINK = -12,       /* undefined symbols                       */
    OMPJIT_ERR_UNAVAILABLE = -13,/* a tool or library that is not there     */
    OMPJIT_ERR_DRIVER = -14,     /* the CUDA driver refused                 */
    OMPJIT_ERR_MAPPING = -15,    /* data mapping that cannot be done        */
    OMPJIT_ERR_DEVICE = -16,     /* the kernel, or a constructor of the host's
                                    half, failed while running              */
    OMPJIT_ERR_TIMEOUT = -17,    /* a time limit passed                     */
    OMPJIT_ERR_IO = -18,         /* a file that cannot be read or written   */
    OMPJIT_ERR_INTERNAL = -19,   /* a defect of this library                */
    OMPJIT_ERR_ABORTED = -20     /* a launch that was aborted               */
} ompjit_status;

/* The stage of the pipeline at which something happened. */
typedef enum ompjit_stage {
    OMPJIT_STAGE_API = 0,    /* arguments of a call                     */
    OMPJIT_STAGE_FRONTEND,   /* C to IR, in clang's process             */
    OMPJIT_STAGE_READ,       /* IR or bitcode read, upgraded, checked   */
    OMPJIT_STAGE_SPECIALIZE, /* literals and geometry folded            */
    OMPJIT_STAGE_LINK,       /* runtime linked in                       */
    OMPJIT_STAGE_OPTIMIZE,   /* LLVM's passes                           */
    OMPJIT_STAGE_CODEGEN,    /* IR to PTX or to a host object           */
    OMPJIT_STAGE_ASSEMBLE,   /* PTX to cubin                            */
    OMPJIT_STAGE_LOAD,       /* image onto the device                   */
    OMPJIT_STAGE_MAP,        /* data mapping                            */
    OMPJIT_STAGE_LAUNCH,     /* kernel launch and run                   */
    OMPJIT_STAGE_CACHE,      /* compiled code looked up and stored      */
    OMPJIT_STAGE_COUNT
} ompjit_stage;

#define OMPJIT_ERROR_TEXT 4096

/* The description of a failure. The caller owns it; needs no initialisation.
 * `text` always ends in NUL and is cut, with "...", where it is too long; of an
 * assembler's or the driver's words it then ends by saying that all of them
 * went to the context's log. */
typedef struct ompjit_error {
    ompjit_status status;
    ompjit_stage stage;
    char text[OMPJIT_ERROR_TEXT];
} ompjit_error;

/* Names of a status ("no such object") and a stage ("front end"). Never NULL,
 * never freed. */
const char *ompjit_status_name(ompjit_status status);
const char *ompjit_stage_name(ompjit_stage stage);

/* --------------------------------------------------------------- context */

/* Everything hangs from a context: devices, modules, settings. A process may
 * have several. */
typedef struct ompjit_context ompjit_context;
typedef struct ompjit_device ompjit_device;
typedef struct ompjit_module ompjit_module;
typedef struct ompjit_kernel ompjit_kernel;
typedef struct ompjit_queue ompjit_queue;
typedef struct ompjit_graph ompjit_graph;
typedef struct ompjit_event ompjit_event;

/* Receives one message without a final newline; `data` is log_data below. Any
 * thread may call it. */
typedef void ompjit_log_fn(void *data, const char *message);

/* Which assembler turns PTX into a cubin. */
typedef enum ompjit_assembler {
    OMPJIT_ASSEMBLER_AUTO = 0, /* the first that is there, in this order */
    OMPJIT_ASSEMBLER_NVJITLINK,
    OMPJIT_ASSEMBLER_PTXAS,
    OMPJIT_ASSEMBLER_DRIVER /* hand PTX to the driver */
} ompjit_assembler;

/* How the host device keeps mapped data. */
typedef enum ompjit_host_memory {
    OMPJIT_HOST_MEMORY_DEFAULT = 0, /* OMPJIT_HOST_MEMORY, else shared      */
    OMPJIT_HOST_MEMORY_SHARED,      /* mapped data is the original: no copy */
    OMPJIT_HOST_MEMORY_SEPARATE,    /* own storage and copies, as a GPU has */
    OMPJIT_HOST_MEMORY_AUTO         /* separate, but data stays where it is if
                                       no program can tell: what a target
                                       construct alone maps from or tofrom, or
                                       only reads, and data regions of which
                                       the host half shows it */
} ompjit_host_memory;

/* When the values of a launch are compiled into its kernel. */
typedef enum ompjit_specialize {
    OMPJIT_SPECIALIZE_DEFAULT = 0, /* a launch's: the context's. A context's:
                                      OMPJIT_SPECIALIZE=off|auto|now, else off */
    OMPJIT_SPECIALIZE_NOW,  /* before it runs, once for each set of values  */
    OMPJIT_SPECIALIZE_AUTO, /* in the background, for values that come back;
                               the generic kernel runs meanwhile. Arguments
                               that keep changing are left alone            */
    OMPJIT_SPECIALIZE_OFF   /* never: one kernel for all values             */
} ompjit_specialize;

/* Told of a target construct that failed inside a function of
 * ompjit_module_function, which has no way to return an error. Any thread may
 * call it. It may end the process or jump out; if it returns, after_failure says
 * what follows. */
typedef void ompjit_failure_fn(void *data, const ompjit_error *err);

/* The program's course after a target construct of such a function has failed
 * and on_failure, if there is one, has returned. */
typedef enum ompjit_after_failure {
    OMPJIT_AFTER_FAILURE_DEFAULT = 0, /* END where OMP_TARGET_OFFLOAD is
                                         mandatory and there is no on_failure;
                                         else KEEP                          */
    OMPJIT_AFTER_FAILURE_KEEP, /* the failure is kept for
                                  ompjit_context_failure, and the function goes
                                  on. A target region whose kernel has begun is
                                  over; one whose kernel could not begin runs
                                  on the host instead, unless the device was
                                  lost to a kernel before or
                                  OMP_TARGET_OFFLOAD is mandatory           */
    OMPJIT_AFTER_FAILURE_END   /* the error's text goes to stderr, and the
                                  process exits with status 1, without exit
                                  handlers                                  */
} ompjit_after_failure;

/* A fault of a checked kernel. */
typedef enum ompjit_check_kind {
    OMPJIT_CHECK_BOUNDS = 1, /* beside a mapped section, a variable or an
                                allocation                               */
    OMPJIT_CHECK_UNMAPPED,   /* memory that the device does not have     */
    OMPJIT_CHECK_NULL,       /* at or near a null pointer                */
    OMPJIT_CHECK_FREED,      /* device memory whose mapping or allocation
                                has ended                                */
    OMPJIT_CHECK_UNINITIALIZED, /* device memory that neither a map nor a
                                kernel has written is read, or a variable
                                that the team shares and none of it has
                                written                                  */
    OMPJIT_CHECK_RACE,       /* two threads of a team, at least one of them
                                writing, nothing that orders them        */
    OMPJIT_CHECK_LOST        /* a warning, when a mapping ends: a kernel has
                                written what is mapped only `to`, and
                                nothing has copied it back               */
} ompjit_check_kind;

/* One access of device code. `file` and `function` are never NULL; `file` is
 * "" and the numbers 0 where the code has no debug information. */
typedef struct ompjit_check_access {
    const char *file, *function;
    uint32_t line, column;
    uint32_t thread;         /* in the team                               */
    int write;               /* 1: written, 0: read                       */
    uint64_t size;           /* bytes                                     */
} ompjit_check_access;

typedef struct ompjit_check_report {
    ompjit_check_kind kind;
    const char *text;        /* all of it for people, lines without a last
                                newline                                   */
    const char *kernel;      /* the function that the region stands in    */
    uint32_t kernel_line;    /* of the region; 0: unknown                 */
    uint32_t team;
    ompjit_check_access access;
    ompjit_check_access other; /* RACE: the earlier one; else all zero    */
} ompjit_check_report;

/* Told of each error that a checked kernel makes, once for each place in the
 * source, while the kernel runs (LOST: when the mapping ends). One call at a time, from any thread; the
 * report is valid during the call. It must not call the library with objects of
 * the context. */
typedef void ompjit_check_fn(void *data, const ompjit_check_report *report);
/* The place of compiled code (see "cache" below). */
typedef enum ompjit_cache_mode {
    OMPJIT_CACHE_DEFAULT = 0, /* OMPJIT_CACHE, else on disk                */
    OMPJIT_CACHE_OFF,         /* nowhere: always compile                   */
    OMPJIT_CACHE_MEMORY,      /* in the context and the callbacks only     */
    OMPJIT_CACHE_DISK
} ompjit_cache_mode;

/* An application's own cache. `get` is asked for an entry that the context does
 * not have in memory, and calls give(to, bytes, size) once where it has it; the
 * bytes are copied and checked. `put` is told each new entry; `bytes` are valid
 * during the call. Any thread may call them, several at the same time; they
 * must not use the context. */
typedef void ompjit_cache_give_fn(void *to, const void *bytes, size_t size);
typedef void ompjit_cache_get_fn(void *data, const unsigned char key[32],
                                 ompjit_cache_give_fn *give, void *to);
typedef void ompjit_cache_put_fn(void *data, const unsigned char key[32],
                                 const void *bytes, size_t size);

typedef struct ompjit_context_options {
    size_t size;             /* sizeof(ompjit_context_options)             */
    const char *devices;     /* "host", "cuda", "cuda:1", "auto"; NULL:
                                OMPJIT_DEVICE, else "auto": every GPU
                                there is, else the host                    */
    const char *clang;       /* path of clang 22; NULL: OMPJIT_CLANG, else
                                the one found by configure, else PATH      */
    unsigned time_limit;     /* seconds that a run of clang may take, and
                                LLVM's work for one image or host half, and
                                ptxas's; 0: 60, and any time for LLVM and
                                ptxas, as where keep_signals is set. NVRTC
                                and nvJitLink work in this process, and
                                nothing can stop them                      */
    ompjit_assembler assembler; /* AUTO: OMPJIT_ASSEMBLER, else the order  */
    ompjit_host_memory host_memory;
    ompjit_log_fn *log;      /* NULL: silent, or stderr where OMPJIT_LOG=1 */
    void *log_data;
    ompjit_failure_fn *on_failure; /* NULL: see ompjit_context_failure     */
    void *on_failure_data;
    int profile;             /* 1: launches are timed too, and what was done
                                is kept (ompjit_context_profile); 0: only
                                where OMPJIT_PROFILE is set. OMPJIT_PROFILE=1
                                tells it to the log, or to stderr where there
                                is none, when the context is destroyed; another
                                value is a file for the trace              */
    ompjit_specialize specialize; /* for launches that do not say          */
    unsigned sightings;      /* AUTO: launches with the same values before a
                                variant is built for them; 0: 3            */
    unsigned max_variants;   /* specialized variants that a kernel keeps on
                                a device, the least recently used is
                                unloaded for another; 0: 64                */
    int check;               /* 1: kernels run on the host device, in memory
                                of its own, and what they do wrong is
                                reported; what access was wrong is left out,
                                reads give 0. Slow. 0: nothing is checked  */
    ompjit_check_fn *on_report; /* NULL: reports go to the log            */
    void *on_report_data;
    ompjit_cache_mode cache;
    const char *cache_dir;   /* NULL: OMPJIT_CACHE_DIR, else ompjit in
                                XDG_CACHE_HOME or ~/.cache                 */
    uint64_t cache_size;     /* bytes on disk; 0: OMPJIT_CACHE_SIZE, else
                                1 GiB                                      */
    ompjit_cache_get_fn *cache_get; /* NULL: none                          */
    ompjit_cache_put_fn *cache_put;
    void *cache_data;        /* for both                                   */
    const char *record;      /* file to which a line is added for each variant
                                that is built (see "warm-up" below); NULL:
                                OMPJIT_RECORD, else none                   */
    int explain;             /* 1: what became of a module's variants is told
                                to the log, or to stderr where there is none,
                                when the module is destroyed; 0: only where
                                OMPJIT_EXPLAIN=1                           */
    int tune;                /* 1: a target region whose geometry is free is
                                tuned when it first runs with a size class
                                (see "tuning" below); 0: only where
                                OMPJIT_TUNE=1                              */
    int keep_signals;        /* not 0: a kernel's fault on the host device is
                                the process's, and no launch there can be
                                aborted or limited in time. Else, unless
                                OMPJIT_SIGNALS=0, handlers of SIGSEGV, SIGBUS,
                                SIGFPE, SIGILL, SIGTRAP and SIGABRT are
                                installed when the first kernel is loaded
                                there, and removed with the context, and also
                                while constructors and destructors of a module
                                run, and while LLVM works under a time_limit;
                                what is not a kernel's fault goes to the
                                handler that was there before. These signals
                                are unblocked in the threads that run kernels */
    uint64_t device_heap;    /* bytes that malloc in kernels has on each GPU;
                                0: OMPJIT_DEVICE_HEAP, else the driver's
                                choice. Of the GPU's primary context, which
                                the application may share                  */
    uint64_t device_stack;   /* bytes of stack of each GPU thread; 0:
                                OMPJIT_DEVICE_STACK, else the driver's     */
    ompjit_after_failure after_failure;
    uint32_t run_limit_ms;   /* of launches that do not say                */
} ompjit_context_options;
#define OMPJIT_CONTEXT_OPTIONS_INIT { .size = sizeof(ompjit_context_options) }

/* Makes a context. No GPU, process, file or thread is touched before it is
 * needed. `options` may be NULL: all defaults. Destroy the context last, after
 * its modules; its devices end with it. */
ompjit_status ompjit_context_create(const ompjit_context_options *options,
                                    ompjit_context **ctx, ompjit_error *err);
/* A process may exit with contexts that are not destroyed: exit waits for the
 * variant that is being built in the background (10 seconds at most) and begins
 * no other. A program should destroy its contexts all the same where a thread
 * other than the main one calls exit: of a process's very first compile exit may
 * be too late to wait. */
void ompjit_context_destroy(ompjit_context *ctx);

/* The first failure of a target construct in a module's functions since the last
 * call, as on_failure gets it: returns its status, fills *err, and forgets it.
 * OMPJIT_OK: none. */
ompjit_status ompjit_context_failure(ompjit_context *ctx, ompjit_error *err);

/* Nanoseconds that each stage took in this context so far, all threads
 * together, and how often it ran. Launches are counted where the context has
 * `profile` set. */
typedef struct ompjit_times {
    uint64_t ns[OMPJIT_STAGE_COUNT];
    uint64_t count[OMPJIT_STAGE_COUNT];
} ompjit_times;
void ompjit_context_times(ompjit_context *ctx, ompjit_times *times);

typedef enum ompjit_profile_format {
    OMPJIT_PROFILE_TABLE = 0, /* what there was, how often and how long      */
    OMPJIT_PROFILE_TRACE      /* each time, as JSON for Chrome's tracing page
                                 and Perfetto                                */
} ompjit_profile_format;

/* What a context with `profile` did so far: each stage of its compiles, launch,
 * copy and fill, by the host's clock. A launch ends when it was waited for; a
 * bound launch in a queue is only seen to be put there ("submit"), and a copy
 * in a queue likewise. A launch that a GPU records for a graph is none. Of a
 * GPU its own times are there too ("kernel", "transfer", and "graph" for each
 * run of what was recorded, by its last kernel's name), in a trace on a track
 * for each queue: this waits for what they are of. Of more than a million
 * events the trace has the first.
 * `text` ends in NUL, not counted in *size (which may be NULL); free it with
 * ompjit_bytes_free. UNAVAILABLE where the context is not profiled.
 *
 * In an application that Nsight Systems runs, or that has loaded libnvToolsExt,
 * launches and copies are NVTX ranges too, whatever `profile` says. */
ompjit_status ompjit_context_profile(ompjit_context *ctx,
                                     ompjit_profile_format format, char **text,
                                     size_t *size, ompjit_error *err);

/* ---------------------------------------------------------------- devices */

typedef enum ompjit_device_kind {
    OMPJIT_DEVICE_HOST = 0,
    OMPJIT_DEVICE_CUDA = 1
} ompjit_device_kind;

typedef struct ompjit_device_info {
    ompjit_device_kind kind;
    char name[128];          /* "NVIDIA H200", or the CPU's name           */
    char arch[32];           /* "sm_90", or the CPU LLVM compiles for      */
    uint64_t memory;         /* bytes                                      */
    uint32_t multiprocessors;/* or cores that kernels use                  */
    uint32_t max_threads;    /* a team may have                            */
    uint32_t max_shared;     /* bytes of static team-shared memory         */
    uint32_t warp_size;      /* 32                                         */
    uint32_t driver_version; /* CUDA's, 13000 for 13.0; 0 on the host      */
} ompjit_device_info;

/* How many devices the context has, as omp_get_num_devices counts. Looks for
 * GPUs on the first call. */
ompjit_status ompjit_context_device_count(ompjit_context *ctx, unsigned *count,
                                          ompjit_error *err);

/* The device of that number, 0 to count-1. The context owns it. */
ompjit_status ompjit_context_device(ompjit_context *ctx, unsigned number,
                                    ompjit_device **dev, ompjit_error *err);
ompjit_status ompjit_device_info_get(ompjit_device *dev,
                                     ompjit_device_info *info,
                                     ompjit_error *err);

/* Memory of a device, by bytes. Device memory of the host device is ordinary
 * memory. Copies return when they are done. `free` accepts NULL; memory that the
 * device has not given by `alloc` or omp_target_alloc, or that was freed before,
 * is INVALID. */
ompjit_status ompjit_device_alloc(ompjit_device *dev, size_t size, void **ptr,
                                  ompjit_error *err);
ompjit_status ompjit_device_free(ompjit_device *dev, void *ptr,
                                 ompjit_error *err);
ompjit_status ompjit_device_upload(ompjit_device *dev, void *device_dst,
                                   const void *host_src, size_t size,
                                   ompjit_error *err);
ompjit_status ompjit_device_download(ompjit_device *dev, void *host_dst,
                                     const void *device_src, size_t size,
                                     ompjit_error *err);

/* Where host memory lies on the device that a target construct of a module's
 * function, or omp_target_associate_ptr, has mapped: a pointer for launches,
 * valid as long as the mapping. NOT_FOUND where nothing has. */
ompjit_status ompjit_device_mapped(ompjit_device *dev, const void *host,
                                   void **ptr, ompjit_error *err);

/* ---------------------------------------------------------------- modules */

/* The compiler of CUDA C++ for a GPU. For the host device clang does. */
typedef enum ompjit_cuda_compiler {
    OMPJIT_CUDA_COMPILER_AUTO = 0, /* NVRTC where it is there and its PTX is
                                      not too new for the driver, else clang */
    OMPJIT_CUDA_COMPILER_NVRTC,    /* NVRTC or nobody                     */
    OMPJIT_CUDA_COMPILER_CLANG
} ompjit_cuda_compiler;

typedef struct ompjit_module_options {
    size_t size;              /* sizeof(ompjit_module_options)            */
    const char *name;         /* file name in diagnostics; NULL: "snippet.c"
                                 (CUDA: "snippet.cu"). A .cc, .cpp, .cxx or
                                 .C file is C++                           */
    const char *const *flags; /* -I -D -U -include -f... as clang's, each
                                 its own string; NULL: none. -g: line
                                 tables in PTX and cubins                 */
    unsigned nflags;
    unsigned openmp_version;  /* as -fopenmp-version: 45 to 60; 0: 51     */
    unsigned opt_level;       /* 1 to 4 for -O0 to -O3; 0: -O3            */
    ompjit_cuda_compiler cuda_compiler; /* of ompjit_module_from_cuda     */
} ompjit_module_options;
#define OMPJIT_MODULE_OPTIONS_INIT { .size = sizeof(ompjit_module_options) }

/* C or C++ text with OpenMP pragmas: a snippet or a whole file. Runs clang in
 * its own process. OMPJIT_ERR_SOURCE carries clang's diagnostics, with line
 * and column. `options` may be NULL. */
ompjit_status ompjit_module_from_c(ompjit_context *ctx, const char *source,
                                   const ompjit_module_options *options,
                                   ompjit_module **mod, ompjit_error *err);

/* CUDA C++: a snippet of `__global__` kernels and what they call, without a
 * `main` and without <<<>>>. Kernels are launched by ompjit_kernel_launch,
 * which says their geometry in up to three dimensions; parameters are pointers
 * and numbers. For a GPU the source is compiled by NVIDIA's NVRTC where that is
 * there, and for the host device, which runs the same kernels, by clang with a
 * header of the library's own: no CUDA toolkit is needed. A source that only
 * one of the two can compile makes a module for that one's devices.
 *
 * Without being included there are: what CUDA itself has, the device functions
 * of the OpenMP runtime table (omp_get_thread_num, __kmpc_barrier, ...), and
 *   OMPJIT_KERNEL(name)    extern "C" __global__ void name, as a symbol
 *   OMPJIT_FOR_ALL(i, n)   for every long long i of 0 to n - 1, shared by the
 *                          launch's threads (in x)
 * To the runtime a CUDA kernel is a parallel region of all threads of a block;
 * one that calls it must be launched in one dimension.
 *
 * Of the flags clang gets all; NVRTC gets -I -D -U -include -std= -g and
 * -ffast-math. `openmp_version` has no meaning. OMPJIT_ERR_SOURCE carries
 * NVRTC's or clang's diagnostics, with file and line, OMPJIT_ERR_UNAVAILABLE
 * says that neither is there. It is a launch's error where NVRTC is asked for,
 * the driver has to compile its PTX, and is older. `options` may be NULL. The
 * module is used and destroyed as any other; it has no functions for
 * ompjit_module_function. */
ompjit_status ompjit_module_from_cuda(ompjit_context *ctx, const char *source,
                                      const ompjit_module_options *options,
                                      ompjit_module **mod, ompjit_error *err);

/* Device IR as clang 18 to 22 makes it for nvptx64 from OpenMP target regions:
 * text (ends in NUL not needed) or bitcode. It is upgraded to LLVM 22's
 * dialect, verified, and its kernels, the runtime functions in it and what is
 * handed to them are checked: IR and ABI errors name all that is wrong, each
 * with the source line, or the instruction or global of the IR. `host` may hold
 * the host's half of the same program, or be NULL with size 0. */
ompjit_status ompjit_module_from_ir(ompjit_context *ctx, const void *device,
                                    size_t device_size, const void *host,
                                    size_t host_size,
                                    const ompjit_module_options *options,
                                    ompjit_module **mod, ompjit_error *err);
void ompjit_module_destroy(ompjit_module *mod);

/* The formats of a module. */
typedef enum ompjit_format {
    OMPJIT_FORMAT_LL = 0, /* device IR as text, before the runtime is linked */
    OMPJIT_FORMAT_BC,     /* the same as bitcode                             */
    OMPJIT_FORMAT_PTX,
    OMPJIT_FORMAT_CUBIN,
    OMPJIT_FORMAT_OBJECT, /* a host object                                   */
    OMPJIT_FORMAT_HOST_LL,/* the host's half as text                         */
    OMPJIT_FORMAT_OPT_LL, /* device IR, linked and optimized for the target  */
    OMPJIT_FORMAT_COUNT
} ompjit_format;

/* Compiles the module for `arch` and returns the bytes; text ends in NUL, not
 * counted in *size. Needs no such device. Architectures are "sm_75" ...
 * "sm_120", "host" (the CPU of this process), and for objects that run elsewhere
 * "x86-64", "x86-64-v3", "aarch64" and "neoverse-v2"; UNAVAILABLE where the
 * library was built without LLVM's back end. C text was compiled with this
 * machine's types: those of the others differ from it in `long double`, and in
 * plain `char`, which is unsigned on AArch64. `arch` may be NULL for LL, BC and
 * HOST_LL. Free with ompjit_bytes_free. */
ompjit_status ompjit_module_emit(ompjit_module *mod, ompjit_format format,
                                 const char *arch, void **data, size_t *size,
                                 ompjit_error *err);
void ompjit_bytes_free(void *data);

/* The address of a function of the module's host half, compiled for this
 * process: its target regions run on the context's default device and do
 * their own mapping. Valid as long as the module. `fn` receives a function
 * pointer; cast it to the function's own type. The function's host code is the
 * application's own: its exceptions pass on to the caller, and its faults, among
 * them the division by a target loop's step of zero, are the process's. */
ompjit_status ompjit_module_function(ompjit_module *mod, const char *name,
                                     void (**fn)(void), ompjit_error *err);

/* ---------------------------------------------------------------- kernels */

/* Kernels in the module, and the i-th. The module owns them. */
unsigned ompjit_module_kernel_count(ompjit_module *mod);
ompjit_kernel *ompjit_module_kernel_at(ompjit_module *mod, unsigned i);

/* A kernel by name: its symbol, the function it stands in ("saxpy"), the whole
 * name of that in C++, with or without its parameters ("ns::axpy<float>"), or
 * any but the symbol and a line ("saxpy:12") where a function has several. The
 * error lists the kernels there are. */
ompjit_status ompjit_module_kernel(ompjit_module *mod, const char *name,
                                   ompjit_kernel **kernel, ompjit_error *err);

typedef enum ompjit_mode {
    OMPJIT_MODE_BARE = 0,
    OMPJIT_MODE_GENERIC = 1,
    OMPJIT_MODE_SPMD = 2,
    OMPJIT_MODE_GENERIC_SPMD = 3
} ompjit_mode;

typedef struct ompjit_kernel_info {
    char symbol[256];   /* the kernel's own name                          */
    char name[128];     /* the function that it stands in                 */
    uint32_t line;      /* of the region; 0 if unknown                    */
    ompjit_mode mode;
    uint32_t nparams;   /* arguments a launch passes                      */
    uint32_t max_threads; /* a team may have; 0: no bound                 */
    uint32_t max_teams;   /* 0: no bound                                  */
} ompjit_kernel_info; /* of CUDA: mode BARE, line 0. A generic kernel has mode
                         GENERIC_SPMD once code that runs all threads from its
                         beginning was made of it for a GPU               */
void ompjit_kernel_info_get(ompjit_kernel *kernel, ompjit_kernel_info *info);

/* One parameter, with the source's type. Kernels have parameters in the order
 * in which the region uses the variables. Device IR alone may not tell the size
 * (then 8), the type (0) or the order (then the kernel's). */
typedef struct ompjit_param_info {
    char name[64];         /* "" if the IR has none                          */
    uint32_t size;         /* bytes of the value that is passed              */
    int is_pointer;
    int is_float;          /* of a floating-point type                       */
    uint32_t source_order; /* its place, from 0, if all are in the order of
                              the source: parameters of the enclosing
                              function, its locals, other variables          */
} ompjit_param_info;
ompjit_status ompjit_kernel_param(ompjit_kernel *kernel, unsigned i,
                                  ompjit_param_info *info, ompjit_error *err);

/* The resources of the compiled kernel on an architecture ("sm_90"), read back
 * from the cubin. */
typedef struct ompjit_resources {
    uint32_t registers;
    uint32_t shared_static; /* bytes a team            */
    uint32_t local;         /* bytes a thread, stack   */
    uint32_t spill_stores;  /* bytes; 0 if not known   */
    uint32_t spill_loads;
    uint32_t constant;      /* bytes of constant banks */
    uint32_t max_threads;   /* a team may have; 0: no bound */
    uint32_t code;          /* bytes                   */
} ompjit_resources;
ompjit_status ompjit_kernel_resources(ompjit_kernel *kernel, const char *arch,
                                      ompjit_resources *res,
                                      ompjit_error *err);

/* The limits of a multiprocessor of an architecture. */
typedef struct ompjit_arch_info {
    size_t size;            /* sizeof(ompjit_arch_info)                     */
    uint32_t warps, teams;  /* that it runs at the same time                */
    uint32_t threads;       /* in these warps                               */
    uint32_t registers;     /* of 32 bits                                   */
    uint32_t shared;        /* bytes of team-shared memory                  */
    uint32_t team_shared;   /* bytes of it that one team may have           */
    uint32_t team_reserved; /* bytes that CUDA takes of it for each team    */
} ompjit_arch_info;
#define OMPJIT_ARCH_INFO_INIT { .size = sizeof(ompjit_arch_info) }

/* Fills *info, whose `size` the caller has set. `arch` is a GPU's, "sm_90";
 * TARGET error otherwise. Needs no such device. */
ompjit_status ompjit_arch_info_get(const char *arch, ompjit_arch_info *info,
                                   ompjit_error *err);

/* Bits of what keeps more teams from a multiprocessor. */
enum {
    OMPJIT_LIMIT_WARPS = 1,
    OMPJIT_LIMIT_TEAMS = 2,
    OMPJIT_LIMIT_REGISTERS = 4,
    OMPJIT_LIMIT_SHARED = 8 /* team-shared memory */
};

typedef struct ompjit_occupancy {
    size_t size;         /* sizeof(ompjit_occupancy)                        */
    uint32_t teams;      /* that run on a multiprocessor at the same time;
                            0: a team does not fit at all                   */
    uint32_t warps;      /* in them                                         */
    uint32_t most_warps; /* that it could run                               */
    uint32_t limits;     /* OMPJIT_LIMIT_... together                       */
} ompjit_occupancy;
#define OMPJIT_OCCUPANCY_INIT { .size = sizeof(ompjit_occupancy) }

/* What cuOccupancyMaxActiveBlocksPerMultiprocessor says of a kernel that uses
 * so much (ompjit_kernel_resources), launched with so many threads a team and
 * bytes of dynamic team-shared memory, where nobody has asked for more cache
 * than that leaves. Sets *out, whose `size` the caller has set. Needs no
 * device. */
ompjit_status ompjit_occupancy_get(const char *arch,
                                   const ompjit_resources *use,
                                   uint32_t threads, uint32_t dynamic_shared,
                                   ompjit_occupancy *out, ompjit_error *err);

/* One argument of an explicit launch. Pointers are device pointers. `name`
 * NULL: arguments stand in the kernel's order; else the parameter's name. */
typedef enum ompjit_arg_type {
    OMPJIT_ARG_POINTER = 0,
    OMPJIT_ARG_I8,
    OMPJIT_ARG_I16,
    OMPJIT_ARG_I32,
    OMPJIT_ARG_I64,
    OMPJIT_ARG_F32,
    OMPJIT_ARG_F64
} ompjit_arg_type;

typedef struct ompjit_arg {
    const char *name;
    ompjit_arg_type type;
    union {
        void *p;
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        float f32;
        double f64;
    } value;
} ompjit_arg;

/* The facts that specialization folds; of a launch. */
enum {
    OMPJIT_FOLD_LITERALS = 1, /* values of scalar arguments  */
    OMPJIT_FOLD_TEAMS = 2,    /* the number of teams         */
    OMPJIT_FOLD_THREADS = 4,  /* the number of threads       */
    OMPJIT_FOLD_ALIGNMENT = 8,/* pointers that are multiples of 64      */
    OMPJIT_FOLD_NOALIAS = 16, /* pointers that share nothing, see below */
    OMPJIT_FOLD_CONTENTS = 32,/* what pointers point to, where it is known */
    OMPJIT_FOLD_SIZES = 64,   /* how much pointers point to, see below     */
    OMPJIT_FOLD_ALL = 127
};

/* What a pointer of a launch points to: the kernel reads these bytes through it
 * and no others, and nothing changes them meanwhile. */
typedef struct ompjit_contents {
    uint32_t param;    /* its number among the kernel's parameters   */
    uint32_t size;     /* bytes, 1 to OMPJIT_CONTENTS_MAX            */
    const void *bytes; /* on the host                                */
} ompjit_contents;
#define OMPJIT_CONTENTS_MAX 4096

typedef struct ompjit_launch {
    size_t size;              /* sizeof(ompjit_launch)                     */
    uint32_t teams;           /* 0: the device's choice (not for CUDA). A GPU
                                 runs 2097151 of an OpenMP region where more
                                 are asked for, here or by num_teams: loops
                                 are divided by those                      */
    uint32_t threads;         /* in a team; 0: likewise                    */
    uint32_t dynamic_shared;  /* bytes a team                              */
    uint64_t tripcount;       /* iterations of the loop, 0: unknown        */
    ompjit_specialize specialize;
    unsigned fold;            /* OMPJIT_FOLD_... together; 0: all          */
    uint64_t literals;        /* bit i: fold parameter i; those that cannot
                                 be are left alone. 0: all that can be     */
    uint64_t noalias;         /* bit i: the caller promises that what the
                                 kernel reaches through pointer i it reaches
                                 by nothing else. Regions that map their own
                                 data find that out by themselves           */
    uint32_t limit_ms;        /* NOW: milliseconds that compiling may take;
                                 after that the generic kernel runs and the
                                 variant is ready for a later launch. 0: as
                                 long as it takes                          */
    ompjit_queue *queue;      /* the launch is put into it, and the call may
                                 return before it has ended. NULL: waits   */
    int cooperative;          /* 1: all teams must run at the same time;
                                 GEOMETRY error where that cannot be       */
    uint32_t teams_y, teams_z; /* of a kernel of CUDA or of an ompx_bare
                                 region: then `teams` and `threads` are the
                                 numbers in x; 0: 1                        */
    uint32_t threads_y, threads_z;
    uint32_t residents;       /* teams that shall fit on a multiprocessor at
                                 once: a specialized kernel whose threads are
                                 folded uses no more registers than that
                                 leaves. 0: free; no effect on the host    */
    uint32_t ncontents;       /* 16 at most                                */
    const ompjit_contents *contents; /* what becomes a constant of the kernel,
                                 where that only reads it. A variant runs for
                                 these very bytes only: they are compared at
                                 each launch. A bound launch keeps them. No
                                 effect on the code that NVRTC makes       */
    uint32_t nsizes;          /* how many there are in                     */
    const uint64_t *sizes;    /* the caller promises that pointer i points to
                                 sizes[i] bytes at least, which the kernel may
                                 read also where the source would not; 0: not
                                 known. Regions that map their own data find
                                 that out by themselves                    */
    uint32_t run_limit_ms;    /* milliseconds that the kernel may run on the
                                 host device, where it is then stopped: the
                                 launch fails as TIMEOUT. 0: the context's,
                                 else any time. No effect on a GPU         */
} ompjit_launch;
#define OMPJIT_LAUNCH_INIT { .size = sizeof(ompjit_launch) }

/* Asks that what target regions map `to` the kernel's parameter of that name,
 * an array of OMPJIT_CONTENTS_MAX bytes at most, be compiled into it where
 * values are folded: for arrays of coefficients that seldom change. It is left
 * alone where it is also mapped from, present before, or reached by another
 * pointer. Private copies of at most 8 bytes are folded unasked. INVALID where
 * the parameter is no pointer. */
ompjit_status ompjit_kernel_fold_contents(ompjit_kernel *kernel,
                                          const char *param,
                                          ompjit_error *err);

/* Runs a kernel and waits for it, unless the launch has a queue of the device.
 * `launch` may be NULL: all defaults. */
ompjit_status ompjit_kernel_launch(ompjit_kernel *kernel, ompjit_device *dev,
                                   const ompjit_launch *launch,
                                   const ompjit_arg *args, unsigned nargs,
                                   ompjit_error *err);

/* Ends the launches of the kernel, or all on the device, that run now on the host
 * device, bound ones and those of target regions too: they fail as ABORTED.
 * Returns at once; the launches return as soon as the kernel's code is to go on,
 * after a function of the C library that it has called. May be called from a
 * signal handler, with err NULL. UNAVAILABLE where keep_signals or another
 * handler of SIGSEGV forbids it, and for a GPU, whose launches cannot be ended. */
ompjit_status ompjit_kernel_abort(ompjit_kernel *kernel, ompjit_error *err);
ompjit_status ompjit_device_abort(ompjit_device *dev, ompjit_error *err);

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

/* A prepared launch: kernel, device, geometry, variant and arguments, chosen
 * once and run many times for a few nanoseconds. */
typedef struct ompjit_bound ompjit_bound;

/* Compiles what is missing (AUTO is as NOW here). The module must outlive the
 * bound launch, whose variant is never evicted. */
ompjit_status ompjit_kernel_bind(ompjit_kernel *kernel, ompjit_device *dev,
                                 const ompjit_launch *launch,
                                 const ompjit_arg *args, unsigned nargs,
                                 ompjit_bound **bound, ompjit_error *err);
/* Runs it and waits for it. Several threads may, at the same time. */
ompjit_status ompjit_bound_run(ompjit_bound *bound, ompjit_error *err);
/* The same in a queue, which must be waited for before the bound launch is
 * changed or destroyed. A recording (ompjit_graph_begin) keeps all that it
 * needs of it. */
ompjit_status ompjit_bound_start(ompjit_bound *bound, ompjit_queue *queue,
                                 ompjit_error *err);
/* Changes parameter `i`, or the one that arg names. ARGUMENT error where its
 * value is folded, or what it points to; what the caller promised by `noalias`
 * and `sizes` holds for a new pointer, too. Where the variant counts on a
 * multiple of 64 (OMPJIT_FOLD_ALIGNMENT) and gets another pointer, one that does
 * not is compiled. Not while another thread runs it. */
ompjit_status ompjit_bound_set(ompjit_bound *bound, unsigned i,
                               const ompjit_arg *arg, ompjit_error *err);
void ompjit_bound_destroy(ompjit_bound *bound);

/* ---------------------------------------------------------------- queues */

/* Work that a device does in order, while the caller goes on. On a GPU a queue
 * is a CUDA stream that waits for no other; the host device does everything at
 * once. A failure of what is in a queue is returned by the call that finds it,
 * at the latest ompjit_queue_wait. Queues are destroyed before their context. */
ompjit_status ompjit_queue_create(ompjit_device *dev, ompjit_queue **queue,
                                  ompjit_error *err);
/* A queue on the application's own CUstream of the device's primary context,
 * which stays the application's and must live as long. While the application
 * captures it, what is put into the queue becomes part of its graph, as of one
 * of ompjit_graph_begin: copies read host memory at each run, and the graph is
 * not run after the queue's end, before which nothing that it uses is freed.
 * UNAVAILABLE on the host device. */
ompjit_status ompjit_queue_adopt(ompjit_device *dev, void *stream,
                                 ompjit_queue **queue, ompjit_error *err);
/* The queue's CUstream; NULL on the host device. */
ompjit_status ompjit_queue_stream(ompjit_queue *queue, void **stream,
                                  ompjit_error *err);
/* Waits until all that was put into the queue is done. */
ompjit_status ompjit_queue_wait(ompjit_queue *queue, ompjit_error *err);
/* Work that is put into `queue` from now on comes after the present work of
 * `other`, a queue of the same device. Nobody waits. INVALID while either is
 * recorded. */
ompjit_status ompjit_queue_after(ompjit_queue *queue, ompjit_queue *other,
                                 ompjit_error *err);
/* Copies `size` bytes. Host memory stays as it is until the queue was waited
 * for. Page-locked memory is copied without waiting. More than 64 KB of pageable
 * memory goes through page-locked memory in pieces: the calling thread waits for
 * these, and, where it downloads, for all that is in the queue before them.
 * `copy` is within the device. */
ompjit_status ompjit_queue_upload(ompjit_queue *queue, void *device_dst,
                                  const void *host_src, size_t size,
                                  ompjit_error *err);
ompjit_status ompjit_queue_download(ompjit_queue *queue, void *host_dst,
                                    const void *device_src, size_t size,
                                    ompjit_error *err);
ompjit_status ompjit_queue_copy(ompjit_queue *queue, void *device_dst,
                                const void *device_src, size_t size,
                                ompjit_error *err);
/* What `target update` does with `size` bytes of the host's memory that are
 * mapped to the queue's device: they are copied there (`to`) or from there;
 * host memory as above, but for pointers in it that were attached, which both
 * sides keep. Nothing is copied where mapped data is the original. The mapping
 * lasts at least until the queue was waited for, or as long as the graph where
 * the queue is recorded: data that leaves before that (target exit data) is
 * neither copied back nor freed then. MAPPING where not all of it is mapped: a
 * queue allocates nothing, so what a graph uses is entered before it is
 * recorded and leaves when it was destroyed. */
ompjit_status ompjit_queue_update_to(ompjit_queue *queue, const void *host,
                                     size_t size, ompjit_error *err);
ompjit_status ompjit_queue_update_from(ompjit_queue *queue, void *host,
                                       size_t size, ompjit_error *err);
/* Waits first; a failure is only logged. Accepts NULL. */
void ompjit_queue_destroy(ompjit_queue *queue);

/* Output of kernels (printf) is on the process's standard output at the latest
 * when their queue was waited for. On a GPU the driver keeps it until then, the
 * newest 1 MiB unless the application gives it more room
 * (CU_LIMIT_PRINTF_FIFO_SIZE). */

/* A point in a queue: a time, and something to wait for. Made for queues of one
 * device; destroyed before the context, whether it has come or not. */
ompjit_status ompjit_event_create(ompjit_device *dev, ompjit_event **event,
                                  ompjit_error *err);
/* An event that is the application's own CUevent, of the device's primary
 * context, which stays the application's and must live as long. Either side may
 * record it; one that nobody has recorded has come. UNAVAILABLE on the host
 * device. */
ompjit_status ompjit_event_adopt(ompjit_device *dev, void *native,
                                 ompjit_event **event, ompjit_error *err);
/* The event's CUevent, the same as long as the event lives, for the application
 * to wait for or to record, as one that was adopted is; NULL on the host
 * device. */
ompjit_status ompjit_event_native(ompjit_event *event, void **native,
                                  ompjit_error *err);
/* The event comes when all is done that the queue has now. Its earlier meaning
 * is forgotten. INVALID while the queue is recorded, as after_event is.
 */
ompjit_status ompjit_event_record(ompjit_event *event, ompjit_queue *queue,
                                  ompjit_error *err);
/* Waits for it. A failure of what comes before is returned here, or later by
 * the queue. INVALID where it was never recorded, as of the next three. */
ompjit_status ompjit_event_wait(ompjit_event *event, ompjit_error *err);
/* Whether it has come: 1 or 0. */
ompjit_status ompjit_event_query(ompjit_event *event, int *done,
                                 ompjit_error *err);
/* Seconds on the device from one event to another of the same device, to half a
 * microsecond on a GPU. INVALID where either has not come, DRIVER where an
 * adopted one was made without timing or nobody has recorded it. */
ompjit_status ompjit_event_elapsed(ompjit_event *from, ompjit_event *to,
                                   double *seconds, ompjit_error *err);
/* What is put into `queue`, of the same device, from now on comes after the
 * event. Nobody waits. */
ompjit_status ompjit_queue_after_event(ompjit_queue *queue,
                                       ompjit_event *event, ompjit_error *err);
/* Accepts NULL. */
void ompjit_event_destroy(ompjit_event *event);

/* Launches, copies and updates that are put into a queue, recorded once and
 * done many times, on a GPU as one CUDA graph. From begin on they are recorded
 * and not done, with the arguments of that moment; copies and updates read and
 * write host memory each time they are done. No waiting in between; other
 * threads leave the queue alone. Target constructs of a module's functions go
 * into no queue: they are done at once and not recorded. UNAVAILABLE where the
 * CUDA driver is older than 11.4. */
ompjit_status ompjit_graph_begin(ompjit_queue *queue, ompjit_error *err);
/* Ends the recording, also where it fails. */
ompjit_status ompjit_graph_end(ompjit_queue *queue, ompjit_graph **graph,
                               ompjit_error *err);
/* Does what was recorded, in a queue of the same device; NULL: and waits. One
 * run at a time. */
ompjit_status ompjit_graph_run(ompjit_graph *graph, ompjit_queue *queue,
                               ompjit_error *err);
/* After its last run has ended, and before the modules whose kernels it runs or
 * whose variables it updates. Accepts NULL. */
void ompjit_graph_destroy(ompjit_graph *graph);

/* -------------------------------------------------------------- variants */

/* What has become of a module's variants, on all devices together. */
typedef struct ompjit_variant_stats {
    size_t size;          /* sizeof(ompjit_variant_stats)        */
    uint64_t live;        /* loaded now                          */
    uint64_t builds;      /* made so far, from cache or compiled */
    uint64_t failures;    /* that did not compile or load        */
    uint64_t evictions;   /* unloaded for others                 */
    uint64_t pending;     /* being built or waiting for that     */
} ompjit_variant_stats;
#define OMPJIT_VARIANT_STATS_INIT { .size = sizeof(ompjit_variant_stats) }
ompjit_status ompjit_module_variants(ompjit_module *mod,
                                     ompjit_variant_stats *stats,
                                     ompjit_error *err);

/* The geometry and variant of the kernel's last launch on the device. */
typedef struct ompjit_launch_info {
    uint32_t teams, threads; /* of all dimensions together */
    int folded_teams, folded_threads; /* 1: compiled in as constants */
    uint32_t folded_args;             /* how many arguments were     */
} ompjit_launch_info;
ompjit_status ompjit_kernel_last_launch(ompjit_kernel *kernel,
                                        ompjit_device *dev,
                                        ompjit_launch_info *info,
                                        ompjit_error *err);

/* ----------------------------------------------------------- explanation */

/* Whether an argument's value can be compiled into its kernel, or why not. */
typedef enum ompjit_foldable {
    OMPJIT_FOLDABLE = 0,       /* a scalar, complex number or struct of at
                                  most 8 bytes that is passed by value      */
    OMPJIT_FOLDABLE_POINTER,   /* an address; alignment and non-aliasing can
                                  be folded                                 */
    OMPJIT_FOLDABLE_COPY_BACK, /* storage that is mapped from the device: the
                                  kernel changes it                         */
    OMPJIT_FOLDABLE_SECTION,   /* storage of a size known at run time only  */
    OMPJIT_FOLDABLE_TOO_LARGE, /* storage of more than 8 bytes              */
    OMPJIT_FOLDABLE_STORAGE,   /* less, but the kernel is passed its address*/
    OMPJIT_FOLDABLE_TOO_MANY   /* the 65th parameter or a later one         */
} ompjit_foldable;

/* One parameter, and what the automatic policy has seen of its values. */
typedef struct ompjit_param_state {
    size_t size;              /* sizeof(ompjit_param_state)                */
    ompjit_foldable foldable;
    char why[128];            /* the same in words                         */
    uint64_t storage;         /* bytes that it is mapped with, where the
                                 program's code says so; 0: not known, or
                                 passed by value                           */
    uint32_t launches;        /* that AUTO found no variant for            */
    uint32_t changes;         /* of these brought another value than the one
                                 before                                    */
    int given_up;             /* 1: AUTO does not fold it any more: it
                                 changed at more than half of 16 or more   */
} ompjit_param_state;
#define OMPJIT_PARAM_STATE_INIT { .size = sizeof(ompjit_param_state) }
ompjit_status ompjit_kernel_param_state(ompjit_kernel *kernel, unsigned i,
                                        ompjit_param_state *state,
                                        ompjit_error *err);

/* What a kernel's code is, compiled for an architecture. */
typedef struct ompjit_code {
    size_t size;              /* sizeof(ompjit_code)                       */
    uint32_t instructions;    /* of the machine, padding included on a GPU */
    uint32_t ptx;             /* of the PTX; 0 for the host                */
    ompjit_resources use;     /* for the host: code and spills only        */
} ompjit_code;
#define OMPJIT_CODE_INIT { .size = sizeof(ompjit_code) }

/* Compiles the kernel for `arch` ("sm_90", "host") as a launch with these
 * arguments would have it, and says what came of it; nothing is loaded. Only
 * what is given is folded: the arguments of `args`, which stand by their names
 * or in the kernel's order and need not be all, and of `launch` (NULL: nothing)
 * teams, threads, fold, literals, noalias and residents. Of pointers the
 * alignment counts. For the host a team has one thread unless launch says
 * otherwise, as the device has it. */
ompjit_status ompjit_kernel_code(ompjit_kernel *kernel, const char *arch,
                                 const ompjit_launch *launch,
                                 const ompjit_arg *args, unsigned nargs,
                                 ompjit_code *code, ompjit_error *err);

/* One loaded variant that a kernel's launches can run. */
typedef struct ompjit_variant_info {
    ompjit_device *device;
    int generic;              /* 1: made for all values                    */
    uint32_t teams, threads;  /* folded; 0: not                            */
    uint32_t residents;       /* as ompjit_launch has it                   */
    uint64_t literals, aligned, noalias; /* bit i: so for parameter i      */
    uint64_t contents;        /* bit i: what it points to                  */
    const uint64_t *values;   /* values[i] has the bytes of parameter i in its
                                 low end where literals has bit i, and how many
                                 bytes it points to where sized has; valid
                                 during the call                           */
    uint64_t sized;           /* bit i: so for pointer i                   */
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
    size_t size;                 /* sizeof(ompjit_tune_options)            */
    const ompjit_geometry *tries;/* what to try beside the default; NULL: a
                                    set for the device                     */
    unsigned ntries;
    unsigned repeats;            /* runs of each, the fastest counts; 0: 3 */
    const ompjit_region *saved;  /* what the kernel changes: copied aside, put
                                    back before each run and in the end    */
    unsigned nsaved;
} ompjit_tune_options;
#define OMPJIT_TUNE_OPTIONS_INIT { .size = sizeof(ompjit_tune_options) }

typedef struct ompjit_tuned {
    uint32_t teams, threads;     /* to ask for; 0: the device's choice     */
    uint64_t ns;                 /* of the fastest run                     */
    uint64_t default_ns;         /* with the device's choice               */
    uint32_t tried, failed;      /* geometries that ran, and did not; 0 both
                                    where it was found in the cache        */
} ompjit_tuned;

/* Runs the kernel many times, on the arguments given, and remembers the fastest
 * geometry for launches with a tripcount of launch->tripcount's size class (0,
 * not known, is a class of its own). If `launch` names teams or threads, these
 * are not varied and nothing is remembered. What a kernel prints, or allocates
 * on the device, it does at every run. A geometry that cannot be launched is
 * left out; an error is one of the default geometry or of saving data.
 * `options` and `tuned` may be NULL. Nothing else should use the device
 * meanwhile. */
ompjit_status ompjit_kernel_tune(ompjit_kernel *kernel, ompjit_device *dev,
                                 const ompjit_launch *launch,
                                 const ompjit_arg *args, unsigned nargs,
                                 const ompjit_tune_options *options,
                                 ompjit_tuned *tuned, ompjit_error *err);

/* What is known for a tripcount; NOT_FOUND where nothing is. */
ompjit_status ompjit_kernel_tuned(ompjit_kernel *kernel, ompjit_device *dev,
                                  uint64_t tripcount, ompjit_tuned *tuned,
                                  ompjit_error *err);

/* ----------------------------------------------------------------- cache */

/* Compiled code is remembered: front-end results under source, flags and
 * compiler (as long as included files are what they were), images under IR, all
 * that was folded, architecture or processor, and the versions of LLVM,
 * assembler and library. A key's text says all of it; its 256-bit digest names
 * the entry. On disk, entries are files in a folder that only its owner can
 * write; any number of processes and machines may share it. The cache is never
 * an error: an entry that cannot be read, is damaged or out of date is compiled
 * anew, and what cannot be written is kept in memory (64 MiB at most). */

typedef struct ompjit_cache_stats {
    uint64_t hits_memory;   /* entries found in the context's memory       */
    uint64_t hits_callback; /* by the application's callback               */
    uint64_t hits_disk;
    uint64_t misses;        /* found nowhere                               */
    uint64_t stored;        /* made here, or imported                      */
    uint64_t rejected;      /* found, but damaged or out of date           */
    uint64_t waited;        /* times another process or thread made it     */
    uint64_t evicted;       /* removed to keep the limit                   */
    uint64_t bytes_read, bytes_written;
    uint64_t limit;         /* bytes that there may be on disk             */
} ompjit_cache_stats;

/* The counts of the context's cache so far; all 0 where it is off. */
void ompjit_cache_stats_get(ompjit_context *ctx, ompjit_cache_stats *stats);

/* The folder on disk, whether or not it exists yet; NULL: none. The context
 * owns the text. */
const char *ompjit_cache_path(ompjit_context *ctx);

/* One entry on disk. */
typedef struct ompjit_cache_entry {
    char key[65];     /* hexadecimal digits                                */
    char kind[16];    /* "source", "ir", "host", "image"; "damaged"        */
    uint64_t size;    /* bytes                                             */
    int64_t used;     /* last use, seconds since 1970, to the hour         */
    const char *text; /* the key's text; valid during the call             */
} ompjit_cache_entry;

/* Called for an entry. Other than 0 ends the walk. */
typedef int ompjit_cache_entry_fn(void *data, const ompjit_cache_entry *entry);

/* Calls `fn` for each entry on disk whose key begins with `key` ("" for all),
 * in the order of last use, the latest first. Each is read and checked as a whole.
 * UNAVAILABLE where the context has no folder. */
ompjit_status ompjit_cache_walk(ompjit_context *ctx, const char *key,
                                ompjit_cache_entry_fn *fn, void *data,
                                ompjit_error *err);

/* Removes entries from disk, those not used for longest first, until at most
 * `size` bytes are left; 0 removes all, damaged ones too. *removed (or NULL)
 * receives how many. UNAVAILABLE where the context has no folder. */
ompjit_status ompjit_cache_prune(ompjit_context *ctx, uint64_t size,
                                 uint64_t *removed, ompjit_error *err);

/* Removes the damaged entries from disk, and counts both kinds. */
ompjit_status ompjit_cache_verify(ompjit_context *ctx, uint64_t *good,
                                  uint64_t *damaged, ompjit_error *err);

/* Entries as bytes, for instance for one rank to compile and broadcast. `all`
 * 0: those that this context has used so far; 1: all on disk. The bytes are
 * freed with ompjit_bytes_free. */
ompjit_status ompjit_cache_export(ompjit_context *ctx, int all, void **bytes,
                                  size_t *size, ompjit_error *err);

/* Takes exported entries into the cache: onto disk, or into the context's
 * memory where there is no disk. *count (or NULL) receives how many. INVALID, and
 * nothing is taken, where the bytes are no export or are damaged. Import only
 * what you trust as you trust a program: entries hold machine code. */
ompjit_status ompjit_cache_import(ompjit_context *ctx, const void *bytes,
                                  size_t size, uint64_t *count,
                                  ompjit_error *err);

/* --------------------------------------------------------- runtime table */

/* The functions that clang's OpenMP code calls: 194 as LLVM 21 numbers them,
 * then those that LLVM 22 added and those that LLVM lists nowhere. An index
 * never changes its meaning. */
typedef enum ompjit_rtl {
#define OMPJIT_RTL(index, attributes, where, type, name) \
    OMPJIT_RTL_##name = index,
#define OMPJIT_RTL2(index, attributes, where, type, name) \
    OMPJIT_RTL_##name##_v22 = index,
#include "ompjit_rtl.def"
    OMPJIT_RTL_COUNT
} ompjit_rtl;

typedef struct ompjit_rtl_row {
    size_t size;            /* sizeof(ompjit_rtl_row)                        */
    unsigned index;
    const char *name;       /* "__kmpc_barrier"                              */
    char type[128];         /* LLVM's, "void (ptr, i32)"                     */
    const char *attributes; /* a declaration's, "convergent nounwind"; those
                               of the result and of a parameter as
                               "result:noalias" and "0:writeonly"            */
    const char *category;   /* "tasking"                                     */
    const char *where;      /* it is implemented: "device", "host: libomp",
                               "host: libompjit", "device, host: libomp" or
                               "nowhere"                                     */
    unsigned since, until;  /* LLVM releases with this row, 18 to 22         */
    int successor;          /* row that calls become when IR is read; -1:
                               they stay                                     */
    char note[192];         /* on releases, "LLVM 18 to 21; ..."; or ""      */
    const char *meaning;    /* what it is for, in one line                   */
    const char *cost;       /* of a call in device code: "a barrier"; ""
                               where device code does not reach it           */
    unsigned instructions;  /* at most, in PTX, of the function alone, a power
                               of 4; 0: not measured                         */
} ompjit_rtl_row;
#define OMPJIT_RTL_ROW_INIT { .size = sizeof(ompjit_rtl_row) }

/* How many rows there are: OMPJIT_RTL_COUNT of the library's own version. */
unsigned ompjit_rtl_count(void);

/* Fills *row, whose `size` the caller has set. Strings in it are never freed.
 * NOT_FOUND where index is not below ompjit_rtl_count(). */
ompjit_status ompjit_rtl_row_at(unsigned index, ompjit_rtl_row *row,
                                ompjit_error *err);

/* Likewise by name; of two rows of one name, LLVM 22's. NOT_FOUND suggests
 * names that look alike. */
ompjit_status ompjit_rtl_row_named(const char *name, ompjit_rtl_row *row,
                                   ompjit_error *err);

#ifdef __cplusplus
}
#endif
#endif
