/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The number of teams and of threads is the program's.
 */
#include "rex.h"

#ifdef KERNELS
void transpose(int rows, int columns, int *to, int *from)
{
#pragma omp target teams distribute map(from: to[:rows * columns]) \
    map(to: from[:rows * columns])
    for (int i = 0; i < rows; i++) {
#pragma omp parallel for
        for (int j = 0; j < columns; j++)
            to[j * rows + i] = from[i * columns + j];
    }
}
#else
KERNEL(transpose);

static int test(void)
{
    enum { ROWS = 12, COLUMNS = 30 };
    static int from[ROWS * COLUMNS], to[ROWS * COLUMNS];
    int rows = ROWS, columns = COLUMNS, wrong = 0;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        from[i] = i;
    struct argument a[] = {VALUE(rows), VALUE(columns),
                           ARRAY(to, ROWS * COLUMNS, FROM),
                           ARRAY(from, ROWS * COLUMNS, TO)};
    wrong += launch(&OUT__transpose__id__, 4, a, 3, 4, 8) != 0;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        wrong += to[i % COLUMNS * ROWS + i / COLUMNS] != i;
    return wrong;
}
#endif
