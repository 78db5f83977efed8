/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * This room's passes in C++ as one translation unit: reading LLVM's
 * headers takes longer than compiling one of the files.
 */
#include "passes/gpu/guarded_stack.cc"
#include "passes/gpu/late_values.cc"
#include "passes/gpu/local_atomics.cc"
#include "passes/gpu/loop_end.cc"
#include "passes/gpu/merge_guards.cc"
#include "passes/gpu/needless_barriers.cc"
#include "passes/gpu/outer_barriers.cc"
#include "passes/gpu/pointer_cse.cc"
#include "passes/gpu/pointer_induction.cc"
#include "passes/gpu/teams_regions.cc"
#include "passes/gpu/unroll.cc"
