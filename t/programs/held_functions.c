// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A variable of the program holds a function that the code has chosen, or was
// given: images that know their launches cannot share it on a GPU.
// expect: 10 18 14 24
#include <stdio.h>

typedef int function(int);

#pragma omp declare target
static int twice(int x) { return 2 * x; }
static int thrice(int x) { return 3 * x; }
function *chosen;
static void choose(function *f) { chosen = f; }
#pragma omp end declare target

int main(void)
{
    int n = 4, r[4] = {0};
    for (int k = 0; k < 4; k++) {
#pragma omp target map(tofrom: n)
        if (k < 2)
            chosen = n > k + 3 ? twice : thrice;
        else
            choose(k == 2 ? twice : thrice);
#pragma omp target map(tofrom: r)
        r[k] = chosen(5 + k);
    }
    printf("%d %d %d %d\n", r[0], r[1], r[2], r[3]);
}
