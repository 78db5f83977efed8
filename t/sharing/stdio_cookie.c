// expect: 0 1
// in shared memory: 1 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * stdio calls functions of a stream of the program's own.
 */
#define _GNU_SOURCE
#include "sharing.h"

static ssize_t look_on(void *cookie, const char *text, size_t n)
{
    (void)cookie, (void)text;
    look();
    return (ssize_t)n;
}

int main(void)
{
    cookie_io_functions_t functions = {.write = look_on};
    double *a = A = field();
    FILE *f = fopencookie(NULL, "w", functions);
#pragma omp target data map(tofrom : a[:N])
    {
        work(a);
        fputs("text", f);
        fflush(f);
    }
    printf("%g %g\n", seen, a[5]);
    return 0;
}
