/* A lock on the stack of a thread: PTX has no atomics there. */
#include <omp.h>
#include <stdio.h>

int main(void)
{
    int wrong = 0;
#pragma omp target teams distribute parallel for reduction(+ : wrong)
    for (int i = 0; i < 64; i++) {
        omp_lock_t lock;
        omp_init_lock(&lock);
        wrong += !omp_test_lock(&lock) + omp_test_lock(&lock);
        omp_unset_lock(&lock);
        omp_set_lock(&lock);
        wrong += omp_test_lock(&lock);
        omp_destroy_lock(&lock);
    }
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
