/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit repl: C and C++ with OpenMP, one input after the other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/repl/repl.h"
#include "tool/tool.h"

static bool is_cxx(const struct options *o)
{
    if (o->lang)
        return !strcmp(o->lang, "c++");
    return o->file && (ends_in(o->file, ".cpp") || ends_in(o->file, ".cc") ||
                       ends_in(o->file, ".cxx"));
}

/* Line tables say where session code fails. */
static int make_engine(struct options *o, ompjit_context *ctx, engine **out)
{
    ompjit_module_options options = OMPJIT_MODULE_OPTIONS_INIT;
    ompjit_error err;
    if (!list_add(&o->flags, "-fincremental-extensions") ||
        !list_add(&o->flags, "-g")) {
        complain("out of memory");
        return EXIT_FAILED;
    }
    options.name = is_cxx(o) ? "session.cc" : "session.c";
    options.flags = o->flags.items;
    options.nflags = o->flags.n;
    options.openmp_version = o->openmp_version;
    options.opt_level = (ompjit_opt_level)o->opt_level;
    return engine_new(ctx, &options, out, &err) ? failed(&err) : EXIT_OK;
}

static int run_file(const struct options *o, engine *e)
{
    char *text;
    size_t size;
    int status = read_input(o->file, o->time_limit, &text, &size);
    if (status)
        return status;
    status = batch_text(e, o->file, text, size);
    free(text);
    return status;
}

static int run_inputs(const struct options *o, engine *e)
{
    int status = EXIT_OK;
    for (unsigned i = 0; i < o->code.n && !status; i++) {
        const char *code = o->code.items[i];
        status = batch_text(e, "-e", code, strlen(code));
    }
    if (status || (o->code.n && !o->file))
        return status;
    return !o->file || !strcmp(o->file, "-") ? batch_pipe(e)
                                             : run_file(o, e);
}

int tool_repl(struct options *o)
{
    ompjit_context *ctx = NULL;
    engine *e = NULL;
    int status = session_geometry(o);
    if (!status)
        status = session_open_interactive(o, &ctx);
    if (!status)
        status = libraries_load(o);
    if (!status)
        status = session_device(o, ctx);
    if (!status)
        status = make_engine(o, ctx, &e);
    if (!status)
        status = run_inputs(o, e);
    engine_free(e);
    ompjit_context_destroy(ctx);
    return status;
}
