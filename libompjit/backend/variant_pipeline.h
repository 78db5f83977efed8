/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * LLVM's passes for a variant that is one function. variant_pipeline.cc
 */
#ifndef OMPJIT_VARIANT_PIPELINE_H
#define OMPJIT_VARIANT_PIPELINE_H

#include <stdbool.h>

#include <llvm-c/TargetMachine.h>

#include "base/base.h"

/* Runs them, for a variant whose template is nothing but its kernel (and
 * entry), in place of default<O2> or <O3>; what is external stays. */
ompjit_status ompjit__run_variant_passes(LLVMModuleRef m,
                                         LLVMTargetMachineRef tm, bool host,
                                         ompjit_error *err);

#endif
