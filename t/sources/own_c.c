/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#define FACTOR 400
#include "own.h"

int c_times(int x)
{
    return times_factor(x);
}
