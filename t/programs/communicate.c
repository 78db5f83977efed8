// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: 1093 1093 0 45
//
// Threads of a team read what another has stored before a barrier, into a
// mapped scalar that no other pointer leads to; and what each of them has added
// in a critical section.
#include <omp.h>
#include <stdio.h>

enum { THREADS = 40, ROUNDS = 7 };

int main(void)
{
    int baton = 0, seen[THREADS] = {0}, bad = 0, sum = 0, n = 0;
#pragma omp target parallel num_threads(THREADS) map(tofrom: baton, seen, n)
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        if (me == 0)
            n = all;
        for (int round = 0; round < ROUNDS; round++) {
            if (me == round % all)
                baton = baton * 3 + 1;
#pragma omp barrier
            seen[me] = baton;
#pragma omp barrier
        }
    }
    for (int i = 1; i < n; i++)
        bad += seen[i] != seen[0];
#pragma omp target teams distribute parallel for map(tofrom: sum)
    for (int i = 0; i < 10; i++) {
#pragma omp critical
        sum += i;
    }
    printf("%d %d %d %d\n", baton, seen[0], bad, sum);
}
