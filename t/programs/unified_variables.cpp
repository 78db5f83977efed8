// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: 4 1003 57 12 999 host 15
// not ahead of time: dialect/unified.cc needs the host half
// In a program that requires unified shared memory, functions of device code
// have the host's variables, declared target or not.
#include <cstdio>

#pragma omp requires unified_shared_memory

int counter = 3;
int numbers[10] = {5, 6, 7};
const char *word = "none";

struct base {
    static int last;
    static int *pointer;
    virtual ~base() { last = 999; }
};
int base::last = 0;
int *base::pointer = &numbers[2];

static int count(int by) { return counter += by; }
static int element(int i) { return i ? numbers[1] * 2 : *base::pointer + 50; }
// Two functions with one variable, and several uses in one of them.
static int weight = 3;
static int once() { return weight; }
static int again() { return weight; }
static int thrice() { return weight * weight + weight - once(); }
static void say(const char *s) { word = s; }

int main()
{
    const char *host = "host";
    int r[5];
#pragma omp target map(from: r) firstprivate(host)
    {
        r[0] = count(1);
        r[1] = count(999);
        r[2] = element(0);
        r[3] = element(1);
        base b;
        say(host);
        r[4] = again() + thrice() + once();
    }
    printf("%d %d %d %d %d %s %d\n", r[0], counter, r[2], r[3], base::last, word,
           r[4]);
}
