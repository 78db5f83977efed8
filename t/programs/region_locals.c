// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: 0 wrong
//
// Each thread of a region keeps the address of a variable of its own: in a
// kernel whose main thread shares others, which may become SPMD, and in one
// whose main thread calls the same function.
#include <omp.h>
#include <stdio.h>

#pragma omp begin declare target
int *volatile kept[32];
__attribute__((noinline)) void keep(int t, int *p) { kept[t] = p; }
__attribute__((noinline)) int local(int t)
{
    int escapes = 3 * t;
    keep(t, &escapes);
    for (int i = 0; i < 10; i++)
        (*kept[t])++;
    return escapes;
}
#pragma omp end declare target

int main(void)
{
    int wrong = 0, out[32], one;
#pragma omp target teams num_teams(1) thread_limit(32) map(from: out)
    {
        int team[8], own = omp_get_num_teams();
        for (int i = 0; i < 8; i++)
            team[i] = own + i;
#pragma omp parallel num_threads(32)
        {
            int t = omp_get_thread_num();
            out[t] = local(t) + team[t % 8];
        }
        team[0] = 5;
#pragma omp parallel num_threads(32)
        {
            int t = omp_get_thread_num();
            out[t] += local(t) + team[t % 8];
        }
    }
    for (int t = 0; t < 32; t++)
        wrong += out[t] != 2 * (3 * t + 10) + (t % 8 ? 2 * (1 + t % 8) : 6);
#pragma omp target map(from: one)
    {
        int sequential = local(7);
#pragma omp parallel num_threads(4)
#pragma omp master
        one = sequential;
    }
    wrong += one != 31;
    printf("%d wrong\n", wrong);
}
