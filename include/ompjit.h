/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit.h - compile and run OpenMP target regions at run time.
 *
 * An application hands the library C with OpenMP pragmas, LLVM IR or bitcode;
 * the library compiles it for a device (this machine's CPU, or an NVIDIA GPU)
 * and runs it there.
 *
 * This header begins with the twenty functions that most programs need. Their
 * options follow, then the other functions of contexts, devices, modules and
 * kernels. The rest has headers of its own:
 *   ompjit_graph.h   order in queues, events, graphs
 *   ompjit_tune.h    variants, resources, warm-up, tuning
 *   ompjit_opt.h     options of the optimizer, remarks
 *   ompjit_cache.h   the cache of compiled code
 *   ompjit_debug.h   reports of checked kernels, times, profiles
 *   ompjit_function.h signatures and guarded calls, for bindings
 *   ompjit_rtl.h     the table of OpenMP runtime functions
 *   ompjit_llvm.h    that table for programs that build IR with their own LLVM
 *
 * Conventions, true of every function unless its comment says otherwise:
 *  - A function that can fail returns an ompjit_status: 0 on success, negative
 *    on failure. Results are stored through the last parameters before `err`,
 *    and only on success.
 *  - INVALID is returned where an object, a text or a place for a result is NULL
 *    and the function's comment does not allow that, where an enumeration has
 *    no such value, and where objects of two contexts meet in one call. A
 *    function without a status then returns 0 or NULL, or does nothing.
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
 *
 * Structs that begin with `size` grow from version to version:
 *  - The caller initializes each one with the macro of its name and _INIT: then
 *    `size` is its size in this header, and all else is 0. In options 0 always
 *    means the default. Words called `reserved` stay 0.
 *  - The library takes options of any size. A field that the caller's struct
 *    does not have yet is 0. A field that the library does not have yet must be
 *    0, else the call fails as INVALID.
 *  - The library fills a result up to its `size`, and sets to 0 what it does not
 *    know. `size` stays.
 *  - A struct that the library hands to a callback has the library's own size.
 *  - ompjit_error and ompjit_arg have no `size`, and stay as they are.
 *
 * Times that limit something are called time_limit_ms: milliseconds, 0 for no
 * limit or the default.
 */
#ifndef OMPJIT_H
#define OMPJIT_H

#include <stddef.h>
#include <stdint.h>

/* A struct of which `size` is set and all else is 0. */
#ifdef __cplusplus
#define OMPJIT_SIZED(type)                \
    []() {                                \
        type ompjit_made_ = type();       \
        ompjit_made_.size = sizeof(type); \
        return ompjit_made_;              \
    }()
extern "C" {
#else
#define OMPJIT_SIZED(type) { .size = sizeof(type) }
#endif

#define OMPJIT_VERSION_MAJOR 0
#define OMPJIT_VERSION_MINOR 1
#define OMPJIT_VERSION_PATCH 0

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
    OMPJIT_ERR_ABORTED = -20     /* a launch that was aborted, a compile that
                                    was cancelled                           */
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

/* The description of a failure. The caller owns it; needs no initialization.
 * `text` always ends in NUL and is cut, with "...", where it is too long; of an
 * assembler's or the driver's words it then ends by saying that all of them
 * went to the context's log. */
typedef struct ompjit_error {
    ompjit_status status;
    ompjit_stage stage;
    char text[OMPJIT_ERROR_TEXT];
} ompjit_error;
/* ---------------------------------------------------------------- objects */

/* Everything hangs from a context: devices, modules, settings. A process may
 * have several. */
typedef struct ompjit_context ompjit_context;
typedef struct ompjit_device ompjit_device;
typedef struct ompjit_module ompjit_module;
typedef struct ompjit_kernel ompjit_kernel;
typedef struct ompjit_queue ompjit_queue;
typedef struct ompjit_bound ompjit_bound;
typedef struct ompjit_graph ompjit_graph;
typedef struct ompjit_event ompjit_event;

/* Options and arguments: see below. */
typedef struct ompjit_context_options ompjit_context_options;
typedef struct ompjit_module_options ompjit_module_options;
typedef struct ompjit_launch ompjit_launch;
typedef struct ompjit_arg ompjit_arg;

/* --------------------------------------------------- the twenty functions */

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

/* How many devices the context has, as omp_get_num_devices counts. Looks for
 * GPUs on the first call. */
ompjit_status ompjit_context_device_count(ompjit_context *ctx, unsigned *count,
                                          ompjit_error *err);

/* The device of that number, 0 to count-1. The context owns it. */
ompjit_status ompjit_context_device(ompjit_context *ctx, unsigned number,
                                    ompjit_device **dev, ompjit_error *err);

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

/* C or C++ text with OpenMP pragmas: a snippet or a whole file. Runs clang in
 * its own process. OMPJIT_ERR_SOURCE carries clang's diagnostics, with line
 * and column. `options` may be NULL. */
ompjit_status ompjit_module_from_c(ompjit_context *ctx, const char *source,
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

/* The address of a function of the module's host half, compiled for this
 * process: its target regions run on the context's default device and do
 * their own mapping. Valid as long as the module. `fn` receives a function
 * pointer; cast it to the function's own type. C++ exceptions pass on to the
 * caller. A fault of the function's host code (a wild address, a division by
 * zero, among them that by a target loop's step of zero, an exception that
 * nobody catches) ends the call, which then returns zero, and is reported like
 * the failure of a target construct: see on_failure and after_failure. It is the
 * process's own with OMPJIT_AFTER_FAILURE_END and with keep_signals, in a
 * parallel region or task of the host's, and in functions with any number of
 * arguments or with values in registers of more than 8 bytes (vectors; long
 * double on AArch64). A call takes some 26 ns more than it would without that. */
ompjit_status ompjit_module_function(ompjit_module *mod, const char *name,
                                     void (**fn)(void), ompjit_error *err);

/* A kernel by name: its symbol, the function it stands in ("saxpy"), the whole
 * name of that in C++, with or without its parameters ("ns::axpy<float>"), or
 * any but the symbol and a line ("saxpy:12") where a function has several. The
 * error lists the kernels there are. */
ompjit_status ompjit_module_kernel(ompjit_module *mod, const char *name,
                                   ompjit_kernel **kernel, ompjit_error *err);

/* Runs a kernel and waits for it, unless the launch has a queue of the device.
 * `launch` may be NULL: all defaults. */
ompjit_status ompjit_kernel_launch(ompjit_kernel *kernel, ompjit_device *dev,
                                   const ompjit_launch *launch,
                                   const ompjit_arg *args, unsigned nargs,
                                   ompjit_error *err);

/* Work that a device does in order, while the caller goes on. On a GPU a queue
 * is a CUDA stream that waits for no other; the host device does everything at
 * once. A failure of what is in a queue is returned by the call that finds it,
 * at the latest ompjit_queue_wait. Queues are destroyed before their context. */
ompjit_status ompjit_queue_create(ompjit_device *dev, ompjit_queue **queue,
                                  ompjit_error *err);
/* Waits until all that was put into the queue is done. */
ompjit_status ompjit_queue_wait(ompjit_queue *queue, ompjit_error *err);
/* Waits first; a failure is only logged. Accepts NULL. */
void ompjit_queue_destroy(ompjit_queue *queue);

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

/* ---------------------------------------------------- options and arguments */

/* Receives one message without a final newline; `data` is log_data below. Any
 * thread may call it. */
typedef void ompjit_log_fn(void *data, const char *message);

/* The assembler that turns PTX into a cubin. */
typedef enum ompjit_assembler {
    OMPJIT_ASSEMBLER_AUTO = 0, /* the first that is there, in this order */
    OMPJIT_ASSEMBLER_NVJITLINK,
    OMPJIT_ASSEMBLER_PTXAS,
    OMPJIT_ASSEMBLER_DRIVER /* hand PTX to the driver */
} ompjit_assembler;

/* The process in which LLVM works. A worker is a process of the library's,
 * started when code is first compiled. Whatever becomes of LLVM there, the
 * application gets an error. It ends with the application, and with the
 * process's last context. */
typedef enum ompjit_compiler_process {
    OMPJIT_COMPILER_DEFAULT = 0, /* OMPJIT_COMPILER=worker|inprocess, else
                                    WORKER                                  */
    OMPJIT_COMPILER_WORKER,      /* INPROCESS where no process can be started,
                                    which is logged                         */
    OMPJIT_COMPILER_INPROCESS
} ompjit_compiler_process;

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
 * ompjit_module_function, which has no way to return an error, of a fault of
 * such a function's own code, and of a function that could not be compiled when
 * another one called it first. Any thread may
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
                                  OMP_TARGET_OFFLOAD is mandatory. A call of
                                  a function that could not be compiled does
                                  nothing and returns 0                     */
    OMPJIT_AFTER_FAILURE_END   /* the error's text goes to stderr, and the
                                  process exits with status 1, without exit
                                  handlers                                  */
} ompjit_after_failure;

typedef struct ompjit_check_report ompjit_check_report; /* ompjit_debug.h */

/* Told of each error that a checked kernel makes, once for each place in the
 * source, while the kernel runs (LOST: when the mapping ends). One call at a
 * time, from any thread; the report is valid during the call. It must not call
 * the library with objects of the context. */
typedef void ompjit_check_fn(void *data, const ompjit_check_report *report);

/* The place of compiled code (ompjit_cache.h). */
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

struct ompjit_context_options {
    size_t size;             /* OMPJIT_CONTEXT_OPTIONS_INIT                */
    const char *devices;     /* "host", "cuda", "cuda:1", "auto"; NULL:
                                OMPJIT_DEVICE, else "auto": every GPU
                                there is, else the host                    */
    ompjit_log_fn *log;      /* NULL: silent, or stderr where OMPJIT_LOG=1 */
    void *log_data;
    ompjit_failure_fn *on_failure; /* NULL: see ompjit_context_failure     */
    void *on_failure_data;
    ompjit_after_failure after_failure;
    ompjit_host_memory host_memory;
    uint64_t device_heap;    /* bytes that malloc in kernels has on each GPU;
                                0: OMPJIT_DEVICE_HEAP, else the driver's
                                choice. It is set for the GPU's primary
                                context, which the application may share   */
    uint64_t device_stack;   /* bytes of stack of each GPU thread; 0:
                                OMPJIT_DEVICE_STACK, else the driver's     */
    uint32_t time_limit_ms;  /* that a kernel may run on the host device, of
                                launches that do not say; 0: any time      */
    int keep_signals;        /* not 0: a kernel's fault on the host device is
                                the process's, and no launch there can be
                                aborted or limited in time. Else, unless
                                OMPJIT_SIGNALS=0, handlers of SIGSEGV, SIGBUS,
                                SIGFPE, SIGILL, SIGTRAP and SIGABRT are
                                installed when the first kernel is loaded
                                there, and removed with the context, and also
                                while constructors and destructors of a module
                                run, and while LLVM works under a limit; what
                                is not a kernel's fault goes to the handler
                                that was there before. These signals are
                                unblocked in the threads that run kernels  */
    uint64_t reserved[4];

    /* How code is compiled. */
    struct {
        const char *clang;   /* path of clang 22; NULL: OMPJIT_CLANG, else
                                the one in ompjitc, else the one found by
                                configure, else PATH                       */
        ompjit_assembler assembler; /* AUTO: OMPJIT_ASSEMBLER, else the
                                order                                      */
        uint32_t time_limit_ms; /* that a run of clang may take, and each
                                stage of the work of LLVM, NVRTC and the
                                assemblers; 0: 60 s, and 10 min. In this
                                process: only LLVM's and ptxas's, and not
                                where keep_signals is set; 0: any time     */
        ompjit_compiler_process process;
        uint32_t nopts;
        uint64_t memory_limit; /* bytes that a worker may take; 0: 8 GiB, or
                                three quarters of the machine's memory if
                                that is less                               */
        const char *const *opts; /* as a module's, for modules that do not
                                say; over those of OMPJIT_OPT              */
        uint64_t reserved[1];
    } compiler;

    /* The facts that are folded into kernels, and when. */
    struct {
        ompjit_specialize mode; /* for launches that do not say            */
        uint32_t launches_before_variant; /* AUTO: with the same values,
                                before a variant is built for them; 0: 3   */
        uint32_t max_variants; /* specialized ones that a kernel keeps on a
                                device, the least recently used is unloaded
                                for another; 0: 64                         */
        int tune;            /* 1: a target region whose geometry is free is
                                tuned when it first runs with a size class
                                (ompjit_tune.h); 0: only where OMPJIT_TUNE=1 */
        const char *record;  /* file to which a line is added for each
                                variant that is built (ompjit_module_warm);
                                NULL: OMPJIT_RECORD, else none             */
        uint64_t reserved[4];
    } specialize;

    /* The places where compiled code is kept. */
    struct {
        ompjit_cache_mode mode;
        uint32_t unused;     /* 0                                          */
        const char *dir;     /* NULL: OMPJIT_CACHE_DIR, else ompjit in
                                XDG_CACHE_HOME or ~/.cache                 */
        uint64_t limit;      /* bytes on disk; 0: OMPJIT_CACHE_SIZE, else
                                1 GiB                                      */
        ompjit_cache_get_fn *get; /* NULL: none                            */
        ompjit_cache_put_fn *put;
        void *data;          /* for both                                   */
        uint64_t reserved[4];
    } cache;

    /* Checks, profiles and explanations. */
    struct {
        int check;           /* 1: kernels run on the host device, in memory
                                of its own, and what they do wrong is
                                reported; what access was wrong is left out,
                                reads give 0. Slow. 0: nothing is checked  */
        int profile;         /* 1: launches are timed too, and what was done
                                is kept (ompjit_context_profile); 0: only
                                where OMPJIT_PROFILE is set. OMPJIT_PROFILE=1
                                tells it to the log, or to stderr where there
                                is none, when the context is destroyed; another
                                value is a file for the trace              */
        ompjit_check_fn *on_report; /* NULL: reports go to the log         */
        void *on_report_data;
        int explain;         /* 1: what became of a module's variants is told
                                to the log, or to stderr where there is none,
                                when the module is destroyed; 0: only where
                                OMPJIT_EXPLAIN=1                           */
        uint32_t unused;     /* 0                                          */
        uint64_t reserved[4];
    } debug;
};
#define OMPJIT_CONTEXT_OPTIONS_INIT OMPJIT_SIZED(ompjit_context_options)

/* The compiler of CUDA C++ for a GPU. For the host device clang does. */
typedef enum ompjit_cuda_compiler {
    OMPJIT_CUDA_COMPILER_AUTO = 0, /* NVRTC where it is there and its PTX is
                                      not too new for the driver, else clang */
    OMPJIT_CUDA_COMPILER_NVRTC,    /* NVRTC or nobody                     */
    OMPJIT_CUDA_COMPILER_CLANG
} ompjit_cuda_compiler;

/* clang's -O. */
typedef enum ompjit_opt_level {
    OMPJIT_O_DEFAULT = 0, /* O3 */
    OMPJIT_O0,
    OMPJIT_O1,
    OMPJIT_O2,
    OMPJIT_O3
} ompjit_opt_level;

struct ompjit_module_options {
    size_t size;              /* OMPJIT_MODULE_OPTIONS_INIT               */
    const char *name;         /* file name in diagnostics; NULL: "snippet.c"
                                 (CUDA: "snippet.cu", Fortran:
                                 "snippet.f90"). A .cc, .cpp, .cxx or
                                 .C file is C++                           */
    const char *const *flags; /* -I -D -U -include -f... as clang's, each
                                 its own string; NULL: none. -g: line
                                 tables in PTX and cubins                 */
    unsigned nflags;
    unsigned openmp_version;  /* as -fopenmp-version: 45 to 60; 0: 51,
                                 and 52 for Fortran                       */
    ompjit_opt_level opt_level;
    ompjit_cuda_compiler cuda_compiler; /* of ompjit_module_from_cuda     */
    const char *const *opts;  /* options of the optimizer of OpenMP device
                                 code, each "NAME=VALUE" or, for 1, "NAME"
                                 (ompjit_opt.h lists them); NULL: all
                                 have their defaults. A later one wins, but
                                 for names of functions, which add up. They
                                 change code, not results                 */
    unsigned nopts;
    int signatures;           /* 1: names and types of functions are the
                                 source's (ompjit_function.h); 0: what the
                                 code itself tells                        */
};
#define OMPJIT_MODULE_OPTIONS_INIT OMPJIT_SIZED(ompjit_module_options)

/* The facts that specialization folds. */
typedef enum ompjit_fold {
    OMPJIT_FOLD_LITERALS = 1,   /* values of scalar arguments           */
    OMPJIT_FOLD_TEAMS = 2,      /* the number of teams                  */
    OMPJIT_FOLD_THREADS = 4,    /* the number of threads                */
    OMPJIT_FOLD_ALIGNMENT = 8,  /* pointers that are multiples of 64    */
    OMPJIT_FOLD_NOALIAS = 16,   /* pointers that share nothing          */
    OMPJIT_FOLD_CONTENTS = 32,  /* what pointers point to, where it is
                                   known                                */
    OMPJIT_FOLD_SIZES = 64,     /* how much pointers point to           */
    OMPJIT_FOLD_ALL = 127
} ompjit_fold;

struct ompjit_launch {
    size_t size;              /* OMPJIT_LAUNCH_INIT                        */
    uint32_t teams;           /* 0: the device's choice (not for CUDA). An
                                 OpenMP region has 2097151 of them where more
                                 are asked for, here or by num_teams: loops
                                 are divided by those                      */
    uint32_t threads;         /* in a team; 0: likewise                    */
    uint32_t teams_y, teams_z; /* of a kernel of CUDA or of an ompx_bare
                                 region: then `teams` and `threads` are the
                                 numbers in x; 0: 1                        */
    uint32_t threads_y, threads_z;
    uint32_t dynamic_shared;  /* bytes a team                              */
    uint32_t time_limit_ms;   /* that the kernel may run on the host device,
                                 where it is then stopped: the launch fails as
                                 TIMEOUT. 0: the context's, else any time. No
                                 effect on a GPU                           */
    uint64_t tripcount;       /* iterations of the loop, 0: unknown        */
    ompjit_queue *queue;      /* the launch is put into it, and the call may
                                 return before it has ended. NULL: waits   */
    int cooperative;          /* 1: all teams must run at the same time;
                                 GEOMETRY error where that cannot be       */
    uint32_t unused;          /* 0                                         */
    uint64_t reserved[4];

    /* The facts that are folded into the kernel, and when. */
    struct {
        ompjit_specialize mode;
        uint32_t fold;        /* OMPJIT_FOLD_... together; 0: all          */
        uint32_t time_limit_ms; /* NOW: that compiling may take; after that
                                 the generic kernel runs and the variant is
                                 ready for a later launch. 0: as long as it
                                 takes                                     */
        uint32_t resident_teams; /* that shall fit on a multiprocessor at
                                 once: a specialized kernel whose threads are
                                 folded uses no more registers than that
                                 leaves. 0: free; no effect on the host    */
        uint64_t reserved[4];
    } specialize;
};
#define OMPJIT_LAUNCH_INIT OMPJIT_SIZED(ompjit_launch)

typedef enum ompjit_arg_type {
    OMPJIT_ARG_POINTER = 0,
    OMPJIT_ARG_I8,
    OMPJIT_ARG_I16,
    OMPJIT_ARG_I32,
    OMPJIT_ARG_I64,
    OMPJIT_ARG_F32,
    OMPJIT_ARG_F64
} ompjit_arg_type;

/* Facts about an argument, for specialization. */
typedef enum ompjit_arg_flags {
    OMPJIT_ARG_NOALIAS = 1, /* the caller promises that what the kernel reaches
                               through this pointer it reaches by nothing
                               else. Regions that map their own data find that
                               out by themselves                            */
    OMPJIT_ARG_VARIES = 2   /* neither its value nor, of a pointer, its
                               alignment is folded                          */
} ompjit_arg_flags;

#define OMPJIT_CONTENTS_MAX 4096

/* One argument of an explicit launch. Pointers are device pointers. */
struct ompjit_arg {
    const char *name;     /* the parameter's; NULL: arguments stand in the
                             kernel's order                                */
    ompjit_arg_type type;
    uint32_t flags;       /* OMPJIT_ARG_NOALIAS, OMPJIT_ARG_VARIES         */
    union {
        void *p;
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        float f32;
        double f64;
    } value;
    uint64_t bytes;       /* of a pointer: the caller promises that it points
                             to so many at least, which the kernel may read
                             also where the source would not; 0: not known.
                             Regions that map their own data find that out by
                             themselves                                    */
    const void *contents; /* of a pointer: `bytes` bytes on the host, 1 to
                             OMPJIT_CONTENTS_MAX, which become a constant of
                             the kernel where that only reads them: it reads
                             these through the pointer and no others, and
                             nothing changes them meanwhile. A variant runs for
                             these very bytes only: they are compared at each
                             launch. A bound launch keeps them. 16 arguments
                             of a launch can have contents. NULL: none. No
                             effect on the code that NVRTC makes           */
    uint64_t reserved[2];
};

/* ompjit_arg_pointer(name, value), ompjit_arg_i32(name, value) and so on: an
 * argument of which nothing more is said. */
#define OMPJIT_ARG_FUNCTION(suffix, TYPE, ctype, member)                     \
    static inline ompjit_arg ompjit_arg_##suffix(const char *name,           \
                                                 ctype value)                \
    {                                                                        \
        ompjit_arg arg = {name, OMPJIT_ARG_##TYPE, 0, {NULL}, 0, NULL,       \
                          {0, 0}};                                           \
        arg.value.member = value;                                            \
        return arg;                                                          \
    }
OMPJIT_ARG_FUNCTION(pointer, POINTER, void *, p)
OMPJIT_ARG_FUNCTION(i8, I8, int8_t, i8)
OMPJIT_ARG_FUNCTION(i16, I16, int16_t, i16)
OMPJIT_ARG_FUNCTION(i32, I32, int32_t, i32)
OMPJIT_ARG_FUNCTION(i64, I64, int64_t, i64)
OMPJIT_ARG_FUNCTION(f32, F32, float, f32)
OMPJIT_ARG_FUNCTION(f64, F64, double, f64)
#undef OMPJIT_ARG_FUNCTION

/* --------------------------------------------------------------- versions */

/* The library's version as text, "0.1.0". Never freed. */
const char *ompjit_version(void);

/* Names of a status ("no such object") and a stage ("front end"). Never NULL,
 * never freed. */
const char *ompjit_status_name(ompjit_status status);
const char *ompjit_stage_name(ompjit_stage stage);

/* --------------------------------------------------------------- contexts */

/* Ends what other threads compile in the context: clang's processes and what
 * workers do. Their calls return ABORTED. Compiles that begin later are not
 * concerned. Any thread; not from a signal handler. */
ompjit_status ompjit_context_cancel(ompjit_context *ctx, ompjit_error *err);

/* ---------------------------------------------------------------- devices */

typedef enum ompjit_device_kind {
    OMPJIT_DEVICE_HOST = 0,
    OMPJIT_DEVICE_CUDA = 1
} ompjit_device_kind;

typedef struct ompjit_device_info {
    size_t size;             /* OMPJIT_DEVICE_INFO_INIT                    */
    ompjit_device_kind kind;
    uint32_t multiprocessors;/* or cores that kernels use                  */
    char name[128];          /* "NVIDIA H200", or the CPU's name           */
    char arch[32];           /* "sm_90", or the CPU LLVM compiles for      */
    uint64_t memory;         /* bytes                                      */
    uint32_t max_threads;    /* a team may have                            */
    uint32_t max_shared;     /* bytes of static team-shared memory         */
    uint32_t warp_size;      /* 32                                         */
    uint32_t driver_version; /* CUDA's, 13000 for 13.0; 0 on the host      */
} ompjit_device_info;
#define OMPJIT_DEVICE_INFO_INIT OMPJIT_SIZED(ompjit_device_info)

ompjit_status ompjit_device_info_get(ompjit_device *dev,
                                     ompjit_device_info *info,
                                     ompjit_error *err);

/* The device's counterpart of host memory that a target construct of a module's
 * function, or omp_target_associate_ptr, has mapped: a pointer for launches,
 * valid as long as the mapping. NOT_FOUND where nothing has. */
ompjit_status ompjit_device_mapped(ompjit_device *dev, const void *host,
                                   void **ptr, ompjit_error *err);

/* ------------------------------------------------- programs of the process */

/* The context of the programs in this process that call libomptarget's
 * functions and are linked with libompjit-omptarget: their failures, times and
 * devices. It is made when the first of them registers its images, or by this
 * call, and lives as long as the process: nobody destroys it. Its options are
 * the defaults, but that values are specialized (AUTO) and host memory is AUTO
 * unless OMPJIT_SPECIALIZE and OMPJIT_HOST_MEMORY say otherwise, and that a
 * failed target construct ends the process with its error on stderr, as
 * libomptarget's do. Any thread. The error is that of making it, each time. */
ompjit_status ompjit_process_context(ompjit_context **ctx, ompjit_error *err);

/* The function by which the library serves a function of libomptarget's, for
 * those who bind programs to contexts themselves: "__tgt_target_kernel",
 * "omp_target_alloc", ... Its first argument is the context, then come the
 * program's own (libompjit/abi/entry_points.def lists them; those of rows P have
 * no context). "ompjit_caller" is a function void **(void): the calling thread's
 * place for the address in the program that it has called from, for tools
 * (OMPT), until the function of libomptarget's returns. NULL: it serves none of
 * that name. Any thread. */
void *ompjit_process_function(const char *name);

/* ---------------------------------------------------------------- modules */

/* A program of n sources, C, C++ and Fortran mixed: each is compiled by itself,
 * as ompjit_module_from_c and _fortran do, and both halves are linked as objects
 * are. So each source has its own `static` names and macros, and declares the
 * functions and variables of others that it uses, in device code, too.
 * Constructors run in the order of the sources. They are compiled by several
 * threads, those of Fortran one by one, so that each can use the modules of the
 * ones before it, which are in a private folder unless -J names one. One that has
 * not changed is taken from the cache. names[i] is the name of sources[i]
 * in diagnostics, and its ending chooses the language; no two names are the
 * same. options->name is the module's. The error is that of the first source
 * that does not compile; OMPJIT_ERR_LINK names all that is defined twice. */
ompjit_status ompjit_module_from_sources(ompjit_context *ctx,
                                         const char *const *sources,
                                         const char *const *names, unsigned n,
                                         const ompjit_module_options *options,
                                         ompjit_module **mod,
                                         ompjit_error *err);

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
 * clang gets all of the flags; NVRTC gets -I -D -U -include -std= -g and
 * -ffast-math. `openmp_version` has no meaning. OMPJIT_ERR_SOURCE carries
 * NVRTC's or clang's diagnostics, with file and line, OMPJIT_ERR_UNAVAILABLE
 * says that neither is there. It is a launch's error where NVRTC is asked for,
 * the driver has to compile its PTX, and is older. `options` may be NULL. The
 * module is used and destroyed as any other; it has no functions for
 * ompjit_module_function. */
ompjit_status ompjit_module_from_cuda(ompjit_context *ctx, const char *source,
                                      const ompjit_module_options *options,
                                      ompjit_module **mod, ompjit_error *err);

/* Fortran with OpenMP directives, by flang 22 in its own process: OMPJIT_FLANG,
 * else the one beside the clang found by configure, else flang-22 on PATH.
 * options->name says the form: .f90 .f95 .f03 .f08 .f18 are free, .f .for .ftn
 * fixed, and those in capitals, and .fpp, are preprocessed; NULL is
 * "snippet.f90". Flags are -I -D -U -f... as flang's, and -J, the folder that
 * .mod files are written to and looked for; without it those of this source are
 * not kept. An `openmp_version` of 0 is 52. OMPJIT_ERR_SOURCE carries flang's
 * diagnostics, OMPJIT_ERR_UNAVAILABLE says that there is no flang and how to get
 * it. A main program is the function `main`. The first function that is asked
 * for loads flang's runtime library, which stays in the process. `options` may
 * be NULL. */
ompjit_status ompjit_module_from_fortran(ompjit_context *ctx,
                                         const char *source,
                                         const ompjit_module_options *options,
                                         ompjit_module **mod,
                                         ompjit_error *err);

/* Device code that was compiled ahead of time: LLVM bitcode or IR text for
 * nvptx64, PTX, a cubin, or a container of such: LLVM's offload binary, clang's
 * offload bundle (compressed or not), CUDA's fat binary, an object or archive
 * with any of them in its sections. The best one of several images for the
 * context's devices is taken: IR before machine code, since it is compiled and
 * specialized for whatever device runs it, the host device included; then the
 * newest architecture that all of the context's GPUs run. Several pieces of IR
 * for one architecture are linked. PTX and cubins run on GPUs only.
 *
 * The bytes are only read during the call. The module has kernels and variables
 * but no functions for ompjit_module_function. Only the options `name` and
 * `opt_level` count. OMPJIT_ERR_IR or _ABI where the image is wrong, with the
 * byte where it is; OMPJIT_ERR_UNAVAILABLE where nothing in it is for
 * a device of this library. */
ompjit_status ompjit_module_from_image(ompjit_context *ctx, const void *image,
                                       size_t size,
                                       const ompjit_module_options *options,
                                       ompjit_module **mod, ompjit_error *err);

/* ---------------------------------------------------------------- kernels */

/* Kernels in the module, and the i-th. The module owns them. */
unsigned ompjit_module_kernel_count(ompjit_module *mod);
ompjit_kernel *ompjit_module_kernel_at(ompjit_module *mod, unsigned i);

typedef enum ompjit_mode {
    OMPJIT_MODE_BARE = 0,
    OMPJIT_MODE_GENERIC = 1,
    OMPJIT_MODE_SPMD = 2,
    OMPJIT_MODE_GENERIC_SPMD = 3
} ompjit_mode;

/* A CUDA kernel has mode BARE and line 0. A generic kernel has mode
 * GENERIC_SPMD once code that runs all threads from its beginning was made of
 * it for a GPU. */
typedef struct ompjit_kernel_info {
    size_t size;          /* OMPJIT_KERNEL_INFO_INIT                      */
    char symbol[256];     /* the kernel's own name                        */
    char name[128];       /* the function that it stands in               */
    uint32_t line;        /* of the region; 0 if unknown                  */
    ompjit_mode mode;
    uint32_t nparams;     /* arguments a launch passes                    */
    uint32_t max_threads; /* a team may have; 0: no bound                 */
    uint32_t max_teams;   /* 0: no bound                                  */
    uint32_t unused;      /* 0                                            */
} ompjit_kernel_info;
#define OMPJIT_KERNEL_INFO_INIT OMPJIT_SIZED(ompjit_kernel_info)

ompjit_status ompjit_kernel_info_get(ompjit_kernel *kernel,
                                     ompjit_kernel_info *info,
                                     ompjit_error *err);

/* One parameter, with the source's type. Kernels have parameters in the order
 * in which the region uses the variables. Device IR alone may not tell the size
 * (then 8), the type (0) or the order (then the kernel's). */
typedef struct ompjit_param_info {
    size_t size;           /* OMPJIT_PARAM_INFO_INIT                         */
    char name[64];         /* "" if the IR has none                          */
    uint32_t bytes;        /* of the value that is passed                    */
    int is_pointer;
    int is_float;          /* of a floating-point type                       */
    uint32_t source_order; /* its place, from 0, if all are in the order of
                              the source: parameters of the enclosing
                              function, its locals, other variables          */
} ompjit_param_info;
#define OMPJIT_PARAM_INFO_INIT OMPJIT_SIZED(ompjit_param_info)

ompjit_status ompjit_kernel_param(ompjit_kernel *kernel, unsigned i,
                                  ompjit_param_info *info, ompjit_error *err);

/* --------------------------------------------------------------- launches */

/* Ends the launches of the kernel, or all on the device, that run now on the
 * host device, bound ones and those of target regions too: they fail as
 * ABORTED. Returns at once; the launches return as soon as the kernel's code is
 * to go on, after a function of the C library that it has called. May be called
 * from a signal handler, with err NULL. UNAVAILABLE where keep_signals or
 * another handler of SIGSEGV forbids it, and for a GPU, whose launches cannot
 * be ended. */
ompjit_status ompjit_kernel_abort(ompjit_kernel *kernel, ompjit_error *err);
ompjit_status ompjit_device_abort(ompjit_device *dev, ompjit_error *err);

/* A bound launch: kernel, device, geometry, variant and arguments, chosen once
 * and run many times for a few nanoseconds. ompjit_kernel_bind compiles what is
 * missing (AUTO is as NOW here). The module must outlive the bound launch, whose
 * variant is never evicted. */
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
/* Changes the value of parameter `i`, or of the one that arg names. ARGUMENT
 * error where its value is folded, or what it points to; what the caller has
 * promised of the pointer at ompjit_kernel_bind holds for a new one, too, and
 * nothing in `arg` changes that. If the variant counts on a multiple of 64
 * (OMPJIT_FOLD_ALIGNMENT) and gets another pointer, one that does not is
 * compiled. Not while another thread runs it. */
ompjit_status ompjit_bound_set(ompjit_bound *bound, unsigned i,
                               const ompjit_arg *arg, ompjit_error *err);
void ompjit_bound_destroy(ompjit_bound *bound);

/* ------------------------------------------------------- copies in queues */

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
/* Output of kernels (printf) is on the process's standard output at the latest
 * when their queue was waited for. On a GPU the driver keeps it until then, the
 * newest 1 MiB unless the application gives it more room
 * (CU_LIMIT_PRINTF_FIFO_SIZE). */

#ifdef __cplusplus
}
#endif
#endif
