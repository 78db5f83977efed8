/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The functions of a program that the library provides: names and signatures,
 * for the compiler, which binds them (passes/hosthalf/rewrite.c). A host half
 * lists those that it needs by name, and the runtime finds their addresses
 * (ompjit__served_address, hosthalf/cache.c).
 */
#ifndef OMPJIT_ABI_SERVED_H
#define OMPJIT_ABI_SERVED_H

#include <stddef.h>

/* Names that rewrite.c makes code refer to; hosthalf/program_code.c defines
 * them. */
#define OMPJIT__SYMBOL_CONTEXT "ompjit.context" /* at the ompjit_context    */
#define OMPJIT__SYMBOL_LIFE "ompjit.life"       /* at its struct life        */

typedef struct ompjit__served_name {
    const char *name;      /* __tgt_target_kernel                            */
    const char *first;     /* one of the symbols above, whose address is an
                              argument before the program's; NULL: none      */
    const char *signature; /* "i:plii..." result and the program's arguments:
                              v void, i i32, l i64, s size_t, d double,
                              p pointer                                      */
} ompjit__served_name;

/* In the order in which they are bound. */
extern const ompjit__served_name ompjit__served_names[];
extern const size_t ompjit__nserved_names;

#endif
