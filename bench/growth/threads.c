/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * threads N: microseconds of the process for a launch, when N threads launch the
 * same kernel on present data of their own.
 */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { LAUNCHES = 100000, MOST = 64 };

static pthread_barrier_t barrier;

static void *work(void *launches)
{
    double x[64] = {0};
    #pragma omp target enter data map(to : x)
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < *(int *)launches; i++) {
        #pragma omp target map(x)
        x[0]++;
    }
    pthread_barrier_wait(&barrier);
    #pragma omp target exit data map(from : x)
    return NULL;
}

static double run(int threads)
{
    pthread_t t[MOST];
    int launches = LAUNCHES / threads;
    pthread_barrier_init(&barrier, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; i++)
        pthread_create(&t[i], NULL, work, &launches);
    pthread_barrier_wait(&barrier);
    double start = omp_get_wtime();
    pthread_barrier_wait(&barrier);
    double time = omp_get_wtime() - start;
    for (int i = 0; i < threads; i++)
        pthread_join(t[i], NULL);
    pthread_barrier_destroy(&barrier);
    return time / (launches * threads) * 1e6;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    double best = 1e30;
    for (int k = 0; k < 5; k++) {
        double time = run(threads < MOST ? threads : MOST);
        best = time < best ? time : best;
    }
    printf("%.4f\n", best);
}
