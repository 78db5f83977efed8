/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Host code as a source-to-source compiler makes it: synthetic keys, entries of
 * its own, direct launches with packed literals, target data that outlives
 * launches, and the calls of older compilers. SCALE and ADD are the kernels'
 * symbols; the argument is the device image. WRONG_KEY launches by an address
 * that is no entry's.
 */
#include <string.h>

#include "abi.h"

enum { N = 100 };

char OUT__scale__id__ = 0, OUT__add__id__ = 0;
ENTRY(OUT__scale__id__, SCALE);
ENTRY(OUT__add__id__, ADD);

void rex_offload_init(const char *path);
void rex_offload_fini(void);

static void *packed(const void *value, size_t size)
{
    void *word = NULL;
    memcpy(&word, value, size);
    return word;
}

/* add(n, a, x, y): clang's order is that of the variables' uses. */
static int launch_add(int n, float a, float *x, float *y)
{
    void *args[] = {packed(&n, sizeof n), y, packed(&a, sizeof a), x};
    int64_t sizes[] = {sizeof n, n * (int64_t)sizeof *y, sizeof a,
                       n * (int64_t)sizeof *x};
    int64_t types[] = {PARAM | LITERAL, PARAM | TO | FROM, PARAM | LITERAL,
                       PARAM | TO};
    struct __tgt_kernel_arguments k = {
        .Version = 3, .NumArgs = 4, .ArgsBase = args, .Args = args,
        .ArgSizes = sizes, .ArgTypes = types, .Tripcount = (uint64_t)n};
#ifdef WRONG_KEY
    return __tgt_target_kernel(NULL, -1, 0, 0, &types, &k);
#endif
    return __tgt_target_kernel(NULL, -1, 0, 0, &OUT__add__id__, &k);
}

static int launch_scale(int n, double a, double *x)
{
    void *args[] = {packed(&n, sizeof n), x, packed(&a, sizeof a)};
    int64_t sizes[] = {sizeof n, n * (int64_t)sizeof *x, sizeof a};
    int64_t types[] = {PARAM | LITERAL, PARAM | TO | FROM, PARAM | LITERAL};
    return __tgt_target_teams(-1, &OUT__scale__id__, 3, args, args, sizes,
                              types, 0, 0);
}

int main(int argc, char **argv)
{
    float x[N], y[N];
    double z[N];
    int failures = 0, wrong = 0;
    rex_offload_init(argv[1]);
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 1;
        z[i] = i;
    }
    for (int round = 0; round < 3; round++)
        failures += launch_add(N, 2, x, y) != 0;
    void *data[] = {z};
    int64_t size[] = {sizeof z}, type[] = {TO | FROM};
    __tgt_target_data_begin(-1, 1, data, data, size, type);
    for (int round = 0; round < 3; round++)
        failures += launch_scale(N, 2, z) != 0;
    __tgt_target_data_end(-1, 1, data, data, size, type);
    for (int i = 0; i < N; i++)
        wrong += y[i] != 1 + 6 * (float)i || z[i] != 8.0 * i;
    printf("entries %d failures %d wrong %d\n",
           (int)(&__stop_omp_offloading_entries -
                 &__start_omp_offloading_entries), failures, wrong);
    rex_offload_fini();
    return failures || wrong;
}
