// expect: 0 1
// in shared memory: 1 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The C++ library asks a facet of the program's own.
 */
#include <locale>
#include <sstream>
#include "sharing.h"

struct looking : std::num_put<char> {
    iter_type do_put(iter_type out, std::ios_base &, char_type,
                     long) const override
    {
        look();
        return out;
    }
};

int main()
{
    double *a = A = field();
    std::locale own(std::locale::classic(), new looking);
#pragma omp target data map(tofrom : a[:N])
    {
        work(a);
        std::ostringstream text;
        text.imbue(own);
        text << 5L;
    }
    printf("%g %g\n", seen, a[5]);
}
