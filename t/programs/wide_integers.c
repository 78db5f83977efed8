// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integers of more than 64 bits in device code.
// expect: 125099989649180 -7 19173961 721
// expect: 1.26765e+30 -9 9 1.84467e+19
// expect: 888178419700125 888178419700125 -488281259785584640 9 0
// expect: -1.11415e+28 1.32817e+21 -1.11415e+28 9313225746154786 -5946744073709549568 -8881784198 -9
#include <stdio.h>

typedef __int128 wide;
typedef unsigned __int128 natural;
typedef _BitInt(100) narrow;
typedef unsigned _BitInt(72) count;

static void narrower(void)
{
    double d[2], large = 1e25;
    float f;
    long r[4], nine = 9;
#pragma omp target map(from: r, d, f) map(tofrom: nine, large)
    {
        narrow a = -((narrow)nine << 90);
        count b = ((count)nine << 67) + 1;
        d[0] = (double)a;
        d[1] = (double)b;
        f = (float)a;
        r[0] = (long)((narrow)large >> 30);
        r[1] = (long)((count)(large / 1e5) >> 3);
        r[2] = (long)((narrow)-large >> 50);
        r[3] = (long)(a % (narrow)-11);
    }
    printf("%g %g %g %ld %ld %ld %ld\n", d[0], d[1], f, r[0], r[1], r[2], r[3]);
}

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
    narrower();
}
