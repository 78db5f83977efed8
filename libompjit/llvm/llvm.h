/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * LLVM made fit for a library: guards, diagnostics, reading and printing.
 */
#ifndef OMPJIT_LLVM_ROOM_H
#define OMPJIT_LLVM_ROOM_H

#include <llvm-c/Error.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Types.h>

#include "base/base.h"

/* Initialises LLVM's targets once; every entry into LLVM comes after it. */
void ompjit__llvm_init(void);

/* A context whose diagnostics are collected into `messages`, which must live as
 * long; NULL: they are dropped. The caller disposes. */
LLVMContextRef ompjit__llvm_context(ompjit__buf *messages);
/* Another buffer for them. */
void ompjit__llvm_collect(LLVMContextRef context, ompjit__buf *messages);

/* How many bytes of messages such a context has collected so far, and the
 * messages since then where one of them is an error, else NULL. */
size_t ompjit__llvm_mark(LLVMContextRef context);
const char *ompjit__llvm_errors(LLVMContextRef context, size_t mark);

/* Runs passes; COMPILE or the given stage's error with LLVM's message. */
ompjit_status ompjit__run_passes(LLVMModuleRef m, LLVMTargetMachineRef tm,
                                 const char *passes, ompjit_stage stage,
                                 ompjit_error *err);
/* The status of passes that were run otherwise, since `mark` was taken; takes
 * over `failure`, which may be NULL. */
ompjit_status ompjit__check_passes(LLVMModuleRef m, LLVMErrorRef failure,
                                   size_t mark, ompjit_stage stage,
                                   ompjit_error *err);

/* Runs f(arg), which calls LLVM. A fatal error of LLVM's (which would end the
 * process) ends f instead and is returned as COMPILE error with LLVM's text;
 * what f allocated is then lost, and no LLVM object that f worked on may be
 * used or disposed: make and dispose the LLVM context within f. Guards nest. */
ompjit_status ompjit__guard(ompjit_status (*f)(void *arg, ompjit_error *err),
                            void *arg, ompjit_stage stage, ompjit_error *err);
/* The same, and f ends as TIMEOUT error where LLVM's work in it (between calls
 * of ompjit__in_llvm) goes on for so many milliseconds; 0: any time. */
ompjit_status ompjit__guard_within(unsigned limit_ms,
                                   ompjit_status (*f)(void *arg,
                                                      ompjit_error *err),
                                   void *arg, ompjit_stage stage,
                                   ompjit_error *err);
/* LLVM works, until the same with false: the thread's innermost guard may be
 * left at any of its instructions. */
void ompjit__in_llvm(bool now);

/* Text or bitcode in memory to a module in `context`. `data` need not end in
 * NUL. READ-stage IR error with LLVM's message, line and column; so is text
 * with typed pointers, which is older than LLVM 15. Debug information that does
 * not verify is dropped with a warning in `messages`. Broken bitcode can be a
 * fatal error of LLVM's: call it within a guard. */
ompjit_status ompjit__parse_ir(LLVMContextRef context, const void *data,
                               size_t size, const char *name,
                               ompjit__buf *messages, LLVMModuleRef *out,
                               ompjit_error *err);

/* Bitcode as text, appended. IR error where it does not read. Guarded.
 * llvm/print.c */
ompjit_status ompjit__print_ir(const ompjit__buf *bc, const char *name,
                               ompjit__buf *text, ompjit_error *err);

/* Removes the blocks that are never run. Requires verified IR. Afterwards a
 * chain of operands ends, unless it goes through a phi. llvm/unreachable.cc */
void ompjit__drop_unreachable(LLVMModuleRef m);

/* Adds a finding about an instruction, with its place. llvm/ir_place.c */
void ompjit__finding_at(ompjit__findings *f, ompjit_status status,
                        LLVMValueRef at, const char *format, ...)
    OMPJIT__PRINTF(4, 5);

/* The module flags that make openmp-opt treat the module as OpenMP device
 * code: removes them, adds them again. llvm/module_flags.cc */
void ompjit__drop_openmp_flags(LLVMModuleRef m);
void ompjit__add_openmp_flags(LLVMModuleRef m);
/* The instructions of all functions. llvm/module_flags.cc */
unsigned ompjit__instruction_count(LLVMModuleRef m);

#endif
