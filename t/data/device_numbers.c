/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Prints the numbers that each device gives for itself.
 */
#include <omp.h>
#include <stdio.h>

int main(void)
{
    int n = omp_get_num_devices();
    for (int d = 0; d < n; d++) {
        int r[4] = {-1, -1, -1, -1};
#pragma omp target device(d) map(from : r)
        {
            r[0] = omp_get_device_num();
            r[1] = omp_get_num_devices();
            r[2] = omp_get_initial_device();
            r[3] = omp_get_default_device();
        }
        printf("%d of %d %d %d, ", r[0], r[1], r[2], r[3]);
    }
    printf("%d\n", n);
}
