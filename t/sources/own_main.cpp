// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints what its own regions compute, and those of own_other.cpp and own_c.c,
// whose names are the same.
#include <cstdio>
#define FACTOR 2
#include "own.h"
#include "own_each.hpp"

int other_times(int x);
int other_sum(int n);
extern "C" int c_times(int x);

static auto rule = [](int i) { return i; };

namespace {
struct Rule {
    int operator()(int i) const { return i + 1; }
};
} // namespace

int main()
{
    std::printf("%d %d %d\n", times_factor(1), other_times(1), c_times(1));
    std::printf("%d %d\n", sum_of(10, rule) + 1000 * sum_of(10, Rule()),
                other_sum(10));
}
