/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The runtime table as data, for the files of this room. No LLVM in it.
 *
 * A row is a function with one type. Its index is its place in ompjit_rtl.def,
 * which never changes. A name has two rows where LLVM changed the function's
 * type, each for some releases. All that these functions return is static and
 * constant, and any thread may call them; an index must be under
 * OMPJIT_RTL_COUNT.
 */
#ifndef OMPJIT_TABLE_ROWS_H
#define OMPJIT_TABLE_ROWS_H

#include "base/base.h"
#include "ompjit_rtl.h"

/* The LLVM releases whose code is read. A row without a range of its own is of
 * all of them. */
#define OMPJIT__OLDEST_CLANG 18
#define OMPJIT__NEWEST_CLANG 22

typedef struct ompjit__rtl {
    const char *name;
    const char *type;       /* letters, as ompjit_rtl.def explains them */
    unsigned char attributes; /* for ompjit__rtl_attributes()           */
    char where;             /* letter, likewise                         */
} ompjit__rtl;
extern const ompjit__rtl ompjit__rtl_rows[OMPJIT_RTL_COUNT];

/* Types that clang's releases up to `release` gave a name, and that are no
 * row's. */
typedef struct ompjit__rtl_old {
    unsigned release;
    const char *type;
    const char *name;
} ompjit__rtl_old;
extern const ompjit__rtl_old ompjit__rtl_olds[];
extern const size_t ompjit__rtl_nolds;

/* The row of meaning.def that fits the name best, which is the longest pattern;
 * -1: none. */
int ompjit__rtl_meaning_of(const char *name);

/* A declaration's attributes as text, as ompjit_rtl.def has it. */
const char *ompjit__rtl_attributes(unsigned index);

/* The first and last LLVM release of a row, and the row that its calls become
 * when IR is read, or -1: they stay. */
unsigned ompjit__rtl_since(unsigned index);
unsigned ompjit__rtl_until(unsigned index);
int ompjit__rtl_successor(unsigned index);

/* The first row after `after` (-1: of all) with that name; -1: none. */
int ompjit__rtl_next(const char *name, int after);
/* The row of that name in LLVM 22, or the last there was; -1: none. */
int ompjit__rtl_newest(const char *name);

/* The function type that letters stand for, as LLVM writes it. */
typedef struct ompjit__rtl_type_text {
    char text[sizeof(((ompjit_rtl_row *)0)->type)];
} ompjit__rtl_type_text;
ompjit__rtl_type_text ompjit__rtl_type(const char *letters);
/* And as data, which refers to both: they must live as long as it. A variadic
 * type has a `.` behind its nparams letters of parameters. plain_table.c */
ompjit_rtl_signature ompjit__rtl_signature(const char *letters,
                                           const char *text);

/* Tells whether the device runtime has the function and programs may call it.
 * */
bool ompjit__table_device_function(const char *name);

/* Appends declarations of all those functions, and the macros that
 * ompjit_module_from_cuda promises, as CUDA C++. A failure is in out->failed.
 * declarations.c */
void ompjit__table_header(ompjit__buf *out);

#endif
