// needs: libdevice
// expect: functions 0, parts 0, roundings 0
// Device code as clang makes it on a machine with CUDA: calls of libdevice's
// functions, and what those consist of where they have been inlined.
#include <math.h>
#include <stdio.h>
#include <string.h>

#pragma omp begin declare target
double __nv_sqrt(double), __nv_sin(double), __nv_pow(double, double);
double __nv_norm3d(double, double, double), __nv_rsqrt(double);
double __nv_cospi(double), __nv_fma(double, double, double);
float __nv_expf(float), __nv_fmodf(float, float), __nv_fast_logf(float);
void __nv_sincos(double, double *, double *);
double __nv_frexp(double, int *);
int __nv_isnand(double), __nv_max(int, int);
long long __nv_llrint(double);

static void device_functions(double x, double *r)
{
#ifdef __NVPTX__
    int exponent;
    r[0] = __nv_sqrt(x);
    r[1] = __nv_sin(x);
    r[2] = __nv_pow(x, x);
    r[3] = __nv_norm3d(x, x, x);
    r[4] = __nv_rsqrt(x);
    r[5] = __nv_cospi(x + 0.75);
    r[6] = __nv_fma(x, x, x);
    r[7] = __nv_expf((float)x);
    r[8] = __nv_fmodf((float)x, 0.7f);
    r[9] = __nv_fast_logf((float)x);
    __nv_sincos(x, &r[10], &r[11]);
    r[12] = __nv_frexp(x, &exponent);
    r[13] = exponent;
    r[14] = __nv_isnand(x - x) + 2 * __nv_isnand((x - x) / (x - x));
    r[15] = __nv_max(-3, 4);
    r[16] = __nv_llrint(x);
#endif
}

/* The pieces of inlined functions. */
static void device_parts(double x, double *r, unsigned *n)
{
#ifdef __NVPTX__
    float f = (float)x, g;
    double d;
    n[0] = (unsigned)__nvvm_d2i_hi(x);
    n[1] = (unsigned)__nvvm_d2i_lo(x + 1e-9);
    r[0] = __nvvm_lohi_i2d((int)n[1], (int)n[0]);
    r[1] = __nvvm_fma_rn_d(x, x, -x);
    r[2] = __nvvm_rcp_approx_ftz_d(x);
    r[3] = __nvvm_rsqrt_approx_ftz_f(f);
    n[2] = (unsigned)__nvvm_d2i_rn(x + 1);
    n[3] = (unsigned)__nvvm_f2i_rz(-f);
    n[4] = (unsigned)__nvvm_d2i_rn(1e300);
    n[5] = __nvvm_mulhi_ui(0x80000001u, 6);
    r[4] = __nvvm_saturate_f(f) + __nvvm_saturate_f(-f);
    r[5] = __nvvm_ex2_approx_ftz_f(f);
    r[6] = __nvvm_round_d(x) + __nvvm_trunc_d(-x);
    __asm__("rcp.approx.ftz.f32 %0,%1;" : "=f"(g) : "f"(f));
    r[7] = g;
    __asm__("sub.rn.f64 %0, %1, %2;" : "=d"(d) : "d"(x), "d"(1.0));
    r[8] = d;
    __asm__("{\n\tmad.lo.cc.u32   %0, %2, %3, %4;\n\t"
            "madc.hi.u32     %1, %2, %3,  0;\n\t}"
            : "=r"(n[6]), "=r"(n[7])
            : "r"(0x80000001u), "r"(6), "r"(0xfffffffcu));
    __asm__("bfind.shiftamt.u32 %0, %1;" : "=r"(n[8]) : "r"(1u << 20));
#endif
}

/* Results that are not the nearest ones. */
static void device_roundings(float a, float tiny, float *r, double *d)
{
#ifdef __NVPTX__
    r[0] = __nvvm_add_rz_f(a, -tiny);
    r[1] = __nvvm_add_rz_f(-a, tiny);
    r[2] = __nvvm_mul_rz_f(a, a);
    r[3] = __nvvm_fma_rz_f(a, a, -0x1p-46f);
    r[4] = __nvvm_fma_rm_f(a, -a, 0);
    r[5] = __nvvm_fma_rm_f(a, a, 0x1p-60f);
    *d = __nvvm_add_rz_d(1.0, -0x1p-80);
#endif
}
#pragma omp end declare target

static int differ(double a, double b)
{
    return !(fabs(a - b) <= 1e-6 * fabs(b));
}

static int functions(void)
{
    double x = 2.5, r[20] = {0};
#pragma omp target map(to: x) map(from: r)
    device_functions(x, r);
    int e;
    double want[] = {sqrt(x), sin(x), pow(x, x), sqrt(3 * x * x), 1 / sqrt(x),
                     sqrt(0.5) * -1, fma(x, x, x), expf((float)x),
                     fmodf((float)x, 0.7f), logf((float)x), sin(x), cos(x),
                     frexp(x, &e), 2, 2, 4, 2};
    int wrong = 0;
    for (unsigned i = 0; i < sizeof want / sizeof *want; i++)
        wrong += differ(r[i], want[i]);
    return wrong;
}

static int parts(void)
{
    double x = 2.5, r[12] = {0};
    unsigned n[12] = {0};
#pragma omp target map(to: x) map(from: r, n)
    device_parts(x, r, n);
    double back;
    unsigned long long bits = (unsigned long long)n[0] << 32 | n[1];
    memcpy(&back, &bits, sizeof back);
    double want[] = {back, x * x - x, 1 / x, 1 / sqrt(x), 1, exp2(x), 0, 1 / x,
                     x - 1};
    unsigned number[] = {n[0], n[1], 4, (unsigned)-2, 0x7fffffff, 3, 2, 4, 11};
    int wrong = differ(back, x + 1e-9);
    for (unsigned i = 0; i < sizeof want / sizeof *want; i++)
        wrong += differ(r[i], want[i]);
    for (unsigned i = 0; i < sizeof number / sizeof *number; i++)
        wrong += n[i] != number[i];
    return wrong;
}

static int roundings(void)
{
    float a = 1 + 0x1p-23f, tiny = 0x1p-30f;
    float r[6] = {0};
    double d = 0;
#pragma omp target map(to: a, tiny) map(from: r, d)
    device_roundings(a, tiny, r, &d);
    float two = 1 + 0x1p-22f; /* a * a is this and 2^-46 */
    return (r[0] != 1) + (r[1] != -1) + (r[2] != two) + (r[3] != two) +
           (r[4] != -(1 + 3 * 0x1p-23f)) + (r[5] != two) +
           (d != 1 - 0x1p-53);
}

int main(void)
{
    printf("functions %d, parts %d, roundings %d\n", functions(), parts(),
           roundings());
}
