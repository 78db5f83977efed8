/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The layout that the lowering builds into host kernels and that the engine
 * relies on.
 */
#ifndef OMPJIT_HOST_LAYOUT_H
#define OMPJIT_HOST_LAYOUT_H

/* Offsets in ompjit_host_thread (runtime-bc/host_abi.h). */
#define OMPJIT__HOST_SHARED_OFFSET 40
#define OMPJIT__HOST_DYNAMIC_OFFSET 48

/* The constant that tells a team's bytes of static shared memory. */
#define OMPJIT__SHARED_SIZE_SYMBOL "ompjit.shared_size"

/* The suffix of the function by which the host device calls a kernel. */
#define OMPJIT__ENTRY_SUFFIX ".entry"

/* The suffix of an entry that is called once for a team
 * (passes/host/team/form.cc), and bytes of the stack that it takes at most for
 * what each thread keeps. */
#define OMPJIT__TEAM_SUFFIX ".team"
#define OMPJIT__TEAM_BODY ".body" /* of it, with a kernel's parameters */
#define OMPJIT__TEAM_BODY_SUFFIX OMPJIT__TEAM_SUFFIX OMPJIT__TEAM_BODY
#define OMPJIT__TEAM_THREAD_STACK 512

#endif
