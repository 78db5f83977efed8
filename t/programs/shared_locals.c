// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: 7 8 9 10 11 12 13 14 99 27 6
//
// Locals of a generic kernel's main thread that regions read and write: a
// scalar, an array, a structure that points to the scalar, and one of a function
// that the kernel calls.
#include <omp.h>
#include <stdio.h>

#pragma omp begin declare target
static __attribute__((noinline)) int counted(int limit)
{
    int n = limit;
#pragma omp parallel num_threads(4)
    {
#pragma omp atomic
        n++;
    }
    return n;
}
#pragma omp end declare target

int main(void)
{
    int a[11] = {0};
#pragma omp target map(a)
    {
        int c = 5, d[3] = {1, 2, 3};
        struct {
            int *p, v;
        } s = {&c, 2};
#pragma omp parallel num_threads(8)
        {
            int t = omp_get_thread_num();
            a[t] = *s.p + d[1] + t;
#pragma omp barrier
            if (t == 3) {
                *s.p = 99;
                s.v = 7;
                d[1] = 20;
            }
        }
        a[8] = c;
        a[9] = s.v + d[1];
        a[10] = counted(2);
    }
    for (int i = 0; i < 11; i++)
        printf("%d%s", a[i], i < 10 ? " " : "\n");
    return 0;
}
