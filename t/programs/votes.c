// expect: first vote: 64 of 64, any: 64, all: 0
// expect: some have left: 64 of 64
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The last call of a kernel is a vote: the threads that leave first still count
 * for those that come out of it later. Threads that have left before do not.
 */
#include <stdint.h>
#include <stdio.h>

#pragma omp begin declare target
#ifdef __NVPTX__
int ompx_thread_id(int dimension);
uint64_t ompx_ballot_sync(uint64_t mask, int predicate);
#else /* of the version that the host never runs */
static int ompx_thread_id(int dimension) { return dimension; }
static uint64_t ompx_ballot_sync(uint64_t mask, int predicate)
{
    return mask + (uint64_t)predicate;
}
#endif
#pragma omp end declare target

#define THREADS 64
static uint64_t odd[THREADS], one[THREADS], rest[THREADS];

int main(void)
{
#pragma omp target teams ompx_bare num_teams(1) thread_limit(THREADS) \
    map(from: odd)
    {
        int i = ompx_thread_id(0);
        odd[i] = ompx_ballot_sync(0xffffffff, i % 2);
    }
#pragma omp target teams ompx_bare num_teams(1) thread_limit(THREADS) \
    map(from: one)
    {
        int i = ompx_thread_id(0);
        one[i] = ompx_ballot_sync(0xffffffff, i % 32 == 3);
    }
#pragma omp target teams ompx_bare num_teams(1) thread_limit(THREADS) \
    map(tofrom: rest)
    {
        int i = ompx_thread_id(0);
        if (i % 3 == 0)
            rest[i] = ompx_ballot_sync(0xffffffff, 1);
    }
    int right = 0, any = 0, all = 0, left = 0;
    for (int i = 0; i < THREADS; i++) {
        right += odd[i] == 0xaaaaaaaa;
        any += one[i] != 0;
        all += one[i] == 0xffffffff;
        left += rest[i] == (i % 3 ? 0 : i < 32 ? 0x49249249 : 0x92492492);
    }
    printf("first vote: %d of %d, any: %d, all: %d\n", right, THREADS, any, all);
    printf("some have left: %d of %d\n", left, THREADS);
}
