// needs: libdevice
// expect: 38 functions of 24 numbers: 0 of 1664 results wrong
// not ahead of time: it needs libdevice
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The C library's functions of complex numbers, in double and float, against
 * the host's: on all sides of the branch cuts, near the unit circle, large,
 * small, and with zeros.
 */
#include <complex.h>
#include <math.h>
#include <stdio.h>

enum { RESULTS = 72, NUMBERS = 24 };
typedef struct results {
    int n;
    double value[RESULTS];
} results;

#pragma omp begin declare target
static void put(results *r, double x) { r->value[r->n++] = x; }
static void put2(results *r, double _Complex z)
{
    put(r, creal(z));
    put(r, cimag(z));
}

#define COMPLEX(g) put2(r, g(z)); put2(r, g##f(s));
#define REAL(g) put(r, g(z)); put(r, g##f(s));

static void compute(results *r, double x, double y)
{
    double _Complex z = x, w = 1.5;
    float _Complex s = (float)x, t = 1.5f;
    __imag__ z = y, __imag__ w = 0.5;
    __imag__ s = (float)y, __imag__ t = 0.5f;
    r->n = 0;
    COMPLEX(cacos) COMPLEX(cacosh) COMPLEX(casin) COMPLEX(casinh)
    COMPLEX(catan) COMPLEX(catanh) COMPLEX(csqrt) COMPLEX(clog)
    COMPLEX(cproj)
    REAL(cabs) REAL(carg)
    if (fabs(x) > 1e6) /* where a last bit of the argument is many turns */
        return;
    COMPLEX(ccos) COMPLEX(ccosh) COMPLEX(cexp) COMPLEX(csin) COMPLEX(csinh)
    COMPLEX(ctan) COMPLEX(ctanh)
    put2(r, cpow(z, w)), put2(r, cpowf(s, t));
}
#pragma omp end declare target

static int differ(double a, double b, double size)
{
    if (a != a || isinf(a))
        return (a == a) != (b == b) || (a == a && a != b);
    return !(fabs(a - b) <= 1e-5 * (fabs(a) + fabs(b)) + 1e-6 * size);
}

int main(void)
{
    static const double number[NUMBERS][2] = {
        {0.3, 0.4}, {-0.3, 0.4}, {0.3, -0.4}, {-0.3, -0.4}, {2.5, 1.25},
        {-2.5, 1.25}, {2.5, -1.25}, {-2.5, -1.25}, {0.6, 0.8}, {-0.8, 0.6},
        {1.0001, 1e-3}, {3, 0}, {-3, 0}, {3, -0.0}, {-3, -0.0}, {0, 2},
        {-0.0, 2}, {0, -2}, {0.5, 0}, {1e-6, 1e-6}, {11, 1}, {25, 0.5},
        {1e15, 1e14}, {-1e15, 1e14}};
    static results device, host;
    int wrong = 0, all = 0;
    for (int k = 0; k < NUMBERS; k++) {
        double x = number[k][0], y = number[k][1];
#pragma omp target map(from: device) firstprivate(x, y)
        compute(&device, x, y);
        compute(&host, x, y);
        all += host.n;
        wrong += device.n != host.n;
        for (int i = 0; i < host.n; i++) {
            double pair = host.value[i ^ 1];
            if (!differ(device.value[i], host.value[i],
                        isfinite(pair) ? fabs(pair) : 0))
                continue;
            wrong++;
            printf("result %d of %g + %g i: %g, on the host %g\n", i, x, y,
                   device.value[i], host.value[i]);
        }
    }
    printf("38 functions of %d numbers: %d of %d results wrong\n", NUMBERS,
           wrong, all);
    return wrong != 0;
}
