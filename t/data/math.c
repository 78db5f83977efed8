/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Every function of math_nvptx.def, in double and float, on the device and on
 * the host: prints those that differ.
 */
#define _GNU_SOURCE
#include <complex.h>
#include <math.h>
#include <stdio.h>

enum { MAX = 400 };
typedef struct results {
    int n;
    double value[MAX];
} results;

#pragma omp begin declare target
static void put(results *r, double x) { r->value[r->n++] = x; }

/* The arguments are variables, so that no compiler knows the results. */
#define UNARY(g) put(r, g(x)), put(r, g##f(s));
#define BINARY(g) put(r, g(x, y)), put(r, g##f(s, t));
#define TERNARY(g) put(r, g(x, y, x)), put(r, g##f(s, t, s));
#define WITH_INT(g) put(r, g(x, n)), put(r, g##f(s, n));
#define ORDER(g) put(r, g(n, x)), put(r, g##f(n, s));

static void compute(results *r, double x, double y, int n)
{
    float s = (float)x, t = (float)y, fpart, gpart, fsin, fcos;
    double part, dsin, dcos;
    int e, q;
    long big = n;
    UNARY(acos) UNARY(asin) UNARY(asinh) UNARY(atan) UNARY(atanh) UNARY(cbrt)
    UNARY(ceil) UNARY(cos) UNARY(cosh) UNARY(erf) UNARY(erfc) UNARY(exp)
    UNARY(exp10) UNARY(exp2) UNARY(expm1) UNARY(fabs) UNARY(floor) UNARY(ilogb)
    UNARY(j0) UNARY(j1) UNARY(lgamma) UNARY(llrint) UNARY(llround) UNARY(log)
    UNARY(log10) UNARY(log1p) UNARY(log2) UNARY(logb) UNARY(lrint)
    UNARY(lround) UNARY(nearbyint) UNARY(rint) UNARY(round) UNARY(roundeven)
    UNARY(sin) UNARY(sinh) UNARY(sqrt) UNARY(tan) UNARY(tanh) UNARY(tgamma)
    UNARY(trunc) UNARY(y0) UNARY(y1)
    BINARY(atan2) BINARY(copysign) BINARY(fdim) BINARY(fmax) BINARY(fmin)
    BINARY(fmod) BINARY(hypot) BINARY(nextafter) BINARY(pow) BINARY(remainder)
    TERNARY(fma)
    WITH_INT(ldexp) WITH_INT(scalbn) ORDER(jn) ORDER(yn)
    put(r, scalbln(x, big)), put(r, scalblnf(s, big));
    put(r, acosh(x + 1)), put(r, acoshf(s + 1));
    put(r, frexp(x, &e)), put(r, e);
    put(r, frexpf(s, &e)), put(r, e);
    put(r, modf(y, &part)), put(r, part);
    put(r, modff(t, &fpart)), put(r, fpart);
    put(r, remquo(y, x, &q)), put(r, q & 7);
    put(r, remquof(t, s, &q)), put(r, q & 7);
    sincos(x, &dsin, &dcos), put(r, dsin), put(r, dcos);
    sincosf(s, &fsin, &fcos), put(r, fsin), put(r, fcos);
    put(r, __builtin_powi(x, n)), put(r, __builtin_powif(s, n));
    gpart = modff(-t, &fpart), put(r, gpart + fpart);
    double _Complex z = x + y * I, w = z * z / (z + 1.0);
    put(r, creal(w)), put(r, cimag(w));
}
#pragma omp end declare target

static int differ(double a, double b)
{
    return !(fabs(a - b) <= 2e-5 * (fabs(a) + fabs(b)) + 1e-12);
}

int main(int argc, char **argv)
{
    static results device, host;
    int wrong = 0;
    for (int k = 1; k <= 3; k++) {
        double x = 0.2 * k + 0.03 * argc, y = 2.6 * k + 0.1 * argc;
        int n = k + argc;
        device.n = host.n = 0;
#pragma omp target map(from : device) firstprivate(x, y, n)
        {
            device.n = 0;
            compute(&device, x, y, n);
        }
        compute(&host, x, y, n);
        for (int i = 0; i < host.n; i++)
            if (differ(device.value[i], host.value[i])) {
                printf("result %d of %d: %.17g, on the host %.17g\n", i, k,
                       device.value[i], host.value[i]);
                wrong++;
            }
        wrong += device.n != host.n;
    }
    printf("%d results, %d wrong\n", host.n, wrong);
    return wrong != 0;
}
