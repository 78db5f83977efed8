// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables of a team's main thread that its shared memory has no room for.
// expect: bad 0
#include <omp.h>
#include <stdio.h>

enum { SMALL = 2000, LARGE = 13000 };

int main(void)
{
    static int a[256];
    int bad = 0;
#pragma omp target teams num_teams(2) thread_limit(64) map(tofrom: a)
    {
        int small[SMALL], large[LARGE];
        for (int i = 0; i < SMALL; i++)
            small[i] = i;
        for (int i = 0; i < LARGE; i++)
            large[i] = 2 * i;
#pragma omp parallel num_threads(64)
        {
            int t = omp_get_thread_num();
            a[omp_get_team_num() * 64 + t] =
                large[t * 7 % LARGE] + small[t * 5 % SMALL];
        }
    }
    for (int i = 0; i < 128; i++)
        bad += a[i] != (i % 64) * 19;
    printf("bad %d\n", bad);
}
