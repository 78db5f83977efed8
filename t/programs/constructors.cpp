// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constructors of device variables run once, in their order, before anything
// else sees the variables, whether or not a kernel uses them; destructors never.
// expect: 1 2 3 4 5 6, 42 8
#include <stdio.h>

#pragma omp begin declare target
int order[6], at, other = 1;
struct Turn {
    Turn(int n) { order[at++] = n; }
    ~Turn() { order[0] = 9; }
};
[[gnu::init_priority(300)]] Turn third(3);
[[gnu::init_priority(200)]] Turn second(2);
Turn fourth(4);
[[gnu::init_priority(101)]] Turn first(1);
static Turn *fifth = new Turn(5);
static int sixth() { return order[at++] = 6; }
int last = sixth();
struct Set {
    int value;
    Set(int n) : value(n) {}
};
static int twice(int x) { return 2 * x; }
Set set(twice(21));
[[gnu::constructor]] void init() { other += 6; }
#pragma omp end declare target

int main()
{
    set.value = 0;
    other = 0;
    for (int i = 0; i < 6; i++)
        order[i] = 0;
#pragma omp target update from(order)
    for (int i = 0; i < 6; i++)
        printf("%d%s", order[i], i < 5 ? " " : ", ");
    int a = 0, b = 0;
#pragma omp target map(from: a)
    a = set.value;
#pragma omp target map(from: b)
    b = ++other;
    printf("%d %d\n", a, b);
}
