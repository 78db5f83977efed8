/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A function for each kind of request: it packs the arguments, asks and reads
 * the results. serve/session.c is the other side, and reads and writes in the
 * same order.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/cuda_source.h"
#include "door/worker.h"

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
    ompjit__ask_end(&ask);
    ompjit__worker_give(w);
}

/* ------------------------------------------------------------------- units */

/* Ends a request whose result is a unit. `status` is that of asking. */
static ompjit_status end_with_unit(ompjit__ask *ask, ompjit_status status,
                                   ompjit__unit *out, ompjit_error *err)
{
    if (!status && !ompjit__unit_unpack(&ask->results, out))
        status = ompjit__ask_unreadable(err);
    ompjit__ask_end(ask);
    return status;
}

/* The host half is sent in any case: the compiler that has read it may be lost.
 */
static void begin_unit_read(ompjit__ask *ask, ompjit__compiler *compiler,
                            const ompjit__buf *device, const ompjit__buf *host,
                            const char *name, unsigned opt_level,
                            unsigned how, const ompjit__door_early *early)
{
    ompjit__ask_begin(ask, compiler, OMPJIT__OP_UNIT_READ);
    ompjit__pack_bytes(&ask->request, device->data, device->size);
    ompjit__pack_string(&ask->request, name);
    ompjit__pack_number(&ask->request, opt_level);
    ompjit__pack_number(&ask->request, early != NULL);
    ompjit__pack_bytes(&ask->request, host->data, host->size);
    ompjit__pack_number(&ask->request,
                        early ? ompjit__door_early_how(early) : how);
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
    ompjit_status status = ompjit__door_early_ask(early, &ask, err);
    return end_with_unit(&ask, status, out, err);
}

ompjit_status ompjit__door_units_join(ompjit__compiler *compiler,
                                      const ompjit__unit *units, unsigned n,
                                      const char *name, unsigned opt_level,
                                      ompjit__unit *out, ompjit_error *err)
{
    ompjit__ask ask;
    ompjit__ask_begin(&ask, compiler, OMPJIT__OP_UNITS_JOIN);
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
    return end_with_unit(&ask, ompjit__ask_any(&ask, err), out, err);
}

ompjit_status ompjit__door_unit_read_cuda(ompjit__compiler *compiler,
                                          const ompjit__buf *device,
                                          const char *name, unsigned opt_level,
                                          ompjit__unit *out, ompjit_error *err)
{
    ompjit__ask ask;
    ompjit__ask_begin(&ask, compiler, OMPJIT__OP_UNIT_READ_CUDA);
    ompjit__pack_bytes(&ask.request, device->data, device->size);
    ompjit__pack_string(&ask.request, name);
    ompjit__pack_number(&ask.request, opt_level);
    return end_with_unit(&ask, ompjit__ask_any(&ask, err), out, err);
}

/* ------------------------------------------------------------------ builds */

/* Requests about a unit name it by its identity; a worker that does not know it
 * asks for it (OMPJIT__FRAME_NEED_UNIT). */
static void begin_with_unit(ompjit__ask *ask, ompjit__compiler *compiler,
                            enum ompjit__op op, const ompjit__unit *unit)
{
    uint8_t identity[OMPJIT__DIGEST];
    ompjit__ask_begin(ask, compiler, op);
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
    ompjit__ask_end(&next);
}

ompjit_status ompjit__door_build(ompjit__compiler *compiler,
                                 const ompjit__unit *unit, const char *arch,
                                 ompjit_format format, const ompjit__spec *spec,
                                 ompjit__image *out, ompjit_error *err)
{
    ompjit__ask ask;
    begin_build(&ask, compiler, unit, arch, format, spec);
    pack_next(&ask, arch, format, spec->next);
    ompjit_status status = ompjit__ask_any(&ask, err);
    if (!status && !ompjit__image_unpack(&ask.results, out))
        status = ompjit__ask_unreadable(err);
    ompjit__ask_end(&ask);
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
    ompjit_status status = ompjit__ask_any(&ask, err);
    if (!status && !ompjit__half_unpack(&ask.results, out))
        status = ompjit__ask_unreadable(err);
    ompjit__ask_end(&ask);
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
    ompjit_status status = ompjit__ask_any(&ask, err);
    if (!status)
        ompjit__read_buf(&ask.results, object);
    if (!status && ask.results.bad)
        status = ompjit__ask_unreadable(err);
    ompjit__ask_end(&ask);
    return status;
}

/* -------------------------------------------------------------------- CUDA */

ompjit_status ompjit__door_cuda_check(ompjit__compiler *compiler,
                                      struct ompjit__cuda *cuda,
                                      ompjit_error *err)
{
    ompjit__ask ask;
    ompjit__ask_begin(&ask, compiler, OMPJIT__OP_CUDA_CHECK);
    ompjit__cuda_pack(cuda, &ask.request);
    ompjit_status status = ompjit__ask_any(&ask, err);
    ompjit__ask_end(&ask);
    return status;
}

/* cuda->why becomes clang's message, the reason why NVRTC compiles the unit. */
ompjit_status ompjit__door_cuda_kernels(ompjit__compiler *compiler,
                                        struct ompjit__cuda *cuda,
                                        const char *clang, ompjit__unit *out,
                                        ompjit_error *err)
{
    ompjit__ask ask;
    ompjit__ask_begin(&ask, compiler, OMPJIT__OP_CUDA_KERNELS);
    ompjit__cuda_pack(cuda, &ask.request);
    ompjit__pack_string(&ask.request, clang);
    ompjit_status status = end_with_unit(&ask, ompjit__ask_any(&ask, err), out, err);
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
    ompjit_status status = ompjit__ask_any(ask, err);
    if (!status)
        ompjit__read_buf(&ask->results, text);
    if (!status && ask->results.bad)
        status = ompjit__ask_unreadable(err);
    ompjit__ask_end(ask);
    return status;
}

ompjit_status ompjit__door_cuda_header(ompjit__compiler *compiler,
                                       ompjit__buf *text, ompjit_error *err)
{
    ompjit__ask ask;
    ompjit__ask_begin(&ask, compiler, OMPJIT__OP_CUDA_HEADER);
    return ask_for_text(&ask, text, err);
}

/* Errors are dropped: the text is only an addition to a message. */
void ompjit__door_object_line(ompjit__compiler *compiler, const void *object,
                              size_t size, const char *symbol, uint64_t offset,
                              ompjit__buf *text)
{
    ompjit__ask ask;
    ompjit__ask_begin(&ask, compiler, OMPJIT__OP_OBJECT_LINE);
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
    ompjit__ask_begin(&ask, compiler, OMPJIT__OP_HOST_CPU);
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
    ompjit__ask_begin(&ask, compiler, OMPJIT__OP_PRINT_IR);
    ompjit__pack_bytes(&ask.request, bc->data, bc->size);
    ompjit__pack_string(&ask.request, name);
    return ask_for_text(&ask, text, err);
}

ompjit_status ompjit__door_half_remarks(ompjit__compiler *compiler,
                                        const ompjit__unit *unit,
                                        ompjit__buf *remarks,
                                        ompjit_error *err)
{
    ompjit__ask ask;
    begin_with_unit(&ask, compiler, OMPJIT__OP_HALF_REMARKS, unit);
    return ask_for_text(&ask, remarks, err);
}

ompjit_status ompjit__door_half_repair(ompjit__compiler *compiler,
                                       const ompjit__halves *in,
                                       ompjit__buf *out, ompjit_error *err)
{
    ompjit__ask ask;
    ompjit__ask_begin(&ask, compiler, OMPJIT__OP_HALF_REPAIR);
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
    ompjit__ask_begin(&ask, compiler, OMPJIT__OP_HALVES_MATCH);
    ompjit__pack_bytes(&ask.request, in->host.data, in->host.size);
    ompjit__pack_bytes(&ask.request, in->device.data, in->device.size);
    ompjit__pack_string(&ask.request, in->name);
    ompjit__pack_number(&ask.request, in->numbered);
    ompjit__pack_number(&ask.request, in->may_differ);
    ompjit_status status = ompjit__ask_any(&ask, err);
    if (!status) {
        out->how = (enum ompjit__match)ompjit__read_number(&ask.results);
        ompjit__read_buf(&ask.results, &out->host);
        ompjit__read_buf(&ask.results, &out->device);
        ompjit__read_buf(&ask.results, &out->source);
        if (ask.results.bad)
            status = ompjit__ask_unreadable(err);
    }
    ompjit__ask_end(&ask);
    return status;
}

ompjit_status ompjit__door_signatures(ompjit__compiler *compiler,
                                      const ompjit__buf *host, const char *name,
                                      ompjit__buf *out, ompjit_error *err)
{
    ompjit__ask ask;
    ompjit__ask_begin(&ask, compiler, OMPJIT__OP_SIGNATURES);
    ompjit__pack_bytes(&ask.request, host->data, host->size);
    ompjit__pack_string(&ask.request, name);
    return ask_for_text(&ask, out, err);
}
