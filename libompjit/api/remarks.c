/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Remarks of a module's generic code and of its host half, one by one and as
 * text: YAML as clang writes it, which LLVM's viewers read, and JSON.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "targets/arch.h"
#include "optimizer/remark.h"
#include "door/door.h"
#include "launch/launch.h"
#include "ompjit_opt.h"

/* ------------------------------------------------------------------- lists */

/* The generic image, which the cache may have, most likely as a cubin. */
static ompjit_status image_of(ompjit_module *mod, const char *arch,
                              ompjit__image *image, ompjit_error *err)
{
    const ompjit__arch *row;
    ompjit__spec spec = {0};
    ompjit_status status = ompjit__arch_find(arch, &row, err);
    if (status)
        return status;
    status = ompjit__build_cached(mod->ctx, &mod->unit, arch,
                                  row->triple ? OMPJIT_FORMAT_OBJECT
                                              : OMPJIT_FORMAT_CUBIN,
                                  &spec, image, err);
    if (status == OMPJIT_ERR_UNAVAILABLE) /* no assembler */
        status = ompjit__build_cached(mod->ctx, &mod->unit, arch,
                                      OMPJIT_FORMAT_PTX, &spec, image, err);
    if (!status)
        ompjit__note_modes(mod, OMPJIT__ALL_KERNELS, &image->modes);
    return status;
}

/* Appends what the host half's passes did, where it is asked for. */
static ompjit_status add_half(ompjit_module *mod, const char *arch,
                              ompjit__buf *remarks, ompjit_error *err)
{
    if (strcmp(arch, "host") || !mod->unit.host_bc.size)
        return OMPJIT_OK;
    return ompjit__door_half_remarks(&mod->ctx->compiler, &mod->unit, remarks,
                                     err);
}

/* `fn` is called in this thread, without a lock; its remark is valid during the
 * call. Other than 0 ends the list, which is no error. */
ompjit_status ompjit_module_remarks(ompjit_module *mod, const char *arch,
                                    ompjit_remark_fn *fn, void *data,
                                    ompjit_error *err)
{
    ompjit__image image = {0};
    ompjit_remark remark;
    if (!mod || !arch || !fn)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_module_remarks: a module, an architecture "
                            "and a function are needed");
    ompjit_status status = image_of(mod, arch, &image, err);
    if (status)
        return status;
    status = add_half(mod, arch, &image.remarks, err);
    ompjit__reader r = {image.remarks.data, image.remarks.size, false};
    while (!status && ompjit__remark_next(&r, &remark) && !fn(data, &remark))
        ;
    ompjit__image_free(&image);
    return status;
}

/* -------------------------------------------------------------------- YAML */

/* 'It''s', with blanks for control characters. */
static void yaml_string(ompjit__buf *out, const char *s)
{
    ompjit__buf_add(out, "'", 1);
    for (; *s; s++)
        if (*s == '\'')
            ompjit__buf_add(out, "''", 2);
        else
            ompjit__buf_add(out, (unsigned char)*s < ' ' ? " " : s, 1);
    ompjit__buf_add(out, "'", 1);
}

/* Viewers put the values of the arguments behind each other. */
static void yaml_argument(ompjit__buf *out, const char *key, const char *before,
                          const char *text)
{
    char *whole = *text ? ompjit__format("%s%s", before, text) : NULL;
    if (!*text)
        return;
    ompjit__buf_printf(out, "  - %-16s ", key);
    yaml_string(out, whole ? whole : "");
    ompjit__buf_add(out, "\n", 1);
    out->failed |= !whole;
    free(whole);
}

/* A remark as a document of LLVM's format; absent texts are left out. */
static int yaml(void *data, const ompjit_remark *r)
{
    static const char *const kinds[] = {"Passed", "Missed", "Analysis"};
    ompjit__buf *out = data;
    ompjit__buf_printf(out, "--- !%s\nPass:            %s\n"
                            "Name:            %s\n",
                       kinds[r->kind], r->pass, r->id);
    if (r->line) {
        ompjit__buf_printf(out, "DebugLoc:        { File: ");
        yaml_string(out, r->file);
        ompjit__buf_printf(out, ", Line: %u, Column: %u }\n", r->line,
                           r->column);
    }
    ompjit__buf_printf(out, "Function:        ");
    yaml_string(out, r->symbol);
    ompjit__buf_printf(out, "\nArgs:\n");
    yaml_argument(out, "String:", "", r->what);
    yaml_argument(out, "Variable:", ": ", r->variable);
    yaml_argument(out, "Why:", "; ", r->why);
    yaml_argument(out, "Advice:", "; advice: ", r->advice);
    ompjit__buf_printf(out, "...\n");
    return 0;
}

/* -------------------------------------------------------------------- JSON */

/* A member of an object, with the comma before it. */
static void json_string(ompjit__buf *out, const char *key, const char *s)
{
    ompjit__buf_printf(out, ", \"%s\": \"", key);
    for (; *s; s++)
        if (*s == '"' || *s == '\\')
            ompjit__buf_printf(out, "\\%c", *s);
        else if ((unsigned char)*s < ' ')
            ompjit__buf_printf(out, "\\u%04x", *s);
        else
            ompjit__buf_add(out, s, 1);
    ompjit__buf_add(out, "\"", 1);
}

/* Every remark has all members; "" and 0 stand for what is not known. */
static int json(void *data, const ompjit_remark *r)
{
    static const char *const kinds[] = {"passed", "missed", "analysis"};
    ompjit__buf *out = data;
    ompjit__buf_printf(out, "%s\n {\"id\": \"%s\"", out->size > 1 ? "," : "",
                       r->id);
    json_string(out, "kind", kinds[r->kind]);
    json_string(out, "pass", r->pass);
    json_string(out, "kernel", r->kernel);
    json_string(out, "function", r->function);
    json_string(out, "symbol", r->symbol);
    json_string(out, "variable", r->variable);
    json_string(out, "file", r->file);
    ompjit__buf_printf(out, ", \"line\": %u, \"column\": %u", r->line,
                       r->column);
    json_string(out, "what", r->what);
    json_string(out, "why", r->why);
    json_string(out, "advice", r->advice);
    ompjit__buf_add(out, "}", 1);
    return 0;
}

/* *text is the caller's, and ends in a NUL that *size does not count. */
ompjit_status ompjit_module_remarks_text(ompjit_module *mod, const char *arch,
                                         ompjit_remark_format format,
                                         char **text, size_t *size,
                                         ompjit_error *err)
{
    static const char who[] = "ompjit_module_remarks_text";
    ompjit__buf out = {0};
    if (!mod || !arch || !text)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "%s: a module, an architecture and a place for the "
                            "text are needed", who);
    ompjit_status status = ompjit__enum_check(who, "format", (int)format,
                                              OMPJIT_REMARKS_JSON, err);
    if (status)
        return status;
    bool is_json = format == OMPJIT_REMARKS_JSON;
    ompjit__buf_printf(&out, "%s", is_json ? "[" : "");
    status = ompjit_module_remarks(mod, arch, is_json ? json : yaml, &out, err);
    ompjit__buf_printf(&out, "%s", is_json ? "\n]\n" : "");
    if (!status && out.failed)
        status = ompjit__no_memory(err, OMPJIT_STAGE_API);
    if (status) {
        ompjit__buf_free(&out);
        return status;
    }
    *text = out.data;
    if (size)
        *size = out.size;
    return OMPJIT_OK;
}
