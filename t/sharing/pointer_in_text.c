// expect: 0 1
// in shared memory: 1 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A pointer goes through a text.
 */
#include "sharing.h"

int main(void)
{
    double *a = field();
    void *q = field();
    char text[32];
    snprintf(text, sizeof text, "%p", (void *)a);
    if (sscanf(text, "%p", &q) != 1)
        return 1;
#pragma omp target data map(tofrom : a[:N])
    {
        work(a);
        seen += ((double *)q)[5];
    }
    printf("%g %g\n", seen, a[5]);
    return 0;
}
