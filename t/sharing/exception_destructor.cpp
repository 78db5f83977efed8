// expect: 0 1
// in shared memory: 1 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The destructor of an exception runs where it has been caught.
 */
#include "sharing.h"

struct looking {
    int v;
    ~looking()
    {
        look();
    }
};

static void fail(int n)
{
    if (n)
        throw looking{n};
}

int main(int argc, char **)
{
    double *a = A = field();
#pragma omp target data map(tofrom : a[:N])
    {
        work(a);
        try {
            fail(argc);
        } catch (const looking &) {
        }
    }
    printf("%g %g\n", seen, a[5]);
}
