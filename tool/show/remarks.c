/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The optimizer's remarks on kernels, for people and as a file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ompjit_opt.h"
#include "tool/tool.h"

/* The remarks that are printed: of one kernel by its symbol, or with "" those
 * of functions that several kernels may call. */
struct part {
    const char *kernel;
    unsigned n; /* printed so far */
};

static void print_place(const ompjit_remark *r)
{
    if (r->line)
        printf("%s:%u:%u: ", r->file, r->line, r->column);
    else if (*r->function)
        printf("in %s: ", r->function);
}

static int print(void *data, const ompjit_remark *r)
{
    struct part *part = data;
    if (strcmp(r->kernel, part->kernel))
        return 0;
    if (!part->n++)
        printf("  remarks%s\n", *part->kernel ? "" : " on other functions");
    printf("    %s ", r->id);
    print_place(r);
    if (*r->variable)
        printf("%s: ", r->variable);
    puts(r->what);
    if (*r->why)
        printf("      because %s\n", r->why);
    if (*r->advice)
        printf("      advice: %s\n", r->advice);
    return 0;
}

int remarks_show(ompjit_module *mod, const char *arch, const char *kernel)
{
    struct part part = {.kernel = kernel ? kernel : ""};
    ompjit_error err;
    if (ompjit_module_remarks(mod, arch, print, &part, &err))
        return failed(&err);
    return EXIT_OK;
}

int remarks_write(const struct options *o, ompjit_module *mod,
                  const char *arch)
{
    char *text;
    size_t size;
    ompjit_error err;
    if (!o->remarks)
        return EXIT_OK;
    ompjit_remark_format format = ends_in(o->remarks, ".json")
                                      ? OMPJIT_REMARKS_JSON
                                      : OMPJIT_REMARKS_YAML;
    if (ompjit_module_remarks_text(mod, arch, format, &text, &size, &err))
        return failed(&err);
    int status = write_output(o->remarks, text, size);
    ompjit_bytes_free(text);
    return status;
}
