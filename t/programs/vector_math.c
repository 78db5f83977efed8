// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mathematics of vectors and of half precision, for which a GPU's library has
// no functions.
// needs: libdevice
// expect: 0.479426 0.841471 0.909297 0.14112
// expect: 2.71828 7.38906 0.125 8
// expect: 12 -0.5 2.25
#include <stdio.h>

typedef float four __attribute__((ext_vector_type(4)));
typedef double two __attribute__((ext_vector_type(2)));

int main(void)
{
    float a[4] = {0.5f, 1, 2, 3}, h[3] = {0};
    double b[4] = {1, 2, 3, 0};
    int powers[2] = {-3, 3};
    _Float16 half = 1.5;
#pragma omp target map(tofrom: a, b, h) map(to: powers, half)
    {
        four x = {a[0], a[1], a[2], a[3]};
        two y = {b[0], b[1]}, base = {2, 2};
        two exponents = {powers[0], powers[1]};
        x = __builtin_elementwise_sin(x);
        y = __builtin_elementwise_exp(y);
        two z = __builtin_elementwise_pow(base, exponents);
        for (int i = 0; i < 4; i++)
            a[i] = x[i];
        b[0] = y[0];
        b[1] = y[1];
        b[2] = z[0];
        b[3] = z[1];
        h[0] = (float)__builtin_elementwise_exp2(half + half) + 4;
        h[1] = (float)-__builtin_elementwise_exp2((_Float16)-1);
        h[2] = (float)__builtin_elementwise_pow(half, (_Float16)2);
    }
    printf("%g %g %g %g\n", a[0], a[1], a[2], a[3]);
    printf("%g %g %g %g\n", b[0], b[1], b[2], b[3]);
    printf("%g %g %g\n", h[0], h[1], h[2]);
}
