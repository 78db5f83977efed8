/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * All that is wrong with an input, for one error.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"

/* Bytes that an error's text has beside the module's name and the count. */
enum { ROOM = OMPJIT_ERROR_TEXT - 512 };

void ompjit__finding(ompjit__findings *f, ompjit_status status,
                     const char *format, ...)
{
    va_list ap, again;
    va_start(ap, format);
    va_copy(again, ap);
    size_t size = (size_t)vsnprintf(NULL, 0, format, ap);
    if (!f->n++)
        f->status = status;
    if (f->n == 1 || f->list.size + size < ROOM) {
        char *text = malloc(size + 1);
        if (text)
            vsnprintf(text, size + 1, format, again);
        f->list.failed |= !text;
        ompjit__buf_printf(&f->list, "%s%s", f->n > 1 ? "\n  " : "",
                           text ? text : "");
        free(text);
    } else {
        f->left_out++;
    }
    va_end(again);
    va_end(ap);
}

ompjit_status ompjit__findings_end(ompjit__findings *f, const char *name,
                                   ompjit_stage stage, ompjit_error *err)
{
    ompjit_status status = f->status;
    char rest[40] = "";
    if (f->left_out)
        snprintf(rest, sizeof rest, "\n  and %u more", f->left_out);
    if (f->list.failed)
        status = ompjit__no_memory(err, stage);
    else if (f->n == 1)
        ompjit__fail(err, status, stage, "%s: %s", name, f->list.data);
    else if (f->n)
        ompjit__fail(err, status, stage, "%s has %u faults:\n  %s%s", name,
                     f->n, f->list.data, rest);
    ompjit__buf_free(&f->list);
    *f = (ompjit__findings){0};
    return status;
}
