/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * GPU-form IR to objects for CPUs.
 */
#ifndef OMPJIT_BACKEND_HOST_H
#define OMPJIT_BACKEND_HOST_H

#include <llvm-c/TargetMachine.h>

#include "targets/arch.h"
#include "core/core.h"

/* Appends " (FILE:LINE)" of the code at `offset` in the section of `symbol`;
 * nothing where the object has no line table. backend/host/line_tables.cc */
void ompjit__object_line(const void *object, size_t size, const char *symbol,
                         uint64_t offset, ompjit__buf *text);
/* The CPU that code is generated for, as LLVM calls it ("znver3"), into `name`
 * of `size` bytes. cpu_machine.c */
void ompjit__host_cpu(char *name, size_t size);
/* Debug information becomes what line tables need.
 * backend/host/line_tables.cc */
void ompjit__line_tables(LLVMModuleRef m);
/* The call of a kernel in its entry has the kernel's line; nothing happens
 * where the kernel has no debug information. backend/host/line_tables.cc */
void ompjit__entry_lines(LLVMValueRef kernel, LLVMValueRef entry,
                         LLVMValueRef call);
/* GPU-form IR to host IR: triple, data layout, conventions, intrinsics. Before
 * the runtime is linked. COMPILE error for an intrinsic that a CPU has nothing
 * for. lower.c */
ompjit_status ompjit__host_retarget(LLVMModuleRef m, LLVMTargetMachineRef tm,
                                    bool chunk_is_default, ompjit_error *err);
/* After optimization: team-shared variables become offsets into the team's
 * block, whose size the constant OMPJIT__SHARED_SIZE_SYMBOL (uint32_t) tells.
 * Retargeting adds for each kernel the entry
 *     void <symbol>.entry(void **args)
 * with args[i] pointing at the value of the kernel's ABI parameter i. COMPILE
 * error where such a variable's address is in an initializer; NO_MEMORY.
 * lower.c */
ompjit_status ompjit__host_finish(LLVMModuleRef m, ompjit_error *err);

/* The machine of this process's CPU; PIC, small code model. opt_level: 0 to 3.
 * The caller disposes. cpu_machine.c */
ompjit_status ompjit__host_machine(unsigned opt_level, bool emulated_tls,
                                   LLVMTargetMachineRef *out,
                                   ompjit_error *err);
/* The machine of an architecture that host objects are made for. UNAVAILABLE
 * where this build has no back end for it. The caller disposes.
 * cpu_machine.c */
ompjit_status ompjit__object_machine(const ompjit__arch *arch,
                                     unsigned opt_level,
                                     LLVMTargetMachineRef *out,
                                     ompjit_error *err);
/* Traps in code that cannot be reached and, for host halves, thread-local
 * variables by __emutls_get_address. options.cc */
void ompjit__host_options(LLVMTargetMachineRef tm, bool emulated_tls);

#endif
