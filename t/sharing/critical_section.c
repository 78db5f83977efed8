// expect: 0 1
// in shared memory: 1 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Another thread of the team reads behind a critical section, while the
 * kernel's values are newer.
 */
#include "sharing.h"

static int turn;

static int at(int want)
{
    int now;
#pragma omp critical
    now = turn == want;
    return now;
}

static void next(int n)
{
#pragma omp critical
    turn = n;
}

int main(void)
{
    double *a = field(), r = -1;
#pragma omp parallel sections num_threads(2) shared(a, r)
    {
#pragma omp section
        {
#pragma omp target data map(tofrom : a[:N])
            {
                work(a);
                next(1);
                while (!at(2)) {
                }
            }
        }
#pragma omp section
        {
            while (!at(1)) {
            }
            r = a[5];
            next(2);
        }
    }
    printf("%g %g\n", r, a[5]);
}
