// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The peer's side of three of our benchmarks, by its documented interfaces, to
// be built with its compiler plugin: proteus dispatch ROUNDS, variants REPEATS
// and calls N print samples as bench.h does.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#if __has_include(<proteus/CppJitModule.h>)
#include <proteus/CppJitModule.h>
#else
#include <proteus/CppJitModule.hpp>
#endif

using namespace proteus;

// Specialized for a and n.
__attribute__((annotate("jit", 1, 2), noinline)) void
daxpy(double a, long n, double *x, double *y)
{
    for (long i = 0; i < n; i++)
        y[i] += a * x[i];
}

// As small as dispatch.c's.
__attribute__((annotate("jit", 1, 2), noinline)) void
small(double a, long n, double *x)
{
    x[0] += a;
    x[11] = (double)n;
}

static const char source[] = "extern \"C\" void constant(double *x)\n"
                             "{ x[0] += 1; x[11] = 5; }\n";

static double x[1 << 16], y[1 << 16];

static void native(double *at, long n, double a)
{
    at[0] += a;
    at[11] = (double)n;
}
static void (*volatile pointer)(double *, long, double) = native;

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void sample(const char *name, double value, const char *unit)
{
    printf("against Proteus\t%s\tProteus\t%.6g\t%s\n", name, value, unit);
}

// The least seconds of so many rounds of so many calls, for one.
template <typename Function>
static double least(int rounds, int calls, Function call)
{
    double best = 0;
    for (int r = 0; r < rounds; r++) {
        double start = seconds(CLOCK_THREAD_CPUTIME_ID);
        for (int i = 0; i < calls; i++)
            call();
        double took = seconds(CLOCK_THREAD_CPUTIME_ID) - start;
        if (!r || took < best)
            best = took;
    }
    return best / calls;
}

static void dispatch(int rounds)
{
    CppJitModule module("host", source);
    auto constant = module.getFunction<void(double *)>("constant");
    constant.run(x);
    small(1, 5, x);
    double call = least(rounds, 2000, [] { pointer(x, 5, 1); });
    double handle = least(rounds, 2000, [&] { constant.run(x); });
    double annotated = least(rounds, 100, [] { small(1, 5, x); });
    sample("prepared call, beyond a call", (handle - call) * 1e9, "ns");
    sample("cached call, beyond a call", (annotated - call) * 1e9, "ns");
}

static void variants(int repeats)
{
    for (int i = 0; i <= repeats; i++) {
        double start = seconds(CLOCK_PROCESS_CPUTIME_ID);
        daxpy(i, 1000 * (1 + i), x, y); // as variants.c
        if (i) // the first finds out about the processor
            sample("new specialization, CPU",
                   (seconds(CLOCK_PROCESS_CPUTIME_ID) - start) * 1e3, "ms");
    }
}

static void calls(int n)
{
    double start = seconds(CLOCK_PROCESS_CPUTIME_ID);
    daxpy(0, 4, x, y);
    double first = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 1; i <= n; i++)
        daxpy(i, 4, x, y);
    double last = seconds(CLOCK_PROCESS_CPUTIME_ID);
    sample("first call from disk, CPU", (first - start) * 1e3, "ms");
    sample("further one from disk, CPU", (last - first) / n * 1e6, "us");
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";
    int n = argc > 2 ? atoi(argv[2]) : 0;
    if (n > 0 && !strcmp(what, "dispatch"))
        dispatch(n);
    else if (n > 0 && !strcmp(what, "variants"))
        variants(n);
    else if (n > 0 && !strcmp(what, "calls"))
        calls(n);
    else
        return 1;
    return 0;
}
