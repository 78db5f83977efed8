/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Messages and stage times of a compiler.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/report.h"

char *ompjit__format_any(char *text, const char *format, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(text, OMPJIT_ERROR_TEXT, format, ap);
    char *whole = n < OMPJIT_ERROR_TEXT ? NULL : malloc((size_t)n + 1);
    if (whole)
        vsnprintf(whole, (size_t)n + 1, format, again);
    va_end(again);
    return whole;
}

/* The text's end becomes a note of where all of it is. */
static void mark_cut(bool logged, char *text, size_t size)
{
    char note[96];
    int n = snprintf(note, sizeof note, "\n... (cut; %s all %zu bytes)",
                     logged ? "the context's log has"
                            : "with OMPJIT_LOG=1 stderr gets", size);
    memcpy(text + OMPJIT_ERROR_TEXT - 1 - n, note, (size_t)n + 1);
}

ompjit_status ompjit__fail_whole(const ompjit__sink *sink, ompjit_error *err,
                                 ompjit_status status, ompjit_stage stage,
                                 const char *format, va_list ap)
{
    char text[OMPJIT_ERROR_TEXT];
    char *whole = ompjit__format_any(text, format, ap);
    if (whole) {
        size_t size = strlen(whole);
        while (size && whole[size - 1] == '\n')
            whole[--size] = 0;
        mark_cut(sink->log, text, size);
        if (sink->log)
            sink->log(sink->data, whole);
        free(whole);
    }
    return ompjit__fail(err, status, stage, "%s", text);
}

void ompjit__log_any(const ompjit__sink *sink, const char *format, va_list ap)
{
    char text[OMPJIT_ERROR_TEXT];
    if (!sink->log)
        return;
    char *whole = ompjit__format_any(text, format, ap);
    sink->log(sink->data, whole ? whole : text);
    free(whole);
}

void ompjit__report(const ompjit__compiler *compiler, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    ompjit__log_any(&(ompjit__sink){compiler->log, compiler->log_data}, format,
                    ap);
    va_end(ap);
}

ompjit_status ompjit__fail_reported(const ompjit__compiler *compiler,
                                    ompjit_error *err, ompjit_status status,
                                    ompjit_stage stage, const char *format,
                                    ...)
{
    ompjit__sink sink = {0};
    if (compiler)
        sink = (ompjit__sink){compiler->log, compiler->log_data};
    va_list ap;
    va_start(ap, format);
    ompjit__fail_whole(&sink, err, status, stage, format, ap);
    va_end(ap);
    return status;
}

void ompjit__report_stage(const ompjit__compiler *compiler, ompjit_stage stage,
                          uint64_t start)
{
    if (compiler->stage_done)
        compiler->stage_done(compiler->stage_data, stage, start,
                             ompjit__now());
}
