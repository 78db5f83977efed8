/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * C, C++ or CUDA to a unit, by two clang processes, one for each half; CUDA has
 * no host half. The cache is asked first, and remembers the unit. front_end.c
 * has the state that compiles share, warm_pairs.c the processes.
 */
#include <stdlib.h>
#include <string.h>

#include "frontend/clang/front_end.h"
#include "frontend/clang/unit_cache.h"

/* One compile, in one pair after another:
 *
 *   compile_snippet     the cache's unit, or
 *   compile_new         a new one, which is remembered
 *     compile_both      both halves, again where lambdas have other numbers
 *       compile         in a pair that was started ahead, then in a new one
 *         run_in        one exchange with one pair
 *
 * compile_new frees what the struct owns; `recall`, `snippet` and `command` are
 * its caller's. */
struct run {
    ompjit_context *ctx;
    ompjit__frontend *f;
    const char *name, *source;
    ompjit__command *command;
    char *key; /* of its pair */
    bool eager; /* start the next pair during this compile */
    bool cuda;  /* no host half                            */
    bool last;  /* no other pair is tried after this one   */
    ompjit__talk host, device;
    ompjit__buf deps; /* make rules */
    ompjit__door_early *early; /* NULL: not read */
    char *marks;       /* of the source, or NULL                   */
    ompjit__buf guess; /* of what the host half says of regions ... */
    ompjit__buf info;  /* ... and what it says                     */
    ompjit__buf all_numbers; /* ompjit__lambda_info, where it is needed */
    const ompjit__snippet *snippet;
    ompjit__recall *recall;
    unsigned cancels; /* of the context, when the compile began */
};

/* While both halves are compiled, the runtime is read for the build that will
 * follow. */
static void at_first(void *data)
{
    struct run *run = data;
    if (!run->cuda)
        ompjit__door_prepare(&run->ctx->compiler);
}

/* enum ompjit__half_flag. */
static unsigned half_flags(const struct run *run)
{
    return ompjit__options_half(run->snippet->options) |
           (run->all_numbers.size ? OMPJIT__HALF_ALL_NUMBERS : 0);
}

/* While the device half is compiled, the host half is read. A compile
 * that follows another without a build between starts the next pair, too: no
 * build will tell when the processors are free. */
static void meanwhile(void *data)
{
    struct run *run = data;
    if (run->eager) {
        char **environment = ompjit__warm_environment(run->source);
        ompjit__warm_up(run->f, run->command, run->key, environment);
        free(environment);
        ompjit__dismiss(run->f);
    }
    if (run->cuda)
        return;
    run->early = ompjit__door_early_read(&run->ctx->compiler, &run->host.out,
                                         run->name, half_flags(run),
                                         &run->info);
}

/* Only for what goes on in a pair that was started ahead: where the guess is
 * wrong, a new one comes after it. */
static void guess(struct run *run)
{
    pthread_mutex_lock(&run->f->lock);
    ompjit__guess_take(run->f->guesses, run->key, run->marks, &run->guess);
    pthread_mutex_unlock(&run->f->lock);
    if (run->guess.failed)
        ompjit__buf_free(&run->guess);
}

/* The same bytes? */
static bool same(const ompjit__buf *a, const ompjit__buf *b)
{
    return a->size == b->size && !memcmp(a->data, b->data, a->size);
}

/* A guess was right, or there is one for the next time. False: it was wrong,
 * and the device half is to be compiled again. */
static bool settle_guess(struct run *run)
{
    if (run->all_numbers.size)
        return true;
    if (run->guess.size)
        return run->info.size && same(&run->guess, &run->info);
    if (!run->info.size)
        return true;
    pthread_mutex_lock(&run->f->lock);
    ompjit__guess_put(run->f->guesses, run->key, run->marks, &run->info);
    pthread_mutex_unlock(&run->f->lock);
    return true;
}

/* Frees the leftovers of one exchange, before the next and in the end. */
static void run_free(struct run *run)
{
    ompjit__buf_free(&run->host.out);
    ompjit__buf_free(&run->host.diag);
    ompjit__buf_free(&run->device.out);
    ompjit__buf_free(&run->device.diag);
    ompjit__buf_free(&run->deps);
    ompjit__door_early_free(run->early);
    run->early = NULL;
    ompjit__buf_free(&run->info);
}

/* An exchange and a request see that they are cancelled themselves: this is for
 * the time between them. */
static ompjit_status check_cancelled(const struct run *run, ompjit_error *err)
{
    return run->cancels == atomic_load(&run->ctx->compiler.cancels)
               ? OMPJIT_OK
               : ompjit__fail(err, OMPJIT_ERR_ABORTED, OMPJIT_STAGE_FRONTEND,
                              "the compile was cancelled");
}

/* At least one half has ended without bitcode. The host half goes first: what
 * is wrong with the source, it says, and the device half fails without it. */
static ompjit_status verdict(struct run *run, ompjit_error *err)
{
    const ompjit__talk *host = &run->host, *device = &run->device;
    ompjit_context *log = run->last ? run->ctx : NULL;
    ompjit_status status;
    if (run->cuda)
        status =
            ompjit__diagnose(log, run->name, "device", device, NULL, err);
    else if (host->exit.how != OMPJIT__END_RUNNING)
        status = ompjit__diagnose(log, run->name, "host", host, NULL, err);
    else
        status = ompjit__diagnose(log, run->name, "device", device,
                                  host->complete ? &host->diag : NULL, err);
    ompjit_status version = ompjit__frontend_check(run->f, err);
    return version ? version : status;
}

/* The pair's processes leave on success, and are killed otherwise; `pair` is
 * nobody's afterwards. SOURCE without a text where the guess was wrong. */
static ompjit_status run_in(struct run *run, struct ompjit__pair *pair,
                            ompjit_error *err)
{
    run_free(run);
    run->host = (ompjit__talk){.program = "clang", .child = &pair->host};
    run->device = (ompjit__talk){.program = "clang", .child = &pair->device};
    ompjit__order order = {.source = run->source,
                           .size = strlen(run->source),
                           .limit_ms = run->f->limit_ms,
                           .info = run->all_numbers.size ? &run->all_numbers
                                   : run->guess.size     ? &run->guess
                                                         : NULL,
                           .cancels = &run->ctx->compiler.cancels,
                           .at_first = at_first,
                           .meanwhile = meanwhile,
                           .data = run};
    ompjit_status status = check_cancelled(run, err);
    if (!status)
        status = ompjit__exchange(&order, run->cuda ? NULL : &run->host,
                                  &run->device, err);
    ompjit__take_deps(&run->host.diag, &run->deps);
    ompjit__take_deps(&run->device.diag, &run->deps);
    if (status || !(run->cuda || run->host.complete) ||
        !run->device.complete) {
        ompjit__pair_kill(pair);
        return status ? status : verdict(run, err);
    }
    if (!settle_guess(run)) {
        ompjit__pair_kill(pair);
        return OMPJIT_ERR_SOURCE; /* for compile() alone */
    }
    ompjit__child_leave(run->f, &pair->host);
    ompjit__child_leave(run->f, &pair->device);
    free(pair->key);
    return OMPJIT_OK;
}

static ompjit_status compile_in_new(struct run *run, ompjit_error *err)
{
    struct ompjit__pair pair;
    run->last = true;
    ompjit_status status =
        ompjit__pair_start(run->command, run->f->limit_ms, NULL, &pair, err);
    return status ? status : run_in(run, &pair, err);
}

/* A pair that was started ahead may be unfit by now, or have looked at folders
 * that are different today: only a new one's word is an error. */
static ompjit_status compile(struct run *run, ompjit_error *err)
{
    struct ompjit__pair pair;
    ompjit_error failure;
    if (ompjit__warm_take(run->f, run->key, &pair)) {
        guess(run);
        ompjit_status status = run_in(run, &pair, &failure);
        bool final = status == OMPJIT_ERR_TIMEOUT ||
                     status == OMPJIT_ERR_ABORTED;
        if (final && err)
            *err = failure;
        if (!status || final)
            return status;
        ompjit__buf_free(&run->guess);
    }
    return compile_in_new(run, err);
}

/* The device half is compiled once more, with each number there may be, if the
 * halves number lambdas differently. */
static ompjit_status compile_both(struct run *run, ompjit_error *err)
{
    ompjit_status status = compile(run, err);
    if (status || !run->early ||
        ompjit__door_early_agrees(run->early, &run->device.out))
        return status;
    if (!ompjit__door_early_numbers(run->early, &run->all_numbers))
        return ompjit__fail(err, OMPJIT_ERR_SOURCE, OMPJIT_STAGE_FRONTEND,
                            "%s: clang's host and device halves number "
                            "lambdas differently, and there are too many of "
                            "them in the names of target regions",
                            run->name);
    if (run->all_numbers.failed)
        return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    return compile_in_new(run, err);
}

/* The warnings of both halves, each once. */
static void collect_warnings(const struct run *run, ompjit__buf *text)
{
    ompjit__diagnostics_add(text, &run->host.diag, NULL);
    ompjit__diagnostics_add(text, &run->device.diag, &run->host.diag);
    while (text->size && text->data[text->size - 1] == '\n')
        text->data[--text->size] = 0;
}

/* Tells the log of clang's warnings. Without a log they are dropped. */
static void log_warnings(ompjit_context *ctx, const ompjit__buf *text)
{
    if (text->size && !text->failed)
        ompjit__log(ctx, "%s", text->data);
}

/* Both halves by clang, and the unit by the compiler wing. */
static ompjit_status compile_and_read(ompjit_context *ctx, struct run *run,
                                      ompjit__unit *out, ompjit_error *err)
{
    uint64_t start = ompjit__now();
    ompjit_status status = compile_both(run, err);
    ompjit__stage_done(ctx, OMPJIT_STAGE_FRONTEND, start);
    if (status)
        return status;
    collect_warnings(run, &run->recall->warnings);
    log_warnings(ctx, &run->recall->warnings);
    status = check_cancelled(run, err);
    if (status)
        return status;
    start = ompjit__now();
    unsigned opt_level = run->snippet->options->opt_level;
    ompjit__compiler *compiler = &ctx->compiler;
    status = run->cuda
                 ? ompjit__door_unit_read_cuda(compiler, &run->device.out,
                                               run->name, opt_level, out, err)
                 : ompjit__door_unit_read(compiler, &run->device.out,
                                          &run->host.out, run->name, opt_level,
                                          half_flags(run), run->early, out,
                                          err);
    ompjit__stage_done(ctx, OMPJIT_STAGE_READ, start);
    return status;
}

/* In a pair of processes, and what comes of it is remembered. The command is
 * the front end's afterwards. */
static ompjit_status compile_new(ompjit_context *ctx, struct run *run,
                                 ompjit__command *command, ompjit__unit *out,
                                 ompjit_error *err)
{
    run->cancels = atomic_load(&ctx->compiler.cancels);
    run->key = ompjit__pair_key(command);
    run->marks = run->cuda ? NULL : ompjit__source_marks(run->source);
    struct ompjit__next unused = ompjit__pending_take(run->f);
    run->eager = unused.key != NULL;
    ompjit__next_free(&unused);
    ompjit_status status = compile_and_read(ctx, run, out, err);
    if (!status)
        ompjit__remember_c(ctx, run->snippet, run->deps.data, out,
                           run->recall);
    run_free(run);
    ompjit__buf_free(&run->guess);
    ompjit__buf_free(&run->all_numbers);
    free(run->marks);
    if (run->key)
        ompjit__pending_set(run->f, (struct ompjit__next){*command, run->key,
                                          ompjit__strdup(run->source)});
    else
        ompjit__command_free(command);
    return status;
}

/* By the cache where it has the unit. The command is the front end's
 * afterwards. */
static ompjit_status compile_snippet(ompjit_context *ctx, ompjit__frontend *f,
                                     ompjit__snippet *snippet,
                                     ompjit__command *command, bool cuda,
                                     ompjit__unit *out, ompjit_error *err)
{
    ompjit__recall recall;
    struct run run = {.ctx = ctx,
                      .f = f,
                      .name = ompjit__source_name(snippet->options),
                      .source = snippet->source,
                      .command = command,
                      .cuda = cuda,
                      .snippet = snippet,
                      .recall = &recall};
    ompjit_status status = OMPJIT_OK;
    snippet->clang = &f->clang;
    snippet->command = command;
    if (ompjit__recall_c(ctx, snippet, &recall)) {
        log_warnings(ctx, &recall.warnings);
        *out = recall.unit;
        ompjit__command_free(command);
    } else {
        status = compile_new(ctx, &run, command, out, err);
    }
    if (!status)
        out->own_lines = !ompjit__lines_wanted(snippet->options);
    ompjit__recall_end(&recall);
    if (!status)
        out->from_source = true;
    /* Nothing follows what did not compile, but another try. */
    if (status == OMPJIT_ERR_SOURCE)
        ompjit__frontend_rest(ctx);
    return status;
}

ompjit_status ompjit__frontend_c(ompjit_context *ctx, const char *source,
                                 const ompjit_module_options *options,
                                 ompjit__unit *out, ompjit_error *err)
{
    static const ompjit_module_options defaults = OMPJIT_MODULE_OPTIONS_INIT;
    if (!options)
        options = &defaults;
    ompjit__frontend *f;
    ompjit__command command;
    ompjit__snippet snippet = {.source = source, .options = options};
    ompjit_status status = ompjit__frontend_of(ctx, &f, err);
    if (!status)
        status = ompjit__command_make(&f->clang, options, &command, err);
    return status ? status
                  : compile_snippet(ctx, f, &snippet, &command, false, out,
                                    err);
}

/* Without a host half: CUDA's host code is the application's own business. */
ompjit_status ompjit__clang_cuda(ompjit_context *ctx, const char *source,
                                 const ompjit_module_options *options,
                                 ompjit__unit *out, ompjit_error *err)
{
    ompjit__frontend *f;
    ompjit__command command;
    ompjit__snippet snippet = {.source = source, .options = options};
    ompjit_status status = ompjit__frontend_of(ctx, &f, err);
    if (!status)
        status = ompjit__command_make_cuda(&f->clang, options, &command, err);
    return status ? status
                  : compile_snippet(ctx, f, &snippet, &command, true, out, err);
}
