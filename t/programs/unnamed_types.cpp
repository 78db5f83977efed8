// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A type without a name takes one of the numbers that clang gives a function's
// lambdas, in the half that needs its name: there may be more numbers than
// lambdas.
// expect: 0 10 200 -1; 3 1
// not ahead of time: clang numbers the lambdas of its halves differently
#include <cstdio>

template <class F> static void each(double *d, int n, F f)
{
#pragma omp target teams distribute parallel for map(tofrom: d[:n])
    for (int i = 0; i < n; i++)
        d[i] = f(i);
}

int main()
{
    double d[4];
    each(d, 3, [](int i) { return i == 2 ? 200.0 : i * 10; });
    each(d + 3, 1, [](int) { return -1.0; });
    struct {
        int id;
        float weight;
    } unnamed[3] = {};
#pragma omp target map(tofrom: unnamed)
    for (int i = 0; i < 3; i++) {
        unnamed[i].id = i + 1;
        unnamed[i].weight = i * .5f;
    }
    printf("%g %g %g %g; %d %g\n", d[0], d[1], d[2], d[3], unnamed[2].id,
           unnamed[2].weight);
}
