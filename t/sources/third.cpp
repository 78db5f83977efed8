// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Its constructor runs before those of sources that come later.
#include "program.h"
#include "third.h"

namespace {
First first("third");
int local = 3;
int twice(int x) { return 3000 * x; }
} // namespace

int third(int n)
{
    int r = 0;
#pragma omp target map(from : r)
    r = twice(n) + local;
    return sum_to<int>(n) + r;
}
