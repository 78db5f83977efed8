// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: right
// Threads map different parts of a linked variable at the same time, for which
// the device has one pointer; and of what a structure's pointer points to.
#include <stdio.h>

enum { PARTS = 4, ROUNDS = 100 };
unsigned long long linked[PARTS];
#pragma omp declare target link(linked)
static struct { int before; unsigned *p; } s;

int main(void)
{
    unsigned values[PARTS];
    int wrong = 0;
    s.p = values;
    for (int r = 0; r < ROUNDS && !wrong; r++) {
        for (int i = 0; i < PARTS; i++)
            linked[i] = values[i] = i;
#pragma omp parallel for num_threads(PARTS) schedule(static, 1)
        for (int k = 0; k < PARTS; k++) {
#pragma omp target map(tofrom: linked[k:1])
            linked[k] = linked[k] * 3 + 16 + k;
#pragma omp target map(tofrom: s.p[k:1])
            s.p[k] = s.p[k] * 5 + k;
        }
        for (int i = 0; i < PARTS; i++)
            wrong += linked[i] != i * 4 + 16 || values[i] != i * 6;
    }
    puts(wrong ? "WRONG" : "right");
    return wrong;
}
