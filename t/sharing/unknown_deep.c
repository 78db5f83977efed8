// expect: 0 1
// in shared memory: 1 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A function that is not known was given a pointer that leads to the data.
 */
#include <search.h>
#include "sharing.h"

struct holder {
    int n;
    double **to;
};

static double *given;

static void visit(const void *node, VISIT order, int depth)
{
    const struct holder *h = *(struct holder *const *)node;
    (void)order, (void)depth;
    seen += h->to[0][5];
}

static int compare(const void *x, const void *y)
{
    return ((const struct holder *)x)->n - ((const struct holder *)y)->n;
}

int main(void)
{
    double *a = field();
    struct holder *h = malloc(sizeof *h);
    void *root = NULL;
    h->n = 1;
    h->to = &given;
    given = a;
    tsearch(h, &root, compare);
#pragma omp target data map(tofrom : a[:N])
    {
        work(a);
        twalk(root, visit);
    }
    printf("%g %g\n", seen, a[5]);
    return 0;
}
