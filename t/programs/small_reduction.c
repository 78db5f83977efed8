// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: 200 200 | 67 67 66 | 67 67 66 | 1 2 3 | 1 2 3 | 1 2 3 | 1 2 3 | 1 2 3
// not ahead of time: dialect/reduction.c: before clang optimizes them
// Reductions whose elements are not whole words, or not aligned to the words
// that they are moved in, in more than a warp and in more than a team.
#include <stdio.h>

enum { N = 200 };

struct bytes {
    unsigned char a, b, c;
};
struct shorts {
    short a, b, c;
};
struct many {
    unsigned char a, words[9], b, c;
};
struct more {
    short a, words[18], b, c;
};
struct floats {
    float a, b, c, d;
};

#define PRAGMA(x) _Pragma(#x)
#define SUMS(type)                                                            \
    PRAGMA(omp declare reduction(sums : struct type : omp_out.a += omp_in.a,  \
                                 omp_out.b += omp_in.b,                       \
                                 omp_out.c += omp_in.c)                       \
               initializer(omp_priv = (struct type){0}))
SUMS(bytes)
SUMS(shorts)
SUMS(many)
SUMS(more)
SUMS(floats)

static void in_a_team(void)
{
    _Float16 half = 0;
    unsigned char one[1] = {0}, bytes[3] = {0};
#pragma omp target parallel for num_threads(64) reduction(+ : half)
    for (int i = 0; i < N; i++)
        half += (_Float16)1;
#pragma omp target parallel for num_threads(64) reduction(+ : one, bytes)
    for (int i = 0; i < N; i++) {
        one[0]++;
        bytes[i % 3]++;
    }
    printf("%d %d | %d %d %d", (int)half, one[0], bytes[0], bytes[1],
           bytes[2]);
}

static void in_teams(void)
{
    short shorts[3] = {0};
#pragma omp target teams distribute parallel for num_teams(3)                 \
    thread_limit(64) reduction(+ : shorts)
    for (int i = 0; i < N; i++)
        shorts[i % 3]++;
    printf(" | %d %d %d", shorts[0], shorts[1], shorts[2]);
}

#define PRINT_SUMS(type)                                                      \
    do {                                                                      \
        struct type x = {0};                                                  \
        PRAGMA(omp target teams distribute parallel for num_teams(3)          \
                   thread_limit(64) reduction(sums : x))                      \
        for (int i = 0; i < N; i++)                                           \
            x.a += i == 0, x.b += i < 2, x.c += i > N - 4;                    \
        printf(" | %d %d %d", (int)x.a, (int)x.b, (int)x.c);                  \
    } while (0)

int main(void)
{
    in_a_team();
    in_teams();
    PRINT_SUMS(bytes);
    PRINT_SUMS(shorts);
    PRINT_SUMS(many);
    PRINT_SUMS(more);
    PRINT_SUMS(floats);
    puts("");
}
