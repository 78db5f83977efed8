/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Functions that device code does not have.
 */
#include <omp.h>

int main(void)
{
#pragma omp target
    {
        omp_display_env(1);
        omp_target_free(0, 1);
    }
}
