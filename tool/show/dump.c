/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * --dump: what stands between the stages, on stderr or in a file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/tool.h"

enum { INFO = OMPJIT_FORMAT_COUNT }; /* text about the cubin's kernels */

static const struct stage {
    const char *name;
    int format;
    bool binary;
} stages[] = {
    {"source-ir", OMPJIT_FORMAT_LL, false},
    {"host-ir", OMPJIT_FORMAT_HOST_LL, false},
    {"opt", OMPJIT_FORMAT_OPT_LL, false},
    {"ptx", OMPJIT_FORMAT_PTX, false},
    {"cubin", OMPJIT_FORMAT_CUBIN, true},
    {"info", INFO, false},
};
#define NSTAGES (sizeof stages / sizeof stages[0])

/* The stage of "STAGE[:FILE]", or NULL; *file is NULL without one. */
static const struct stage *stage_of(const char *dump, const char **file)
{
    size_t n = strcspn(dump, ":");
    *file = dump[n] ? dump + n + 1 : NULL;
    for (size_t i = 0; i < NSTAGES; i++)
        if (strlen(stages[i].name) == n && !strncmp(dump, stages[i].name, n))
            return &stages[i];
    return NULL;
}

static int unknown_stage(const char *dump)
{
    const char *names[NSTAGES + 1] = {NULL};
    for (size_t i = 0; i < NSTAGES; i++)
        names[i] = stages[i].name;
    const char *like = nearest(dump, names);
    complain("--dump %s: the stages are source-ir host-ir opt ptx cubin info"
             "%s%s%s", dump, like ? "; did you mean " : "", like ? like : "",
             like ? "?" : "");
    return EXIT_USAGE;
}

int dumps_check(const struct options *o)
{
    for (unsigned i = 0; i < o->dumps.n; i++) {
        const char *file;
        const struct stage *stage = stage_of(o->dumps.items[i], &file);
        if (!stage)
            return unknown_stage(o->dumps.items[i]);
        if (stage->binary && !file) {
            complain("--dump %s needs a file, --dump %s:FILE",
                     stage->name, stage->name);
            return EXIT_USAGE;
        }
    }
    return EXIT_OK;
}

static void describe(FILE *out, ompjit_kernel *kernel, const char *arch)
{
    ompjit_kernel_info info = OMPJIT_KERNEL_INFO_INIT;
    ompjit_resources r = OMPJIT_RESOURCES_INIT;
    ompjit_error err;
    ompjit_kernel_info_get(kernel, &info, NULL);
    fprintf(out, "%s", info.name);
    if (info.line)
        fprintf(out, ":%u", info.line);
    fprintf(out, " on %s: ", arch);
    if (ompjit_kernel_resources(kernel, arch, &r, &err))
        fprintf(out, "%s\n", err.text);
    else
        fprintf(out, "%u registers, %u bytes shared, %u bytes stack, "
                "%u+%u bytes spilled, %u bytes code\n", r.registers,
                r.shared_static, r.local, r.spill_stores, r.spill_loads,
                r.code);
}

/* The text for "info", malloc'd. */
static char *info_text(ompjit_module *mod, const char *arch, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    if (!out)
        return NULL;
    for (unsigned i = 0; i < ompjit_module_kernel_count(mod); i++)
        describe(out, ompjit_module_kernel_at(mod, i), arch);
    return fclose(out) ? NULL : text;
}

static int put(const struct stage *stage, const char *file, const void *data,
               size_t size)
{
    if (file)
        return write_output(file, data, size);
    fprintf(stderr, "ompjit: --- %s\n", stage->name);
    return write_stderr(data, size);
}

static int dump(const char *what, ompjit_module *mod, const char *arch)
{
    const char *file;
    const struct stage *stage = stage_of(what, &file);
    void *data = NULL;
    size_t size = 0;
    ompjit_error err;
    int status;
    if (stage->format == INFO) {
        data = info_text(mod, arch, &size);
        status = data ? put(stage, file, data, size) : EXIT_FAILED;
        free(data);
        return status;
    }
    if (ompjit_module_emit(mod, (ompjit_format)stage->format, arch, &data,
                           &size, &err))
        return failed(&err);
    status = put(stage, file, data, size);
    ompjit_bytes_free(data);
    return status;
}

int dumps_write(const struct options *o, ompjit_module *mod, const char *arch)
{
    int status = EXIT_OK;
    for (unsigned i = 0; i < o->dumps.n && !status; i++)
        status = dump(o->dumps.items[i], mod, o->arch ? o->arch : arch);
    return status;
}

/* ------------------------------------------------------------------ modes */

void modes_settle(ompjit_module *mod, const char *arch)
{
    ompjit_kernel_info info = OMPJIT_KERNEL_INFO_INIT;
    void *ptx;
    size_t size;
    for (unsigned i = 0; info.mode != OMPJIT_MODE_GENERIC &&
                         i < ompjit_module_kernel_count(mod); i++)
        ompjit_kernel_info_get(ompjit_module_kernel_at(mod, i), &info, NULL);
    if (info.mode == OMPJIT_MODE_GENERIC &&
        !ompjit_module_emit(mod, OMPJIT_FORMAT_PTX, arch, &ptx, &size, NULL))
        ompjit_bytes_free(ptx);
}
