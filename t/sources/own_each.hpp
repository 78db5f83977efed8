// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A region of a template, whose instances for lambdas of a namespace and for classes
// without a name for linkers are each source's own under one name.
template <class F> int sum_of(int n, F f)
{
    int sum = 0;
    #pragma omp target teams distribute parallel for reduction(+ : sum)
    for (int i = 0; i < n; i++)
        sum += f(i);
    return sum;
}
