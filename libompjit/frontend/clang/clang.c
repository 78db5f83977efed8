/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * C to a unit, by two clang processes, one for each half. Starting a clang
 * takes longer than compiling a small kernel; so after each compile the next
 * pair with the same command lines is started ahead. It waits for its source,
 * having read no more than headers that it looks at again then, and ends by
 * itself when this process does: its pipes close. OMPJIT_WARM=0 switches that
 * off.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/clang/unit_cache.h"

enum { MAX_WARM = 2, MAX_LEAVING = 8 };

/* A pair of processes for the halves of one source; CUDA has no host half. */
struct pair {
    char *key; /* of a warm pair; NULL: no pair there */
    ompjit__child host, device;
};

/* A pair to start next. */
struct next {
    ompjit__command command;
    char *key; /* NULL: none */
    char *like; /* a source that was compiled so */
};

struct ompjit__frontend {
    pthread_mutex_t lock;
    ompjit__clang clang;   /* set once                                      */
    unsigned limit_ms;     /* of one run                                    */
    pid_t owner;           /* the process whose children these are          */
    bool checked;          /* clang's version is known to be right          */
    struct next pending; /* of the last compile, until frontend_rest         */
    struct pair warm[MAX_WARM]; /* oldest first; unused ones at the end     */
    ompjit__child leaving[MAX_LEAVING]; /* done, not waited for; pid 0: none */
    ompjit__guess guesses[OMPJIT__GUESSES];
};

/* ----------------------------------------------------------------- state */

static ompjit_status frontend_new(ompjit_context *ctx, ompjit__frontend **out,
                                  ompjit_error *err)
{
    ompjit__frontend *f = calloc(1, sizeof *f);
    if (!f)
        return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    f->limit_ms = ctx->clang_limit_ms;
    ompjit_status status =
        ompjit__clang_find(ctx->clang, f->limit_ms, &f->clang, err);
    if (status) {
        free(f);
        return status;
    }
    ompjit__log(ctx, "clang is %s; its headers are in %s", f->clang.path,
                f->clang.resource_dir);
    f->owner = getpid();
    pthread_mutex_init(&f->lock, NULL);
    *out = f;
    return OMPJIT_OK;
}

/* Made at the first compile that finds a clang. */
static ompjit_status frontend_of(ompjit_context *ctx, ompjit__frontend **out,
                                 ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    pthread_mutex_lock(&ctx->lock);
    if (!ctx->frontend)
        status = frontend_new(ctx, &ctx->frontend, err);
    if (!status && !ctx->clang)
        ctx->clang = ompjit__strdup(ctx->frontend->clang.path);
    *out = ctx->frontend;
    pthread_mutex_unlock(&ctx->lock);
    return status;
}

static void next_free(struct next *next)
{
    if (next->key)
        ompjit__command_free(&next->command);
    free(next->key);
    free(next->like);
}

static void pair_kill(struct pair *pair)
{
    ompjit__child_kill(&pair->host);
    ompjit__child_kill(&pair->device);
    free(pair->key);
    pair->key = NULL;
}

/* In a child of the process that started them they are somebody else's:
 * forgotten, without a signal. Under the lock. */
static void forget_if_forked(ompjit__frontend *f)
{
    if (f->owner == getpid())
        return;
    for (unsigned i = 0; i < MAX_WARM && f->warm[i].key; i++) {
        ompjit__child_forget(&f->warm[i].host);
        ompjit__child_forget(&f->warm[i].device);
        free(f->warm[i].key);
        f->warm[i].key = NULL;
    }
    for (unsigned i = 0; i < MAX_LEAVING; i++)
        if (f->leaving[i].pid)
            ompjit__child_forget(&f->leaving[i]);
    f->owner = getpid();
}

void ompjit__frontend_free(ompjit__frontend *f)
{
    if (!f)
        return;
    forget_if_forked(f);
    for (unsigned i = 0; i < MAX_WARM && f->warm[i].key; i++)
        pair_kill(&f->warm[i]);
    for (unsigned i = 0; i < MAX_LEAVING; i++)
        if (f->leaving[i].pid)
            ompjit__child_kill(&f->leaving[i]);
    next_free(&f->pending);
    ompjit__guesses_free(f->guesses);
    ompjit__clang_free(&f->clang);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

/* ---------------------------------------------------- children that leave */

static bool warm_is_off(void)
{
    const char *warm = getenv("OMPJIT_WARM");
    return warm && !strcmp(warm, "0");
}

/* Two processes that end take a processor for 2 ms, which the build that follows
 * needs. So a child whose work is done stays until frontend_rest dismisses it.
 * A dismissed child is killed, and waited for when somebody comes by, at the
 * latest when the context ends. */
static void leave(ompjit__frontend *f, ompjit__child *child)
{
    if (!child->pid)
        return;
    if (warm_is_off())
        ompjit__child_hang_up(child);
    pthread_mutex_lock(&f->lock);
    unsigned place = 0;
    for (unsigned i = 0; i < MAX_LEAVING; i++)
        if (!f->leaving[i].pid)
            place = i;
    ompjit__child old = f->leaving[place];
    f->leaving[place] = *child;
    pthread_mutex_unlock(&f->lock);
    if (old.pid)
        ompjit__child_kill(&old);
    *child = (ompjit__child)OMPJIT__NO_CHILD;
}

static void dismiss(ompjit__frontend *f)
{
    pthread_mutex_lock(&f->lock);
    forget_if_forked(f);
    for (unsigned i = 0; i < MAX_LEAVING; i++)
        if (f->leaving[i].pid) {
            ompjit__child_hang_up(&f->leaving[i]);
            ompjit__child_wait(&f->leaving[i], 0);
        }
    pthread_mutex_unlock(&f->lock);
}

/* ------------------------------------------------------------ warm pairs */

static void key_add(ompjit__buf *key, const ompjit__args *args)
{
    for (size_t i = 0; i < args->n; i++)
        ompjit__buf_printf(key, "%s\n", args->v[i]);
}

/* The identity of a pair: command lines and working directory. NULL when memory
 * runs out. */
static char *pair_key(const ompjit__command *command)
{
    ompjit__buf key = {0};
    struct stat here = {0};
    if (stat(".", &here))
        here.st_ino = 0;
    ompjit__buf_printf(&key, "%ju %ju\n", (uintmax_t)here.st_dev,
                       (uintmax_t)here.st_ino);
    key_add(&key, &command->host);
    key_add(&key, &command->device);
    if (!key.failed)
        return key.data;
    ompjit__buf_free(&key);
    return NULL;
}

static ompjit_status pair_start(const ompjit__command *command,
                                unsigned limit_ms, const char *like,
                                struct pair *out, ompjit_error *err)
{
    struct pair pair = {NULL, OMPJIT__NO_CHILD, OMPJIT__NO_CHILD};
    ompjit_status status = OMPJIT_OK;
    if (command->host.n)
        status = ompjit__child_start(command->host.v, limit_ms, like,
                                     &pair.host, err);
    if (!status)
        status = ompjit__child_start(command->device.v, limit_ms, like,
                                     &pair.device, err);
    if (status)
        pair_kill(&pair);
    else
        *out = pair;
    return status;
}

static struct pair take_at(ompjit__frontend *f, unsigned i)
{
    struct pair taken = f->warm[i];
    for (; i + 1 < MAX_WARM; i++)
        f->warm[i] = f->warm[i + 1];
    f->warm[MAX_WARM - 1] = (struct pair){0};
    return taken;
}

static int warm_at(const ompjit__frontend *f, const char *key)
{
    for (int i = 0; i < MAX_WARM && f->warm[i].key; i++)
        if (!strcmp(f->warm[i].key, key))
            return i;
    return -1;
}

static bool take_warm(ompjit__frontend *f, const char *key, struct pair *out)
{
    pthread_mutex_lock(&f->lock);
    forget_if_forked(f);
    int i = key ? warm_at(f, key) : -1;
    if (i >= 0)
        *out = take_at(f, (unsigned)i);
    pthread_mutex_unlock(&f->lock);
    return i >= 0;
}

/* Starts the next pair with this key, unless there is one. */
static void warm_up(ompjit__frontend *f, const ompjit__command *command,
                    const char *key, const char *like)
{
    struct pair next, old = {0};
    if (!key || !like || warm_is_off())
        return;
    pthread_mutex_lock(&f->lock);
    if (warm_at(f, key) < 0 &&
        !pair_start(command, f->limit_ms, like, &next, NULL)) {
        next.key = ompjit__strdup(key);
        if (f->warm[MAX_WARM - 1].key)
            old = take_at(f, 0);
        unsigned n = 0;
        while (f->warm[n].key)
            n++;
        if (next.key)
            f->warm[n] = next;
        else
            old = next;
    }
    pthread_mutex_unlock(&f->lock);
    if (old.device.pid)
        pair_kill(&old);
}

/* --------------------------------------------------------------- compile */

/* One compile in a pair. */
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

/* While the device half is compiled, the host half is read. A compile
 * that follows another without a build between starts the next pair, too: no
 * build will tell when the processors are free. */
static void meanwhile(void *data)
{
    struct run *run = data;
    if (run->eager) {
        warm_up(run->f, run->command, run->key, run->source);
        dismiss(run->f);
    }
    if (run->cuda)
        return;
    bool own_lines = !ompjit__lines_wanted(run->snippet->options);
    run->early =
        ompjit__door_early_read(&run->ctx->compiler, &run->host.out, run->name,
                                own_lines, run->all_numbers.size > 0);
    if (run->early)
        ompjit__door_early_info(run->early, &run->info);
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

static bool same(const ompjit__buf *a, const ompjit__buf *b)
{
    return a->size == b->size && !memcmp(a->data, b->data, a->size);
}

/* A guess was right, or there is one for the next time. */
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

static struct next take_pending(ompjit__frontend *f)
{
    pthread_mutex_lock(&f->lock);
    struct next taken = f->pending;
    f->pending = (struct next){.key = NULL};
    pthread_mutex_unlock(&f->lock);
    return taken;
}

/* Keeps what a run was made with, which is the frontend's from now on. */
static void set_pending(ompjit__frontend *f, struct next next)
{
    pthread_mutex_lock(&f->lock);
    struct next old = f->pending;
    f->pending = next;
    pthread_mutex_unlock(&f->lock);
    next_free(&old);
}

void ompjit__frontend_rest(ompjit_context *ctx)
{
    pthread_mutex_lock(&ctx->lock);
    ompjit__frontend *f = ctx->frontend;
    pthread_mutex_unlock(&ctx->lock);
    if (!f)
        return;
    struct next next = take_pending(f);
    warm_up(f, &next.command, next.key, next.like);
    next_free(&next);
    dismiss(f);
}

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

/* A wrong clang fails in many ways; its version explains all of them. */
static ompjit_status check_version(ompjit__frontend *f, ompjit_error *err)
{
    pthread_mutex_lock(&f->lock);
    bool checked = f->checked;
    pthread_mutex_unlock(&f->lock);
    if (checked)
        return OMPJIT_OK;
    ompjit_status status =
        ompjit__clang_check(&f->clang, f->limit_ms, err);
    pthread_mutex_lock(&f->lock);
    f->checked |= status == OMPJIT_OK;
    pthread_mutex_unlock(&f->lock);
    return status;
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
    ompjit_status version = check_version(run->f, err);
    return version ? version : status;
}

static ompjit_status run_in(struct run *run, struct pair *pair,
                            ompjit_error *err)
{
    run_free(run);
    run->host = (ompjit__talk){.child = &pair->host};
    run->device = (ompjit__talk){.child = &pair->device};
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
        pair_kill(pair);
        return status ? status : verdict(run, err);
    }
    if (!settle_guess(run)) {
        pair_kill(pair);
        return OMPJIT_ERR_SOURCE; /* for compile() alone */
    }
    leave(run->f, &pair->host);
    leave(run->f, &pair->device);
    free(pair->key);
    return OMPJIT_OK;
}

static ompjit_status compile_in_new(struct run *run, ompjit_error *err)
{
    struct pair pair;
    run->last = true;
    ompjit_status status =
        pair_start(run->command, run->f->limit_ms, NULL, &pair, err);
    return status ? status : run_in(run, &pair, err);
}

/* A pair that was started ahead may be unfit by now, or have looked at folders
 * that are different today: only a new one's word is an error. */
static ompjit_status compile(struct run *run, ompjit_error *err)
{
    struct pair pair;
    ompjit_error failure;
    if (take_warm(run->f, run->key, &pair)) {
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

static void collect_warnings(const struct run *run, ompjit__buf *text)
{
    ompjit__diagnostics_add(text, &run->host.diag, NULL);
    ompjit__diagnostics_add(text, &run->device.diag, &run->host.diag);
    while (text->size && text->data[text->size - 1] == '\n')
        text->data[--text->size] = 0;
}

static void log_warnings(ompjit_context *ctx, const ompjit__buf *text)
{
    if (text->size && !text->failed)
        ompjit__log(ctx, "%s", text->data);
}

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
                                          run->early, out, err);
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
    run->key = pair_key(command);
    run->marks = run->cuda ? NULL : ompjit__source_marks(run->source);
    struct next unused = take_pending(run->f);
    run->eager = unused.key != NULL;
    next_free(&unused);
    ompjit_status status = compile_and_read(ctx, run, out, err);
    if (!status)
        ompjit__remember_c(ctx, run->snippet, run->deps.data, out,
                           run->recall);
    run_free(run);
    ompjit__buf_free(&run->guess);
    ompjit__buf_free(&run->all_numbers);
    free(run->marks);
    if (run->key)
        set_pending(run->f, (struct next){*command, run->key,
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
    ompjit_status status = frontend_of(ctx, &f, err);
    if (!status)
        status = ompjit__command_make(&f->clang, options, &command, err);
    return status ? status
                  : compile_snippet(ctx, f, &snippet, &command, false, out, err);
}

ompjit_status ompjit__clang_cuda(ompjit_context *ctx, const char *source,
                                 const ompjit_module_options *options,
                                 ompjit__unit *out, ompjit_error *err)
{
    ompjit__frontend *f;
    ompjit__command command;
    ompjit__snippet snippet = {.source = source, .options = options};
    ompjit_status status = frontend_of(ctx, &f, err);
    if (!status)
        status = ompjit__command_make_cuda(&f->clang, options, &command, err);
    return status ? status
                  : compile_snippet(ctx, f, &snippet, &command, true, out, err);
}
