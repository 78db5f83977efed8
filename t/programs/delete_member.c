// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A structure's member that was mapped twice is gone when it is deleted once.
// expect: 1 0 6
#include <omp.h>
#include <stdio.h>

static struct {
    long before[4], member[8];
} all = {{0}, {1}};

int main(void)
{
    int device = omp_get_default_device();
#pragma omp target enter data map(to : all.member[0 : 8])
#pragma omp target enter data map(to : all.member[0 : 8])
    printf("%d ", omp_target_is_present(all.member, device));
#pragma omp target exit data map(delete : all.member[0 : 8])
    printf("%d ", omp_target_is_present(all.member, device));
#pragma omp target map(tofrom : all.member[0 : 8])
    all.member[0] += 5;
    printf("%ld\n", all.member[0]);
}
