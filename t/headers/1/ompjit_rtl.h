/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit_rtl.h - the table of OpenMP runtime functions. The conventions of
 * ompjit.h hold.
 */
#ifndef OMPJIT_RTL_H
#define OMPJIT_RTL_H

#include "ompjit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The functions that clang's OpenMP code calls: 194 as LLVM 21 numbers them,
 * then those that LLVM 22 added and those that LLVM lists nowhere. An index
 * never changes its meaning. */
typedef enum ompjit_rtl {
#define OMPJIT_RTL(index, attributes, where, type, name) \
    OMPJIT_RTL_##name = index,
#define OMPJIT_RTL2(index, attributes, where, type, name) \
    OMPJIT_RTL_##name##_v22 = index,
#include "ompjit_rtl.def"
    OMPJIT_RTL_COUNT
} ompjit_rtl;

typedef struct ompjit_rtl_row {
    size_t size;            /* OMPJIT_RTL_ROW_INIT                           */
    unsigned index;
    unsigned since, until;  /* LLVM releases with this row, 18 to 22         */
    int successor;          /* row that calls become when IR is read; -1:
                               they stay                                     */
    const char *name;       /* "__kmpc_barrier"                              */
    char type[128];         /* LLVM's, "void (ptr, i32)"                     */
    const char *attributes; /* a declaration's, "convergent nounwind"; those
                               of the result and of a parameter as
                               "result:noalias" and "0:writeonly"            */
    const char *category;   /* "tasking"                                     */
    const char *where;      /* it is implemented: "device", "host: libomp",
                               "host: libompjit", "device, host: libomp" or
                               "nowhere"                                     */
    char note[192];         /* on releases, "LLVM 18 to 21; ..."; or ""      */
    const char *meaning;    /* what it is for, in one line                   */
    const char *cost;       /* of a call in device code: "a barrier"; ""
                               where device code does not reach it           */
    unsigned instructions;  /* at most, in PTX, of the function alone, a power
                               of 4; 0: not measured                         */
    uint32_t unused;        /* 0                                             */
} ompjit_rtl_row;
#define OMPJIT_RTL_ROW_INIT OMPJIT_SIZED(ompjit_rtl_row)

/* How many rows there are: OMPJIT_RTL_COUNT of the library's own version. */
unsigned ompjit_rtl_count(void);

/* NOT_FOUND where index is not below ompjit_rtl_count(). Strings in the row are
 * never freed. */
ompjit_status ompjit_rtl_row_at(unsigned index, ompjit_rtl_row *row,
                                ompjit_error *err);

/* Likewise by name; of two rows of one name, LLVM 22's. NOT_FOUND suggests
 * names that look alike. */
ompjit_status ompjit_rtl_row_named(const char *name, ompjit_rtl_row *row,
                                   ompjit_error *err);

#ifdef __cplusplus
}
#endif
#endif
