/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Carries requests out. A session serves one request after the other; it keeps
 * what the next one may need: units with their templates, the modules of the one
 * that was read last, target machines, the host half whose device half is still
 * being compiled, the one of which parts were compiled last, the CUDA source that
 * NVRTC has compiled last. door/ is the other side.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "backend/backend.h"
#include "core/template.h"
#include "backend/host/host.h"
#include "backend/nvptx/nvptx.h"
#include "llvm/runtime_bitcode.h"
#include "backend/cuda/cuda_image.h"
#include "frontend/frontend.h"
#include "llvm/llvm.h"
#include "passes/hosthalf/hosthalf.h"
#include "serve/serve.h"

/* All that outlives a request. It owns what its pointers lead to, but for
 * tell_data. */
struct ompjit__session {
    ompjit__compiler compiler; /* settings of the request; machines stay */
    ompjit__kept_units kept;
    ompjit__early *early;      /* NULL: none */
    ompjit__early *read;       /* of the unit that was read last; NULL: none */
    uint8_t read_unit[OMPJIT__DIGEST]; /* its identity */
    ompjit__half_source *half; /* of which parts may be asked for; NULL: none */
    uint8_t half_unit[OMPJIT__DIGEST]; /* the identity of its unit */
    ompjit__cuda *cuda;        /* NULL: none */
    bool own_process;          /* whose environment it may change */
    bool assembler_begun;      /* its thread may be at work */
    bool has_room;             /* the last memory limit was no tight one */
    char cubin_arch[16];       /* of the last build; "": it was no cubin */
    ompjit__ahead *ahead;      /* the process's; NULL: none       */
    unsigned nahead;           /* halves with a build beside them */
    unsigned ahead_level;      /* at which the last half's are optimized */
    ompjit__tell_fn *tell;        /* of the request */
    void *tell_data;
};

/* One request, and the reply as it grows. */
struct job {
    ompjit__session *session;
    ompjit__compiler *compiler; /* the session's                          */
    ompjit__reader arguments;   /* the rest of the request                */
    ompjit__buf results;        /* follow the error, where that is none   */
    const uint8_t *identity;    /* of its unit, in the request            */
    bool needs_unit;            /* the application is to send it, and the
                                   request again                          */
};

/* ----------------------------------------------------------------- reports
 * Frames that go out while a request is carried out. The stages and the log
 * call these by the pointers in ompjit__compiler, and know no session. */

static void log_line(void *session, const char *text)
{
    const ompjit__session *s = session;
    s->tell(s->tell_data, OMPJIT__FRAME_LOG, text, strlen(text));
}

static void stage_done(void *session, ompjit_stage stage, uint64_t start,
                       uint64_t end)
{
    const ompjit__session *s = session;
    const uint64_t numbers[] = {stage, start, end};
    s->tell(s->tell_data, OMPJIT__FRAME_STAGE, numbers, sizeof numbers);
}

/* Before the environment or the folder changes, or the process is copied. */
static void end_assembler(ompjit__session *s)
{
    if (s->assembler_begun)
        ompjit__assembler_end();
    s->assembler_begun = false;
}

/* ---------------------------------------------------------------- settings */

/* Sets or removes a variable of the environment as the application has it; in
 * the application itself it is read and left alone. */
static void take_variable(struct job *job, const char *name)
{
    bool set = ompjit__read_number(&job->arguments);
    char *value = ompjit__read_string(&job->arguments);
    const char *now = getenv(name);
    const bool changes =
        set ? value && !(now && !strcmp(now, value)) : value && now;
    if (job->session->own_process && changes) {
        end_assembler(job->session);
        if (set)
            setenv(name, value, 1);
        else
            unsetenv(name);
    }
    free(value);
}

/* Relative paths are the application's. If its folder cannot be entered, they
 * lead to nothing in the application either. */
static void take_folder(struct job *job)
{
    char *folder = ompjit__read_string(&job->arguments);
    char *here = getcwd(NULL, 0);
    if (job->session->own_process && folder && *folder &&
        !(here && !strcmp(here, folder))) {
        end_assembler(job->session);
        if (chdir(folder))
            ompjit__report(job->compiler, "cannot enter %s: %s", folder,
                           strerror(errno));
    }
    free(here);
    free(folder);
}

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { HAS_MEMORY_LIMIT = 0 }; /* sanitizers want terabytes */
#else
enum { HAS_MEMORY_LIMIT = 1 };
#endif

/* Limits the private memory that the process may have. A request fails in a
 * process that has more already, and the worker is replaced. */
static void limit_memory(uint64_t bytes)
{
    struct rlimit limit;
    if (!HAS_MEMORY_LIMIT || getrlimit(RLIMIT_DATA, &limit))
        return;
    limit.rlim_cur = limit.rlim_max;
    if (bytes && bytes < limit.rlim_max)
        limit.rlim_cur = bytes;
    setrlimit(RLIMIT_DATA, &limit);
}

/* The settings that each request but PREPARE begins with, in the order in which
 * door/request.c packs them. A worker has none of its own: it may serve a request
 * with other limits next. */
static void take_settings(struct job *job)
{
    enum { ROOM = 1 << 30 }; /* bytes, of which some may be for nobody */
    ompjit__reader *r = &job->arguments;
    ompjit__compiler *c = job->compiler;
    c->assembler = (ompjit_assembler)ompjit__read_number(r);
    c->checks = ompjit__read_number(r);
    c->cancellation = ompjit__read_number(r);
    c->explains = ompjit__read_number(r);
    c->log = ompjit__read_number(r) ? log_line : NULL;
    c->llvm_limit_ms = (unsigned)ompjit__read_number(r);
    c->log_data = c->stage_data = job->session;
    c->stage_done = stage_done;
    uint64_t memory = ompjit__read_number(r);
    if (job->session->own_process && !r->bad)
        limit_memory(memory);
    job->session->has_room = !memory || memory >= ROOM;
#define VARIABLE(name) take_variable(job, #name);
#include "core/environment.def"
    take_folder(job);
}

/* --------------------------------------------------------------- arguments */

/* Bytes of the request, not to be changed or freed. */
static ompjit__buf read_view(struct job *job)
{
    ompjit__buf view = {0};
    view.data = (char *)ompjit__read_bytes(&job->arguments, &view.size);
    return view;
}

/* The request was packed by our own other wing, of the same build (door.h).
 * Only a mistake there, or a process that writes into our socket, brings this
 * about. */
static ompjit_status damaged(ompjit_error *err)
{
    return ompjit__fail(err, OMPJIT_ERR_INTERNAL, OMPJIT_STAGE_API,
                        "a request to the compiler ends too early");
}

/* The work was done, and its results have no room. */
static ompjit_status no_memory_for_results(ompjit_error *err)
{
    return ompjit__no_memory(err, OMPJIT_STAGE_API);
}

/* The unit whose identity comes next, with what the application knows of it;
 * NULL: it is not kept, or the request is damaged. */
static ompjit__unit *read_unit(struct job *job)
{
    ompjit__reader *r = &job->arguments;
    if (r->left < OMPJIT__DIGEST) {
        r->bad = true;
        return NULL;
    }
    job->identity = (const uint8_t *)r->at;
    ompjit__unit *unit =
        ompjit__kept_find(&job->session->kept, job->identity);
    r->at += OMPJIT__DIGEST;
    r->left -= OMPJIT__DIGEST;
    bool own_lines = ompjit__read_number(r);
    bool from_source = ompjit__read_number(r);
    job->needs_unit = !unit && !r->bad;
    if (unit) {
        unit->own_lines = own_lines;
        unit->from_source = from_source;
    }
    return unit;
}

/* ---------------------------------------------------------------- requests */

/* Reads its arguments from job->arguments, and packs its results in the order
 * in which door/calls.c reads them. */
typedef ompjit_status request_fn(struct job *job, ompjit_error *err);

/* Has no reply, as nobody waits for it. */
static ompjit_status prepare(struct job *job, ompjit_error *err)
{
    ompjit__llvm_init();
    ompjit__machine_prepare(job->compiler);
    return OMPJIT_OK;
}

/* The unit is a result, and kept. */
static ompjit_status give_unit(struct job *job, ompjit__unit *unit,
                               ompjit_error *err)
{
    ompjit__unit_pack(unit, &job->results);
    return ompjit__keep(&job->session->kept, unit) ? OMPJIT_OK
                                                   : no_memory_for_results(err);
}

/* The assembler of a worker that has made a cubin is made ready for the next
 * one while LLVM works. A copy of the process, or one that has begun a copy,
 * leaves the other processors alone. Where memory is limited, all is left to the
 * kernel itself. */
static void begin_assembler(struct job *job, bool begun)
{
    ompjit__session *s = job->session;
    if (!s->own_process || !*s->cubin_arch)
        return;
    ompjit__assembler_begin(job->compiler->assembler, s->cubin_arch,
                            s->ahead && s->has_room && !begun);
    s->assembler_begun = true;
}

/* There is one host half at most: that of the compile which is under way. */
static void forget_early(ompjit__session *s)
{
    ompjit__early_free(s->early);
    s->early = NULL;
}

/* While clang still compiles the device half. Results: whether regions of
 * lambdas are to be compared, and bitcode for the device half's clang, empty
 * where the host half could not be read: what is wrong with it is told when the
 * unit is read. */
static ompjit_status early_read(struct job *job, ompjit_error *err)
{
    ompjit__session *s = job->session;
    ompjit__buf host = read_view(job), info = {0};
    char *name = ompjit__read_string(&job->arguments);
    unsigned how = (unsigned)ompjit__read_number(&job->arguments);
    forget_early(s);
    begin_assembler(job, false);
    if (!job->arguments.bad)
        s->early = ompjit__early_read(&host, name, how);
    free(name);
    if (!s->early)
        return job->arguments.bad ? damaged(err) : no_memory_for_results(err);
    ompjit__early_info(s->early, &info);
    ompjit__pack_number(&job->results, ompjit__early_has_lambdas(s->early));
    ompjit__pack_bytes(&job->results, info.data, info.size);
    ompjit__buf_free(&info);
    return OMPJIT_OK;
}

/* For requests that make no sense without a half that was read early. */
static ompjit_status no_early(ompjit_error *err)
{
    return ompjit__fail(err, OMPJIT_ERR_INTERNAL, OMPJIT_STAGE_API,
                        "the compiler holds no host half");
}

/* Result: whether both halves name their regions alike (dialect/lambda.c). */
static ompjit_status early_agrees(struct job *job, ompjit_error *err)
{
    ompjit__buf device = read_view(job);
    if (!job->session->early)
        return no_early(err);
    if (job->arguments.bad)
        return damaged(err);
    ompjit__pack_number(&job->results,
                        ompjit__early_agrees(job->session->early, &device));
    return OMPJIT_OK;
}

/* Results: whether there are few enough numbers, and then the bitcode. */
static ompjit_status early_numbers(struct job *job, ompjit_error *err)
{
    ompjit__buf info = {0};
    if (!job->session->early)
        return no_early(err);
    bool few = ompjit__early_numbers(job->session->early, &info);
    ompjit__pack_number(&job->results, few);
    if (few)
        ompjit__pack_bytes(&job->results, info.data, info.size);
    ompjit__buf_free(&info);
    return OMPJIT_OK;
}

static ompjit_status early_free(struct job *job, ompjit_error *err)
{
    forget_early(job->session);
    return OMPJIT_OK;
}

/* Reads the host half, if it was not read early or the worker that had done so
 * is lost. */
static void need_early(struct job *job, const ompjit__buf *host,
                       const char *name, bool early, unsigned how)
{
    if (!early)
        forget_early(job->session);
    if (!job->session->early)
        job->session->early = ompjit__early_read(host, name, how);
}

/* The modules of the unit that was read last stay: its host half and its kernels
 * are what is asked for next. */
static void keep_read(ompjit__session *s, ompjit__unit *unit)
{
    enum { FEW = 8 }; /* kernels, built together: as has_many_kernels in launch/
                         has it */
    ompjit__early_free(s->read);
    s->read = ompjit__early_hold(s->early);
    ompjit__unit_identity(unit, s->read_unit);
    if (unit->nkernels > FEW && !unit->templates)
        unit->templates = ompjit__templates_new();
    if (unit->nkernels > FEW && unit->templates)
        ompjit__kernel_source_keep(unit, s->early);
}

/* The host half comes with the request even where it was read early, since the
 * worker that did so may have died since. */
static ompjit_status unit_read(struct job *job, ompjit_error *err)
{
    ompjit__reader *r = &job->arguments;
    ompjit__unit unit;
    ompjit__buf device = read_view(job);
    char *name = ompjit__read_string(r);
    unsigned opt_level = (unsigned)ompjit__read_number(r);
    bool early = ompjit__read_number(r);
    ompjit__buf host = read_view(job);
    unsigned how = (unsigned)ompjit__read_number(r);
    ompjit_status status = r->bad ? damaged(err) : OMPJIT_OK;
    if (!status) {
        need_early(job, &host, name, early, how);
        status = ompjit__unit_read(&device, &host, name, opt_level, how,
                                   job->session->early, &unit, err);
    }
    if (!status && job->session->early)
        keep_read(job->session, &unit);
    forget_early(job->session);
    free(name);
    return status ? status : give_unit(job, &unit, err);
}

/* Result: the signatures of the host half's functions. */
static ompjit_status signatures(struct job *job, ompjit_error *err)
{
    ompjit__buf host = read_view(job), text = {0};
    char *name = ompjit__read_string(&job->arguments);
    ompjit_status status =
        job->arguments.bad ? damaged(err)
                           : ompjit__half_signatures(&host, name, &text, err);
    if (!status)
        ompjit__pack_bytes(&job->results, text.data, text.size);
    ompjit__buf_free(&text);
    free(name);
    return status;
}

static void parts_free(ompjit__part *parts, unsigned n)
{
    for (unsigned i = 0; parts && i < n; i++)
        free((char *)parts[i].name);
    free(parts);
}

static ompjit_status units_join(struct job *job, ompjit_error *err)
{
    ompjit__reader *r = &job->arguments;
    ompjit__unit unit;
    uint64_t n = ompjit__read_number(r);
    ompjit__part *parts =
        n && n < r->left ? calloc(n, sizeof *parts) : NULL;
    for (uint64_t i = 0; parts && i < n; i++) {
        parts[i].device = read_view(job);
        parts[i].host = read_view(job);
        parts[i].name = ompjit__read_string(r);
    }
    char *name = ompjit__read_string(r);
    unsigned opt_level = (unsigned)ompjit__read_number(r);
    ompjit_status status =
        !parts || r->bad ? damaged(err)
                         : ompjit__units_join(parts, (unsigned)n, name,
                                              opt_level, &unit, err);
    parts_free(parts, (unsigned)n);
    free(name);
    return status ? status : give_unit(job, &unit, err);
}

static ompjit_status unit_read_cuda(struct job *job, ompjit_error *err)
{
    ompjit__reader *r = &job->arguments;
    ompjit__unit unit;
    ompjit__buf device = read_view(job);
    char *name = ompjit__read_string(r);
    unsigned opt_level = (unsigned)ompjit__read_number(r);
    ompjit_status status =
        r->bad ? damaged(err)
               : ompjit__unit_read_cuda(&device, name, opt_level, &unit, err);
    free(name);
    return status ? status : give_unit(job, &unit, err);
}

/* ------------------------------------------------------------------- CUDA */

/* The source that comes next: the last one, with its PTX, if it is the same. */
static ompjit__cuda *read_cuda(struct job *job)
{
    ompjit__buf was = {0}, is = {0};
    ompjit__cuda *cuda = ompjit__cuda_unpack(&job->arguments);
    ompjit__cuda *last = job->session->cuda;
    if (!cuda || !last)
        return cuda;
    free(last->why);
    last->why = ompjit__strdup(cuda->why);
    ompjit__cuda_pack(last, &was);
    ompjit__cuda_pack(cuda, &is);
    bool same = !was.failed && !is.failed && last->why &&
                was.size == is.size && !memcmp(was.data, is.data, is.size);
    ompjit__buf_free(&was);
    ompjit__buf_free(&is);
    if (!same)
        return cuda;
    ompjit__cuda_free(cuda);
    job->session->cuda = NULL;
    return last;
}

/* Takes it over. It may be the one that is kept: read_cuda has then taken that
 * off the session. */
static void keep_cuda(ompjit__session *s, ompjit__cuda *cuda)
{
    ompjit__cuda_free(s->cuda);
    s->cuda = cuda;
}

/* Tells whether NVRTC takes a source that clang has taken. The PTX is kept for
 * the build that follows. */
static ompjit_status cuda_check(struct job *job, ompjit_error *err)
{
    ompjit__cuda *cuda = read_cuda(job);
    if (!cuda)
        return damaged(err);
    ompjit_status status = ompjit__cuda_check(job->compiler, cuda, err);
    keep_cuda(job->session, cuda);
    return status;
}

/* A unit without IR, described by NVRTC's PTX. It is not kept here: the
 * application adds its CUDA source, and sends both when code is needed. */
static ompjit_status cuda_kernels(struct job *job, ompjit_error *err)
{
    ompjit__unit unit;
    ompjit__cuda *cuda = read_cuda(job);
    char *clang = ompjit__read_string(&job->arguments);
    ompjit_status status =
        !cuda || !clang ? damaged(err)
                        : ompjit__cuda_kernels_of(job->compiler, cuda, clang,
                                                  &unit, err);
    free(clang);
    if (cuda)
        keep_cuda(job->session, cuda);
    if (status)
        return status;
    ompjit__unit_pack(&unit, &job->results);
    ompjit__unit_free(&unit);
    return OMPJIT_OK;
}

/* Result: the text that clang reads before a CUDA source. */
static ompjit_status cuda_header(struct job *job, ompjit_error *err)
{
    ompjit__pack_string(&job->results, ompjit__cuda_header());
    return OMPJIT_OK;
}

/* ------------------------------------------------------------------ builds */

/* The answer to OMPJIT__FRAME_NEED_UNIT: a worker that is new, or has forgotten
 * the unit, gets it as the application has it. */
static ompjit_status unit_keep(struct job *job, ompjit_error *err)
{
    ompjit__reader *r = &job->arguments;
    ompjit__unit unit;
    if (!ompjit__unit_unpack(r, &unit))
        return damaged(err);
    unit.from_source = ompjit__read_number(r);
    bool cuda = ompjit__read_number(r);
    if (cuda)
        unit.cuda = read_cuda(job);
    if (r->bad || (cuda && !unit.cuda)) {
        ompjit__unit_free(&unit);
        return damaged(err);
    }
    return ompjit__keep(&job->session->kept, &unit)
               ? OMPJIT_OK
               : no_memory_for_results(err);
}

/* The end of a request for a build or a half: the build that will most likely
 * be asked for next, as a whole request, or no bytes. False: none is begun. It
 * comes before this request begins a thread, as nvJitLink does: a copy of the
 * process has one thread only. */
static bool begin_ahead(struct job *job, const ompjit__unit *unit)
{
    ompjit__buf next = read_view(job);
    if (job->arguments.bad || !next.size || !job->session->ahead)
        return false;
    end_assembler(job->session);
    ompjit__ahead_begin(job->session->ahead, job->session, unit, next.data,
                        next.size);
    return true;
}

/* Result: an image. */
static ompjit_status build(struct job *job, ompjit_error *err)
{
    ompjit__image image;
    ompjit__spec spec;
    ompjit__unit *unit = read_unit(job);
    if (!unit)
        return damaged(err);
    char *arch = ompjit__read_string(&job->arguments);
    ompjit_format format = (ompjit_format)ompjit__read_number(&job->arguments);
    if (!ompjit__spec_unpack(&job->arguments, &spec)) {
        free(arch);
        return damaged(err);
    }
    bool begun = begin_ahead(job, unit);
    snprintf(job->session->cubin_arch, sizeof job->session->cubin_arch, "%s",
             arch && format == OMPJIT_FORMAT_CUBIN ? arch : "");
    begin_assembler(job, begun);
    ompjit_status status = ompjit__build(job->compiler, unit, arch, format,
                                         &spec, &image, err);
    ompjit__spec_free(&spec);
    free(arch);
    if (status)
        return status;
    ompjit__image_pack(&image, &job->results);
    ompjit__image_free(&image);
    return OMPJIT_OK;
}

static void close_half(ompjit__session *s)
{
    ompjit__half_close(s->half);
    s->half = NULL;
}

/* The half that was read last, for its further parts. */
static ompjit_status open_half(struct job *job, const ompjit__unit *unit,
                               bool divide, ompjit_error *err)
{
    ompjit__session *s = job->session;
    if (s->half && !memcmp(s->half_unit, job->identity, sizeof s->half_unit))
        return OMPJIT_OK;
    close_half(s);
    bool is_read = s->read && !memcmp(s->read_unit, job->identity,
                                      sizeof s->read_unit);
    ompjit_status status = ompjit__half_open(job->compiler, unit, divide,
                                             is_read ? s->read : NULL,
                                             &s->half, err);
    if (!status)
        memcpy(s->half_unit, job->identity, sizeof s->half_unit);
    return status;
}

/* Results: a program's host half, whose object is the core's; of a part, its
 * object. The core is asked for first, and a half that was read for it is not
 * used for another core: one that was compiled as a whole is no half any more. */
static ompjit_status half(struct job *job, ompjit_error *err)
{
    ompjit__buf object = {0};
    const ompjit__unit *unit = read_unit(job);
    if (!unit)
        return damaged(err);
    bool divide = ompjit__read_number(&job->arguments);
    size_t part = ompjit__read_number(&job->arguments);
    job->session->ahead_level = unit->opt_level; /* the copy's, too */
    job->session->nahead += begin_ahead(job, unit);
    if (job->arguments.bad)
        return damaged(err);
    if (!part)
        close_half(job->session);
    ompjit_status status = open_half(job, unit, divide, err);
    if (!status)
        status = ompjit__half_generate(job->compiler, job->session->half, part,
                                       &object, err);
    if (!status && !part) {
        ompjit__host_half made = *ompjit__half_facts(job->session->half);
        made.object = object; /* the rest is the source's */
        ompjit__half_pack(&made, &job->results);
    } else if (!status) {
        ompjit__pack_bytes(&job->results, object.data, object.size);
    }
    ompjit__buf_free(&object);
    if (status || !ompjit__half_facts(job->session->half)->nparts)
        close_half(job->session);
    return status;
}

/* ------------------------------------------------------------------- texts */

/* The text is a result, and freed. */
static void give_text(struct job *job, ompjit__buf *text)
{
    ompjit__pack_bytes(&job->results, text->data, text->size);
    job->results.failed |= text->failed;
    ompjit__buf_free(text);
}

/* Result: " (FILE:LINE)" of an address, for messages of faults. */
static ompjit_status object_line(struct job *job, ompjit_error *err)
{
    ompjit__buf text = {0}, object = {0};
    ompjit__read_buf(&job->arguments, &object); /* a copy has ELF's alignment */
    char *symbol = ompjit__read_string(&job->arguments);
    uint64_t offset = ompjit__read_number(&job->arguments);
    if (!job->arguments.bad)
        ompjit__object_line(object.data, object.size, symbol, offset, &text);
    free(symbol);
    ompjit__buf_free(&object);
    give_text(job, &text);
    return job->arguments.bad ? damaged(err) : OMPJIT_OK;
}

/* Result: the name of this machine's CPU, for what the host device tells of
 * itself. */
static ompjit_status host_cpu(struct job *job, ompjit_error *err)
{
    char name[64];
    ompjit__host_cpu(name, sizeof name);
    ompjit__pack_string(&job->results, name);
    return OMPJIT_OK;
}

/* Result: a unit's bitcode as text. */
static ompjit_status print_ir(struct job *job, ompjit_error *err)
{
    ompjit__buf text = {0};
    ompjit__buf bc = read_view(job);
    char *name = ompjit__read_string(&job->arguments);
    ompjit_status status = job->arguments.bad
                               ? damaged(err)
                               : ompjit__print_ir(&bc, name, &text, err);
    free(name);
    give_text(job, &text);
    return status;
}

/* Result: the remarks on a unit's host half. */
static ompjit_status half_remarks(struct job *job, ompjit_error *err)
{
    ompjit__buf remarks = {0};
    const ompjit__unit *unit = read_unit(job);
    ompjit_status status =
        unit ? ompjit__half_remarks(job->compiler, unit, &remarks, err)
             : damaged(err);
    give_text(job, &remarks);
    return status;
}

/* Result: the bitcode without the mistakes of its compiler's, with marks of what
 * is shared. */
static ompjit_status half_repair(struct job *job, ompjit_error *err)
{
    ompjit__buf out = {0};
    ompjit__halves in = {.host = read_view(job)};
    in.device = read_view(job);
    char *name = ompjit__read_string(&job->arguments);
    in.name = name;
    ompjit_status status =
        job->arguments.bad
            ? damaged(err)
            : ompjit__half_repair(job->compiler, &in, &out, err);
    free(name);
    give_text(job, &out);
    return status;
}

/* Result: enum ompjit__match, then the host half, the device half and the name
 * of the source. */
static ompjit_status halves_match(struct job *job, ompjit_error *err)
{
    ompjit__matched out = {0};
    ompjit__halves in = {.host = read_view(job)};
    in.device = read_view(job);
    char *name = ompjit__read_string(&job->arguments);
    in.name = name;
    in.numbered = ompjit__read_number(&job->arguments);
    in.may_differ = ompjit__read_number(&job->arguments);
    ompjit_status status = job->arguments.bad
                               ? damaged(err)
                               : ompjit__halves_match(&in, &out, err);
    free(name);
    ompjit__pack_number(&job->results, out.how);
    give_text(job, &out.host);
    give_text(job, &out.device);
    give_text(job, &out.source);
    return status;
}

/* ------------------------------------------------------------------- serve */

/* By enum ompjit__op (door/door.h); one row for each. */
static request_fn *const requests[OMPJIT__OP_COUNT] = {
    [OMPJIT__OP_PREPARE] = prepare,
    [OMPJIT__OP_UNIT_READ] = unit_read,
    [OMPJIT__OP_UNIT_READ_CUDA] = unit_read_cuda,
    [OMPJIT__OP_UNITS_JOIN] = units_join,
    [OMPJIT__OP_EARLY_READ] = early_read,
    [OMPJIT__OP_EARLY_AGREES] = early_agrees,
    [OMPJIT__OP_EARLY_NUMBERS] = early_numbers,
    [OMPJIT__OP_EARLY_FREE] = early_free,
    [OMPJIT__OP_UNIT_KEEP] = unit_keep,
    [OMPJIT__OP_BUILD] = build,
    [OMPJIT__OP_HALF] = half,
    [OMPJIT__OP_HALF_REMARKS] = half_remarks,
    [OMPJIT__OP_CUDA_CHECK] = cuda_check,
    [OMPJIT__OP_CUDA_KERNELS] = cuda_kernels,
    [OMPJIT__OP_CUDA_HEADER] = cuda_header,
    [OMPJIT__OP_OBJECT_LINE] = object_line,
    [OMPJIT__OP_HOST_CPU] = host_cpu,
    [OMPJIT__OP_PRINT_IR] = print_ir,
    [OMPJIT__OP_HALF_REPAIR] = half_repair,
    [OMPJIT__OP_HALVES_MATCH] = halves_match,
    [OMPJIT__OP_SIGNATURES] = signatures,
};

/* The reply is the error, whose status may be OK, and then the results. */
static void reply(struct job *job, ompjit_status status, ompjit_error *err)
{
    ompjit__session *s = job->session;
    ompjit__buf whole = {0};
    if (!status && job->results.failed)
        status = no_memory_for_results(err);
    err->status = status;
    ompjit__pack_error(&whole, err);
    if (!status)
        ompjit__buf_add(&whole, job->results.data, job->results.size);
    s->tell(s->tell_data, OMPJIT__FRAME_REPLY, whole.data, whole.size);
    ompjit__buf_free(&whole);
}

/* Each request gets one final frame: the reply, or OMPJIT__FRAME_NEED_UNIT,
 * after which the application sends the unit and the request once more. */
void ompjit__serve(ompjit__session *session, const void *request, size_t size,
                   ompjit__tell_fn *tell, void *data)
{
    struct job job = {.session = session,
                      .compiler = &session->compiler,
                      .arguments = {request, size, false}};
    ompjit_error err = {0};
    session->tell = tell;
    session->tell_data = data;
    uint64_t op = ompjit__read_number(&job.arguments);
    if (op != OMPJIT__OP_PREPARE)
        take_settings(&job);
    ompjit_status status = job.arguments.bad || op >= OMPJIT__OP_COUNT
                               ? damaged(&err)
                               : requests[op](&job, &err);
    if (job.needs_unit)
        tell(data, OMPJIT__FRAME_NEED_UNIT, NULL, 0);
    else if (op != OMPJIT__OP_PREPARE)
        reply(&job, status, &err);
    ompjit__buf_free(&job.results);
}

/* ---------------------------------------------------------------- lifetime */

ompjit__session *ompjit__session_new(void)
{
    ompjit__session *s = calloc(1, sizeof *s);
    if (s)
        pthread_mutex_init(&s->compiler.machines_lock, NULL);
    return s;
}

void ompjit__session_own_process(ompjit__session *session)
{
    session->own_process = true;
}

void ompjit__session_ahead(ompjit__session *session, ompjit__ahead *ahead)
{
    session->ahead = ahead;
}

bool ompjit__session_keep(ompjit__session *session, ompjit__reader *r)
{
    ompjit__unit unit;
    return ompjit__unit_unpack(r, &unit) &&
           ompjit__keep(&session->kept, &unit);
}

/* Most programs have a build beside one of their halves. Where there is a
 * second one, as in ompjit repl, there will be more. A copy is there for these
 * builds. */
void ompjit__session_rest(ompjit__session *session)
{
    if (session->nahead > 1 || !session->ahead)
        ompjit__machine_prepare_host(&session->compiler,
                                     session->ahead_level);
    else
        ompjit__machine_prepare(&session->compiler);
}

void ompjit__session_free(ompjit__session *session)
{
    if (!session)
        return;
    forget_early(session);
    ompjit__early_free(session->read);
    close_half(session);
    ompjit__cuda_free(session->cuda);
    ompjit__kept_free(&session->kept);
    ompjit__machines_free(session->compiler.machines);
    pthread_mutex_destroy(&session->compiler.machines_lock);
    free(session);
}
