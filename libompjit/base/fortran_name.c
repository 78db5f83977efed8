/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Tells by a source's name whether it is Fortran, and in which form.
 */
#include <string.h>

#include "base/base.h"

enum ompjit__fortran ompjit__fortran_name(const char *name, bool *preprocessed)
{
    static const struct {
        const char *ending;
        enum ompjit__fortran form;
        bool preprocessed;
    } endings[] = {
        {".f90", OMPJIT__FORTRAN_FREE, false},
        {".f95", OMPJIT__FORTRAN_FREE, false},
        {".f03", OMPJIT__FORTRAN_FREE, false},
        {".f08", OMPJIT__FORTRAN_FREE, false},
        {".f18", OMPJIT__FORTRAN_FREE, false},
        {".F90", OMPJIT__FORTRAN_FREE, true},
        {".F95", OMPJIT__FORTRAN_FREE, true},
        {".F03", OMPJIT__FORTRAN_FREE, true},
        {".F08", OMPJIT__FORTRAN_FREE, true},
        {".F18", OMPJIT__FORTRAN_FREE, true},
        {".f", OMPJIT__FORTRAN_FIXED, false},
        {".for", OMPJIT__FORTRAN_FIXED, false},
        {".ftn", OMPJIT__FORTRAN_FIXED, false},
        {".F", OMPJIT__FORTRAN_FIXED, true},
        {".FOR", OMPJIT__FORTRAN_FIXED, true},
        {".FTN", OMPJIT__FORTRAN_FIXED, true},
        {".fpp", OMPJIT__FORTRAN_FIXED, true},
        {".FPP", OMPJIT__FORTRAN_FIXED, true},
    };
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < OMPJIT__COUNT(endings); i++)
        if (!strcmp(dot, endings[i].ending)) {
            if (preprocessed)
                *preprocessed = endings[i].preprocessed;
            return endings[i].form;
        }
    return OMPJIT__FORTRAN_NONE;
}
