// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that wait for another of their team count their rounds meanwhile.
// They are more than the host has processors, so that they must give way.
// expect: 63 8
#include <omp.h>
#include <stdio.h>

enum { N = 64 };

int main(void)
{
    int flag = 0, seen = 0, rounds[N] = {0}, last = 0;
#pragma omp target teams num_teams(1) thread_limit(N) \
    map(tofrom: flag, seen, rounds, last)
#pragma omp parallel num_threads(N)
    {
        int me = omp_get_thread_num(), go;
        if (me + 1 < omp_get_num_threads()) {
            do {
#pragma omp atomic read
                go = flag;
                rounds[me]++;
            } while (!go);
        } else {
            last = 8;
#pragma omp atomic write
            flag = 1;
        }
        if (rounds[me]) {
#pragma omp atomic
            seen++;
        }
    }
    printf("%d %d\n", seen, last);
}
