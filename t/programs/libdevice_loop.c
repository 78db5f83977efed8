// needs: libdevice
// expect: 1 2 3 4
// A loop that calls nothing but libdevice, as LULESH's do where clang has built
// them: the kernel needs hardly any of the device runtime, but on the host device
// libdevice's functions, which are there.
#include <math.h>
#include <stdio.h>
#pragma omp begin declare target
double __nv_cbrt(double), __nv_fabs(double);
static double root(double x)
{
#ifdef __NVPTX__
    return __nv_cbrt(__nv_fabs(x));
#else
    return cbrt(fabs(x));
#endif
}
#pragma omp end declare target
int main(void)
{
    double x[4] = {-1, 8, -27, 64};
#pragma omp target teams distribute parallel for map(tofrom: x)
    for (int i = 0; i < 4; i++)
        x[i] = root(x[i]);
    printf("%.0f %.0f %.0f %.0f\n", x[0], x[1], x[2], x[3]);
}
