// not ahead of time: clang 22 makes no code for functions that a half does not call
// expect: 9 12 103
// Functions that only pointers from the host lead to: static ones, and one in
// its class, which clang has no reason to make code for on the device.
#include <cstdio>

#pragma omp begin declare target indirect
static int square(int x) { return x * x; }
static int twice(int x) { return 2 * x; }
struct Plain {
    int p;
    int plus(int x) { return p + x; }
};
#pragma omp end declare target

int main()
{
    int (*f[2])(int) = {square, twice};
    int (Plain::*member)(int) = &Plain::plus;
    Plain plain;
    plain.p = 100;
    int r[3] = {0};
#pragma omp target map(to: f, plain) map(tofrom: r) firstprivate(member)
    {
        r[0] = f[0](3);
        r[1] = f[1](6);
        r[2] = (plain.*member)(3);
    }
    printf("%d %d %d\n", r[0], r[1], r[2]);
}
