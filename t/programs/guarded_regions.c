// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: 59 5, 59 5
// not ahead of time: right only without clang's own openmp-opt
//
// The sequential part of a loop, which all threads of a team run when the
// kernel becomes SPMD: the next round's stores come behind all threads' loads.
#include <stdio.h>

enum { N = 64, ROUNDS = 10 };

static int value(int i, int round)
{
    return ((i % 7) * 29 + round * 13) % 61;
}

int main(void)
{
    int best = -1, at = -1, model = -1, model_at = -1;
#pragma omp target map(tofrom: best, at)
    for (int round = 0; round < ROUNDS; round++) {
        int most = -1;
#pragma omp parallel for reduction(max: most)
        for (int i = 0; i < N; i++) {
            int v = value(i, round);
            if (v > most)
                most = v;
        }
        if (most > best) {
            best = most;
            at = round;
        }
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < N; i++)
            if (value(i, round) > model)
                model = value(i, round), model_at = round;
    printf("%d %d, %d %d\n", best, at, model, model_at);
}
