// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: 42 6 1
// A constant without `declare target` is mapped, implicitly `tofrom`, and not
// written back to.
#include <stdio.h>

static const int table[3] = {1, 2, 3};
static const double halves[1000] = {[999] = 0.5};

int main(void)
{
    int sum = 36, product = 1;
    double last = 0;
#pragma omp target map(tofrom: sum, product, last)
    for (int i = 0; i < 3; i++) {
        sum += table[i];
        product *= table[i];
        last = halves[999] * 2;
    }
    printf("%d %d %g\n", sum, product, last);
}
