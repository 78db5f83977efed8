// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define FACTOR 30
#include "own.h"
#include "own_each.hpp"

static auto rule = [](int i) { return 10 * i; };

namespace {
struct Rule {
    int operator()(int i) const { return i - 1; }
};
} // namespace

int other_times(int x)
{
    return times_factor(x);
}

int other_sum(int n)
{
    return sum_of(n, rule) + 1000 * sum_of(n, Rule());
}
