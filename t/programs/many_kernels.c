// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: 0 wrong
// More kernels than are built together: each is built from a module of its own,
// and they share variables, constants, functions and addresses of functions.
#include <stdio.h>

#pragma omp declare target
static int counter;
static const int table[4] = {2, 3, 5, 7};
static const int *const places[2] = {&counter, table};
int plain = 10;
static int helper(int x)
{
    return x * table[x & 3] + plain;
}
static int other(int x)
{
    return -x;
}
static int (*const functions[2])(int) = {helper, other};
#pragma omp end declare target
#pragma omp declare target indirect to(helper, other)

#define KERNEL(name, ...)                                                     \
    static int name(int x)                                                    \
    {                                                                         \
        int r = 0;                                                            \
        _Pragma("omp target map(tofrom : r)")                                 \
        {                                                                     \
            __VA_ARGS__                                                       \
        }                                                                     \
        return r;                                                             \
    }

KERNEL(count, counter += x; r = counter;)
KERNEL(count_again, counter += x; r = counter;)
KERNEL(by_place, r = *places[0] + places[1][x];)
KERNEL(helped, r = helper(x);)
KERNEL(helped_again, plain++; r = helper(x);)
KERNEL(look, r = plain;)
KERNEL(call, r = functions[x & 1](x);)
KERNEL(call_again, r = functions[(x + 1) & 1](x);)
KERNEL(sum, for (int i = 0; i < x; i++) r += table[i & 3];)
KERNEL(parallel_sum, int s = 0;
       _Pragma("omp parallel for reduction(+ : s)")
       for (int i = 0; i < x; i++) s += table[i & 3];
       r = s;)
KERNEL(local, static int own; own += x; r = own;)
KERNEL(local_again, static int own; own -= x; r = own;)
KERNEL(never, r = helper(counter);)

int main(void)
{
    int wrong = 0;
    wrong += count(3) != 3;
    wrong += count_again(4) != 7;
    wrong += by_place(2) != 7 + 5;
    wrong += helped(2) != 20;
    wrong += helped_again(2) != 21;
    wrong += look(0) != 11;
    wrong += call(2) != 21;
    wrong += call(3) != -3;
    wrong += call_again(3) != 32;
    wrong += sum(8) != 34;
    wrong += parallel_sum(8) != 34;
    wrong += local(5) != 5 || local(5) != 10;
    wrong += local_again(5) != -5;
    wrong += count(0) != 7;
    if (wrong > 100)
        never(0);
    printf("%d wrong\n", wrong);
}
