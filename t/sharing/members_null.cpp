// expect: 4
// in shared memory: 5
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A member that is null by then brings nothing back.
 */
#include "sharing.h"

struct field_of {
    double *a;
    explicit field_of(double *from);
    void add();
    void get();
    void drop();
};

field_of::field_of(double *from) : a(from)
{
    double *x = a;
#pragma omp target enter data map(to : x[:N])
}

void field_of::add()
{
    work(a);
}

void field_of::get()
{
    double *x = a;
#pragma omp target update from(x[:N])
}

void field_of::drop()
{
    a = nullptr;
}

int main()
{
    double *a = (double *)malloc(N * sizeof *a);
    for (int i = 0; i < N; i++)
        a[i] = 4;
    field_of *f = new field_of(a);
    f->add();
    f->drop();
    f->get();
    printf("%g\n", a[5]);
    delete f;
}
