// expect: 0 1
// in shared memory: 1 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A function that is not known stores a pointer that it was given.
 */
#define _GNU_SOURCE
#include <search.h>
#include "sharing.h"

struct node {
    struct node *next, *before;
    double *data;
};

int main(void)
{
    double *a = field();
    struct node first = {NULL, NULL, field()}, second = {NULL, NULL, a};
    insque(&first, NULL);
    insque(&second, &first);
#pragma omp target data map(tofrom : a[:N])
    {
        work(a);
        seen += first.next->data[5];
    }
    printf("%g %g\n", seen, a[5]);
    return 0;
}
