/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Fortran to a unit, by two flang processes, one for each half. The cache is
 * asked first, and remembers the unit with the modules that the source defines:
 *
 *   compile_source    the cache's unit, or
 *   compile_new       a new one, which is remembered
 *     compile         both halves, in a pair of processes
 *   install           the modules, for the sources that come after this one
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/clang/front_end.h"
#include "frontend/flang/flang.h"

/* One compile. compile_source frees what it owns. */
struct run {
    ompjit_context *ctx;
    const ompjit__flang *flang;
    const ompjit_module_options *options;
    ompjit__buf source;       /* behind the line that names its file      */
    ompjit__command *command; /* without the folders of modules           */
    const ompjit__args *dirs; /* in which modules and included files are  */
    const char *folder;       /* of modules, by -J; NULL: none            */
    ompjit__talk host, device;
    bool objects;             /* the source may need its own maps of them */
    ompjit__buf hlfir;        /* of the host half, for these              */
    ompjit__buf modules;      /* packed                                   */
    ompjit__buf warnings;
    unsigned cancels; /* of the context, when the compile began */
};

/* -------------------------------------------------------------- diagnostics */

/* Takes away whole lines that begin so. */
static void drop_lines(ompjit__buf *text, const char *with)
{
    size_t n = strlen(with);
    for (char *p = text->data; text->size && *p;) {
        char *end = strchrnul(p, '\n');
        end += *end == '\n';
        if (strncmp(p, with, n)) {
            p = end;
            continue;
        }
        text->size -= (size_t)(end - p);
        memmove(p, end, strlen(end) + 1);
    }
}

/* What flang says of each source: that it is standard input, and that not all
 * of OpenMP is there. */
static void drop_headings(ompjit__buf *text)
{
    drop_lines(text, "error: Semantic errors in -\n");
    drop_lines(text, "error: Could not parse -\n");
    drop_lines(text, "error: Could not scan -\n");
    drop_lines(text, "warning: OpenMP support for version ");
}

/* What flang cannot compile is the source's fault to the one who wrote it, but
 * flang aborts: OK where it is something else. */
static ompjit_status not_implemented(const struct run *run,
                                     const ompjit__talk *talk,
                                     ompjit_error *err)
{
    static const char words[] = "not yet implemented: ";
    const char *p = talk->diag.size ? strstr(talk->diag.data, words) : NULL;
    if (!p)
        return OMPJIT_OK;
    const char *line = p, *loc = NULL;
    while (line > talk->diag.data && line[-1] != '\n')
        line--;
    if ((loc = strstr(line, "loc(\"")) && loc < p)
        loc += sizeof "loc(\"" - 1;
    else
        loc = NULL;
    size_t file = loc ? strcspn(loc, "\"\n") : 0;
    size_t place = loc && loc[file] == '"' ? strcspn(loc + file + 1, ")\n") : 0;
    p += sizeof words - 1;
    return ompjit__fail(err, OMPJIT_ERR_SOURCE, OMPJIT_STAGE_FRONTEND,
                        "%.*s%.*s: error: flang " OMPJIT__COMPILER_MAJOR
                        " does not implement: %.*s",
                        loc ? (int)file : (int)strlen(run->options->name),
                        loc ? loc : run->options->name, (int)place,
                        loc ? loc + file + 1 : "", (int)strcspn(p, "\n"), p);
}

/* At least one half has ended without bitcode. The host half goes first: what
 * is wrong with the source, it says, and the device half fails without it. */
static ompjit_status verdict(struct run *run, ompjit_error *err)
{
    bool host = run->host.exit.how != OMPJIT__END_RUNNING;
    ompjit__talk *talk = host ? &run->host : &run->device;
    ompjit_status status = not_implemented(run, talk, err);
    if (!status)
        status = ompjit__diagnose(run->ctx, run->options->name,
                                  host ? "host" : "device", talk,
                                  run->host.complete ? &run->host.diag : NULL,
                                  err);
    ompjit_status version = ompjit__version_check(
        run->flang->path, "flang", run->ctx->clang_limit_ms, err);
    return version ? version : status;
}

/* The warnings of both halves, each once. */
static void collect_warnings(struct run *run)
{
    ompjit__buf *text = &run->warnings;
    ompjit__diagnostics_add(text, &run->host.diag, NULL);
    ompjit__diagnostics_add(text, &run->device.diag, &run->host.diag);
    while (text->size && text->data[text->size - 1] == '\n')
        text->data[--text->size] = 0;
}

/* Nobody gets them where the application has asked for no log. */
static void log_warnings(const struct run *run)
{
    if (run->warnings.size && !run->warnings.failed)
        ompjit__log(run->ctx, "%s", run->warnings.data);
}

/* -------------------------------------------------------------- compile */

/* While both halves are compiled, the runtime is read for the build that will
 * follow. */
static void at_first(void *data)
{
    struct run *run = data;
    ompjit__door_prepare(&run->ctx->compiler);
}

static ompjit_status check_cancelled(const struct run *run, ompjit_error *err)
{
    return run->cancels == atomic_load(&run->ctx->compiler.cancels)
               ? OMPJIT_OK
               : ompjit__fail(err, OMPJIT_ERR_ABORTED, OMPJIT_STAGE_FRONTEND,
                              "the compile was cancelled");
}

/* Sends the text to those of both processes that have not answered. They are
 * gone afterwards. */
static ompjit_status converse(struct run *run, struct ompjit__pair *pair,
                              const ompjit__buf *text, ompjit__talk *beside,
                              ompjit_error *err)
{
    ompjit__order order = {.source = text->data,
                           .size = text->size,
                           .limit_ms = run->ctx->clang_limit_ms,
                           .cancels = &run->ctx->compiler.cancels,
                           .beside = beside,
                           .at_first = at_first,
                           .data = run};
    ompjit_status status =
        ompjit__exchange(&order, &run->host, &run->device, err);
    ompjit__pair_kill(pair);
    drop_headings(&run->host.diag);
    drop_headings(&run->device.diag);
    return status;
}

static void free_talks(struct run *run)
{
    ompjit__buf_free(&run->host.out);
    ompjit__buf_free(&run->host.diag);
    ompjit__buf_free(&run->device.out);
    ompjit__buf_free(&run->device.diag);
}

/* A third process, which will write the host half's HLFIR. */
static ompjit_status start_third(const struct run *run, ompjit__child *child,
                                 ompjit_error *err)
{
    ompjit__args words = {0};
    ompjit__hlfir_command(&run->command->host, OMPJIT_CONFIG_TRIPLE, &words);
    ompjit_status status =
        words.failed ? ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND)
                     : ompjit__child_start(words.v, run->ctx->clang_limit_ms,
                                           NULL, run->command->folder, child,
                                           err);
    ompjit__args_free(&words);
    return status;
}

/* Both halves of the source, in a new pair of processes. `text`: the device half
 * is no bitcode. The host half's HLFIR, too, where it is asked for and not yet
 * there. */
static ompjit_status exchange(struct run *run, const ompjit__command *command,
                              bool text, struct ompjit__pair *pair,
                              ompjit_error *err)
{
    const bool three = run->objects && !run->hlfir.size;
    ompjit__child child = {0};
    ompjit__talk third = {.program = "flang", .child = &child, .text = true};
    ompjit_status status = check_cancelled(run, err);
    if (!status && three)
        status = start_third(run, &child, err);
    if (status)
        return status;
    status = ompjit__pair_start(command, run->ctx->clang_limit_ms, NULL, pair,
                                err);
    if (!status) {
        free_talks(run);
        run->host = (ompjit__talk){.program = "flang", .child = &pair->host};
        run->device = (ompjit__talk){
            .program = "flang", .child = &pair->device, .text = text};
        status = converse(run, pair, &run->source, three ? &third : NULL, err);
    }
    if (three) {
        ompjit__child_kill(&child);
        ompjit__buf_free(&third.diag);
        run->hlfir = third.out;
    }
    return status;
}

/* Replaces the device half's HLFIR with code, in a new process, which gets the
 * host half's bitcode as the one before. */
static ompjit_status code_of_hlfir(struct run *run, struct ompjit__pair *pair,
                                   ompjit_error *err)
{
    ompjit__buf hlfir = {0};
    ompjit__args words = {0};
    ompjit_status status = OMPJIT_OK;
    if (!ompjit__hlfir_for_gpu(&run->device.out, &hlfir))
        status = ompjit__fail(err, OMPJIT_ERR_SOURCE, OMPJIT_STAGE_FRONTEND,
                              "%s: flang's HLFIR has no module with a target",
                              run->options->name);
    ompjit__hlfir_code_command(&run->command->device, &words);
    if (!status && (words.failed || hlfir.failed))
        status = ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    if (!status)
        status = ompjit__child_start(words.v, run->ctx->clang_limit_ms, NULL,
                                     run->command->folder, &pair->device, err);
    if (!status) {
        ompjit__buf_free(&run->device.out);
        ompjit__buf_free(&run->device.diag);
        run->device =
            (ompjit__talk){.program = "flang", .child = &pair->device};
        status = converse(run, pair, &hlfir, NULL, err);
    }
    ompjit__args_free(&words);
    ompjit__buf_free(&hlfir);
    return status;
}

/* Both halves, the device's by way of HLFIR. */
static ompjit_status by_hlfir(struct run *run, struct ompjit__pair *pair,
                              ompjit_error *err)
{
    ompjit__command command = {.host = run->command->host,
                               .folder = run->command->folder};
    ompjit__hlfir_command(&run->command->device, OMPJIT_CONFIG_TRIPLE,
                          &command.device);
    ompjit_status status = command.device.failed
                               ? ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND)
                               : exchange(run, &command, true, pair, err);
    ompjit__args_free(&command.device);
    bool good = run->device.exit.how == OMPJIT__END_UNKNOWN ||
                (run->device.exit.how == OMPJIT__END_EXIT &&
                 !run->device.exit.code);
    if (!status && run->host.complete && good)
        status = code_of_hlfir(run, pair, err);
    return status;
}

/* Has a process read `text`, and takes what it writes. Its exit is not asked
 * for. */
static ompjit_status written_by(struct run *run, const ompjit__args *words,
                                const ompjit__buf *text, ompjit__buf *out,
                                ompjit_error *err)
{
    ompjit__child child;
    ompjit__talk talk = {.program = "flang", .child = &child, .text = true};
    ompjit__order order = {.source = text->data,
                           .size = text->size,
                           .limit_ms = run->ctx->clang_limit_ms,
                           .cancels = &run->ctx->compiler.cancels};
    ompjit_status status =
        words->failed || text->failed
            ? ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND)
            : ompjit__child_start(words->v, order.limit_ms, NULL,
                                  run->command->folder, &child, err);
    if (status)
        return status;
    status = ompjit__exchange(&order, NULL, &talk, err);
    ompjit__child_kill(&child);
    ompjit__buf_free(&talk.diag);
    if (status)
        ompjit__buf_free(&talk.out);
    *out = talk.out;
    return status;
}

/* SOURCE error where a macro has made a clause that ompjit__fortran_check looks
 * for in the text. Of a source that flang cannot read its halves tell. */
static ompjit_status check_loops(struct run *run, ompjit_error *err)
{
    ompjit__args words = {0};
    ompjit__buf hlfir = {0};
    if (!ompjit__fortran_loops_are_regions(
            (const char *const *)run->command->host.v, run->command->host.n))
        return OMPJIT_OK;
    ompjit__hlfir_loops_command(&run->command->host, &words);
    ompjit_status status = written_by(run, &words, &run->source, &hlfir, err);
    if (!status && ompjit__hlfir_reduces(&hlfir))
        status = ompjit__fortran_reduce_fail(run->options->name, err);
    ompjit__args_free(&words);
    ompjit__buf_free(&hlfir);
    return status;
}

/* The HLFIR of a half that flang has refused, with what its regions need, and
 * with flang's first passes. Empty: it cannot be had. */
static ompjit_status repaired(struct run *run, const ompjit__args *half,
                              ompjit__buf *out, ompjit_error *err)
{
    ompjit__args words = {0}, passes = {0};
    ompjit__buf failure = {0}, text = {0}, pipeline = {0};
    ompjit__outside_command(half, &words);
    ompjit_status status = written_by(run, &words, &run->source, &failure, err);
    if (!status && ompjit__outside_repair(&failure, &text, &pipeline)) {
        ompjit__outside_passes(run->flang, &pipeline, &passes);
        status = written_by(run, &passes, &text, out, err);
    }
    ompjit__args_free(&words);
    ompjit__args_free(&passes);
    ompjit__buf_free(&failure);
    ompjit__buf_free(&text);
    ompjit__buf_free(&pipeline);
    return status;
}

/* The host half's bitcode of HLFIR, in a new process. */
static ompjit_status host_of_hlfir(struct run *run, const ompjit__buf *hlfir,
                                   struct ompjit__pair *pair, ompjit_error *err)
{
    ompjit__args words = {0};
    ompjit__order order = {.source = hlfir->data,
                           .size = hlfir->size,
                           .limit_ms = run->ctx->clang_limit_ms,
                           .cancels = &run->ctx->compiler.cancels};
    ompjit__hlfir_code_command(&run->command->host, &words);
    ompjit_status status =
        words.failed ? ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND)
                     : ompjit__child_start(words.v, order.limit_ms, NULL,
                                           run->command->folder, &pair->host,
                                           err);
    ompjit__args_free(&words);
    if (status)
        return status;
    ompjit__buf_free(&run->host.out);
    ompjit__buf_free(&run->host.diag);
    run->host = (ompjit__talk){.program = "flang", .child = &pair->host};
    status = ompjit__exchange(&order, NULL, &run->host, err);
    ompjit__pair_kill(pair);
    drop_headings(&run->host.diag);
    return status;
}

/* Both halves of a source that flang has refused for a region's values. It
 * stays refused, with the same words, where these cannot be had. */
static ompjit_status by_repair(struct run *run, struct ompjit__pair *pair,
                               ompjit_error *err)
{
    ompjit__args device = {0};
    ompjit__buf host_text = {0}, device_text = {0}, boxes = {0};
    if (!ompjit__executable(run->flang->fir_opt))
        return ompjit__fail(err, OMPJIT_ERR_SOURCE, OMPJIT_STAGE_FRONTEND,
                            "%s: a constant array, or a call of an internal "
                            "procedure, in a target region needs flang's "
                            "program fir-opt, which is not at %s",
                            run->options->name, run->flang->fir_opt);
    ompjit_status status = repaired(run, &run->command->host, &host_text, err);
    ompjit__hlfir_command(&run->command->device, OMPJIT_CONFIG_TRIPLE,
                          &device);
    if (!status && host_text.size)
        status = repaired(run, &device, &device_text, err);
    if (!status && device_text.size) {
        ompjit__hlfir_whole_objects(&host_text);
        ompjit__hlfir_optional_scalars(&host_text);
        ompjit__hlfir_optional_scalars(&device_text);
        ompjit__hlfir_boxes(&host_text, &boxes);
        status = boxes.failed ? ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND)
                              : host_of_hlfir(run, &boxes, pair, err);
        ompjit__buf_free(&run->device.out);
        run->device.out = device_text;
        device_text = (ompjit__buf){0};
        if (!status && run->host.complete)
            status = code_of_hlfir(run, pair, err);
    }
    ompjit__args_free(&device);
    ompjit__buf_free(&boxes);
    ompjit__buf_free(&host_text);
    ompjit__buf_free(&device_text);
    return status;
}

/* The device half once more, of HLFIR with the change that the host half's has
 * had. */
static ompjit_status pass_optionals(struct run *run, struct ompjit__pair *pair,
                                    ompjit_error *err)
{
    ompjit__args words = {0};
    ompjit__buf text = {0};
    ompjit__hlfir_command(&run->command->device, OMPJIT_CONFIG_TRIPLE, &words);
    ompjit_status status = written_by(run, &words, &run->source, &text, err);
    ompjit__args_free(&words);
    if (status)
        return status;
    ompjit__hlfir_optional_scalars(&text);
    ompjit__buf_free(&run->device.out);
    run->device.out = text;
    return code_of_hlfir(run, pair, err);
}

/* Has optional scalars of regions passed by address. Not at -O0 where regions have
 * boxes: their loads would make other kernels of them, whose reductions are lost
 * on a GPU unless the optimizer makes them SPMD. */
static bool change_optionals(struct run *run)
{
    ompjit__buf boxes = {0};
    ompjit__hlfir_boxes(&run->hlfir, &boxes);
    const bool loads = boxes.size != run->hlfir.size;
    ompjit__buf_free(&boxes);
    return !(loads && run->options->opt_level == OMPJIT_O0) &&
           ompjit__hlfir_optional_scalars(&run->hlfir);
}

/* The host half once more, of HLFIR that maps whole objects, where flang has
 * mapped less of one than a target region uses: the device half does not tell.
 * And both, where a region has an optional scalar by value.
 */
static ompjit_status map_objects(struct run *run, struct ompjit__pair *pair,
                                 ompjit_error *err)
{
    ompjit__buf boxes = {0}, warnings = run->host.diag;
    const bool objects = ompjit__hlfir_whole_objects(&run->hlfir);
    const bool optionals = change_optionals(run);
    if (!objects && !optionals)
        return OMPJIT_OK;
    run->host.diag = (ompjit__buf){0};
    ompjit__hlfir_boxes(&run->hlfir, &boxes);
    ompjit_status status =
        boxes.failed ? ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND)
                     : host_of_hlfir(run, &boxes, pair, err);
    ompjit__buf_free(&boxes);
    ompjit__buf_free(&run->host.diag);
    run->host.diag = warnings;
    if (!status && !run->host.complete)
        status = ompjit__fail(
            err, OMPJIT_ERR_SOURCE, OMPJIT_STAGE_FRONTEND,
            "%s: flang " OMPJIT__COMPILER_MAJOR " maps less of an object than "
            "a target region uses: name the object in a map clause, "
            "map(tofrom: object)",
            run->options->name);
    return !status && optionals ? pass_optionals(run, pair, err) : status;
}

static ompjit_status compile_halves(struct run *run, ompjit_error *err)
{
    struct ompjit__pair pair;
    const struct ompjit__fortran_names names =
        ompjit__fortran_look(run->source.data, run->dirs);
    run->objects = names.objects;
    ompjit_status status =
        names.storage ? by_hlfir(run, &pair, err)
                      : exchange(run, run->command, false, &pair, err);
    if (!status && !names.storage && !run->device.complete &&
        ompjit__flang_needs_hlfir(&run->device.diag) &&
        !ompjit__flang_needs_hlfir(&run->host.diag))
        status = by_hlfir(run, &pair, err);
    if (!status && (ompjit__flang_uses_outside(&run->host.diag) ||
                    ompjit__flang_uses_outside(&run->device.diag)))
        status = by_repair(run, &pair, err);
    else if (!status && run->host.complete && run->device.complete)
        status = map_objects(run, &pair, err);
    if (!status && !(run->host.complete && run->device.complete))
        status = verdict(run, err);
    return status;
}

/* Folders behind -I as flang knows them from another one, and this process's
 * before them: it looks for included files there. */
static bool from_elsewhere(ompjit__args *args, const char *here)
{
    ompjit__args seen = {0};
    bool told = false;
    for (size_t i = 0; i < args->n; i++) {
        bool behind = i && !strcmp(args->v[i - 1], "-I");
        bool relative = behind && args->v[i][0] != '/';
        if (!told && !strcmp(args->v[i], "-I")) {
            ompjit__args_add(&seen, "-I");
            ompjit__args_add(&seen, here);
            told = true;
        }
        char *path = relative ? ompjit__format("%s/%s", here, args->v[i])
                              : NULL;
        ompjit__args_add(&seen, relative ? path : args->v[i]);
        free(path);
    }
    ompjit__args_free(args);
    *args = seen;
    return !seen.failed;
}

/* flang looks for modules in the folder where it works, then in those behind
 * -I, and in ours last. Where one of these has a module of the name of one that
 * an earlier source has written, it works in ours. */
static ompjit_status work_in_folder(struct run *run, ompjit_error *err)
{
    char here[PATH_MAX];
    if (!run->folder || !ompjit__modules_hidden(run->folder, run->dirs))
        return OMPJIT_OK;
    if (!getcwd(here, sizeof here))
        return ompjit__fail(err, OMPJIT_ERR_IO, OMPJIT_STAGE_FRONTEND,
                            "no working directory: %s", strerror(errno));
    run->command->folder = run->folder;
    return from_elsewhere(&run->command->host, here) &&
                   from_elsewhere(&run->command->device, here)
               ? OMPJIT_OK
               : ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
}

/* Each half writes its modules into a folder of its own: both use those that
 * the host halves of earlier sources have written. */
static ompjit_status add_folders(const struct run *run, ompjit__args *args,
                                 const char *private, const char *half,
                                 char **out, ompjit_error *err)
{
    if (run->folder) {
        ompjit__args_add(args, "-I");
        ompjit__args_add(args, run->folder);
    }
    *out = ompjit__format("%s/%s", private, half);
    if (!*out)
        return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    if (mkdir(*out, 0700))
        return ompjit__fail(err, OMPJIT_ERR_IO, OMPJIT_STAGE_FRONTEND,
                            "cannot make the folder %s: %s", *out,
                            strerror(errno));
    ompjit__args_add(args, "-module-dir");
    ompjit__args_add(args, *out);
    return args->failed ? ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND)
                        : OMPJIT_OK;
}

static ompjit_status compile(struct run *run, ompjit_error *err)
{
    char *folder = NULL, *host = NULL, *device = NULL;
    ompjit_status status = ompjit__folder_new(&folder, err);
    if (!status)
        status = add_folders(run, &run->command->host, folder, "host", &host,
                             err);
    if (!status)
        status = add_folders(run, &run->command->device, folder, "device",
                             &device, err);
    if (!status)
        status = work_in_folder(run, err);
    if (!status)
        status = check_loops(run, err);
    if (!status)
        status = compile_halves(run, err);
    if (!status)
        status = ompjit__modules_pack(host, &run->modules, err);
    ompjit__folder_free(folder);
    free(host);
    free(device);
    return status;
}

/* Both halves by flang, and the unit by the compiler wing. */
static ompjit_status compile_and_read(struct run *run, ompjit__unit *out,
                                      ompjit_error *err)
{
    uint64_t start = ompjit__now();
    ompjit_status status = compile(run, err);
    ompjit__stage_done(run->ctx, OMPJIT_STAGE_FRONTEND, start);
    if (status)
        return status;
    collect_warnings(run);
    status = check_cancelled(run, err);
    if (status)
        return status;
    start = ompjit__now();
    status = ompjit__door_unit_read(&run->ctx->compiler, &run->device.out,
                                    &run->host.out, run->options->name,
                                    run->options->opt_level,
                                    ompjit__options_half(run->options), NULL,
                                    out, err);
    ompjit__stage_done(run->ctx, OMPJIT_STAGE_READ, start);
    return status;
}

/* ---------------------------------------------------------------- cache */

/* The working directory counts: flang looks there for files, and writes it into
 * the code. */
static bool make_key(const struct run *run, const char *source,
                     const ompjit__args *dirs, ompjit__key *key)
{
    uint8_t digest[OMPJIT__DIGEST];
    char here[PATH_MAX];
    if (!getcwd(here, sizeof here))
        return false;
    ompjit__key_begin(key, "fortran");
    ompjit__digest(source, strlen(source), digest);
    ompjit__key_digest(key, "text", digest);
    ompjit__buf_printf(&key->text, "name %s\nfolder %s\n", run->options->name,
                       here);
    ompjit__key_file(key, "flang", run->flang->path);
    for (size_t i = 0; i < run->command->host.n; i++)
        ompjit__buf_printf(&key->text, "host %s\n", run->command->host.v[i]);
    for (size_t i = 0; i < run->command->device.n; i++)
        ompjit__buf_printf(&key->text, "device %s\n",
                           run->command->device.v[i]);
    return ompjit__fortran_inputs(source, dirs, key) && ompjit__key_end(key);
}

/* A hit's content. */
struct recall {
    struct run *run;
    ompjit__unit unit;
};

/* Payload: the modules, the warnings, the unit. */
static bool take(void *data, const void *payload, size_t size)
{
    struct recall *r = data;
    ompjit__reader reader = {payload, size, false};
    ompjit__read_buf(&reader, &r->run->modules);
    ompjit__read_buf(&reader, &r->run->warnings);
    if (!reader.bad && ompjit__unit_unpack(&reader, &r->unit))
        return true;
    ompjit__buf_free(&r->run->modules);
    ompjit__buf_free(&r->run->warnings);
    return false;
}

static void remember(const struct run *run, const ompjit__key *key,
                     const ompjit__unit *unit)
{
    ompjit__buf payload = {0};
    ompjit__pack_bytes(&payload, run->modules.data, run->modules.size);
    ompjit__pack_bytes(&payload, run->warnings.data, run->warnings.size);
    ompjit__unit_pack(unit, &payload);
    ompjit__cache_put(run->ctx->cache, key, &payload);
    ompjit__buf_free(&payload);
}

/* ------------------------------------------------------------- interface */

static ompjit_status obtain(struct run *run, const ompjit__key *key,
                            ompjit__unit *out, ompjit_error *err)
{
    struct recall recall = {.run = run};
    ompjit__claim claim = {.fd = -1};
    ompjit_status status = OMPJIT_OK;
    if (key && ompjit__cache_enter(run->ctx->cache, key, take, &recall,
                                   &claim)) {
        *out = recall.unit;
    } else {
        status = compile_and_read(run, out, err);
        if (!status && key)
            remember(run, key, out);
    }
    ompjit__claim_end(&claim);
    return status;
}

/* For sources that come later. Nobody else has the unit yet. */
static ompjit_status install(const struct run *run, ompjit_error *err)
{
    ompjit__reader r = {run->modules.data, run->modules.size, false};
    ompjit_status status = OMPJIT_OK;
    if (run->modules.failed)
        return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    if (run->folder)
        status = ompjit__modules_install(&r, run->folder, err);
    return status || !r.bad
               ? status
               : ompjit__fail(err, OMPJIT_ERR_IO, OMPJIT_STAGE_FRONTEND,
                              "%s: its modules cannot be read",
                              run->options->name);
}

/* The line that names the file, and the source. */
static void add_text(struct run *run, const char *source)
{
    ompjit__buf_printf(&run->source, "# 1 \"%s\"\n", run->options->name);
    ompjit__buf_add(&run->source, source, strlen(source));
}

static ompjit_status compile_source(struct run *run, const char *source,
                                    const ompjit__args *dirs,
                                    ompjit__unit *out, ompjit_error *err)
{
    ompjit__key key = {0};
    bool use = run->ctx->cache && make_key(run, source, dirs, &key);
    run->cancels = atomic_load(&run->ctx->compiler.cancels);
    add_text(run, source);
    ompjit_status status =
        run->source.failed ? ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND)
                           : obtain(run, use ? &key : NULL, out, err);
    if (!status) {
        log_warnings(run);
        status = install(run, err);
        if (status)
            ompjit__unit_free(out);
    }
    if (!status) {
        out->own_lines = !ompjit__lines_wanted(run->options);
        out->from_source = true;
    }
    ompjit__key_free(&key);
    ompjit__buf_free(&run->source);
    ompjit__buf_free(&run->hlfir);
    ompjit__buf_free(&run->modules);
    ompjit__buf_free(&run->warnings);
    free_talks(run);
    return status;
}

ompjit_status ompjit__frontend_fortran(ompjit_context *ctx, const char *source,
                                       const ompjit_module_options *options,
                                       ompjit__unit *out, ompjit_error *err)
{
    ompjit__flang flang = {0};
    ompjit__command command = {0};
    ompjit__args dirs = {0};
    char *folder = NULL;
    ompjit_status status = ompjit__flang_find(&flang, err);
    if (!status)
        status = ompjit__flang_command(&flang, options, &command, &dirs,
                                       &folder, err);
    struct run run = {.ctx = ctx,
                      .flang = &flang,
                      .options = options,
                      .command = &command,
                      .dirs = &dirs,
                      .folder = folder};
    if (folder)
        ompjit__args_add(&dirs, folder);
    if (!status)
        status = ompjit__fortran_check(source, options->name, options->flags,
                                       options->nflags, &dirs, err);
    if (!status)
        status = compile_source(&run, source, &dirs, out, err);
    ompjit__command_free(&command);
    ompjit__args_free(&dirs);
    ompjit__flang_free(&flang);
    free(folder);
    return status;
}
