/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * empty REPEATS: seconds of an empty target region, and of a loop of four
 * iterations, as LLVM's own offloading runtime launches them.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static void region(void)
{
    #pragma omp target
    {
    }
}

static void loop(double *x)
{
    #pragma omp target teams distribute parallel for num_teams(1) \
        map(tofrom : x[:4])
    for (int i = 0; i < 4; i++)
        x[i] += 1;
}

int main(int argc, char **argv)
{
    int repeats = argc > 1 ? atoi(argv[1]) : 1000;
    double x[4] = {0};
    region();
    loop(x);
    double start = omp_get_wtime();
    for (int i = 0; i < repeats; i++)
        region();
    printf("region %.9f\n", (omp_get_wtime() - start) / repeats);
    start = omp_get_wtime();
    for (int i = 0; i < repeats; i++)
        loop(x);
    printf("loop %.9f\n", (omp_get_wtime() - start) / repeats);
    return 0;
}
