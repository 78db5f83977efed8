/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * One construct of each kind, and routines, for t/ompt_t.sh.
 */
#include <omp.h>
#include <stdio.h>

int main(void)
{
    int a[100], b[50], sum = 0;
    for (int i = 0; i < 100; i++)
        a[i] = i;
#pragma omp target enter data map(to: a) map(alloc: b)
#pragma omp target teams distribute parallel for num_teams(2) map(from: b)
    for (int i = 0; i < 50; i++)
        b[i] = a[i];
#pragma omp target update from(b)
#pragma omp target map(tofrom: sum) nowait
    for (int i = 0; i < 50; i++)
        sum += b[i];
#pragma omp taskwait
#pragma omp target exit data map(delete: a) map(from: b)
    void *p = omp_target_alloc(64, 0);
    omp_target_memcpy(p, a, 64, 0, 0, 0, omp_get_initial_device());
    omp_target_free(p, 0);
    printf("sum %d\n", sum);
    return 0;
}
