/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Machine code and PTX that somebody else has made: a unit may have them in
 * place of IR. They run as they are, on the devices that they are for.
 */
#ifndef OMPJIT_PREBUILT_H
#define OMPJIT_PREBUILT_H

#include "core/core.h"

struct ompjit__prebuilt {
    enum ompjit__image_kind kind;
    char arch[32];    /* "sm_90"; of a LIBRARY "host" */
    ompjit__buf bytes;
    bool environment; /* as an image's */
};

/* An image of the best code for an architecture ("host", "sm_90"): a cubin of
 * the same generation before PTX, newer before older. UNAVAILABLE, with what
 * there is, where none runs there. `out` is the caller's, on success. */
ompjit_status ompjit__prebuilt_image(const ompjit__unit *unit,
                                     const char *arch, ompjit__image *out,
                                     ompjit_error *err);
/* OK where there is such an image; else the same error. */
ompjit_status ompjit__prebuilt_check(const ompjit__unit *unit,
                                     const char *arch, ompjit_error *err);
/* Appends a line for each: whether it is the one for that architecture, and why. */
void ompjit__prebuilt_explain(const ompjit__unit *unit, const char *arch,
                              ompjit__buf *text);
/* The error of whoever needs the IR of such a unit. */
ompjit_status ompjit__prebuilt_no_ir(const ompjit__unit *unit,
                                     ompjit_error *err);
void ompjit__prebuilt_free(ompjit__unit *unit);

#endif
