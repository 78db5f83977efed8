// expect: 0 1
// in shared memory: 1 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The default device becomes the host while data is mapped on another one.
 */
#include <omp.h>
#include "sharing.h"

int main(void)
{
    double *a = field(), r = -1;
    int device = omp_get_default_device();
#pragma omp target enter data map(to : a[:N])
    work(a);
    omp_set_default_device(omp_get_initial_device());
#pragma omp target map(from : r)
    r = a[5]; /* the host's own */
    omp_set_default_device(device);
#pragma omp target exit data map(from : a[:N])
    printf("%g %g\n", r, a[5]);
}
