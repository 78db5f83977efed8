// expect: 0 1
// in shared memory: 1 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A function that is not known reads what it was given before.
 */
#include <string.h>
#include "sharing.h"

int main(void)
{
    double *a = field();
    char *text = (char *)a, *end;
    FILE *f = fmemopen(text, 8, "r");
    setvbuf(f, NULL, _IONBF, 0);
    (void)end;
#pragma omp target data map(tofrom : a[:N])
    {
        work(a);
        double v = 0;
        if (!fread(&v, sizeof v, 1, f))
            v = -1;
        seen += v;
    }
    printf("%g %g\n", seen, a[5]);
    return 0;
}
