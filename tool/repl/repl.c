/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit repl: C and C++ with OpenMP, one input after the other.
 */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "frontend/clang/clang.h"
#include "tool/repl/terminal/colour.h"
#include "tool/repl/commands.h"
#include "tool/repl/session/interrupt.h"
#include "tool/repl/repl.h"
#include "tool/repl/scan.h"
#include "tool/repl/state.h"
#include "tool/tool.h"

struct repl {
    struct options *o;
    unsigned given;       /* the first of o->flags, which no code here adds */
    char version[32];     /* "-fopenmp-version=52" */
    char teams[32], threads[32]; /* "--teams=4" */
    ompjit_context *ctx;
    engine *e;
    bool cxx;
    bool served;          /* SIGINT is the engine's (interrupt.h)           */
    struct settings settings;
    struct input *undone; /* that redo executes again, the last one first   */
    size_t nundone;
};

/* ------------------------------------------------------------------ session */

static bool is_cxx(const struct options *o)
{
    if (o->lang)
        return !strcmp(o->lang, "c++");
    return o->file && (ends_in(o->file, ".cpp") || ends_in(o->file, ".cc") ||
                       ends_in(o->file, ".cxx"));
}

/* OpenMP 5.2, as the examples document of OpenMP is written in. */
enum { DEFAULT_OPENMP = 52 };

/* Line tables say where session code fails; debuggers get them where the user
 * has asked for them. */
static int make_engine(struct repl *r)
{
    ompjit_module_options options = OMPJIT_MODULE_OPTIONS_INIT;
    ompjit_error err;
    options.name = r->cxx ? "session.cc" : "session.c";
    options.flags = r->o->flags.items;
    options.nflags = r->given;
    const bool debugs = ompjit__lines_wanted(&options);
    options.nflags = r->o->flags.n;
    options.openmp_version = r->o->openmp_version;
    options.opt_level = (ompjit_opt_level)r->o->opt_level;
    if (engine_new(r->ctx, &options, &r->e, &err))
        return failed(&err);
    r->e->debugs = debugs;
    r->e->limit_s = r->o->run_limit;
    r->e->colours = repl_colours(r, STDERR_FILENO);
    r->e->tables = r->o->json;
    return EXIT_OK;
}

static int check_options(struct repl *r)
{
    struct options *o = r->o;
    if (o->lang && strcmp(o->lang, "c") && strcmp(o->lang, "c++")) {
        complain("--lang %s: c and c++ are possible", o->lang);
        return EXIT_USAGE;
    }
    if (o->color && strcmp(o->color, "auto") && strcmp(o->color, "always") &&
        strcmp(o->color, "never")) {
        complain("--color %s: auto, always and never are possible", o->color);
        return EXIT_USAGE;
    }
    if (!o->openmp_version)
        o->openmp_version = DEFAULT_OPENMP;
    snprintf(r->version, sizeof r->version, "-fopenmp-version=%u",
             o->openmp_version);
    r->given = o->flags.n;
    if (list_add(&o->flags, "-fincremental-extensions") &&
        list_add(&o->flags, "-g"))
        return EXIT_OK;
    complain("out of memory");
    return EXIT_FAILED;
}

/* The settings are the options' where commands have not changed them. */
static void apply(struct repl *r)
{
    struct options *o = r->o;
    const struct settings *s = &r->settings;
    if (s->device)
        o->device = s->device;
    if (s->specialize)
        o->specialize = s->specialize;
    if (s->teams)
        o->teams = (unsigned)strtoul(s->teams, NULL, 10);
    if (s->threads)
        o->threads = (unsigned)strtoul(s->threads, NULL, 10);
}

/* After a parallel region libomp's threads look for the next one all the time
 * for 200 ms, while the next input is compiled: one millisecond is enough for
 * the regions of one input. Before libomp is loaded. */
static void let_threads_sleep(void)
{
    if (!getenv("OMP_WAIT_POLICY"))
        setenv("KMP_BLOCKTIME", "1", 0);
}

/* Inputs run on the main thread, whose stack the kernel lets grow up to the
 * limit at the time. The usual limit, 8 MB, is too small for programs with
 * large local arrays. */
static void raise_stack(void)
{
    enum { STACK = 64 << 20 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= STACK)
        return;
    limit.rlim_cur = limit.rlim_max < STACK ? limit.rlim_max : STACK;
    setrlimit(RLIMIT_STACK, &limit);
}

static int repl_begin(struct repl *r)
{
    struct options *o = r->o;
    apply(r);
    let_threads_sleep();
    raise_stack();
    int status = session_geometry(o);
    if (!status)
        status = session_open_interactive(o, &r->ctx);
    if (!status)
        status = libraries_load(o);
    if (!status)
        status = session_device(o, r->ctx);
    return status ? status : make_engine(r);
}

static int repl_open(struct repl *r)
{
    int status = check_options(r);
    r->cxx = is_cxx(r->o);
    return status ? status : repl_begin(r);
}

static void repl_end(struct repl *r)
{
    engine_free(r->e);
    ompjit_context_destroy(r->ctx);
}

static void forget_undone(struct repl *r)
{
    while (r->nundone)
        input_free(&r->undone[--r->nundone]);
}

static void repl_close(struct repl *r)
{
    repl_end(r);
    forget_undone(r);
    free(r->undone);
    free(r->settings.device);
    free(r->settings.specialize);
    free(r->settings.teams);
    free(r->settings.threads);
}

/* --------------------------------------------------------- what commands do */

struct settings *repl_settings(struct repl *r)
{
    return &r->settings;
}

/* The first n inputs of another engine, by their numbers, up to one that fails.
 */
static bool execute_again(struct repl *r, const engine *before, size_t n)
{
    bool good = true;
    for (size_t i = 0; good && i < n; i++) {
        const struct input *in = &before->units[i]->in;
        struct outcome out;
        r->e->next = in->number;
        engine_execute(r->e, in->name, in->line, in->text, in->size, &out);
        good = out.kind == OUTCOME_GOOD;
        if (!good)
            print_outcome(r, &out);
        outcome_free(&out);
    }
    r->e->next = before->next;
    return good;
}

/* Begins anew by the settings, with the first n inputs. */
static int reopen(struct repl *r, size_t n)
{
    struct repl before = *r;
    struct options options = *r->o;
    r->ctx = NULL;
    r->e = NULL;
    int status = repl_begin(r);
    if (!status && r->served)
        interrupt_engine(r->e);
    if (!status && atomic_load(&before.e->interrupted))
        atomic_store(&r->e->interrupted, true);
    if (!status)
        status = execute_again(r, before.e, n) ? EXIT_OK : EXIT_FAILED;
    if (!status) {
        repl_end(&before);
        return status;
    }
    if (r->e && atomic_load(&r->e->interrupted))
        atomic_store(&before.e->interrupted, true);
    repl_end(r);
    r->ctx = before.ctx;
    r->e = before.e;
    r->cxx = before.cxx;
    *r->o = options;
    if (r->served)
        interrupt_engine(r->e);
    return status;
}

int repl_reopen(struct repl *r, bool inputs)
{
    return reopen(r, inputs ? r->e->nunits : 0);
}

int repl_set_language(struct repl *r, const char *language)
{
    const bool before = r->cxx;
    r->cxx = !strcmp(language, "c++");
    int status = r->cxx == before ? EXIT_OK : repl_reopen(r, true);
    if (status)
        r->cxx = before;
    return status;
}

/* Standard output goes nowhere. Returns what restores it; -1: it does not. */
static int silence(void)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC), saved = -1;
    fflush(NULL);
    if (nowhere >= 0)
        saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (saved >= 0)
        dup2(nowhere, STDOUT_FILENO);
    if (nowhere >= 0)
        close(nowhere);
    return saved;
}

static void restore_output(int saved)
{
    fflush(NULL);
    if (saved < 0)
        return;
    dup2(saved, STDOUT_FILENO);
    close(saved);
}

/* Copies the last n inputs to those that redo executes. */
static bool keep_undone(struct repl *r, size_t n)
{
    const engine *e = r->e;
    struct input *more = realloc(r->undone, (r->nundone + n) * sizeof *more);
    if (!more)
        return false;
    r->undone = more;
    for (size_t i = 0; i < n; i++) {
        const struct input *in = &e->units[e->nunits - 1 - i]->in;
        if (!input_set(&more[r->nundone], in->number, in->name, in->line,
                       in->text, in->size))
            return false;
        r->nundone++;
    }
    return true;
}

ompjit_status repl_undo(struct repl *r, size_t n, ompjit_error *err)
{
    const size_t there = r->e->nunits, undone = r->nundone;
    if (!there)
        return ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_API,
                            "there is no input to take back");
    if (!keep_undone(r, n))
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    int output = silence();
    int status = reopen(r, there - n);
    restore_output(output);
    if (!status)
        return OMPJIT_OK;
    while (r->nundone > undone)
        input_free(&r->undone[--r->nundone]);
    return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                        "the inputs before it could not be executed again");
}

bool repl_redo(struct repl *r, struct outcome *out)
{
    if (!r->nundone)
        return false;
    struct input in = r->undone[--r->nundone];
    outcome_free(out);
    engine_execute(r->e, in.name, in.line, in.text, in.size, out);
    input_free(&in);
    return true;
}

/* ------------------------------------------------------------------- inputs */

/* Inputs that are taken back are gone when something else is executed. */
void repl_execute(struct repl *r, const char *name, unsigned line,
                  const char *text, size_t size, struct outcome *out)
{
    if (command_is(text, size)) {
        command_execute(r, name, line, text, size, out);
        return;
    }
    uint64_t start = ompjit__now();
    engine_execute(r->e, name, line, text, size, out);
    if (out->kind == OUTCOME_GOOD)
        forget_undone(r);
    if (r->settings.times && out->kind != OUTCOME_UNDONE) {
        char *took = ompjit__format("%.1f ms",
                                    (double)(ompjit__now() - start) / 1e6);
        if (took)
            outcome_tell(out, took);
        free(took);
    }
}

unsigned repl_next(const struct repl *r)
{
    return r->e->next;
}

engine *repl_engine(const struct repl *r)
{
    return r->e;
}

bool repl_colours(const struct repl *r, int fd)
{
    return colour_wanted(r->o, fd);
}

const char *repl_language(const struct repl *r)
{
    return r->cxx ? "c++" : "c";
}

bool repl_add_options(const struct repl *r, struct list *words)
{
    bool good = list_add(words, r->version);
    for (unsigned i = 0; i < r->given; i++)
        good = good && list_add(words, r->o->flags.items[i]);
    return good;
}

/* name=value, where there is one. */
static bool add_number(struct list *words, char *text, size_t size,
                       const char *name, unsigned value)
{
    snprintf(text, size, "%s=%u", name, value);
    return !value || list_add(words, text);
}

static bool add_text(struct list *words, const char *name, const char *value)
{
    return !value || (list_add(words, name) && list_add(words, value));
}

bool repl_add_run_options(struct repl *r, struct list *words)
{
    const struct options *o = r->o;
    return add_text(words, "--device", o->device) &&
           add_text(words, "--specialize", o->specialize) &&
           add_text(words, "--host-memory", o->host_memory) &&
           add_number(words, r->teams, sizeof r->teams, "--teams", o->teams) &&
           add_number(words, r->threads, sizeof r->threads, "--threads",
                      o->threads);
}

bool repl_is_remote(const struct repl *r)
{
    return r->o->json;
}

enum completeness repl_completeness(struct repl *r, const char *text,
                                    size_t size)
{
    struct scan scan = {0};
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t n = end ? (size_t)(end - text) + 1 - at : size - at;
        scan_line(&scan, text + at, n);
        at += n;
    }
    if (command_is(text, size))
        return COMPLETE;
    if (scan_is_open(&scan))
        return INCOMPLETE;
    return scan.some ? engine_completeness(r->e, text, size) : COMPLETE;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

void repl_complete(struct repl *r, const char *text, size_t size,
                   struct words *out)
{
    size_t blanks = 0;
    while (blanks < size && isspace((unsigned char)text[blanks]))
        blanks++;
    if (command_is(text, size) || (blanks + 1 == size && text[blanks] == ':')) {
        command_complete(r, text, size, out);
        return;
    }
    *out = (struct words){.begin = size};
    while (out->begin && is_word(text[out->begin - 1]))
        out->begin--;
    engine_complete(r->e, text, size, &out->answer);
}

char *repl_inspect(struct repl *r, const char *text, size_t size,
                   size_t cursor)
{
    size_t begin = cursor, end = cursor;
    while (begin && is_word(text[begin - 1]))
        begin--;
    while (end < size && is_word(text[end]))
        end++;
    return begin < end ? engine_describe(r->e, text + begin, end - begin)
                       : NULL;
}

/* -------------------------------------------------------------------- modes */

static int run_file(struct repl *r)
{
    char *text;
    size_t size;
    int status = read_input(r->o->file, r->o->time_limit, &text, &size);
    if (status)
        return status;
    status = batch_text(r, r->o->file, text, size);
    free(text);
    return status;
}

/* interrupt_begin */
static void give_up(void *unused, bool parallel)
{
    (void)unused;
    fflush(stdout);
    complain("%s does not end, and cannot be left",
             parallel ? "a parallel region of the host" : "what runs");
    _exit(EXIT_FAILED);
}

static int run_batch(struct repl *r)
{
    const struct options *o = r->o;
    int status = EXIT_OK;
    for (unsigned i = 0; i < o->code.n && !status; i++) {
        const char *code = o->code.items[i];
        status = batch_text(r, "-e", code, strlen(code));
    }
    if (status || o->json || (o->code.n && !o->file))
        return status;
    return !o->file || !strcmp(o->file, "-") ? batch_pipe(r) : run_file(r);
}

/* Interrupts are what keeps the limit of an input. */
static int run_limited_batch(struct repl *r)
{
    if (!r->o->run_limit)
        return run_batch(r);
    if (!interrupt_begin(give_up, NULL)) {
        complain("out of memory");
        return EXIT_FAILED;
    }
    r->served = true;
    interrupt_engine(r->e);
    int status = run_batch(r);
    interrupt_end();
    return status;
}

static int run_inputs(struct repl *r)
{
    int status = run_limited_batch(r);
    r->served = r->o->json;
    return status || !r->o->json
               ? status
               : serve_json(r, STDIN_FILENO, STDOUT_FILENO);
}

/* The process behind a prompt. */
static int serve_prompt(struct options *o, int in, int out)
{
    struct repl r = {.o = o, .served = true};
    int status = repl_open(&r);
    if (!status)
        status = serve_json(&r, in, out);
    repl_close(&r);
    return status;
}

static bool is_interactive(const struct options *o)
{
    return !o->file && !o->json && !o->code.n && isatty(STDIN_FILENO) &&
           isatty(STDOUT_FILENO);
}

int tool_repl(struct options *o)
{
    struct repl r = {.o = o};
    if (is_interactive(o))
        return prompt(o, serve_prompt);
    int status = repl_open(&r);
    if (!status)
        status = run_inputs(&r);
    repl_close(&r);
    return status;
}
