// expect: 0 0
// in shared memory: 1 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A destructor that runs at the end gets its variable from the library.
 */
#include "sharing.h"

struct owner {
    double *p = nullptr;
    ~owner()
    {
        if (p)
            printf("%g %g\n", p[5], seen = p[6]);
    }
};

int main()
{
    static owner last;
    { owner other; }
    double *a = last.p = field();
#pragma omp target enter data map(to : a[:N])
    work(a);
}
