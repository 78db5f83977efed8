/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Calls of older compilers: kernel arguments of versions 1 and 2.
 */
#include "rex.h"

#ifdef KERNELS
void shift(int n, int by, int *x)
{
#pragma omp target teams distribute parallel for map(tofrom: x[:n])
    for (int i = 0; i < n; i++)
        x[i] += by;
}
#else
KERNEL(shift);

static int test(void)
{
    enum { N = 500 };
    static int x[N];
    int n = N, by = 3, wrong = 0;
    struct argument a[] = {VALUE(n), ARRAY(x, N, TO | FROM), VALUE(by)};
    void *words[] = {a[0].word, a[1].word, a[2].word};
    int64_t sizes[] = {a[0].size, a[1].size, a[2].size};
    int64_t types[] = {a[0].type, a[1].type, a[2].type};
    for (uint32_t version = 1; version <= 3; version++)
        wrong += launch(&OUT__shift__id__, 3, a, version, 0, 0) != 0;
    wrong += __tgt_target_teams(-1, &OUT__shift__id__, 3, words, words, sizes,
                                types, 2, 16) != 0;
    for (int i = 0; i < N; i++)
        wrong += x[i] != 12;
    return wrong;
}
#endif
