/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The multiprocessors of GPUs, and how many teams run on one, by the rules of
 * CUDA's cuda_occupancy.h. Needs neither a GPU nor CUDA. occupancy.c
 */
#ifndef OMPJIT_OCCUPANCY_H
#define OMPJIT_OCCUPANCY_H

#include "base/base.h"
#include "ompjit_tune.h"

/* As ompjit_arch_info_get and ompjit_occupancy_get, for structs of this
 * library's own size. TARGET where the architecture is no GPU's. */
ompjit_status ompjit__arch_info(const char *arch, ompjit_arch_info *info,
                                ompjit_error *err);
ompjit_status ompjit__occupancy(const char *arch, const ompjit_resources *use,
                                uint32_t threads, uint32_t dynamic_shared,
                                ompjit_occupancy *out, ompjit_error *err);

/* The architecture of a product or architecture, and the one that code is made
 * for: the same, or for one that no assembler knows any more the nearest, whose
 * registers are an estimate. TARGET. */
ompjit_status ompjit__gpu_archs(const char *name, const char **arch,
                                const char **code, ompjit_error *err);
/* The i-th product's name; NULL past the last. */
const char *ompjit__gpu_at(size_t i);

#endif
