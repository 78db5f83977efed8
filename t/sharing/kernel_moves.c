// expect: 0 1
// in shared memory: 1 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A kernel moves pointers of the host.
 */
#include "sharing.h"

int main(void)
{
    double *a = field();
    double *two[2] = {a, field()};
#pragma omp target map(tofrom : two)
    {
        double *first = two[0];
        two[0] = two[1];
        two[1] = first;
    }
#pragma omp target data map(tofrom : a[:N])
    {
        work(a);
        seen += two[1][5];
    }
    printf("%g %g\n", seen, a[5]);
    return 0;
}
