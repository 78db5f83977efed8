/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Constructs of each kind, of which LIBOMPTARGET_INFO tells; the last is silent.
 */
void __tgt_set_info_flag(unsigned flags);

int main(void)
{
    int a[64], b[64], c[64], val = 1;
#pragma omp target data map(alloc: a) map(ompx_hold, tofrom: b) map(to: c)
    {
#pragma omp target firstprivate(val) map(tofrom: b)
        b[0] = val;
#pragma omp target update from(c[:1])
    }
    __tgt_set_info_flag(0);
#pragma omp target
    {
    }
    return b[0] != 1;
}
