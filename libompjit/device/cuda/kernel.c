/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Images on a GPU: loading a cubin, or the PTX that it came from where the
 * driver cannot take the cubin; symbols, kernels and their launch.
 *
 * An image is a CUmodule of the primary context. Its functions are looked up
 * once and kept in a list; loaded->lock guards that list alone, and is taken
 * before gpu->lock. A launch takes neither.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/cuda.h"

/* A kernel of an image, with what the driver says of it; made when it is first
 * asked for, freed with the image. `handle` is the module's: it ends with it.
 */
struct ompjit__function {
    ompjit__function *next;
    cu_function handle;
    int max_threads;  /* of a team, with the registers that it uses        */
    int registers;    /* of a thread                                       */
    int shared;       /* static bytes                                      */
    _Atomic int dynamic; /* bytes that the driver lets a launch ask for;
                            grows, under gpu->lock                         */
    const char *name; /* kept by the GPU                                   */
};

/* One image. `base` outlives it: launch/ keeps a module's first image on a
 * device until the module goes. */
struct ompjit__loaded {
    ompjit__loaded *next; /* under gpu->lock            */
    cu_module module;
    pthread_mutex_t lock; /* of functions; before gpu's */
    ompjit__function *functions;
    ompjit__loaded *base; /* whose variables it imports; NULL: it has all */
};

/* ----------------------------------------------------------------- images */

enum { JIT_LOG = 1 << 16 }; /* bytes, with the NUL */

/* The words of the driver's compiler. It does not say what it left out. A log
 * that fills its buffer has been cut. */
static void add_log(char *log, ompjit__buf *text)
{
    size_t n = strlen(log);
    const char *end = n + 2 < JIT_LOG ? "" : "\n... (the driver's log ends)";
    while (n && log[n - 1] == '\n')
        log[--n] = 0;
    if (n)
        ompjit__buf_printf(text, ": %s%s", log, end);
}

/* Gives the driver one form of an image. Without memory for its log it goes
 * without one. PTX has lines where somebody asked for them, of which the
 * driver's compiler has to be told. A failure adds its words to `text`, those
 * of the compiler too. The option values are passed as pointers whatever they
 * are, as cuModuleLoadDataEx wants them. code->data ends in a NUL, which PTX
 * needs. */
static cu_result attempt(ompjit__gpu *gpu, bool cubin, const ompjit__buf *code,
                         cu_module *module, ompjit__buf *text)
{
    char *log = calloc(1, JIT_LOG);
    unsigned options[3], n = 0;
    void *values[3];
    if (log) {
        options[n] = OMPJIT__CU_JIT_ERROR_LOG_BUFFER;
        values[n++] = log;
        options[n] = OMPJIT__CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES;
        values[n++] = (void *)(uintptr_t)(JIT_LOG - 1);
    }
    if (!cubin && strstr(code->data, "\t.loc\t")) {
        options[n] = OMPJIT__CU_JIT_GENERATE_LINE_INFO;
        values[n++] = (void *)(uintptr_t)1;
    }
    cu_result r = gpu->cu->cuModuleLoadDataEx(module, code->data, n, options,
                                              values);
    if (r) {
        ompjit__buf_printf(text, "%s%s: ", text->size ? "; " : "",
                           cubin ? "cubin" : "PTX");
        ompjit__cuda_describe(gpu->cu, "cuModuleLoadDataEx", r, text);
        if (log)
            add_log(log, text);
    }
    free(log);
    return r;
}

/* A cubin for another driver's format or another GPU is refused with a code
 * whose effect is REFUSED (driver.def); the PTX beside it may still work. Any
 * other failure, such as missing memory, would come again. `text` has both
 * failures. */
static ompjit_status load(ompjit__gpu *gpu, const ompjit__image *image,
                          cu_module *module, ompjit_error *err)
{
    ompjit__buf text = {0};
    bool cubin = image->kind == OMPJIT__IMAGE_CUBIN;
    cu_result r = attempt(gpu, cubin, &image->bytes, module, &text);
    if (cubin && image->ptx.size &&
        ompjit__cuda_effect(r) == OMPJIT__CUDA_EFFECT_REFUSED) {
        r = attempt(gpu, false, &image->ptx, module, &text);
        if (!r)
            ompjit__log(gpu->ctx, "cuda:%u was given PTX for a cubin: %s",
                        gpu->ordinal, text.data ? text.data : "");
    }
    ompjit_status status = OMPJIT_OK;
    if (r) {
        ompjit__gpu_note_lost(gpu, r, "loading an image", &text);
        status = ompjit__fail_logged(
            gpu->ctx, err, ompjit__cuda_status(r), OMPJIT_STAGE_LOAD,
            "loading an image for %s on cuda:%u (%s): %s", image->arch,
            gpu->ordinal, gpu->info.name,
            text.data ? text.data : "out of memory");
    }
    ompjit__buf_free(&text);
    return status;
}

/* In this process; the driver has unloaded it, or is not there any more. Its
 * functions end with it: nobody launches them any more. */
static void free_loaded(ompjit__loaded *loaded)
{
    while (loaded->functions) {
        ompjit__function *f = loaded->functions;
        loaded->functions = f->next;
        free(f);
    }
    pthread_mutex_destroy(&loaded->lock);
    free(loaded);
}

/* The code tells the caller whether the image is gone; the log has the words.
 */
static cu_result unload(ompjit__gpu *gpu, ompjit__loaded *loaded)
{
    cu_result r = gpu->cu->cuModuleUnload(loaded->module);
    if (r)
        ompjit__gpu_log(gpu, "cuModuleUnload", r, "unloading an image");
    return r;
}

/* Addresses of variables are fixed once a module is loaded. */
static ompjit_status find_variable(ompjit__gpu *gpu,
                                   const ompjit__loaded *loaded,
                                   const char *name, cu_pointer *at,
                                   size_t *size, ompjit_error *err)
{
    ompjit__gpu_call call = {
        OMPJIT_STAGE_LOAD, "cuModuleGetGlobal",
        gpu->cu->cuModuleGetGlobal(at, size, loaded->module, name)};
    if (!call.code)
        return OMPJIT_OK;
    return ompjit__gpu_fail(gpu, call, err, "looking up variable %s", name);
}

/* Tells the image where the variables are that it imports. The table is in
 * constant memory, which the host may write as long as no kernel runs that
 * reads it. Rows are in the order of image->globals, as passes/import.cc has
 * numbered them. Waits for the copy, so that `addresses` may be freed. */
static ompjit_status fill_imports(ompjit_device *dev, ompjit__loaded *loaded,
                                  const ompjit__image *image,
                                  ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    cu_pointer table;
    size_t size, room, bytes = image->nglobals * sizeof table;
    cu_pointer *addresses = calloc(image->nglobals, sizeof *addresses);
    if (!addresses)
        return ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    ompjit_status status =
        find_variable(gpu, loaded, OMPJIT__IMPORTS, &table, &room, err);
    if (!status && room < bytes)
        status = ompjit__fail(err, OMPJIT_ERR_DEVICE, OMPJIT_STAGE_LOAD,
                              "the image has room for %zu bytes of variables' "
                              "addresses; %zu are needed", room, bytes);
    for (unsigned i = 0; i < image->nglobals && !status; i++)
        status = find_variable(gpu, loaded->base, image->globals[i].name,
                               &addresses[i], &size, err);
    if (!status)
        status = ompjit__gpu_copy(dev, OMPJIT__COPY_TO,
                                  (void *)(uintptr_t)table, addresses, bytes,
                                  NULL, err);
    free(addresses);
    return status;
}

/* Makes the GPU's page-locked memory, which a kernel can write and which the
 * host can read when the context is lost. One for all images. Taken under the
 * GPU's lock so that two images do not make two; freed by close. */
static ompjit_status find_assertion(ompjit__gpu *gpu, ompjit_error *err)
{
    ompjit__gpu_call call = {OMPJIT_STAGE_LOAD, "cuMemAllocHost", 0};
    void *memory = NULL;
    pthread_mutex_lock(&gpu->lock);
    if (!gpu->assertion) {
        call.code = gpu->cu->cuMemAllocHost(&memory, sizeof *gpu->assertion);
        if (!call.code)
            gpu->assertion = memset(memory, 0, sizeof *gpu->assertion);
    }
    pthread_mutex_unlock(&gpu->lock);
    if (!call.code)
        return OMPJIT_OK;
    return ompjit__gpu_fail(gpu, call, err,
                            "allocating page-locked memory for assertions");
}

/* Tells an image that has assertions where to write which one has failed. An
 * image without assertions has no such variable, which is no error. Page-locked
 * memory has one address for host and device. */
static ompjit_status fill_assertion(ompjit_device *dev,
                                    const ompjit__loaded *loaded,
                                    ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    cu_pointer at;
    size_t size;
    cu_result r = gpu->cu->cuModuleGetGlobal(&at, &size, loaded->module,
                                             OMPJIT_ASSERTION_AT);
    if (r == OMPJIT__CUDA_NOT_FOUND)
        return OMPJIT_OK;
    ompjit__gpu_call call = {OMPJIT_STAGE_LOAD, "cuModuleGetGlobal", r};
    if (r)
        return ompjit__gpu_fail(gpu, call, err, "looking up variable "
                                OMPJIT_ASSERTION_AT);
    ompjit_status status = find_assertion(gpu, err);
    return status ? status
                  : ompjit__gpu_copy(dev, OMPJIT__COPY_TO,
                                     (void *)(uintptr_t)at, &gpu->assertion,
                                     sizeof gpu->assertion, NULL, err);
}

/* Writes into an image's variables what it has to know, before it is used.
 * `base` is only noted where the image imports: ompjit__gpu_symbol goes by it.
 */
static ompjit_status fill(ompjit_device *dev, ompjit__loaded *loaded,
                          const ompjit__image *image, ompjit__loaded *base,
                          ompjit_error *err)
{
    ompjit_status status = fill_assertion(dev, loaded, err);
    if (status || !image->imports_globals || !image->nglobals)
        return status;
    loaded->base = base;
    return fill_imports(dev, loaded, image, err);
}

/* An image whose loading fails only in leave is left to close. fill copies
 * within enter and leave of this function; that nests. The driver copies the
 * image's bytes, so the caller may free them. */
ompjit_status ompjit__gpu_load(ompjit_device *dev, const ompjit__image *image,
                               ompjit__loaded *base, ompjit__loaded **out,
                               ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    if (image->kind == OMPJIT__IMAGE_OBJECT)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_LOAD,
                            "a host object cannot be loaded on cuda:%u",
                            gpu->ordinal);
    ompjit_status status = ompjit__gpu_enter(gpu, err);
    if (status)
        return status;
    ompjit__loaded *loaded = calloc(1, sizeof *loaded);
    if (!loaded) {
        status = ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
        return ompjit__gpu_leave(gpu, status, err);
    }
    pthread_mutex_init(&loaded->lock, NULL);
    status = load(gpu, image, &loaded->module, err);
    if (!status && (status = fill(dev, loaded, image, base, err)))
        unload(gpu, loaded);
    if (status) {
        free_loaded(loaded);
        return ompjit__gpu_leave(gpu, status, err);
    }
    pthread_mutex_lock(&gpu->lock);
    loaded->next = gpu->loaded;
    gpu->loaded = loaded;
    pthread_mutex_unlock(&gpu->lock);
    status = ompjit__gpu_leave(gpu, OMPJIT_OK, err);
    if (!status)
        *out = loaded;
    return status;
}

/* Images that the driver does not unload now are tried again by close. The
 * caller has waited for all launches of its kernels. */
void ompjit__gpu_unload(ompjit_device *dev, ompjit__loaded *loaded)
{
    ompjit__gpu *gpu = dev->state;
    ompjit_error err;
    if (!loaded || !ompjit__gpu_usable(gpu))
        return;
    ompjit_status status = ompjit__gpu_enter(gpu, &err);
    if (!status) {
        if (!unload(gpu, loaded)) {
            OMPJIT__GPU_UNLINK(gpu, ompjit__loaded, loaded, loaded);
            free_loaded(loaded);
        }
        status = ompjit__gpu_leave(gpu, OMPJIT_OK, &err);
    }
    if (status)
        ompjit__log(gpu->ctx, "%s", err.text);
}

/* No lock: the caller has the GPU for itself. A later image goes before the one
 * whose variables it imports: the list has the newest first. */
void ompjit__gpu_drop_images(ompjit__gpu *gpu, bool driver)
{
    while (gpu->loaded) {
        ompjit__loaded *loaded = gpu->loaded;
        gpu->loaded = loaded->next;
        if (driver)
            OMPJIT__GPU_DESTROY(gpu, cuModuleUnload, loaded->module,
                                "unloading an image");
        free_loaded(loaded);
    }
}

/* An importing image has no storage for variables, so it is asked of the image
 * that has it. Each image has a device environment of its own, though. */
ompjit_status ompjit__gpu_symbol(ompjit_device *dev, ompjit__loaded *loaded,
                                 const char *name, void **address,
                                 size_t *size, ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    ompjit_status status = ompjit__gpu_enter(gpu, err);
    if (status)
        return status;
    cu_pointer where = 0;
    size_t bytes = 0;
    bool own = !loaded->base || !strcmp(name, OMPJIT__DEVICE_ENVIRONMENT);
    status = find_variable(gpu, own ? loaded : loaded->base, name, &where,
                           &bytes, err);
    status = ompjit__gpu_leave(gpu, status, err);
    if (!status) {
        *address = (void *)(uintptr_t)where;
        *size = bytes;
    }
    return status;
}

/* ---------------------------------------------------------------- kernels */

/* Read once: they do not change, but for the dynamic bytes, which a launch may
 * raise. */
static ompjit_status read_attributes(ompjit__gpu *gpu, ompjit__function *f,
                                     ompjit_error *err)
{
    int dynamic = 0;
    const struct {
        int *value;
        unsigned attribute;
    } table[] = {
        {&f->max_threads, OMPJIT__CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
        {&f->registers, OMPJIT__CU_FUNC_ATTRIBUTE_NUM_REGS},
        {&f->shared, OMPJIT__CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES},
        {&dynamic, OMPJIT__CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES},
    };
    for (size_t i = 0; i < OMPJIT__COUNT(table); i++) {
        ompjit__gpu_call call = {
            OMPJIT_STAGE_LOAD, "cuFuncGetAttribute",
            gpu->cu->cuFuncGetAttribute(table[i].value, table[i].attribute,
                                        f->handle)};
        if (call.code)
            return ompjit__gpu_fail(gpu, call, err,
                                    "reading attribute %u of kernel %s",
                                    table[i].attribute, f->name);
    }
    atomic_init(&f->dynamic, dynamic);
    return OMPJIT_OK;
}

/* The name, for as long as the GPU is open: messages may come after the image
 * has gone. NULL: out of memory. Names are shared between images, so that
 * reloading a kernel costs nothing. Takes the GPU's lock. */
static const char *keep_name(ompjit__gpu *gpu, const char *name)
{
    pthread_mutex_lock(&gpu->lock);
    struct ompjit__kernel_name *n = gpu->names;
    while (n && strcmp(n->name, name))
        n = n->next;
    size_t length = strlen(name) + 1;
    if (!n && (n = calloc(1, sizeof *n + length))) {
        memcpy(n->name, name, length);
        n->next = gpu->names;
        gpu->names = n;
    }
    pthread_mutex_unlock(&gpu->lock);
    return n ? n->name : NULL;
}

/* Between enter and leave, under loaded->lock. The name that is kept stays
 * where the function fails: it is the GPU's. */
static ompjit_status new_function(ompjit__gpu *gpu, cu_module module,
                                  const char *symbol, ompjit__function **out,
                                  ompjit_error *err)
{
    ompjit__function *f = calloc(1, sizeof *f);
    if (f)
        f->name = keep_name(gpu, symbol);
    if (!f || !f->name) {
        free(f);
        return ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    }
    ompjit_status status;
    ompjit__gpu_call call = {
        OMPJIT_STAGE_LOAD, "cuModuleGetFunction",
        gpu->cu->cuModuleGetFunction(&f->handle, module, symbol)};
    if (call.code)
        status = ompjit__gpu_fail(gpu, call, err, "looking up kernel %s",
                                  symbol);
    else
        status = read_attributes(gpu, f, err);
    if (status)
        free(f);
    else
        *out = f;
    return status;
}

/* Under loaded->lock; NULL: nobody has asked for it yet. */
static ompjit__function *known(ompjit__loaded *loaded, const char *symbol)
{
    ompjit__function *f = loaded->functions;
    while (f && strcmp(f->name, symbol))
        f = f->next;
    return f;
}

/* The image's lock is held over the driver's calls: a second thread that wants
 * the same kernel waits instead of making another. A function that was made
 * although the context could not be left stays in the list for the next caller.
 */
ompjit_status ompjit__gpu_function(ompjit_device *dev, ompjit__loaded *loaded,
                                   const char *symbol, ompjit__function **out,
                                   ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    ompjit_status status = OMPJIT_OK;
    pthread_mutex_lock(&loaded->lock);
    ompjit__function *f = known(loaded, symbol);
    if (!f && !(status = ompjit__gpu_enter(gpu, err))) {
        status = new_function(gpu, loaded->module, symbol, &f, err);
        if (!status) {
            f->next = loaded->functions;
            loaded->functions = f;
        }
        status = ompjit__gpu_leave(gpu, status, err);
    }
    pthread_mutex_unlock(&loaded->lock);
    if (!status)
        *out = f;
    return status;
}

/* ----------------------------------------------------------------- launch */

/* By its registers and the bound that it was compiled with. */
uint32_t ompjit__gpu_most_threads(const ompjit__function *function)
{
    return (uint32_t)function->max_threads;
}

/* A dimension of 0 is an error too: an unused one has 1. The limits are the
 * GPU's. */
static ompjit_status check_dimensions(const ompjit__gpu *gpu,
                                      const ompjit__function *f,
                                      const ompjit__geometry *g,
                                      ompjit_error *err)
{
    for (int i = 0; i < 3; i++) {
        const struct {
            const char *what;
            uint32_t asked;
            int limit;
        } rows[] = {
            {"teams", g->teams[i], gpu->facts.teams[i]},
            {"threads", g->threads[i], gpu->facts.threads[i]},
        };
        for (size_t k = 0; k < OMPJIT__COUNT(rows); k++)
            if (!rows[k].asked || rows[k].asked > (uint32_t)rows[k].limit)
                return ompjit__fail(
                    err, OMPJIT_ERR_GEOMETRY, OMPJIT_STAGE_LAUNCH,
                    "kernel %s on cuda:%u: %u %s in dimension %c, where 1 to "
                    "%d are possible",
                    f->name, gpu->ordinal, rows[k].asked, rows[k].what, 'x' + i,
                    rows[k].limit);
    }
    return OMPJIT_OK;
}

/* The driver would refuse the launch with CUDA_ERROR_INVALID_VALUE, which says
 * nothing. Whether all teams of a cooperative launch fit at the same time is
 * only known to the driver, which has a code for it. */
static ompjit_status check_geometry(const ompjit__gpu *gpu,
                                    const ompjit__function *f,
                                    const ompjit__geometry *g,
                                    ompjit_error *err)
{
    ompjit_status status = check_dimensions(gpu, f, g, err);
    if (status)
        return status;
    uint64_t threads =
        (uint64_t)g->threads[0] * g->threads[1] * g->threads[2];
    if (threads > (uint64_t)f->max_threads)
        return ompjit__fail(err, OMPJIT_ERR_GEOMETRY, OMPJIT_STAGE_LAUNCH,
                            "kernel %s on cuda:%u: %llu threads in a team, but "
                            "at most %d can run with its %d registers a thread "
                            "and its own bound",
                            f->name, gpu->ordinal, (unsigned long long)threads,
                            f->max_threads, f->registers);
    uint64_t shared = (uint64_t)f->shared + g->dynamic_shared;
    if (g->dynamic_shared && shared > (uint64_t)gpu->facts.shared_optin)
        return ompjit__fail(err, OMPJIT_ERR_GEOMETRY, OMPJIT_STAGE_LAUNCH,
                            "kernel %s on cuda:%u: %d bytes of its own and %u "
                            "dynamic bytes of team-shared memory, but a team "
                            "can have %d",
                            f->name, gpu->ordinal, f->shared, g->dynamic_shared,
                            gpu->facts.shared_optin);
    if (g->cooperative && !gpu->facts.cooperative)
        return ompjit__fail(err, OMPJIT_ERR_GEOMETRY, OMPJIT_STAGE_LAUNCH,
                            "kernel %s on cuda:%u: this GPU has no cooperative "
                            "launches",
                            f->name, gpu->ordinal);
    return OMPJIT_OK;
}

/* More dynamic shared memory than the driver gives to any kernel has to be
 * asked for once. The attribute is the kernel's, so a smaller value would make
 * another thread's launch fail: it only grows. The first look is without the
 * lock; its value can only be too small. */
static ompjit_status allow_shared(ompjit__gpu *gpu, ompjit__function *f,
                                  uint32_t bytes, ompjit_error *err)
{
    ompjit__gpu_call call = {OMPJIT_STAGE_LAUNCH, "cuFuncSetAttribute", 0};
    if (bytes <= (uint32_t)atomic_load_explicit(&f->dynamic,
                                                memory_order_relaxed))
        return OMPJIT_OK;
    pthread_mutex_lock(&gpu->lock);
    if (bytes > (uint32_t)f->dynamic) {
        call.code = gpu->cu->cuFuncSetAttribute(
            f->handle, OMPJIT__CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            (int)bytes);
        if (!call.code)
            f->dynamic = (int)bytes;
    }
    pthread_mutex_unlock(&gpu->lock);
    if (!call.code)
        return OMPJIT_OK;
    return ompjit__gpu_fail(gpu, call, err,
                            "allowing kernel %s %u bytes of dynamic shared "
                            "memory",
                            f->name, bytes);
}

/* `args` are read before this returns: the driver copies the parameters. The
 * queue's kernel is noted before the launch: an error that a later call finds
 * may be this kernel's. */
static void submit(ompjit__gpu *gpu, const ompjit__function *f,
                   const ompjit__geometry *g, void **args,
                   ompjit__queue *queue, ompjit__gpu_call *call)
{
    atomic_store_explicit(&queue->kernel, f->name, memory_order_relaxed);
    if (g->cooperative) {
        call->function = "cuLaunchCooperativeKernel";
        call->code = gpu->cu->cuLaunchCooperativeKernel(
            f->handle, g->teams[0], g->teams[1], g->teams[2], g->threads[0],
            g->threads[1], g->threads[2], g->dynamic_shared, queue->stream,
            args);
        return;
    }
    call->function = "cuLaunchKernel";
    call->code = gpu->cu->cuLaunchKernel(
        f->handle, g->teams[0], g->teams[1], g->teams[2], g->threads[0],
        g->threads[1], g->threads[2], g->dynamic_shared, queue->stream, args,
        NULL);
}

/* Between enter and leave. Without `queue` it borrows a stream and waits for
 * that one: host threads do not wait for each other's kernels. A launch is
 * asynchronous, so a kernel's fault shows in the wait, or in the next call for
 * the queue. */
static ompjit_status run(ompjit__gpu *gpu, ompjit__function *f,
                         const ompjit__geometry *g, void **args,
                         ompjit__queue *queue, ompjit_error *err)
{
    ompjit__queue *q = queue;
    ompjit_status status = allow_shared(gpu, f, g->dynamic_shared, err);
    if (!status && !q)
        status = ompjit__gpu_borrow(gpu, &q, err);
    if (status)
        return status;
    ompjit__gpu_call call = {.stage = OMPJIT_STAGE_LAUNCH};
    ompjit__gpu_timing *timing =
        gpu->ctx->spans ? ompjit__gpu_time_start(gpu, q) : NULL;
    submit(gpu, f, g, args, q, &call);
    if (timing) {
        ompjit__gpu_time_what(timing, OMPJIT__SPAN_KERNEL, f->name, 0);
        ompjit__gpu_time_end(gpu, q, timing, !call.code);
    }
    if (!call.code && !queue) {
        call.function = "cuStreamSynchronize";
        call.code = ompjit__gpu_await(gpu, q);
    }
    if (!queue)
        ompjit__gpu_give_back(gpu, q);
    if (!call.code)
        return OMPJIT_OK;
    return ompjit__gpu_fail(gpu, call, err,
                            "running kernel %s with %u x %u x %u teams of %u x "
                            "%u x %u threads",
                            f->name, g->teams[0], g->teams[1], g->teams[2],
                            g->threads[0], g->threads[1], g->threads[2]);
}

/* The geometry is checked before the driver is touched, so that a GEOMETRY
 * error leaves a recording intact. */
ompjit_status ompjit__gpu_launch(ompjit_device *dev, ompjit__function *function,
                                 const ompjit__geometry *geometry, void **args,
                                 unsigned nargs, ompjit__queue *queue,
                                 ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    ompjit_status status = check_geometry(gpu, function, geometry, err);
    if (!status)
        status = ompjit__gpu_enter(gpu, err);
    if (status)
        return status;
    status = run(gpu, function, geometry, args, queue, err);
    return ompjit__gpu_leave(gpu, status, err);
}
