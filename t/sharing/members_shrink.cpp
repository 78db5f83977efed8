// expect: 4
// in shared memory: 5
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A member that has changed brings back a part only.
 */
#include "sharing.h"

struct field_of {
    long n;
    double *a;
    explicit field_of(long size);
    void add();
    void get();
    void shrink();
};

field_of::field_of(long size) : n(size)
{
    a = (double *)malloc(sizeof(double) * (size_t)n);
    double *x = a;
    for (long i = 0; i < n; i++)
        x[i] = 4;
#pragma omp target enter data map(to : x[:n])
}

void field_of::add()
{
    work(a);
}

void field_of::get()
{
    double *x = a;
#pragma omp target update from(x[:n])
}

void field_of::shrink()
{
    n = 5;
}

int main()
{
    field_of *f = new field_of(N);
    f->add();
    f->shrink();
    f->get();
    printf("%g\n", f->a[5]);
    delete f;
}
