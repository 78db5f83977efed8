// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The knowledge that the two halves of a kernel's form for whole teams,
// form.cc and loops.cc, have of each other and of the engine
// (runtime-bc/host_abi.h).
#ifndef OMPJIT_PASSES_HOST_TEAM_FORM_H
#define OMPJIT_PASSES_HOST_TEAM_FORM_H

#include <llvm/ADT/StringRef.h>

#include "ompjit.h"
#include "runtime-bc/host_abi.h"

namespace llvm {
class Function;
class Module;
}

namespace ompjit_team {

// The attribute of a function that all threads of a team run, and that is
// called once.
constexpr llvm::StringLiteral threads_attribute = "ompjit-threads";
// void (uint32_t n): the function's threads are n, numbered from 0.
constexpr llvm::StringLiteral count_name = "ompjit_host_team_threads";

// The runtime's variable: how many threads a parallel region has.
constexpr llvm::StringLiteral size_name = "ompjit_size";

constexpr llvm::StringLiteral self_name = "ompjit_host_self";
constexpr llvm::StringLiteral barrier_name = "ompjit_host_barrier";
constexpr llvm::StringLiteral shuffle_name = "ompjit_host_shuffle";
constexpr llvm::StringLiteral warp_sync_name = "ompjit_host_warp_sync";

// Bytes in ompjit_host_thread at which a thread's number and its team's size
// are.
enum { TID_OFFSET = 0, TID_SIZE = 4, NTID_OFFSET = 4 };
// The number where it is not told.
enum : unsigned { NO_THREAD = OMPJIT_HOST_NO_THREAD };

// Do threads that run the function neither wait for each other nor ask the
// engine who they are? passes/host/team/independent.cc
bool needs_no_fibers(const llvm::Function &f);

// LLVM keeps calls by which threads meet under the conditions that they have.
// passes/host/team/form.cc
void set_convergent(llvm::Module &m, bool convergent);

// Does a thread that calls the function wait for others of its team?
inline bool is_meeting(llvm::StringRef name)
{
    return name == barrier_name || name == shuffle_name ||
           name == warp_sync_name;
}

} // namespace ompjit_team

#endif
