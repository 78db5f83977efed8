// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// options: -fopenmp-version=60
// expect: 23 of 23, 7 of 7, 21 of 21, 5 of 5, 9 of 9
// expect cuda: given
// A num_threads clause gets what it asks for on the host device, also where
// that is more than there are cores; on a GPU, what the team has.
#include <omp.h>
#include <stdio.h>
#include <string.h>

#pragma omp declare target
static int region(void)
{
    int n = 0;
#pragma omp parallel num_threads(9)
    {
#pragma omp barrier
#pragma omp atomic
        n++;
    }
    return n;
}
#pragma omp end declare target

int main(int argc, char **argv)
{
    int given[5] = {0}, came[5] = {0}, asked = argc + 19;
#pragma omp target parallel num_threads(23) map(tofrom: given, came)
    {
#pragma omp single
        given[0] = omp_get_num_threads();
#pragma omp atomic
        came[0]++;
    }
#pragma omp target map(tofrom: given, came)
#pragma omp parallel num_threads(7)
    {
#pragma omp single
        given[1] = omp_get_num_threads();
#pragma omp barrier
#pragma omp atomic
        came[1]++;
    }
#pragma omp target parallel num_threads(asked) map(tofrom: given, came)
    {
#pragma omp single
        given[2] = omp_get_num_threads();
#pragma omp atomic
        came[2]++;
    }
#pragma omp target map(tofrom: given, came)
    {
#pragma omp parallel num_threads(2)
#pragma omp single
        given[3] = 1;
#pragma omp parallel num_threads(strict: 5)
        {
#pragma omp atomic
            came[3]++;
#pragma omp single
            given[3] = omp_get_num_threads();
        }
    }
#pragma omp target map(tofrom: given, came)
    {
        came[4] = region();
        given[4] = 9;
    }
    if (strcmp(argv[1], "host"))
        printf("given");
    for (int i = 0; i < 5 && !strcmp(argv[1], "host"); i++)
        printf("%s%d of %d", i ? ", " : "", came[i], given[i]);
    printf("\n");
}
