/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Rows of cpu.def are found by a triple of LLVM's.
 */
#ifndef OMPJIT_CPU_H
#define OMPJIT_CPU_H

#include <stdbool.h>
#include <string.h>

static inline bool ompjit__cpu_is(const char *triple, const char *name)
{
    size_t n = strlen(name);
    return !strncmp(triple, name, n) && triple[n] == '-';
}
#endif
