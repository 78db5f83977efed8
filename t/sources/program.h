/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The declarations that the sources of this program share. The header has no
 * include guard, since each source reads it once.
 */
#include <stdio.h>

struct point {
    int x, y;
};

#ifdef __cplusplus
extern "C" {
#endif
#pragma omp declare target
int add(int a, int b);
extern int counter;
extern int table[4];
#pragma omp end declare target
extern int linked[8];
#pragma omp declare target link(linked)
int other(int n);
int hide_other(void);
int third(int n);
void look(const double *p);
extern double seen;
#ifdef __cplusplus
}
#endif
