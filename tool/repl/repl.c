/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit repl: C and C++ with OpenMP, one input after the other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/repl/repl.h"
#include "tool/repl/scan.h"
#include "tool/tool.h"

struct repl {
    struct options *o;
    ompjit_context *ctx;
    engine *e;
    bool cxx;
};

/* ------------------------------------------------------------------ session */

static bool is_cxx(const struct options *o)
{
    if (o->lang)
        return !strcmp(o->lang, "c++");
    return o->file && (ends_in(o->file, ".cpp") || ends_in(o->file, ".cc") ||
                       ends_in(o->file, ".cxx"));
}

/* Line tables say where session code fails. */
static int make_engine(struct repl *r)
{
    ompjit_module_options options = OMPJIT_MODULE_OPTIONS_INIT;
    ompjit_error err;
    options.name = r->cxx ? "session.cc" : "session.c";
    options.flags = r->o->flags.items;
    options.nflags = r->o->flags.n;
    options.openmp_version = r->o->openmp_version;
    options.opt_level = (ompjit_opt_level)r->o->opt_level;
    return engine_new(r->ctx, &options, &r->e, &err) ? failed(&err) : EXIT_OK;
}

static int check_options(struct options *o)
{
    if (o->lang && strcmp(o->lang, "c") && strcmp(o->lang, "c++")) {
        complain("--lang %s: c and c++ are possible", o->lang);
        return EXIT_USAGE;
    }
    if (list_add(&o->flags, "-fincremental-extensions") &&
        list_add(&o->flags, "-g"))
        return EXIT_OK;
    complain("out of memory");
    return EXIT_FAILED;
}

static int repl_open(struct repl *r)
{
    struct options *o = r->o;
    int status = check_options(o);
    r->cxx = is_cxx(o);
    if (!status)
        status = session_geometry(o);
    if (!status)
        status = session_open_interactive(o, &r->ctx);
    if (!status)
        status = libraries_load(o);
    if (!status)
        status = session_device(o, r->ctx);
    return status ? status : make_engine(r);
}

static void repl_close(struct repl *r)
{
    engine_free(r->e);
    ompjit_context_destroy(r->ctx);
}

/* ------------------------------------------------------------------- inputs */

void repl_execute(struct repl *r, const char *name, unsigned line,
                  const char *text, size_t size, struct outcome *out)
{
    engine_execute(r->e, name, line, text, size, out);
}

unsigned repl_next(const struct repl *r)
{
    return r->e->next;
}

engine *repl_engine(const struct repl *r)
{
    return r->e;
}

const char *repl_language(const struct repl *r)
{
    return r->cxx ? "c++" : "c";
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
    if (scan_is_open(&scan))
        return INCOMPLETE;
    return scan.some ? engine_completeness(r->e, text, size) : COMPLETE;
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

static int run_inputs(struct repl *r)
{
    const struct options *o = r->o;
    int status = EXIT_OK;
    for (unsigned i = 0; i < o->code.n && !status; i++) {
        const char *code = o->code.items[i];
        status = batch_text(r, "-e", code, strlen(code));
    }
    if (status || (o->code.n && !o->file && !o->json))
        return status;
    if (o->json)
        return serve_json(r, STDIN_FILENO, STDOUT_FILENO);
    return !o->file || !strcmp(o->file, "-") ? batch_pipe(r) : run_file(r);
}

int tool_repl(struct options *o)
{
    struct repl r = {.o = o};
    int status = repl_open(&r);
    if (!status)
        status = run_inputs(&r);
    repl_close(&r);
    return status;
}
