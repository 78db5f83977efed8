// A function with code that one thread runs for all in an SPMD kernel, and that
// a generic kernel calls, too: barriers for all threads of the one must not come
// into the other, whose regions then lost their threads. The kernels are
// compiled together.
// expect: 8 threads, 0
// expect: 4 0
#include <cstdint>
#include <cstdio>

struct wide { double x, y, z, w; };

#pragma omp declare target
template <typename T> int misplaced(const T *at)
{
    volatile uintptr_t address = (uintptr_t)at;
    return address % alignof(T) != 0;
}

template <typename T> __attribute__((noinline)) void zero(T *p)
{
    *p = T{};
}
#pragma omp end declare target

int main()
{
    int count = 0, elsewhere = 0;
#pragma omp target teams num_teams(1) map(tofrom: count, elsewhere)
    {
        int one = 1;
        wide sums;
        zero(&sums);
        int bad = misplaced(&sums);
#pragma omp parallel num_threads(8)
        {
#pragma omp atomic
            sums.x += one;
        }
        wide copy = sums;
        // A kernel that calls printf is generic.
        printf("%g threads, %g\n", copy.x, copy.y);
    }
#pragma omp target map(tofrom: count, elsewhere)
    {
        wide own{};
#pragma omp parallel num_threads(4)
        {
#pragma omp atomic
            count += 1;
        }
        elsewhere += misplaced(&own);
    }
    printf("%d %d\n", count, elsewhere);
    return 0;
}
