// expect: 0 wrong, 3 6 9
// What openmp-opt takes for a thread's stack is other memory in the end: the
// constant that a variable is copied from, in a loop that is unrolled later.
#include <stdio.h>

enum { N = 100 };

static inline unsigned inverse(unsigned a)
{
    const unsigned char of[64] = {
        255, 85, 51, 73, 199, 93, 59, 17, 15, 229, 195, 89, 215, 237, 203, 33,
        31, 117, 83, 105, 231, 125, 91, 49, 47, 5, 227, 121, 247, 13, 235, 65,
        63, 149, 115, 137, 7, 157, 123, 81, 79, 37, 3, 153, 23, 45, 11, 97,
        95, 181, 147, 169, 39, 189, 155, 113, 111, 69, 35, 185, 55, 77, 43, 1};
    return of[(a >> 1) & 63];
}

static void sum(const unsigned *n, unsigned *total)
{
#pragma omp target teams distribute parallel for
    for (int j = 0; j < N; j++)
        for (int c = 1; c <= 3; c++) {
#pragma omp atomic update
            *total += inverse(n[j]) * c;
        }
}

struct triple { int of[3]; };

// A call fills the memory that its result is copied to.
__attribute__((noinline)) static void fill(struct triple *t, int by)
{
    for (int i = 0; i < 3; i++)
        t->of[i] = (i + 1) * by;
}

static void copy_result(struct triple *to)
{
#pragma omp target map(from: to[:1])
    {
        struct triple t;
        fill(&t, 3);
        *to = t;
    }
}

int main(void)
{
    unsigned n[N], total = 0, expected = 0;
    struct triple t;
    for (int i = 0; i < N; i++)
        n[i] = (unsigned)i * 7 + 1;
#pragma omp target data map(to: n) map(tofrom: total)
    sum(n, &total);
    for (int j = 0; j < N; j++)
        expected += 6 * inverse(n[j]);
    copy_result(&t);
    printf("%d wrong, %d %d %d\n", total != expected, t.of[0], t.of[1],
           t.of[2]);
}
