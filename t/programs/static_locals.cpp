// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Static variables of functions of the host that regions, and lambdas that they
// call, use, and constants of a class: clang leaves their values out of the
// device half.
// expect: 5 8 99100 23 1
// expect: 13 14 6 3 6 217
// not ahead of time: clang's device half has not their values
#include <array>
#include <cstdio>

constexpr std::array<int, 3> weights = {1, 2, 3};
struct Name {
    const char *text;
    int at(int i) const { return text[i]; }
};
constexpr Name word = {"damp"};
inline constexpr Name words[2] = {{"camp"}, {"lamp"}};

struct S { int a, b; };

static inline int in_line(int i)
{
    static int k = 5;
    static const int table[3] = {7, 8, 9};
    int r = 0;
    auto f = [=](int j) { return k + table[j]; };
#pragma omp target map(from: r)
    r = f(i);
    return r;
}

template <class T> static int instance(int i)
{
    static T k = 5;
    static const T table[3] = {7, 8, 9};
    int r = 0;
    auto f = [=](int j) { return k + table[j]; };
#pragma omp target map(from: r)
    r = f(i);
    return r;
}

#pragma omp begin declare target
#ifdef __NVPTX__
enum { FIRST = 0 };
#else
enum { FIRST = 20 };
#endif
// Its first value differs by device, as the program wants it.
static int count()
{
    static int calls = FIRST;
    return ++calls;
}
#pragma omp end declare target

int main()
{
    static int k = 5;
#pragma omp declare target to(k)
    static const int fibonacci[6] = {1, 1, 2, 3, 5, 8};
    static const char *const names[2] = {"ab", "cd"};
    static S s = {0, 1};
#pragma omp declare target to(s)
    int r[5] = {}, i = 5;
    auto look = [=](int at) { return fibonacci[at]; };
    auto spell = [=](int at) { return names[at][0] * 1000 + names[at][1]; };
    auto both = [&] { s.a = s.b * 2; };
#pragma omp target map(from: r) map(always, from: s)
    {
        r[0] = k;
        r[1] = look(i);
        r[2] = spell(1);
        s.b += 2;
        both();
        r[3] = 20 + s.b;
        r[4] = count();
    }
    std::printf("%d %d %d %d %d\n", r[0], r[1], r[2], r[3], r[4]);
    int sum = 0, letter;
#pragma omp target map(tofrom: sum) map(from: letter)
    {
        for (int j = 0; j < 3; j++)
            sum += weights[j];
        letter = word.at(i - 3) + words[i - 4].at(0);
    }
    std::printf("%d %d %d %d %d %d\n", in_line(1), instance<int>(2), s.a, s.b,
                sum, letter);
}
