/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Time, for tests of limits and of processes that come and go.
 */
#ifndef T_CLOCK_H
#define T_CLOCK_H

#include <time.h>

static inline double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void pause_ms(unsigned ms)
{
    const struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

#endif
