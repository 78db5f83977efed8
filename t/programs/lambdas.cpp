// options: -std=c++17
// expect: 0 on the host; 200 304 404 504; 2 7; 10 20 30; 11 12; 44 55
// not ahead of time: clang numbers the lambdas of its halves differently
// Regions whose names have lambdas, which clang numbers as it comes to them:
// in the device half it comes to the regions of main first.
#include <algorithm>
#include <cstdio>
#include <omp.h>

static int on_host;

template <class F> void each(double *d, int n, F f)
{
    int host = 0;
#pragma omp target teams distribute parallel for map(tofrom: d[:n])          \
    firstprivate(f) reduction(+: host)
    for (int i = 0; i < n; i++) {
        d[i] = f(d[i]);
        host += omp_is_initial_device();
    }
    on_host += host != 0;
}

template <class F, class G> double both(double x, F f, G g)
{
    int host = 0;
#pragma omp target map(tofrom: x, host) firstprivate(f, g)
    {
        x = f(g(x));
        host = omp_is_initial_device();
    }
    on_host += host != 0;
    return x;
}

static auto global = [](double v) { return v + 4; };

namespace space {
static double run(double x)
{
    int r = 0, host = 0;
#pragma omp target map(tofrom: r, host)
    {
        auto add = [&](int k) { r += k; };
        add(1);
        host = omp_is_initial_device();
    }
    on_host += host != 0;
    each(&x, 1, [r](auto v) { return v * 10 * r; });
    return x;
}
} // namespace space

int main()
{
    double d[4] = {1, 2, 3, 4}, e[2] = {1, 2}, f[3] = {1, 2, 3};
    int r = 0, s = 0;
    each(d, 4, [](double v) { return v + 1; });
#pragma omp target map(tofrom: r)
    {
        auto add = [&](int k) { r += k; };
        add(2);
    }
    std::sort(d, d + 4, [](double a, double b) { return a < b; });
    each(d, 4, [](double v) { return v * 100; });
    each(d, 4, global);
#pragma omp target map(from: s)
    {
        auto twice = [](int k) { return 2 * k; };
        s = twice(3) + 1;
    }
    each(d, 4, [](double v) { return v + 0; }); each(d, 4, [d](double v) { return v - 4 * (v < d[0] + 100); });
    for (double &x : f)
        x = space::run(x);
    auto inner = [](double *p, int n) {
#pragma omp target teams distribute parallel for map(tofrom: p[:n])
        for (int i = 0; i < n; i++)
            p[i] += 10;
    };
    inner(e, 2);
    double g = both(4, [](double v) { return v * 11; },
                    [](double v) { return v; });
    double h = both(4, [](double v) { return v * 11; },
                    [](double v) { return v + 1; });
    printf("%d on the host; %g %g %g %g; %d %d; %g %g %g; %g %g; %g %g\n",
           on_host, d[0], d[1], d[2], d[3], r, s, f[0], f[1], f[2], e[0], e[1],
           g, h);
}
