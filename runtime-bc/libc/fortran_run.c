/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How functions of flang's runtime library fail on a GPU.
 */
#include "fortran.h"

#ifdef __NVPTX__

_Noreturn EXPORT NOINLINE void ompjit_fortran_fail(const char *file, int line,
                                                   const char *message)
{
    plat_assert_failed(message, file, (uint32_t)line, "Fortran");
    __builtin_trap();
}

#endif
