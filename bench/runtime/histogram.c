/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Atomic updates, and a critical section.
 */
void histogram(int n, const unsigned char *data, int *bins, int *largest)
{
    #pragma omp target teams distribute parallel for map(to : data[:n]) \
        map(tofrom : bins[:256], largest[:1])
    for (int i = 0; i < n; i++) {
        #pragma omp atomic
        bins[data[i]]++;
        if (data[i] > 250) {
            #pragma omp critical
            if (i > *largest)
                *largest = i;
        }
    }
}
