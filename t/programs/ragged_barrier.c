// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A parallel region of one thread more than a warp: its barriers are the
// runtime's own, whose variable LLVM once took for undefined.
// options: --threads=64
// expect: 0 bad, sum 780, any 1
#include <stdio.h>
int main(void)
{
    unsigned long sum = 0;
    int a[40] = {0}, b[40] = {0}, bad = 0;
    #pragma omp target teams distribute num_teams(1) thread_limit(64) \
        map(tofrom : a, b, sum)
    for (int k = 0; k < 1; k++) {
        #pragma omp parallel num_threads(33)
        {
            #pragma omp for
            for (int i = 0; i < 40; i++)
                a[i] = i;
            #pragma omp for
            for (int i = 0; i < 40; i++)
                b[i] = a[39 - i];
        }
        unsigned long s = 0;
        #pragma omp parallel for reduction(+ : s)
        for (int i = 0; i < 40; i++)
            s += b[i];
        sum = s;
    }
    for (int i = 0; i < 40; i++)
        bad += b[i] != 39 - i;
    int any = 0;
    #pragma omp target simd reduction(|| : any)
    for (int i = 0; i < 40; i++)
        any = any || i == 7;
    printf("%d bad, sum %lu, any %d\n", bad, sum, any);
    return 0;
}
