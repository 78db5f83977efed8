/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * copies MB: milliseconds of a construct that maps so much to and from the device,
 * and of two memcpys of it.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    size_t n = (size_t)(argc > 1 ? atol(argv[1]) : 10) * 1000000;
    char *a = malloc(n), *b = malloc(n);
    double copy = 1e30, construct = 1e30;
    memset(a, 1, n);
    memset(b, 2, n);
    for (int k = 0; k < 4; k++) {
        double start = omp_get_wtime();
        memcpy(b, a, n);
        __asm__ volatile("" ::: "memory");
        memcpy(a, b, n);
        __asm__ volatile("" ::: "memory");
        double middle = omp_get_wtime();
        #pragma omp target map(a[:n])
        a[n / 2]++;
        double end = omp_get_wtime();
        copy = middle - start < copy ? middle - start : copy;
        construct = end - middle < construct ? end - middle : construct;
    }
    printf("%.4f %.4f\n", construct * 1e3, copy * 1e3);
    return a[n / 2] == b[n / 2];
}
