/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The runtime wing's requests to the compiler. The first half of the file
 * carries a request out, by a worker or in this process; then follows a
 * function for each kind of request, which packs the arguments and reads the
 * results. serve/session.c is the other side, and reads and writes in the same
 * order.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/cuda_source.h"
#include "core/report.h"
#include "door/worker.h"

/* ---------------------------------------------------------------- requests */

/* Packs the environment variables that the compiler reads: a worker may have
 * been started before they were set. */
static void pack_environment(ompjit__buf *out)
{
    const char *value;
#define VARIABLE(name)                                                         \
    value = getenv(#name);                                                     \
    ompjit__pack_number(out, value != NULL);                                   \
    ompjit__pack_string(out, value ? value : "");
#include "core/environment.def"
}

/* Packs the current folder, to which relative names in options refer
 * (-Iinclude). A worker changes to it. */
static void pack_folder(ompjit__buf *out)
{
    char *folder = getcwd(NULL, 0);
    ompjit__pack_string(out, folder ? folder : "");
    free(folder);
}

/* Packs the head of every request; serve/session.c reads it in the same order.
 */
static void ask_begin(ompjit__ask *ask, ompjit__compiler *compiler,
                      enum ompjit__op op)
{
    *ask = (ompjit__ask){.compiler = compiler,
                         .cancels = atomic_load(&compiler->cancels),
                         .op = op};
    ompjit__buf *out = &ask->request;
    ompjit__pack_number(out, op);
    ompjit__pack_number(out, compiler->assembler);
    ompjit__pack_number(out, compiler->checks);
    ompjit__pack_number(out, compiler->cancellation);
    ompjit__pack_number(out, compiler->explains);
    ompjit__pack_number(out, compiler->log != NULL);
    ompjit__pack_number(out, compiler->llvm_limit_ms);
    ompjit__pack_number(out, compiler->memory_limit);
    pack_environment(out);
    pack_folder(out);
}

/* For each ask_begin, whatever became of the request. */
static void ask_end(ompjit__ask *ask)
{
    ompjit__buf_free(&ask->request);
    ompjit__buf_free(&ask->answer);
}

/* -------------------------------------------------------------- carry out */

/* Has the compiler carry one request out, in its process or in this one. LOST
 * in this process: the compiler wing cannot be loaded. */
static ompjit__outcome exchange(ompjit__worker *w, ompjit__ask *ask,
                                const ompjit__buf *request)
{
    const ompjit__door *door;
    if (!w->session)
        return ompjit__worker_exchange(w, ask, request);
    ask->state = OMPJIT__ASK_OPEN;
    if (ompjit__door_open(&door, NULL))
        return OMPJIT__LOST;
    door->serve(w->session, request->data, request->size, ompjit__ask_tell,
                ask);
    return ask->state == OMPJIT__ASK_OPEN ? OMPJIT__LOST : OMPJIT__ASKED;
}

/* Sends the unit that the worker does not know. */
static ompjit__outcome hand_over(ompjit__worker *w, ompjit__ask *ask)
{
    ompjit__ask keep;
    ask_begin(&keep, ask->compiler, OMPJIT__OP_UNIT_KEEP);
    ompjit__unit_pack(ask->unit, &keep.request);
    ompjit__pack_number(&keep.request, ask->unit->from_source);
    ompjit__pack_number(&keep.request, ask->unit->cuda != NULL);
    if (ask->unit->cuda)
        ompjit__cuda_pack(ask->unit->cuda, &keep.request);
    ompjit__outcome outcome = keep.request.failed
                                  ? OMPJIT__LOST
                                  : exchange(w, &keep, &keep.request);
    memcpy(ask->cause, keep.cause, sizeof ask->cause);
    ask_end(&keep);
    return outcome;
}

/* Asks; if the worker does not know the unit, sends it and asks once more. */
static ompjit__outcome carry_out(ompjit__worker *w, ompjit__ask *ask)
{
    ompjit__outcome outcome = exchange(w, ask, &ask->request);
    if (outcome || ask->state != OMPJIT__ASK_NEEDS_UNIT || !ask->unit)
        return outcome;
    outcome = hand_over(w, ask);
    return outcome ? outcome : exchange(w, ask, &ask->request);
}

/* The stage that an error of the request names. */
static ompjit_stage stage_of(const ompjit__ask *ask)
{
    bool builds = ask->op == OMPJIT__OP_BUILD || ask->op == OMPJIT__OP_HALF;
    return builds ? OMPJIT_STAGE_CODEGEN : OMPJIT_STAGE_READ;
}

/* The error of a request that has no reply. */
static ompjit_status failure(const ompjit__ask *ask, const ompjit__worker *w,
                             ompjit__outcome outcome, ompjit_error *err)
{
    ompjit_stage stage = stage_of(ask);
    ompjit_status status =
        stage == OMPJIT_STAGE_READ ? OMPJIT_ERR_IR : OMPJIT_ERR_COMPILE;
    if (atomic_load(&w->cancelled))
        return ompjit__fail(err, OMPJIT_ERR_ABORTED, stage,
                            "the compile was cancelled");
    if (outcome == OMPJIT__LATE)
        return ompjit__fail(err, OMPJIT_ERR_TIMEOUT, stage,
                            "LLVM did not end within %s",
                            ompjit__limit(ask->compiler->worker_limit_ms).text);
    if (*ask->cause)
        return ompjit__fail(err, status, stage,
                            "LLVM fails with this module: %s", ask->cause);
    return ompjit__fail(err, status, stage,
                        "the compiler's process was killed");
}

/* The status that the compiler replies, with ask->results behind it. */
static ompjit_status take_results(ompjit__ask *ask, ompjit_error *err)
{
    ask->results = (ompjit__reader){ask->answer.data, ask->answer.size, false};
    ompjit_status status = ompjit__read_error(&ask->results, err);
    if (!ask->answer.failed && !ask->results.bad)
        return status;
    return ompjit__fail(err, OMPJIT_ERR_INTERNAL, OMPJIT_STAGE_API,
                        "the compiler's reply ends too early");
}

/* The error of results that cannot be read. */
static ompjit_status no_results(ompjit_error *err)
{
    return ompjit__fail(err, OMPJIT_ERR_INTERNAL, OMPJIT_STAGE_API,
                        "the compiler's results do not read");
}

/* True: ask another compiler. If a worker dies without a word, the request need
 * not be at fault: it is asked once more. If one dies before its hello, workers
 * do not run on this machine, and the next compiler is in this process. */
static bool ask_again(const ompjit__worker *w, const ompjit__ask *ask,
                      unsigned tries)
{
    if (atomic_load(&w->cancelled) || w->session)
        return false;
    if (!w->greeted) {
        ompjit__workers_fail(ask->compiler, *ask->cause
                                                ? ask->cause
                                                : "a worker ended before it "
                                                  "had begun");
        return tries < 2;
    }
    return !*ask->cause && !tries;
}

/* Asks any compiler that is free. The request has all its arguments. */
static ompjit_status ask_any(ompjit__ask *ask, ompjit_error *err)
{
    uint8_t unit[OMPJIT__DIGEST];
    if (ask->request.failed)
        return ompjit__no_memory(err, stage_of(ask));
    if (ask->unit)
        ompjit__unit_identity(ask->unit, unit);
    for (unsigned tries = 0;; tries++) {
        ompjit__worker *w;
        ompjit_status status =
            ompjit__worker_take(ask, ask->unit ? unit : NULL, &w, err);
        if (status)
            return status;
        ompjit__outcome outcome = carry_out(w, ask);
        bool lost = outcome == OMPJIT__LOST;
        bool more = lost && ask_again(w, ask, tries);
        if (outcome && !more)
            status = failure(ask, w, outcome, err);
        ompjit__worker_give(w);
        if (!outcome)
            return take_results(ask, err);
        if (!more)
            return status;
    }
}

/* Only a hint to the compiler: failures are ignored. */
void ompjit__door_prepare(ompjit__compiler *compiler)
{
    ompjit__ask ask = {.compiler = compiler,
                       .cancels = atomic_load(&compiler->cancels),
                       .op = OMPJIT__OP_PREPARE};
    ompjit__worker *w =
        compiler->in_process ? NULL : ompjit__worker_take_idle(&ask);
    if (!w)
        return;
    ompjit__pack_number(&ask.request, ask.op);
    if (!w->session && !ask.request.failed)
        ompjit__worker_post(w, &ask.request);
    ask_end(&ask);
    ompjit__worker_give(w);
}

/* ------------------------------------------------------- early host halves */

/* A host half that a compiler has read. `host` and `name` are the caller's. */
struct ompjit__door_early {
    ompjit__compiler *compiler;
    const ompjit__buf *host;
    const char *name;
    unsigned how; /* enum ompjit__half_flag */
    ompjit__worker *worker; /* NULL: it is lost, or was refused */
};

/* Packs the arguments of OP_EARLY_READ. */
static void pack_early(const ompjit__door_early *early, ompjit__buf *out)
{
    ompjit__pack_bytes(out, early->host->data, early->host->size);
    ompjit__pack_string(out, early->name);
    ompjit__pack_number(out, early->how);
}

/* Asks the compiler that has the half. True: it succeeded. A worker that has
 * died is given back. */
static bool ask_holder(ompjit__door_early *early, ompjit__ask *ask)
{
    ompjit_error err;
    if (!early->worker || ask->request.failed)
        return false;
    ompjit__outcome outcome =
        exchange(early->worker, ask, &ask->request);
    if (!outcome && !ask->last)
        return !take_results(ask, &err);
    ompjit__worker_give(early->worker);
    early->worker = NULL;
    return !outcome && !take_results(ask, &err);
}

/* The compiler belongs to this half, and counts as busy, until early_free. */
ompjit__door_early *ompjit__door_early_read(ompjit__compiler *compiler,
                                            const ompjit__buf *host,
                                            const char *name, unsigned how)
{
    ompjit__door_early *early = calloc(1, sizeof *early);
    if (!early)
        return NULL;
    *early = (ompjit__door_early){.compiler = compiler,
                                  .host = host,
                                  .name = name,
                                  .how = how};
    ompjit__ask ask;
    ask_begin(&ask, compiler, OMPJIT__OP_EARLY_READ);
    if (ompjit__worker_take(&ask, NULL, &early->worker, NULL))
        early->worker = NULL;
    pack_early(early, &ask.request);
    bool done = ask_holder(early, &ask);
    ask_end(&ask);
    if (done)
        return early;
    ompjit__door_early_free(early);
    return NULL;
}

/* Appends nothing where the compiler is lost. */
void ompjit__door_early_info(ompjit__door_early *early, ompjit__buf *info)
{
    ompjit__ask ask;
    ask_begin(&ask, early->compiler, OMPJIT__OP_EARLY_INFO);
    if (ask_holder(early, &ask))
        ompjit__read_buf(&ask.results, info);
    ask_end(&ask);
}

/* Also true if the compiler is lost: reading the unit will decide then. */
bool ompjit__door_early_agrees(ompjit__door_early *early,
                               const ompjit__buf *device)
{
    ompjit__ask ask;
    ask_begin(&ask, early->compiler, OMPJIT__OP_EARLY_AGREES);
    ompjit__pack_bytes(&ask.request, device->data, device->size);
    bool agrees =
        !ask_holder(early, &ask) || ompjit__read_number(&ask.results);
    ask_end(&ask);
    return agrees;
}

bool ompjit__door_early_numbers(ompjit__door_early *early, ompjit__buf *info)
{
    ompjit__ask ask;
    ask_begin(&ask, early->compiler, OMPJIT__OP_EARLY_NUMBERS);
    bool few = ask_holder(early, &ask) && ompjit__read_number(&ask.results);
    if (few)
        ompjit__read_buf(&ask.results, info);
    ask_end(&ask);
    return few;
}

/* Tells the compiler to forget the half, and gives it back. */
void ompjit__door_early_free(ompjit__door_early *early)
{
    ompjit__ask ask;
    if (!early)
        return;
    ask_begin(&ask, early->compiler, OMPJIT__OP_EARLY_FREE);
    ask_holder(early, &ask);
    ask_end(&ask);
    if (early->worker)
        ompjit__worker_give(early->worker);
    free(early);
}

/* ------------------------------------------------------------------- units */

/* Ends a request whose result is a unit. `status` is that of asking. */
static ompjit_status end_with_unit(ompjit__ask *ask, ompjit_status status,
                                   ompjit__unit *out, ompjit_error *err)
{
    if (!status && !ompjit__unit_unpack(&ask->results, out))
        status = no_results(err);
    ask_end(ask);
    return status;
}

/* The host half is sent in any case: the compiler that has read it may be lost.
 */
static void begin_unit_read(ompjit__ask *ask, ompjit__compiler *compiler,
                            const ompjit__buf *device, const ompjit__buf *host,
                            const char *name, unsigned opt_level,
                            unsigned how, const ompjit__door_early *early)
{
    ask_begin(ask, compiler, OMPJIT__OP_UNIT_READ);
    ompjit__pack_bytes(&ask->request, device->data, device->size);
    ompjit__pack_string(&ask->request, name);
    ompjit__pack_number(&ask->request, opt_level);
    ompjit__pack_number(&ask->request, early != NULL);
    ompjit__pack_bytes(&ask->request, host->data, host->size);
    ompjit__pack_number(&ask->request, early ? early->how : how);
}

/* Asks the compiler that has read the host half already, if it lives, else any.
 */
static ompjit_status ask_for_unit(ompjit__ask *ask, ompjit__door_early *early,
                                  ompjit_error *err)
{
    if (!early || !early->worker || ask->request.failed)
        return ask_any(ask, err);
    ompjit__outcome outcome = exchange(early->worker, ask, &ask->request);
    bool more = outcome == OMPJIT__LOST && ask_again(early->worker, ask, 0);
    ompjit_status status = OMPJIT_OK;
    if (outcome && !more)
        status = failure(ask, early->worker, outcome, err);
    if (outcome || ask->last) {
        ompjit__worker_give(early->worker);
        early->worker = NULL;
    }
    if (!outcome)
        return take_results(ask, err);
    return more ? ask_any(ask, err) : status;
}

ompjit_status ompjit__door_unit_read(ompjit__compiler *compiler,
                                     const ompjit__buf *device,
                                     const ompjit__buf *host, const char *name,
                                     unsigned opt_level, unsigned how,
                                     ompjit__door_early *early,
                                     ompjit__unit *out, ompjit_error *err)
{
    ompjit__ask ask;
    begin_unit_read(&ask, compiler, device, host, name, opt_level, how, early);
    return end_with_unit(&ask, ask_for_unit(&ask, early, err), out, err);
}

ompjit_status ompjit__door_units_join(ompjit__compiler *compiler,
                                      const ompjit__unit *units, unsigned n,
                                      const char *name, unsigned opt_level,
                                      ompjit__unit *out, ompjit_error *err)
{
    ompjit__ask ask;
    ask_begin(&ask, compiler, OMPJIT__OP_UNITS_JOIN);
    ompjit__pack_number(&ask.request, n);
    for (unsigned i = 0; i < n; i++) {
        ompjit__pack_bytes(&ask.request, units[i].device_bc.data,
                           units[i].device_bc.size);
        ompjit__pack_bytes(&ask.request, units[i].host_bc.data,
                           units[i].host_bc.size);
        ompjit__pack_string(&ask.request, units[i].name);
    }
    ompjit__pack_string(&ask.request, name);
    ompjit__pack_number(&ask.request, opt_level);
    return end_with_unit(&ask, ask_any(&ask, err), out, err);
}

ompjit_status ompjit__door_unit_read_cuda(ompjit__compiler *compiler,
                                          const ompjit__buf *device,
                                          const char *name, unsigned opt_level,
                                          ompjit__unit *out, ompjit_error *err)
{
    ompjit__ask ask;
    ask_begin(&ask, compiler, OMPJIT__OP_UNIT_READ_CUDA);
    ompjit__pack_bytes(&ask.request, device->data, device->size);
    ompjit__pack_string(&ask.request, name);
    ompjit__pack_number(&ask.request, opt_level);
    return end_with_unit(&ask, ask_any(&ask, err), out, err);
}

/* ------------------------------------------------------------------ builds */

/* Requests about a unit name it by its identity; a worker that does not know it
 * asks for it (OMPJIT__FRAME_NEED_UNIT). */
static void begin_with_unit(ompjit__ask *ask, ompjit__compiler *compiler,
                            enum ompjit__op op, const ompjit__unit *unit)
{
    uint8_t identity[OMPJIT__DIGEST];
    ask_begin(ask, compiler, op);
    ask->unit = unit;
    ompjit__unit_identity(unit, identity);
    ompjit__buf_add(&ask->request, identity, sizeof identity);
    ompjit__pack_number(&ask->request, unit->own_lines);
    ompjit__pack_number(&ask->request, unit->from_source);
}

static void begin_build(ompjit__ask *ask, ompjit__compiler *compiler,
                        const ompjit__unit *unit, const char *arch,
                        ompjit_format format, const ompjit__spec *spec)
{
    begin_with_unit(ask, compiler, OMPJIT__OP_BUILD, unit);
    ompjit__pack_string(&ask->request, arch);
    ompjit__pack_number(&ask->request, format);
    ompjit__spec_pack(spec, &ask->request);
}

/* Packs, as a request's last argument, the request that will most likely come
 * next, or nothing. */
static void pack_next(ompjit__ask *ask, const char *arch, ompjit_format format,
                      const ompjit__spec *spec)
{
    ompjit__ask next = {0};
    if (spec && !ask->compiler->in_process && ompjit__processors() > 1)
        begin_build(&next, ask->compiler, ask->unit, arch, format, spec);
    ompjit__pack_bytes(&ask->request, next.request.data, next.request.size);
    ask->request.failed |= next.request.failed;
    ask_end(&next);
}

ompjit_status ompjit__door_build(ompjit__compiler *compiler,
                                 const ompjit__unit *unit, const char *arch,
                                 ompjit_format format, const ompjit__spec *spec,
                                 ompjit__image *out, ompjit_error *err)
{
    ompjit__ask ask;
    begin_build(&ask, compiler, unit, arch, format, spec);
    pack_next(&ask, arch, format, spec->next);
    ompjit_status status = ask_any(&ask, err);
    if (!status && !ompjit__image_unpack(&ask.results, out))
        status = no_results(err);
    ask_end(&ask);
    return status;
}

/* `part` 0 is the core, or the whole half. */
static void begin_half(ompjit__ask *ask, ompjit__compiler *compiler,
                       const ompjit__unit *unit, bool divide, size_t part)
{
    begin_with_unit(ask, compiler, OMPJIT__OP_HALF, unit);
    ompjit__pack_number(&ask->request, divide);
    ompjit__pack_number(&ask->request, part);
}

ompjit_status ompjit__door_half(ompjit__compiler *compiler,
                                const ompjit__unit *unit, bool divide,
                                const ompjit__image_order *next,
                                ompjit__host_half *out, ompjit_error *err)
{
    ompjit__ask ask;
    begin_half(&ask, compiler, unit, divide, 0);
    pack_next(&ask, next ? next->arch : NULL,
              next ? next->format : OMPJIT_FORMAT_OBJECT,
              next ? &next->spec : NULL);
    ompjit_status status = ask_any(&ask, err);
    if (!status && !ompjit__half_unpack(&ask.results, out))
        status = no_results(err);
    ask_end(&ask);
    return status;
}

/* A part has no request that follows it. */
ompjit_status ompjit__door_half_part(ompjit__compiler *compiler,
                                     const ompjit__unit *unit, size_t part,
                                     ompjit__buf *object, ompjit_error *err)
{
    ompjit__ask ask;
    begin_half(&ask, compiler, unit, true, part);
    pack_next(&ask, NULL, OMPJIT_FORMAT_OBJECT, NULL);
    ompjit_status status = ask_any(&ask, err);
    if (!status)
        ompjit__read_buf(&ask.results, object);
    if (!status && ask.results.bad)
        status = no_results(err);
    ask_end(&ask);
    return status;
}

/* -------------------------------------------------------------------- CUDA */

ompjit_status ompjit__door_cuda_check(ompjit__compiler *compiler,
                                      struct ompjit__cuda *cuda,
                                      ompjit_error *err)
{
    ompjit__ask ask;
    ask_begin(&ask, compiler, OMPJIT__OP_CUDA_CHECK);
    ompjit__cuda_pack(cuda, &ask.request);
    ompjit_status status = ask_any(&ask, err);
    ask_end(&ask);
    return status;
}

/* cuda->why becomes clang's message, the reason why NVRTC compiles the unit. */
ompjit_status ompjit__door_cuda_kernels(ompjit__compiler *compiler,
                                        struct ompjit__cuda *cuda,
                                        const char *clang, ompjit__unit *out,
                                        ompjit_error *err)
{
    ompjit__ask ask;
    ask_begin(&ask, compiler, OMPJIT__OP_CUDA_KERNELS);
    ompjit__cuda_pack(cuda, &ask.request);
    ompjit__pack_string(&ask.request, clang);
    ompjit_status status = end_with_unit(&ask, ask_any(&ask, err), out, err);
    if (status)
        return status;
    free(cuda->why);
    cuda->why = ompjit__strdup(clang);
    if (cuda->why)
        return OMPJIT_OK;
    ompjit__unit_free(out);
    return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
}

/* ------------------------------------------------------------------- texts */

/* Appends the text that is the result. */
static ompjit_status ask_for_text(ompjit__ask *ask, ompjit__buf *text,
                                  ompjit_error *err)
{
    ompjit_status status = ask_any(ask, err);
    if (!status)
        ompjit__read_buf(&ask->results, text);
    if (!status && ask->results.bad)
        status = no_results(err);
    ask_end(ask);
    return status;
}

ompjit_status ompjit__door_cuda_header(ompjit__compiler *compiler,
                                       ompjit__buf *text, ompjit_error *err)
{
    ompjit__ask ask;
    ask_begin(&ask, compiler, OMPJIT__OP_CUDA_HEADER);
    return ask_for_text(&ask, text, err);
}

/* Errors are dropped: the text is only an addition to a message. */
void ompjit__door_object_line(ompjit__compiler *compiler, const void *object,
                              size_t size, const char *symbol, uint64_t offset,
                              ompjit__buf *text)
{
    ompjit__ask ask;
    ask_begin(&ask, compiler, OMPJIT__OP_OBJECT_LINE);
    ompjit__pack_bytes(&ask.request, object, size);
    ompjit__pack_string(&ask.request, symbol);
    ompjit__pack_number(&ask.request, offset);
    ask_for_text(&ask, text, NULL);
}

/* `name` is "" on failure. */
ompjit_status ompjit__door_host_cpu(ompjit__compiler *compiler, char *name,
                                    size_t size, ompjit_error *err)
{
    ompjit__ask ask;
    ompjit__buf text = {0};
    ask_begin(&ask, compiler, OMPJIT__OP_HOST_CPU);
    ompjit_status status = ask_for_text(&ask, &text, err);
    snprintf(name, size, "%s", status || !text.size ? "" : text.data);
    ompjit__buf_free(&text);
    return status;
}

ompjit_status ompjit__door_print(ompjit__compiler *compiler,
                                 const ompjit__buf *bc, const char *name,
                                 ompjit__buf *text, ompjit_error *err)
{
    ompjit__ask ask;
    ask_begin(&ask, compiler, OMPJIT__OP_PRINT_IR);
    ompjit__pack_bytes(&ask.request, bc->data, bc->size);
    ompjit__pack_string(&ask.request, name);
    return ask_for_text(&ask, text, err);
}

ompjit_status ompjit__door_half_repair(ompjit__compiler *compiler,
                                       const ompjit__halves *in,
                                       ompjit__buf *out, ompjit_error *err)
{
    ompjit__ask ask;
    ask_begin(&ask, compiler, OMPJIT__OP_HALF_REPAIR);
    ompjit__pack_bytes(&ask.request, in->host.data, in->host.size);
    ompjit__pack_bytes(&ask.request, in->device.data, in->device.size);
    ompjit__pack_string(&ask.request, in->name);
    return ask_for_text(&ask, out, err);
}

/* Result: enum ompjit__match, then the host half, the device half and the name
 * of the source. */
ompjit_status ompjit__door_halves_match(ompjit__compiler *compiler,
                                        const ompjit__halves *in,
                                        ompjit__matched *out, ompjit_error *err)
{
    ompjit__ask ask;
    ask_begin(&ask, compiler, OMPJIT__OP_HALVES_MATCH);
    ompjit__pack_bytes(&ask.request, in->host.data, in->host.size);
    ompjit__pack_bytes(&ask.request, in->device.data, in->device.size);
    ompjit__pack_string(&ask.request, in->name);
    ompjit__pack_number(&ask.request, in->numbered);
    ompjit__pack_number(&ask.request, in->may_differ);
    ompjit_status status = ask_any(&ask, err);
    if (!status) {
        out->how = (enum ompjit__match)ompjit__read_number(&ask.results);
        ompjit__read_buf(&ask.results, &out->host);
        ompjit__read_buf(&ask.results, &out->device);
        ompjit__read_buf(&ask.results, &out->source);
        if (ask.results.bad)
            status = no_results(err);
    }
    ask_end(&ask);
    return status;
}

ompjit_status ompjit__door_signatures(ompjit__compiler *compiler,
                                      const ompjit__buf *host, const char *name,
                                      ompjit__buf *out, ompjit_error *err)
{
    ompjit__ask ask;
    ask_begin(&ask, compiler, OMPJIT__OP_SIGNATURES);
    ompjit__pack_bytes(&ask.request, host->data, host->size);
    ompjit__pack_string(&ask.request, name);
    return ask_for_text(&ask, out, err);
}
