// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: 1011 2011 3011 4011 5011 6011 7011 8011
//
// Locals of a generic kernel's main thread whose addresses get to regions by
// detours: stored by a function, copied with a structure, taken from an array,
// returned, kept in a global variable, in the device's memory, as numbers, and
// copied by the C library.
#include <omp.h>
#include <stdio.h>
#include <string.h>

struct box {
    int *p;
    long more;
};
#define APART static __attribute__((noinline))

#pragma omp begin declare target
int *kept[2];
APART void set(struct box *b, int *p) { b->p = p; }
APART int *same(int *p) { return p; }
APART void add(struct box *b)
{
#pragma omp parallel num_threads(4)
    {
#pragma omp atomic
        *b->p += 1 + omp_get_thread_num();
    }
}
APART int by_function(void)
{
    int v = 1001;
    struct box b = {0};
    set(&b, &v);
    add(&b);
    return v;
}
APART int by_copy(void)
{
    int v = 2001;
    struct box a = {&v, 1}, b;
    memcpy(&b, &a, sizeof b);
    add(&b);
    return v;
}
APART int by_array(int n)
{
    int u = 3001, v = 3001;
    int *all[2] = {&u, &v}, *one = all[n & 1];
#pragma omp parallel num_threads(4)
    {
#pragma omp atomic
        *one += 1 + omp_get_thread_num();
    }
    return u + v - 3001;
}
APART int by_return(void)
{
    int v = 4001, *p = same(&v);
#pragma omp parallel num_threads(4)
    {
#pragma omp atomic
        *p += 1 + omp_get_thread_num();
    }
    return v;
}
APART int by_global(void)
{
    int v = 5001;
    kept[1] = &v;
#pragma omp parallel num_threads(4)
    {
#pragma omp atomic
        *kept[1] += 1 + omp_get_thread_num();
    }
    return v;
}
APART int by_memory(struct box *out)
{
    int v = 6001;
    out->p = &v;
    add(out);
    return v;
}
APART int by_number(void)
{
    int v = 7001;
    unsigned long n = (unsigned long)&v + 3;
#pragma omp parallel num_threads(4)
    {
#pragma omp atomic
        *(int *)(n - 3) += 1 + omp_get_thread_num();
    }
    return v;
}
APART __attribute__((no_builtin("memcpy"))) int by_library(void)
{
    int v = 8001;
    struct box a = {&v, 1}, b;
    memcpy(&b, &a, sizeof b);
    add(&b);
    return v;
}
#pragma omp end declare target

int main(void)
{
    int r[8] = {0};
    struct box out = {0};
#pragma omp target map(from: r) map(tofrom: out)
    {
        r[0] = by_function();
        r[1] = by_copy();
        r[2] = by_array(1);
        r[3] = by_return();
        r[4] = by_global();
        r[5] = by_memory(&out);
        r[6] = by_number();
        r[7] = by_library();
    }
    for (int i = 0; i < 8; i++)
        printf("%d%s", r[i], i < 7 ? " " : "\n");
    return 0;
}
