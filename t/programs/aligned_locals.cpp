// Locals of types that ask for 32 and 64 bytes of alignment, which others may
// reach: in a generic kernel's main thread, in threads of a region, in functions
// that call themselves, by a pointer that is kept, and behind lastprivate. Code
// for the host moves such values by instructions that fault on other addresses.
// A GPU has none; there the values alone count.
// expect: 0 wrong, 0 elsewhere
// not ahead of time: clang's optimizer loses what deep() returns, and gives shared variables 16 bytes
#include <cstdint>
#include <cstdio>
#include <cstring>

struct alignas(32) wide { double x, y, z, w; };
struct alignas(64) line { float v[16]; };

#pragma omp declare target
static wide *kept;

template <typename T> int misplaced(const T *at)
{
    volatile uintptr_t address = (uintptr_t)at;
    return address % alignof(T) != 0;
}

template <typename T> __attribute__((noinline)) void zero(T *p)
{
    *p = T{};
}

__attribute__((noinline)) double deep(int n, wide *above, int *elsewhere)
{
    wide own{};
    zero(&own);
    own.x = n + above->x;
    int bad = misplaced(&own);
#pragma omp atomic
    *elsewhere += bad;
    return n ? deep(n - 1, &own, elsewhere) : own.x;
}
#pragma omp end declare target

int main(int argc, char **argv)
{
    int wrong = 0, elsewhere = 0;
    // The main thread's, between others of odd sizes.
#pragma omp target teams num_teams(3) map(tofrom: wrong, elsewhere)
    {
        int first = 1;
        wide sums;
        char name[5] = "four";
        line cells;
        float odd[3] = {1, 2, 3};
        wide more = {1, 2, 3, 4};
        zero(&sums);
        zero(&cells);
        int bad = misplaced(&sums) + misplaced(&cells) + misplaced(&more);
#pragma omp parallel num_threads(8)
        {
#pragma omp atomic
            sums.x += first;
#pragma omp atomic
            sums.w += odd[1];
#pragma omp atomic
            cells.v[15] += more.w + name[4];
        }
        wide copy = sums;
        bad += misplaced(&copy);
        int lost = copy.x < 1 || copy.w != 2 * copy.x ||
                   cells.v[15] != 4 * copy.x || copy.y != 0;
#pragma omp atomic
        wrong += lost;
#pragma omp atomic
        elsewhere += bad;
    }
    // Each thread's, handed on, and in functions that call themselves.
    double total = 0;
#pragma omp target teams distribute parallel for num_teams(2) \
    map(tofrom: elsewhere, total) reduction(+: total)
    for (int i = 0; i < 100; i++) {
        char name[3] = "no";
        wide own{};
        line cells{};
        zero(&own);
        zero(&cells);
        int bad = misplaced(&own) + misplaced(&cells);
#pragma omp atomic
        elsewhere += bad;
        own.x = i + name[2];
        total += deep(3, &own, &elsewhere) + cells.v[i % 16];
    }
    wrong += total != 100 * 99 / 2 + 100 * 6;
    // One whose address outlives what the compiler can see.
#pragma omp target map(tofrom: wrong, elsewhere)
    {
        wide own{};
        kept = &own;
#pragma omp parallel num_threads(4)
        {
#pragma omp atomic
            kept->y += 2;
        }
        zero(kept);
        wrong += own.y != 0;
        elsewhere += misplaced(&own);
    }
    // The last round's.
    wide last{};
#pragma omp target teams distribute parallel for lastprivate(last) \
    map(tofrom: elsewhere, last)
    for (int i = 0; i < 64; i++) {
        zero(&last);
        last.w = i;
        int bad = misplaced(&last);
#pragma omp atomic
        elsewhere += bad;
    }
    wrong += last.w != 63 || last.x != 0;
    if (argc > 1 && !strcmp(argv[1], "cuda"))
        elsewhere = 0;
    printf("%d wrong, %d elsewhere\n", wrong, elsewhere);
    return wrong + elsewhere;
}
