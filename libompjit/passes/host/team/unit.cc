/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The passes that make a team's threads one loop, as one translation unit.
 */
#include "passes/host/team/body.cc"
#include "passes/host/team/cuts.cc"
#include "passes/host/team/form.cc"
#include "passes/host/team/independent.cc"
#include "passes/host/team/joins.cc"
#include "passes/host/team/loops.cc"
#include "passes/host/team/shuffles.cc"
#include "passes/host/team/uniform.cc"
#include "passes/host/team/values.cc"
