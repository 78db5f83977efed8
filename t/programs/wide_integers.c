// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integers of 128 bits in device code.
// expect: 125099989649180 -7 19173961 721
// expect: 1.26765e+30 -9 9 1.84467e+19
// expect: 888178419700125 888178419700125 -488281259785584640 9 0
#include <stdio.h>

typedef __int128 wide;
typedef unsigned __int128 natural;

int main(void)
{
    wide nine = 9;
    natural large = ((natural)1 << 100) + 12345;
    double d[3] = {0}, million = 1e30, below = 0.75;
    float f = 0, low = -5e20f;
    long r[9];
#pragma omp target map(from: r, d, f)
    {
        wide a = ((wide)1 << 90) / nine, b = (wide)-7 % nine;
        natural c = large / 7, e = large % 1000;
        r[0] = (long)(a >> 40);
        r[1] = (long)b;
        r[2] = (long)(c >> 73);
        r[3] = (long)e;
        d[0] = (double)large;
        d[1] = (double)-nine;
        f = (float)nine;
        d[2] = (double)(((natural)1 << 64) + 1);
        r[4] = (long)((wide)million >> 50);
        r[5] = (long)((natural)million >> 50);
        r[6] = (long)((wide)low >> 10);
        r[7] = (long)(wide)(float)nine;
        r[8] = (long)(wide)below;
    }
    printf("%ld %ld %ld %ld\n", r[0], r[1], r[2], r[3]);
    printf("%g %g %g %g\n", d[0], d[1], f, d[2]);
    printf("%ld %ld %ld %ld %ld\n", r[4], r[5], r[6], r[7], r[8]);
}
