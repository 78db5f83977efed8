/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A target region that each source has for itself: FACTOR is its own.
 */
static int times_factor(int x)
{
    int y = 0;
    #pragma omp target map(from : y)
    y = x * FACTOR;
    return y;
}
