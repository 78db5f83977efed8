// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: array, pointer, member, member by pointer, member of two dimensions, link: all right
// What a target update with a stride copies of arrays in structures, and of a
// variable that is linked.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 64, FIRST = 7, COUNT = 3, STRIDE = 5 };
struct S { int pad; unsigned *p; unsigned h[N]; int between; unsigned g[8][8]; };
static struct S s;
static unsigned array[N];
unsigned linked[N];
#pragma omp declare target link(linked)

static void fill(unsigned *x)
{
    for (int i = 0; i < N; i++)
        x[i] = i;
}

/* The section has what the device has, and, where that is elsewhere, the rest
 * what it had. */
static const char *verdict(const unsigned *x, int first, int count, int stride,
                           int shared)
{
    for (int i = 0; i < N; i++) {
        int k = (i - first) / stride;
        int in = i >= first && (i - first) % stride == 0 && k < count;
        if (x[i] != (in || shared ? 1000u + i : (unsigned)i))
            return " WRONG";
    }
    return "";
}

int main(void)
{
    int device = omp_get_default_device(), shared;
    unsigned *p = malloc(N * sizeof *p);
    struct S *ps = &s;

    fill(array);
#pragma omp target enter data map(to: array)
#pragma omp target
    for (int i = 0; i < N; i++) array[i] = 1000 + i;
    shared = omp_get_mapped_ptr(array, device) == array;
#pragma omp target update from(array[FIRST:COUNT:STRIDE])
    printf("array%s, ", verdict(array, FIRST, COUNT, STRIDE, shared));
#pragma omp target exit data map(release: array)

    fill(p);
#pragma omp target enter data map(to: p[:N])
#pragma omp target
    for (int i = 0; i < N; i++) p[i] = 1000 + i;
#pragma omp target update from(p[FIRST:COUNT:STRIDE])
    printf("pointer%s, ", verdict(p, FIRST, COUNT, STRIDE, shared));
#pragma omp target exit data map(release: p[:N])

    fill(s.h);
    fill(&s.g[0][0]);
#pragma omp target enter data map(to: s)
#pragma omp target
    for (int i = 0; i < N; i++) s.h[i] = s.g[i / 8][i % 8] = 1000 + i;
#pragma omp target update from(s.h[FIRST:COUNT:STRIDE])
    printf("member%s, ", verdict(s.h, FIRST, COUNT, STRIDE, shared));
    if (!shared)
        fill(s.h);
#pragma omp target update from(ps->h[FIRST:COUNT:STRIDE])
    printf("member by pointer%s, ", verdict(s.h, FIRST, COUNT, STRIDE, shared));
#pragma omp target update from(s.g[2:4][3])
    printf("member of two dimensions%s, ",
           verdict(&s.g[0][0], 2 * 8 + 3, 4, 8, shared));
#pragma omp target exit data map(release: s)

    fill(linked);
#pragma omp target enter data map(to: linked)
#pragma omp target
    for (int i = 0; i < N; i++) linked[i] = 1000 + i;
#pragma omp target update from(linked[FIRST:COUNT:STRIDE])
    printf("link%s: all right\n", verdict(linked, FIRST, COUNT, STRIDE, shared));
#pragma omp target exit data map(release: linked)
    free(p);
}
