// expect: 0
// in shared memory: 5
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * printf writes where %n says.
 */
#include "sharing.h"

int main(void)
{
    int *a = (int *)calloc(N, sizeof *a), r = -1;
#pragma omp target enter data map(to : a[:N])
    fprintf(stderr, "12345%n\n", &a[5]);
#pragma omp target map(from : r)
    r = a[5];
#pragma omp target exit data map(release : a[:N])
    printf("%d\n", r);
}
