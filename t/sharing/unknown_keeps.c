// expect: 0 1
// in shared memory: 1 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A function that is not known gives back what another one was given.
 */
#include <search.h>
#include "sharing.h"

int main(void)
{
    double *a = field();
    hcreate(10);
    hsearch((ENTRY){(char *)"a", a}, ENTER);
#pragma omp target data map(tofrom : a[:N])
    {
        work(a);
        ENTRY *e = hsearch((ENTRY){(char *)"a", NULL}, FIND);
        seen += ((double *)e->data)[5];
    }
    printf("%g %g\n", seen, a[5]);
    return 0;
}
