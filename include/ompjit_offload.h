/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit_offload.h - kernels that were compiled here, for a program that uses
 * LLVM's libomptarget. The conventions of ompjit.h hold.
 */
#ifndef OMPJIT_OFFLOAD_API_H
#define OMPJIT_OFFLOAD_API_H

#include "ompjit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A module's kernels as LLVM's libomptarget takes them: offload entries, one for
 * each kernel, and a device image for its plugin of the host CPU. The
 * application hands the descriptor to libomptarget's __tgt_register_lib, and
 * launches by __tgt_target_kernel with a kernel's key as the host pointer;
 * mapping and copies are libomptarget's. The image is a shared library whose
 * functions run the kernels on the host device in this process. */
typedef struct ompjit_offload ompjit_offload;

/* Entries and image of all kernels of `mod`, which run on `dev`: the host device,
 * or a GPU that reads all of the host's memory. `launch` is how: libomptarget's
 * host plugin passes no geometry on, so that num_teams and thread_limit of a
 * launch have no effect but here. It may be NULL (all defaults), and has no
 * queue. `llvm` is libomptarget's release: from 20 on entries have 56 bytes,
 * before that 32; 0 is 22. A launch that fails is a failure of the context, as
 * those of target constructs are (ompjit_context_failure), since libomptarget's
 * host plugin asks no kernel whether it ran.
 *
 * UNAVAILABLE for another device, and for a context with `check`, which knows
 * nothing of libomptarget's memory; NOT_FOUND where the module has no kernels.
 * Destroy it after __tgt_unregister_lib and before the module. Any thread. */
ompjit_status ompjit_offload_create(ompjit_module *mod, ompjit_device *dev,
                                    const ompjit_launch *launch, unsigned llvm,
                                    ompjit_offload **offload,
                                    ompjit_error *err);
/* The `struct __tgt_bin_desc *` for __tgt_register_lib and
 * __tgt_unregister_lib, which lives as long as `offload`. NULL where that is. */
void *ompjit_offload_descriptor(ompjit_offload *offload);
/* The host pointer by which __tgt_target_kernel launches the kernel, which is the
 * module's; it lives as long as `offload`. */
ompjit_status ompjit_offload_key(ompjit_offload *offload,
                                 const ompjit_kernel *kernel, void **key,
                                 ompjit_error *err);
/* Accepts NULL. */
void ompjit_offload_destroy(ompjit_offload *offload);

#ifdef __cplusplus
}
#endif

#endif
