// expect: 0
// in shared memory: 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The program calls main, so that its end is not the end of the program.
 */
#include "sharing.h"

int main(int argc, char **argv)
{
    if (argc == 1) {
        A = field();
        main(2, argv);
        printf("%g\n", A[5]);
        return 0;
    }
#pragma omp target data map(to : A[:N])
    work(A);
    return 0;
}
