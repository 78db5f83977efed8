/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A template with a target region, which two sources make the same code of.
 */
#ifndef THIRD_H
#define THIRD_H

struct First {
    explicit First(const char *name) { printf("%s\n", name); }
};

template <typename T> inline T sum_to(int n)
{
    T sum = 0;
#pragma omp target teams distribute parallel for reduction(+ : sum)
    for (int i = 1; i <= n; i++)
        sum += i;
    return sum;
}
#endif
