/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Atomic updates, and a lock. (LLVM 19's runtime has no critical sections for
 * NVPTX: it calls functions that it does not define.)
 */
void omp_set_lock(void *lock);
void omp_unset_lock(void *lock);

void histogram(int n, const unsigned char *data, int *bins, int *largest,
               long *lock)
{
    #pragma omp target teams distribute parallel for map(to : data[:n]) \
        map(tofrom : bins[:256], largest[:1], lock[:1])
    for (int i = 0; i < n; i++) {
        #pragma omp atomic
        bins[data[i]]++;
        if (data[i] > 250) {
            omp_set_lock(lock);
            if (i > *largest)
                *largest = i;
            omp_unset_lock(lock);
        }
    }
}
