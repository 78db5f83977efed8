// expect: 0 1
// in shared memory: 2 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * cout gets a buffer of the program's own, and is used by its name.
 */
#include <iostream>
#include <streambuf>
#include "sharing.h"

struct looking : std::streambuf {
    int overflow(int c) override
    {
        return c;
    }
    int sync() override
    {
        look();
        return 0;
    }
};

int main()
{
    double *a = A = field();
    static looking buffer;
    std::streambuf *was = std::cout.rdbuf(&buffer);
#pragma omp target data map(tofrom : a[:N])
    {
        work(a);
        std::cout << std::flush;
        std::cout.flush();
    }
    std::cout.rdbuf(was);
    printf("%g %g\n", seen, a[5]);
}
