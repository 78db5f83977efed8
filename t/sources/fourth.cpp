// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program.h"
#include "third.h"

namespace {
First first("fourth");
int sum = sum_to<int>(10);
First second(sum == 55 ? "right" : "wrong");
} // namespace
