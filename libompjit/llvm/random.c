/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * LLVM's static libraries ask arc4random, for names of temporary files. They
 * get this one: the C library has it since glibc 2.36 only, and the rest of
 * LLVM runs with older ones.
 */
#include <stdint.h>
#include <sys/random.h>

#include "base/base.h"

uint32_t arc4random(void) __attribute__((visibility("hidden")));

uint32_t arc4random(void)
{
    uint32_t number;
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        number = (uint32_t)ompjit__now();
    return number;
}
