/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Tells whether the process may write where it is about to.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/base.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

static bool populates(const void *at)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = (uintptr_t)at & -page;
    return !madvise((void *)begin, page, MADV_POPULATE_WRITE) ||
           errno != EINVAL;
}

/* An older kernel knows no such advice, not even about this stack. */
bool ompjit__writable(const void *at, size_t size)
{
    int saved = errno;
    char here = 0;
    bool writable = (populates(at) && populates((const char *)at + size - 1)) ||
                    !populates(&here);
    errno = saved;
    return writable;
}
