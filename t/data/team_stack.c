/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A kernel with loops over its threads that need 400 KB of the OS thread's stack,
 * in a thread that has less, and in one that has more.
 */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>

enum { T = 1024, OWN = 100 };
static int bad;

static void *run(void *unused)
{
    int out[T];
    #pragma omp target teams num_teams(1) thread_limit(T) map(from : out)
    {
        int *of[T];
        #pragma omp parallel num_threads(T)
        {
            int me = omp_get_thread_num(), own[OWN], sum = 0;
            for (int i = 0; i < OWN; i++)
                own[i] = me + i;
            of[me] = own;
            #pragma omp barrier
            for (int i = 0; i < OWN; i++)
                sum += of[(me + 1) % T][i];
            #pragma omp barrier
            out[me] = sum;
        }
    }
    for (int me = 0; me < T; me++)
        bad += out[me] != (me + 1) % T * OWN + OWN * (OWN - 1) / 2;
    return unused;
}

int main(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    if (pthread_create(&thread, &attributes, run, NULL))
        return 2;
    pthread_join(thread, NULL);
    run(NULL);
    printf("%d are wrong\n", bad);
    return bad != 0;
}
