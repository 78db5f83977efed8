// expect: 0 1
// in shared memory: 1 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A thread looks while the program waits.
 */
#include <pthread.h>
#include "sharing.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *wait_and_look(void *none)
{
    pthread_mutex_lock(&mutex);
    look();
    pthread_mutex_unlock(&mutex);
    return none;
}

int main(void)
{
    double *a = A = field();
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    if (pthread_create(&thread, NULL, wait_and_look, NULL))
        return 1;
#pragma omp target data map(tofrom : a[:N])
    {
        work(a);
        pthread_mutex_unlock(&mutex);
        pthread_join(thread, NULL);
    }
    printf("%g %g\n", seen, a[5]);
    return 0;
}
