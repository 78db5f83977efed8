// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instances of variable templates: clang only declares them in the device half.
// expect: 12 12 11 2.5
// not ahead of time: clang's device half has not their values
#include <stdio.h>

#pragma omp begin declare target
template <class T> T eleven = T(11);
template <class T> constexpr T half = T(5) / 2;
int twelve() { return ++eleven<int>; }
#pragma omp end declare target

int main()
{
    int counted;
    double other, constant;
#pragma omp target map(from: counted)
    counted = twelve();
#pragma omp target map(from: other, constant)
    {
        other = eleven<double>;
        constant = half<double>;
    }
#pragma omp target update from(eleven<int>)
    printf("%d %d %g %g\n", counted, eleven<int>, other, constant);
}
