// expect: 0 1
// in shared memory: 1 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The C++ library calls virtual functions of a buffer of the program's own.
 */
#include <ostream>
#include <streambuf>
#include "sharing.h"

struct looking : std::streambuf {
    std::streamsize xsputn(const char *, std::streamsize n) override
    {
        look();
        return n;
    }
};

int main()
{
    double *a = A = field();
    looking buffer;
    std::ostream out(&buffer);
#pragma omp target data map(tofrom : a[:N])
    {
        work(a);
        out << "text";
    }
    printf("%g %g\n", seen, a[5]);
}
