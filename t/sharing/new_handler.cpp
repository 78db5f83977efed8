// expect: 0 1
// in shared memory: 1 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * new calls a handler where there is no memory.
 */
#include <new>
#include "sharing.h"

static void give_up()
{
    look();
    std::set_new_handler(nullptr);
}

int main(int argc, char **)
{
    double *a = A = field();
    std::set_new_handler(give_up);
#pragma omp target data map(tofrom : a[:N])
    {
        work(a);
        try {
            static char *p = new char[(size_t)argc << 62];
            printf("%p\n", (void *)p);
        } catch (const std::bad_alloc &) {
        }
    }
    printf("%g %g\n", seen, a[5]);
}
