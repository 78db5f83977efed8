/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The constructors of LLVM's static libraries, which the linker has gathered
 * (start.ld).
 */
#ifndef OMPJIT_LLVM_START_H
#define OMPJIT_LLVM_START_H

#include <stddef.h>
#include <stdint.h>

typedef void ompjit__constructor(int argc, char **argv, char **environment);

#ifdef __cplusplus
extern "C" {
#endif
extern ompjit__constructor *const ompjit__llvm_start[],
    *const ompjit__llvm_started[];
#pragma weak ompjit__llvm_start
#pragma weak ompjit__llvm_started
#ifdef __cplusplus
}
#endif

/* Once, before anything of LLVM's. If the linker has not gathered them, they
 * have run already. */
static inline void ompjit__llvm_construct(void)
{
    ompjit__constructor *const *f = ompjit__llvm_start;
    size_t n = (size_t)((uintptr_t)ompjit__llvm_started - (uintptr_t)f);
    for (n /= sizeof *f; n; n--)
        (*f++)(0, NULL, NULL);
}

#endif
