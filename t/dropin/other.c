/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * program.c's second file. */
#pragma omp declare target
int twice(int x);
int twice(int x)
{
    return 2 * x;
}
#pragma omp end declare target
