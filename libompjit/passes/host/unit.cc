/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * This room's passes in C++, but for those of teams, as one translation unit:
 * reading LLVM's headers takes longer than compiling one of the files.
 */
#include "passes/host/flat_loops.cc"
#include "passes/host/heap_to_stack.cc"
#include "passes/host/libdevice.cc"
#include "passes/host/outer_barriers.cc"
#include "passes/host/variadics.cc"
#include "passes/host/vector_loops.cc"
#include "passes/host/wait_loops.cc"
