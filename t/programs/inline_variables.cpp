// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables that several units may define, constants among them: the program
// maps each under its name, and only one image defines it.
// expect: 3.14 5 6 7 8 9 15
#include <stdio.h>

#pragma omp begin declare target
struct A {
    static constexpr double pi = 3.14;
    static constexpr int list[2] = {4, 5};
    inline static int six = 6;
};
inline constexpr int seven = 7;
inline int eight = 8;
static const int nine[2] = {0, 9};
template <class T> struct Times {
    static T value;
    T operator()(T a) const { return a * value; }
};
template <class T> T Times<T>::value = T(3);
#pragma omp end declare target

int main()
{
    double pi;
    int one = 1, n[5], product;
#pragma omp target map(from: pi, n) firstprivate(one)
    {
        pi = *(&A::pi + one - 1);
        n[0] = A::list[one];
        n[1] = A::six;
        n[2] = *(&seven + one - 1);
        n[3] = eight;
        n[4] = nine[one];
    }
#pragma omp target map(from: product)
    product = Times<int>()(5);
    printf("%g %d %d %d %d %d %d\n", pi, n[0], n[1], n[2], n[3], n[4],
           product);
}
