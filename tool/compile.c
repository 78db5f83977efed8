/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit compile: a source or IR file to a file of any later stage.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/tool.h"

static const struct format {
    const char *name, *ending; /* NULL: no ending means it */
    ompjit_format format;
    const char *arch;          /* default; NULL: none needed */
} formats[] = {
    {"ll",      ".ll",    OMPJIT_FORMAT_LL,      NULL},
    {"bc",      ".bc",    OMPJIT_FORMAT_BC,      NULL},
    {"opt-ll",  NULL,     OMPJIT_FORMAT_OPT_LL,  "sm_90"},
    {"host-ll", NULL,     OMPJIT_FORMAT_HOST_LL, NULL},
    {"ptx",     ".ptx",   OMPJIT_FORMAT_PTX,     "sm_90"},
    {"cubin",   ".cubin", OMPJIT_FORMAT_CUBIN,   "sm_90"},
    {"obj",     ".o",     OMPJIT_FORMAT_OBJECT,  "host"},
};
#define NFORMATS (sizeof formats / sizeof formats[0])

static int unknown_format(const char *name)
{
    const char *names[NFORMATS + 1] = {NULL};
    for (size_t i = 0; i < NFORMATS; i++)
        names[i] = formats[i].name;
    const char *like = nearest(name, names);
    complain("--emit %s: the formats are ll bc opt-ll host-ll ptx cubin obj"
             "%s%s%s", name, like ? "; did you mean " : "", like ? like : "",
             like ? "?" : "");
    return EXIT_USAGE;
}

/* The format that is asked for, by --emit or by the output's ending. */
static int find_format(const struct options *o, const struct format **out)
{
    if (!o->output) {
        complain("compile needs -o FILE (- is standard output)");
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < NFORMATS; i++) {
        const struct format *f = &formats[i];
        if (o->emit ? !strcmp(o->emit, f->name)
                    : f->ending && ends_in(o->output, f->ending)) {
            *out = f;
            return EXIT_OK;
        }
    }
    if (o->emit)
        return unknown_format(o->emit);
    complain("%s: neither .ll .bc .ptx .cubin nor .o; give --emit=FORMAT",
             o->output);
    return EXIT_USAGE;
}

static int emit(const struct options *o, ompjit_module *mod,
                const struct format *format)
{
    void *data;
    size_t size;
    ompjit_error err;
    const char *arch = o->arch ? o->arch : format->arch;
    if (ompjit_module_emit(mod, format->format, arch, &data, &size, &err))
        return failed(&err);
    int status = write_output(o->output, data, size);
    ompjit_bytes_free(data);
    return status;
}

int tool_compile(struct options *o)
{
    const struct format *format;
    ompjit_context *ctx = NULL;
    ompjit_module *mod = NULL;
    int status = find_format(o, &format);
    if (!status)
        status = dumps_check(o);
    if (!status) /* no GPU is looked for */
        status = session_open(o, "host", &ctx);
    if (!status)
        status = session_module(o, ctx, &mod);
    if (!status)
        status = dumps_write(o, mod, format->arch ? format->arch : "sm_90");
    if (!status)
        status = emit(o, mod, format);
    if (!status)
        status = remarks_write(o, mod, o->arch        ? o->arch
                                       : format->arch ? format->arch
                                                      : "sm_90");
    if (ctx && o->time)
        times_print(ctx);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    return status;
}
