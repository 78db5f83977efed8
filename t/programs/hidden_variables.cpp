// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables of `declare target` that other files cannot see are the same for
// the host and the device: clang lists none of these in an offload entry.
// options: -fvisibility=hidden
// not ahead of time: clang writes no offload entries for them
// expect: 3 10 40 6 7 9 11 80
// expect: 30 100 400 60 70 90 21 800
#include <cstdio>

#pragma omp begin declare target
static int file_static = 1;
namespace {
struct { char pad; int list[3]; } unnamed = {'p', {1, 2, 3}};
}
int hidden[2] = {1, 2};
struct S {
    static int member;
    inline static int in_class = 1;
};
int S::member = 1;
template <class T> struct Of {
    static T value;
};
template <class T> T Of<T>::value = 1;
static int next()
{
    static int calls = 10;
    return ++calls;
}
inline int &local()
{
    static int kept = 1;
    return kept;
}
#pragma omp end declare target

static void print(const int *r)
{
    for (int i = 0; i < 8; i++)
        std::printf("%d%c", r[i], i < 7 ? ' ' : '\n');
}

int main()
{
    int r[8];
    int *through = &local();
    file_static = 3;
    unnamed.list[1] = 10;
    hidden[1] = 40;
    S::member = 6;
    S::in_class = 7;
    Of<int>::value = 9;
    *through = 80;
    next();
#pragma omp target map(from: r) map(always, tofrom: file_static, unnamed, \
    hidden, S::member, S::in_class, Of<int>::value, through[:1])
    {
        r[0] = file_static, file_static *= 10;
        r[1] = unnamed.list[1], unnamed.list[1] *= 10;
        r[2] = hidden[1], hidden[1] *= 10;
        r[3] = S::member, S::member *= 10;
        r[4] = S::in_class, S::in_class *= 10;
        r[5] = Of<int>::value, Of<int>::value *= 10;
        r[6] = next(); // the device's own
        r[7] = local(), local() *= 10;
    }
    print(r);
    int after[8] = {file_static, unnamed.list[1], hidden[1], S::member,
                    S::in_class, Of<int>::value, next() + 9, local()};
    print(after);
}
