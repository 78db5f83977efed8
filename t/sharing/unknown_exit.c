// expect: 0
// in shared memory: 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A function that is not known ends the program, which runs a handler.
 */
#include <err.h>
#include "sharing.h"

static void tell(void)
{
    printf("%g\n", A[5]);
}

int main(void)
{
    double *a = A = field();
    atexit(tell);
    fclose(stderr);
#pragma omp target enter data map(to : a[:N])
    work(a);
    errx(0, "that was all");
}
