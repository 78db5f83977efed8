/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * barrier target|libomp ROUNDS: seconds of one barrier of all threads of a
 * team, the better of two runs: of a target region's team, whose size
 * OMPJIT_THREADS says, or of 128 threads of the OpenMP runtime.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 128 };

static int rounds_on_device(int rounds)
{
    int threads = 0;
    #pragma omp target parallel map(from : threads)
    {
        if (omp_get_thread_num() == 0)
            threads = omp_get_num_threads();
        for (int i = 0; i < rounds; i++) {
            #pragma omp barrier
        }
    }
    return threads;
}

static int rounds_on_host(int rounds)
{
    int threads = 0;
    #pragma omp parallel num_threads(THREADS)
    {
        if (omp_get_thread_num() == 0)
            threads = omp_get_num_threads();
        for (int i = 0; i < rounds; i++) {
            #pragma omp barrier
        }
    }
    return threads;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    int (*run)(int) =
        strcmp(argv[1], "target") ? rounds_on_host : rounds_on_device;
    int rounds = atoi(argv[2]);
    double best = 1e30;
    run(1);
    for (int i = 0; i < 2; i++) {
        double start = omp_get_wtime();
        if (run(rounds) != THREADS)
            return 1;
        double took = (omp_get_wtime() - start) / rounds;
        if (took < best)
            best = took;
    }
    printf("%.9f\n", best);
    return 0;
}
