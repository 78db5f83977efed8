/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Messages of any length, to whoever logs them: the inside of ompjit__log and
 * ompjit__report, which differ in where the log's function stands.
 */
#ifndef OMPJIT_REPORT_H
#define OMPJIT_REPORT_H

#include <stdarg.h>

#include "core/core.h"

typedef struct ompjit__sink {
    ompjit_log_fn *log; /* NULL: nobody listens */
    void *data;
} ompjit__sink;

/* Into `text`, of OMPJIT_ERROR_TEXT bytes. A longer message is returned whole,
 * for the caller to free; else, and without memory, NULL. */
char *ompjit__format_any(char *text, const char *format, va_list ap);
/* Without memory for a long message the log gets its beginning. */
void ompjit__log_any(const ompjit__sink *sink, const char *format, va_list ap);
/* ompjit__fail, with the whole message for the log where it is cut. */
ompjit_status ompjit__fail_whole(const ompjit__sink *sink, ompjit_error *err,
                                 ompjit_status status, ompjit_stage stage,
                                 const char *format, va_list ap);

#endif
