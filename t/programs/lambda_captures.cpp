// options: -std=c++20
// not ahead of time: clang numbers the lambdas of its halves differently
// expect: 0 on the host; 6 7 8; 42 56; 30 31; 12; 9; 10; 77; 5 6
// The kin of lambdas.cpp: lambdas that capture this, references or other lambdas,
// lambdas within regions and templates, and lambdas that are mapped.
#include <cstdio>
#include <utility>
#include <omp.h>

static int on_host;

// Other names before the regions, in one half alone: host code has lambdas.
static int host_only()
{
    auto a = [](int k) { return k + 1; };
    auto b = [a](int k) { return a(k) * 2; };
    return b(3);
}

template <class F> void apply(int *d, int n, F f)
{
    int host = 0;
#pragma omp target teams distribute parallel for map(tofrom: d[:n])          \
    map(to: f) reduction(+: host)
    for (int i = 0; i < n; i++) {
        d[i] = f(d[i]);
        host += omp_is_initial_device();
    }
    on_host += host != 0;
}

struct Scale {
    int by;
    void run(int *d, int n)
    {
        apply(d, n, [=, *this](int k) { return k * by; });
    }
    // The device's `by` differs from the host's: which one does the lambda see?
    void run_there(int *d, int n)
    {
#pragma omp target data map(to: this[:1])
        {
#pragma omp target
            by = 4;
            apply(d, n, [=, this](int k) { return k * by; });
#pragma omp target
            by = 3;
        }
    }
    int sum(int n)
    {
        int s = 0, host = 0;
#pragma omp target map(tofrom: s, host) map(to: this[:1])
        {
            auto add = [this, &s](int k) { s += k * by; };
            for (int i = 0; i < n; i++)
                add(i);
            host = omp_is_initial_device();
        }
        on_host += host != 0;
        return s;
    }
};

template <int N> static int nested(int x)
{
    int r = 0;
    auto outer = [](int a) {
        auto inner = [a](int b) { return a + b + N; };
        return inner(1) + inner(2);
    };
    auto region = [&] {
        int host = 0;
#pragma omp target map(from: r) map(tofrom: host) firstprivate(outer, x)
        {
            r = outer(x);
            host = omp_is_initial_device();
        }
        on_host += host != 0;
    };
    region();
    return r;
}

static auto plus = [](int k) { return k + 5; };
static auto twice = [](int k) { return 2 * k; };
template <class F, class G> static auto chain(F f, G g)
{
    return [f, g](int k) { return g(f(k)); };
}

int main()
{
    int a[3] = {1, 2, 3}, b[2] = {10, 11}, c = 0, d = 4, e[1] = {72};
    int host = host_only();
    apply(a, 3, plus);
    Scale three{3};
    int m[1] = {14}, t[1] = {14};
    three.run(m, 1);
    three.run_there(t, 1);
    apply(b, 2, [](int k) { return k + 20; });
    int s = three.sum(3) + 3;
    auto add = [&c](int k) { c += k; };
#pragma omp target map(tofrom: c) map(to: add)
    add(9);
    int n = nested<1>(1) + nested<0>(0) * 0;
    apply(e, 1, chain(plus, [](int k) { return k; }));
    int f[2] = {0, 1};
    apply(f, 2, chain(chain(twice, [](int k) { return k / 2; }), plus));
    printf("%d on the host; %d %d %d; %d %d; %d %d; %d; %d; %d; %d; %d %d\n",
           on_host, a[0], a[1], a[2], m[0], t[0], b[0], b[1], s, c,
           n + host - 8 + d - 1, e[0], f[0], f[1]);
}
