// expect: 0 1
// in shared memory: 1 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A pointer goes through a variadic function that is called by pointer.
 */
#include <stdarg.h>
#include "sharing.h"

static double *kept;

static void keep(int n, ...)
{
    va_list list;
    va_start(list, n);
    kept = va_arg(list, double *);
    va_end(list);
}

int main(void)
{
    double *a = field(), *b = field();
    void (*call[2])(int, ...) = {keep, keep};
    kept = b;
    call[(int)b[1]](1, a);
#pragma omp target data map(tofrom : a[:N])
    {
        work(a);
        seen += kept[5];
    }
    printf("%g %g\n", seen, a[5]);
    return 0;
}
