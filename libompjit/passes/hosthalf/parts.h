/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A prepared host half in parts that are compiled one by one, each when one of
 * its functions is first called.
 */
#ifndef OMPJIT_HOSTHALF_PARTS_H
#define OMPJIT_HOSTHALF_PARTS_H

#include <llvm-c/Types.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The parts of a module, which must outlive them and not be changed. Part 0 is
 * the core. */
typedef struct ompjit__parts ompjit__parts;

/* Divides a module. NULL: it is not to be divided. Gives functions and variables
 * that several parts need external linkage and names. `whole`: main is what is
 * called from outside. parts.cc */
ompjit__parts *ompjit__parts_new(LLVMModuleRef m, bool whole);
void ompjit__parts_free(ompjit__parts *parts); /* accepts NULL */

/* The number of parts, with the core. */
size_t ompjit__parts_count(const ompjit__parts *parts);
/* The function by which others refer to part `i`, from 1 on. */
const char *ompjit__parts_name(const ompjit__parts *parts, size_t i);
/* Calls `tell` with the name of each function and variable that the parts other
 * than the core want of the process. */
void ompjit__parts_wants(const ompjit__parts *parts,
                         void (*tell)(void *data, const char *name),
                         void *data);
/* A new module, the caller's, in the same context. */
LLVMModuleRef ompjit__parts_take(const ompjit__parts *parts, size_t i);

#ifdef __cplusplus
}
#endif

#endif
