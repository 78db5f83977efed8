// expect: sums 64, mixed 64, twice 64, by pointer 64, text 64, larger 64
// not ahead of time: as PTX right only without clang's optimizer
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Variadic functions of device code: their arguments are read as clang's code
 * for the device has it, by the function itself, by one that gets its list, and
 * twice; through a pointer, too. A variadic function of the C library has the
 * library's own convention.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct triple {
    double a;
    int b;
    char c[7];
} triple;

#pragma omp begin declare target
static int sum(int n, ...)
{
    va_list list;
    int s = 0;
    va_start(list, n);
    for (int i = 0; i < n; i++)
        s += va_arg(list, int);
    va_end(list);
    return s;
}

static double add(int n, va_list list)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        s += va_arg(list, int);
        s += va_arg(list, double);
    }
    return s;
}

static double mixed(int n, ...)
{
    va_list list;
    va_start(list, n);
    double s = add(n, list);
    va_end(list);
    return s;
}

static double twice(int n, ...)
{
    va_list list, again;
    va_start(list, n);
    va_copy(again, list);
    double s = add(n, list) - 2 * add(n, again);
    va_end(again);
    va_end(list);
    return s;
}

static long larger(int n, ...)
{
    va_list list;
    long s = 0;
    va_start(list, n);
    for (int i = 0; i < n; i++) {
        triple t = va_arg(list, triple);
        s += (long)t.a + t.b + t.c[6] + *va_arg(list, long *);
    }
    va_end(list);
    return s;
}

static int pick(int which, int a, int b)
{
    int (*f)(int, ...) = sum;
    return which ? f(2, a, b) : f(1, a);
}
#pragma omp end declare target

int main(void)
{
    enum { N = 64 };
    int sums = 0, mixes = 0, twos = 0, picks = 0, texts = 0, larges = 0;
#pragma omp target teams distribute parallel for num_teams(2) \
    reduction(+ : sums, mixes, twos)
    for (int i = 0; i < N; i++) {
        sums += sum(3, i, 2, 3) == i + 5;
        mixes += mixed(2, 1, i + .5, 2, 2.5) == i + 6;
        twos += twice(2, 1, i + .5, 2, 2.5) == -(i + 6);
    }
#pragma omp target teams distribute parallel for num_teams(2) \
    reduction(+ : picks, larges)
    for (int i = 0; i < N; i++) {
        long l = 100 * i;
        triple t = {.a = i, .b = 2, .c = {0, 0, 0, 0, 0, 0, 3}};
        picks += pick(i % 2, i, 7) == i + i % 2 * 7;
        larges += larger(2, t, &l, t, &l) == 2 * (i + 5 + l);
    }
#pragma omp target map(tofrom : texts)
    for (int i = 0; i < N; i++) {
        char text[32];
        snprintf(text, sizeof text, "%d", i);
        texts += (int)strlen(text) == (i < 10 ? 1 : 2);
    }
    printf("sums %d, mixed %d, twice %d, by pointer %d, text %d, larger %d\n",
           sums, mixes, twos, picks, texts, larges);
    return 0;
}
