/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The part of a Fortran program that is C, for its device code.
 */
#pragma omp begin declare target
int twice(int i)
{
    return 2 * i;
}
#pragma omp end declare target
