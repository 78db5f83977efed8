/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What LIBOMPTARGET_INFO has programs told about their constructs, in the lines
 * of LLVM 22's libomptarget, which tools look for. One file in each room makes
 * its lines; they are made only where their flag is set.
 */
#ifndef OMPJIT_INFO_H
#define OMPJIT_INFO_H

#include "core/core.h"

enum ompjit__info_flag {
    OMPJIT__INFO_ARGUMENTS = 0x1, /* of kernels and data regions            */
    OMPJIT__INFO_EXISTS = 0x2,    /* what is mapped was so before           */
    OMPJIT__INFO_TABLE = 0x4,     /* all that is mapped, behind a construct */
    OMPJIT__INFO_CHANGES = 0x8,   /* of what is mapped                      */
    OMPJIT__INFO_LAUNCH = 0x10,
    OMPJIT__INFO_COPIES = 0x20
};

/* One relaxed load. No context: nothing is asked for. Any thread, as all here.
 */
static inline bool ompjit__informs(ompjit_context *ctx, uint32_t flags)
{
    return ctx &&
           atomic_load_explicit(&ctx->info, memory_order_relaxed) & flags;
}

/* The flags of the environment, a number of any base. */
uint32_t ompjit__info_flags(void);

/* A line "omptarget device N info: " to the application's log, else to standard
 * error. */
void ompjit__info_line(ompjit_context *ctx, unsigned device,
                       const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Likewise of what LLVM's device plug-ins say. */
void ompjit__info_of_plugin(ompjit_context *ctx, unsigned device,
                            const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A place or a declaration of clang's, ";name;file;line;column;;". */
typedef struct ompjit__info_place {
    char name[128], file[128];
    unsigned line, column;
} ompjit__info_place;

/* "unknown" and 0 for what the program does not say; text may be NULL. A place
 * of code has the file first, and then the function: `code`. */
void ompjit__info_place_read(const char *text, bool code,
                             ompjit__info_place *out);

#endif
