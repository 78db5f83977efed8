// expect: 4 4
// in shared memory: 5 5
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Two objects of a class: what one of them brings back is not the other's.
 */
#include <memory>
#include "sharing.h"

struct field_of {
    double *a;
    field_of();
    ~field_of();
    void add();
    void get();
};

field_of::field_of()
{
    a = (double *)malloc(N * sizeof *a);
    double *x = a;
    for (int i = 0; i < N; i++)
        x[i] = 4;
#pragma omp target enter data map(to : x[:N])
}

field_of::~field_of()
{
    double *x = a;
#pragma omp target exit data map(release : x[:N])
    free(a);
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

int main()
{
    std::unique_ptr<field_of> fields[2];
    for (auto &f : fields)
        f = std::make_unique<field_of>();
    double *first = fields[0]->a, *second = fields[1]->a;
    fields[0]->add();
    fields[1]->get();
    printf("%g ", first[5]);
    fields[1]->add();
    fields[0].reset(new field_of);
    fields[0]->get();
    printf("%g\n", second[5]);
}
