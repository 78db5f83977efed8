// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: 2 3
//
// An empty format is a zero initializer, no string: in a region, and in a data
// region of the host.
#include <stdio.h>

int main(void)
{
    int x = 1, y = 2;
#pragma omp target data map(tofrom: y)
    {
        printf("");
#pragma omp target map(tofrom: x, y)
        {
            printf("");
            x++;
            y++;
        }
    }
    printf("%d %d\n", x, y);
    return 0;
}
