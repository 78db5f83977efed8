/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Lines for LIBOMPTARGET_INFO, and the places that they name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context/info.h"

/* The bits of LIBOMPTARGET_INFO; 0 where it is not set or no number. */
uint32_t ompjit__info_flags(void)
{
    const char *text = getenv("LIBOMPTARGET_INFO");
    return text ? (uint32_t)strtol(text, NULL, 0) : 0;
}

/* OMPJIT_LOG's function would put another prefix before the line. */
static void tell(ompjit_context *ctx, const char *who, unsigned device,
                 const char *format, va_list ap)
{
    ompjit__buf line = {0};
    char text[512];
    vsnprintf(text, sizeof text, format, ap);
    ompjit__buf_printf(&line, "%s device %u info: %s", who, device, text);
    if (line.failed)
        return;
    if (ctx->log && ctx->log != ompjit__log_stderr)
        ctx->log(ctx->log_data, line.data);
    else
        fprintf(stderr, "%s\n", line.data);
    ompjit__buf_free(&line);
}

void ompjit__info_line(ompjit_context *ctx, unsigned device,
                       const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    tell(ctx, "omptarget", device, format, ap);
    va_end(ap);
}

/* The same as the plugins of libomptarget begin their lines. */
void ompjit__info_of_plugin(ompjit_context *ctx, unsigned device,
                            const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    tell(ctx, "\"PluginInterface\"", device, format, ap);
    va_end(ap);
}

/* ";NAME;FILE;LINE;COLUMN;;" of a variable; of `code`, ";FILE;FUNCTION;...".
 * Other texts are unknown, at line 0. */
void ompjit__info_place_read(const char *text, bool code,
                             ompjit__info_place *out)
{
    char first[128], second[128];
    unsigned line, column;
    *out = (ompjit__info_place){.name = "unknown", .file = "unknown"};
    if (!text || sscanf(text, ";%127[^;];%127[^;];%u;%u", first, second, &line,
                        &column) != 4)
        return;
    strcpy(out->name, code ? second : first);
    strcpy(out->file, code ? first : second);
    out->line = line;
    out->column = column;
}
