/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * This room's passes in C++ as one translation unit: reading LLVM's
 * headers takes longer than compiling one of the files.
 */
#include "passes/execution/cancel_barriers.cc"
#include "passes/execution/long_blocks.cc"
#include "passes/execution/memory_effects.cc"
#include "passes/execution/synchronization.cc"
