/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A shared library with a kernel and a variable, for loader.c. It is built with
 * several values of FACTOR, and its kernel has the same name in all. The library
 * uses its kernel while it is loaded.
 */
#include <omp.h>

#pragma omp begin declare target
int offset = FACTOR;
#pragma omp end declare target

static int loaded;

int result(int x);
int result(int x)
{
    int y = 0;
#pragma omp target map(tofrom: y)
    y = omp_is_initial_device() ? -1 : x * FACTOR + offset;
    return y;
}

void set_offset(int to);
void set_offset(int to)
{
    offset = to;
#pragma omp target update to(offset)
}

__attribute__((constructor)) static void load(void)
{
    loaded = result(1);
}

int at_load(void);
int at_load(void)
{
    return loaded;
}
