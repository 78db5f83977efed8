// expect: 0 1
// in shared memory: 1 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A pointer goes through a file.
 */
#include "sharing.h"

int main(void)
{
    double *a = field(), *q = field();
    FILE *f = tmpfile();
    fwrite(&a, sizeof a, 1, f);
    rewind(f);
    if (!fread(&q, sizeof q, 1, f))
        return 1;
#pragma omp target data map(tofrom : a[:N])
    {
        work(a);
        seen += q[5];
    }
    printf("%g %g\n", seen, a[5]);
    return 0;
}
