/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The library's version.
 */
#include "ompjit.h"

#define STRING2(x) #x
#define STRING(x) STRING2(x)

const char *ompjit_version(void)
{
    return STRING(OMPJIT_VERSION_MAJOR) "." STRING(
        OMPJIT_VERSION_MINOR) "." STRING(OMPJIT_VERSION_PATCH);
}
