/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Scalars that are mapped `to`, launch after launch. Without CASE: results only
 * mapping can have, and results that values have as well. With it: ROUNDS
 * launches of one short kernel.
 */
#include <omp.h>
#include <stdio.h>

enum { N = 32, ROUNDS = 20 };
static int x[N];

#ifdef CASE
#ifndef TYPE
#define TYPE double
#endif
#ifndef MAP
#define MAP map(to: a, b)
#endif
#ifndef CHANGE
#define CHANGE
#endif
#ifndef VALUE
#define VALUE + (int)*(char *)&a + (int)*(char *)&b
#endif
#ifndef WRITE
#define WRITE
#endif
int main(void)
{
    TYPE a = {1}, b = {2};
    int wrong = 0;
#pragma omp target data map(from: x)
    for (int k = 0; k < ROUNDS; k++) {
        CHANGE;
#pragma omp target teams distribute parallel for MAP
        for (int i = 0; i < N; i++) {
            x[i] = i VALUE;
            WRITE;
        }
    }
    for (int i = 0; i < N; i++)
        wrong += x[i] != i VALUE;
    printf("%d\n", wrong);
}
#else
/* The host's value of a scalar that is present is not the device's. */
static int present(void)
{
    int a = 5, got = 0;
#pragma omp target data map(to: a)
    {
        a = 6;
#pragma omp target map(to: a) map(from: got)
        got = a;
    }
    return got;
}
/* Two variables of one value have two addresses. */
static int addresses(void)
{
    int a = 7, b = 7, same = 1;
#pragma omp target map(to: a, b) map(from: same)
    same = (unsigned long)&a == (unsigned long)&b;
    return same;
}
/* A value that a kernel writes stays its own; the next construct has the
 * host's. */
static int written(void)
{
    int a = 8, got = 0, sum = 0;
    for (int k = 0; k < 3; k++) {
#pragma omp target map(to: a) map(from: got)
        {
            a++;
            got = a;
        }
        sum = 10 * sum + got;
    }
    return sum;
}
/* Values of other sizes, types and rounds; more of them than are kept. */
static int rounds(void)
{
    int wrong = 0;
    for (int k = 0; k < 200; k++) {
        char c = (char)(k % 3);
        short s = (short)k;
        float f = (float)k / 2;
        double d = k % 7;
        long l = k;
        int ok = 0;
#pragma omp target map(to: c, s, f, d, l) map(from: ok)
        ok = c == k % 3 && s == k && f == (float)k / 2 && d == k % 7 && l == k;
        wrong += !ok;
    }
    return wrong;
}
/* Many threads at once have values of their own, and one that they share, which
 * each may write on the device. */
static int threads(void)
{
    int wrong = 0, common = 3;
#pragma omp parallel num_threads(4) reduction(+: wrong)
    for (int k = 0; k < 10; k++) {
        int mine = 100 * omp_get_thread_num() + k, got = 0, other = 0;
#pragma omp target map(to: mine) map(from: got)
        got = mine;
#pragma omp target map(to: common) map(from: other)
        other = common;
        wrong += got != mine || other != 3;
    }
    return wrong;
}
/* Entries that others look up while they are there. */
static int looked_up(void)
{
    int a = 1, got = 0;
#pragma omp target enter data map(to: a)
    a = 2;
#pragma omp target update to(a)
    a = 3;
#pragma omp target map(to: a) map(from: got)
    got = a;
#pragma omp target exit data map(delete: a)
    int first = got;
#pragma omp target map(to: a) map(from: got)
    got = a;
    return 10 * first + got;
}
int main(void)
{
    printf("%d", present());
    printf(" %d", addresses());
    printf(" %d", written());
    printf(" %d", rounds());
    printf(" %d", threads());
    printf(" %d\n", looked_up());
}
#endif
