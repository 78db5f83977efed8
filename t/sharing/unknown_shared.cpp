// expect: 3
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Functions that are not known do not get the data: nothing is copied.
 */
#include <iostream>
#include <stdexcept>
#include <string>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include "sharing.h"

struct wrong : std::runtime_error {
    int code;
    wrong(int n) : std::runtime_error("wrong"), code(n) {}
};

struct model {
    virtual ~model() = default;
    virtual void step() = 0;
    virtual double at(int i) = 0;
};

struct host_model : model {
    double *a, *b;
    host_model() : a(field()), b(field())
    {
        utsname where;
        uname(&where);
        setlocale(LC_ALL, "C");
    }
    ~host_model() override
    {
        free(a);
        free(b);
    }
    void step() override
    {
        double *x = a, *y = b;
#pragma omp target teams distribute parallel for
        for (int i = 0; i < N; i++)
            x[i] += y[i] + 1;
    }
    double at(int i) override
    {
        return a[i];
    }
    void run(int n)
    {
        double *x = a, *y = b;
        if (n > 5)
            throw wrong(n);
#pragma omp target data map(tofrom : x[:N]) map(to : y[:N])
        for (int k = 0; k < n; k++) {
            rlimit limit;
            char *name = strdup("name");
            getrlimit(RLIMIT_STACK, &limit);
            std::cout << std::string(name, 0);
            free(name);
            step();
        }
    }
};

int main()
{
    host_model m;
    try {
        m.run(3);
    } catch (const wrong &w) {
        printf("%s\n", w.what());
    }
    printf("%g\n", m.at(5));
}
