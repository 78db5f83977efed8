// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: 1 device, 10 15 4
// expect cuda: 0 devices, 10 15 4
// A program that requires unified shared memory has no device where the GPU
// cannot read the host's memory: its regions run on the host.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#pragma omp requires unified_shared_memory

static int counter = 3;
#pragma omp declare target(counter)

int main(void)
{
    int *heap = malloc(5 * sizeof *heap), *taken = omp_target_alloc(8, 0);
    int sum = 0;
#pragma omp target
    for (int i = 0; i < 5; i++)
        heap[i] = i;
    for (int i = 0; i < 5; i++)
        sum += heap[i];
#pragma omp target map(sum)
    {
        sum += 5;
        counter++;
    }
    int n = omp_get_num_devices();
    printf("%d device%s, %d %d %d\n", n, n == 1 ? "" : "s", sum - 5, sum,
           counter);
    omp_target_free(taken, 0);
    free(heap);
}
