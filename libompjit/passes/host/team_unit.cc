/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The passes that make a team's threads one loop, as one translation unit.
 */
#include "passes/host/team_body.cc"
#include "passes/host/team_cuts.cc"
#include "passes/host/team_form.cc"
#include "passes/host/team_joins.cc"
#include "passes/host/team_loops.cc"
#include "passes/host/team_shuffles.cc"
#include "passes/host/team_uniform.cc"
#include "passes/host/team_values.cc"
