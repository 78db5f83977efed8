// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// not ahead of time: clang loses what is local to a part
// expect: 0
// Untied tasks: clang cuts them into parts at each point where another task may
// run, and each part creates the task anew for the next one.
#include <omp.h>
#include <stdio.h>

enum { N = 6 };

#pragma omp begin declare target
static int sum(int n)
{
    int left = 0, right = 0;
    if (n < 2)
        return n;
#pragma omp task untied shared(left)
    left = sum(n - 1);
#pragma omp task untied shared(right) if (n > 3)
    {
        int twice = 0, before = n;
#pragma omp task untied shared(twice)
        twice = 2 * sum(n - 2);
#pragma omp taskyield
#pragma omp taskwait
        right = twice / 2 + before - n;
    }
#pragma omp taskwait
    return left + right;
}
#pragma omp end declare target

int main(void)
{
    int wrong = 0, x = 0, y = 0, threads = 0, loop[N] = {0}, fib = 0;
    omp_event_handle_t event;
#pragma omp target map(tofrom : x, y, threads, loop, fib)
#pragma omp parallel private(event)
    {
#pragma omp single
        threads = omp_get_num_threads();
#pragma omp task detach(event) untied
#pragma omp atomic
        x++;
#pragma omp task untied
        {
#pragma omp atomic
            y++;
            omp_fulfill_event(event);
        }
#pragma omp single
#pragma omp taskloop untied
        for (int i = 0; i < N; i++)
            loop[i] += i;
#pragma omp single
        fib = sum(10);
    }
    for (int i = 0; i < N; i++)
        wrong += loop[i] != i;
    wrong += x != threads || y != threads || fib != 55;
    printf("%d\n", wrong);
    return 0;
}
