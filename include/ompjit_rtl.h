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

/* --------------------------------------------- the table as plain arrays */

/* Everything that a declaration of a row needs, and the structs of the ABI:
 * data alone, the library's, never freed and never changed. ompjit_llvm.h makes
 * LLVM's declarations and types of it. Elements of the arrays keep their size;
 * new facts become arrays of their own, at the end of ompjit_rtl_table. */

/* Types of results, parameters and fields, as in ompjit_rtl.def. */
typedef enum ompjit_rtl_kind {
    OMPJIT_RTL_KIND_VOID = 'v',
    OMPJIT_RTL_KIND_POINTER = 'p',
    OMPJIT_RTL_KIND_I64 = 'l',
    OMPJIT_RTL_KIND_I32 = 'i',
    OMPJIT_RTL_KIND_I16 = 's',
    OMPJIT_RTL_KIND_I8 = 'c',
    OMPJIT_RTL_KIND_I1 = 'b',
    OMPJIT_RTL_KIND_FLOAT = 'f',
    OMPJIT_RTL_KIND_DOUBLE = 'd',
    OMPJIT_RTL_KIND_I32_ARRAY = '3',    /* [3 x i32], of a field            */
    OMPJIT_RTL_KIND_CONFIGURATION = 'E' /* CONFIGURATION_ENVIRONMENT, of a
                                           field                            */
} ompjit_rtl_kind;

/* A function's type. */
typedef struct ompjit_rtl_signature {
    const char *text;     /* LLVM's, "void (ptr, i32)"                       */
    const char *params;   /* an ompjit_rtl_kind each; no NUL at the end      */
    uint32_t nparams;
    char result;          /* an ompjit_rtl_kind                              */
    uint8_t variadic;     /* 1: more arguments follow the parameters         */
    uint8_t unused[2];    /* 0                                               */
} ompjit_rtl_signature;

/* An attribute of a declaration. */
typedef struct ompjit_rtl_attribute {
    const char *name;     /* LLVM 22's, "captures"                           */
    const char *old_name; /* that of releases without `name`, "nocapture"; or
                             NULL                                            */
    uint64_t value;       /* LLVM's number of it; 0: none                    */
    int32_t index;        /* as LLVM counts: -1 is of the function, 0 of the
                             result, 1 of the first parameter                */
    uint32_t unused;      /* 0                                               */
} ompjit_rtl_attribute;

/* The declaration of row i, as element i. */
typedef struct ompjit_rtl_declaration {
    const char *name;
    ompjit_rtl_signature type;
    const ompjit_rtl_attribute *attributes;
    const int32_t *callback; /* LLVM's !callback: which argument is called, and
                             for each parameter of that the argument that it
                             gets, -1: not known; or NULL                    */
    uint32_t nattributes, ncallback;
    uint32_t callback_variadic; /* 1: it gets the variable arguments, too    */
    uint32_t since, until; /* LLVM releases with this row                    */
    int32_t successor;    /* row that calls become when IR is read, or -1    */
    int32_t previous, next; /* rows of the same name before and after this
                             one, or -1                                      */
} ompjit_rtl_declaration;

/* Another type that clang up to a release declared a function with, of that or
 * of no row. */
typedef struct ompjit_rtl_old {
    const char *name;
    ompjit_rtl_signature type;
    uint32_t release;     /* 17                                              */
    uint32_t unused;      /* 0                                               */
} ompjit_rtl_old;

/* The structs that clang's code, kernels and runtimes share. KERNEL_ARGS is of
 * versions 2 and 3, OFFLOAD_ENTRY_OLD of LLVM 18 and 19. */
typedef enum ompjit_rtl_struct {
#define OMPJIT_RTL_STRUCT(id, type, name, c_type) OMPJIT_RTL_STRUCT_##id,
#include "ompjit_rtl.def"
    OMPJIT_RTL_STRUCT_COUNT
} ompjit_rtl_struct;

/* The layout of such a struct, as element of its number. Fields have their
 * natural alignment. */
typedef struct ompjit_rtl_layout {
    const char *name;     /* LLVM's, "struct.ident_t"; "": LLVM has another
                             struct of that name                             */
    const char *fields;   /* an ompjit_rtl_kind each                         */
    uint32_t nfields;
    uint32_t unused;      /* 0                                               */
} ompjit_rtl_layout;

typedef struct ompjit_rtl_table {
    size_t size;          /* of this struct in the library's version         */
    const ompjit_rtl_declaration *declarations;
    const ompjit_rtl_old *olds;
    const ompjit_rtl_layout *layouts;
    uint32_t ndeclarations, nolds, nlayouts;
    uint32_t oldest, newest; /* releases of clang whose IR is accepted       */
    uint32_t calling_convention; /* of all functions, LLVM's number: C's     */
    uint32_t address_space; /* of all pointers                               */
    uint32_t unused;      /* 0                                               */
} ompjit_rtl_table;

/* The table. Never NULL. */
const ompjit_rtl_table *ompjit_rtl_table_get(void);

#ifdef __cplusplus
}
#endif
#endif
