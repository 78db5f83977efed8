/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A host half, as clang made it without passes, becomes an object:
 *
 *   repair.c    mistakes of clang and flang (section_offset.c,
 *               map_names.c, device_addresses.c)
 *   share/      data regions that no program can tell from a copy
 *   continued.c what a second module of an input leaves to the first
 *   rewrite.c   calls of the library, offload entries, constructors
 *   parts.cc    parts that are compiled when they are called
 *   compile.c   LLVM's passes and code generator
 *
 * Where another compiler makes the object, repair_bitcode.c does the first two,
 * and separate.c says what other objects may change.
 */
#ifndef OMPJIT_PASSES_HOSTHALF_H
#define OMPJIT_PASSES_HOSTHALF_H

#include <llvm-c/TargetMachine.h>

#include "abi/served.h"
#include "core/core.h"
#include "core/halves.h"
#include "core/host_half.h"

/* Rewrites a host half that was just parsed: served functions get their
 * context, constructors become one function, everything is for this CPU.
 * `out` is filled also on failure, for ompjit__host_half_free; it gets all but
 * the object. The module may be half rewritten then, and is fit for nothing but
 * to be destroyed. Fails for IR of another processor, for an offload entry of
 * an unknown layout, for a served function of another type, and without memory.
 * rewrite.c */
ompjit_status ompjit__host_prepare(LLVMModuleRef m, LLVMTargetMachineRef tm,
                                   ompjit__host_half *out, ompjit_error *err);
/* The second module of an input of `ompjit repl` leaves the variables to the
 * first, and has the functions in which loops of the first go on. Any other stays
 * as it is. continued.c */
void ompjit__host_continue(LLVMModuleRef m);
/* Corrects mistakes of clang and flang; the first step of ompjit__host_prepare.
 * It cannot fail: IR that is not as they make it stays as it is. repair.c */
void ompjit__host_repair(LLVMModuleRef m);
/* That, and what another object cannot make wrong of ompjit__host_share, of
 * bitcode that another compiler goes on with; `out` grows. Without a device half
 * nothing is shared. IR error where the host half does not read. Guarded.
 * repair_bitcode.c */
ompjit_status ompjit__half_repair(ompjit__compiler *compiler,
                                  const ompjit__halves *in, ompjit__buf *out,
                                  ompjit_error *err);
/* May an object that is linked with the module's replace a function that it
 * defines? separate.c */
bool ompjit__separate_may_replace(LLVMModuleRef m);
/* Has the unit's kernels write what functions may that other objects bring for
 * the device. separate.c */
void ompjit__separate_kernels(LLVMModuleRef device, ompjit__unit *unit);
/* The same for the addresses of sections that a function of flang's maps, a step
 * of it. section_offset.c */
void ompjit__repair_sections(LLVMValueRef f);
/* The same for the names of what is mapped. map_names.c */
void ompjit__repair_names(LLVMModuleRef m);
/* The same for the addresses that use_device_addr gives arrays, and that
 * has_device_addr passes. Before any optimization. device_addresses.c */
void ompjit__repair_device_addresses(LLVMModuleRef m);
/* Is it a local variable that is a descriptor of flang's? device_addresses.c */
bool ompjit__is_local_descriptor(LLVMValueRef v);
/* The same for descriptors of absent dummies that a function of flang's maps, a
 * step of it. Before any optimization. absent_dummies.c */
void ompjit__repair_absent_dummies(LLVMValueRef f);

struct ompjit__early; /* frontend/frontend.h */

/* A unit's host half, prepared, in an LLVM context of its own. One thread at a
 * time. compile.c */
typedef struct ompjit__half_source ompjit__half_source;

/* Reads and prepares the half. `divide`: in parts, if that is worth anything.
 * `early`, held from then on: the unit was read with it just now; NULL: it is read
 * again. The
 * compiler gets the stages' times and, if it explains, the reasons for copies.
 * `out` is set on success only, and is the caller's. */
ompjit_status ompjit__half_open(ompjit__compiler *compiler,
                                const ompjit__unit *unit, bool divide,
                                struct ompjit__early *early,
                                ompjit__half_source **out, ompjit_error *err);
void ompjit__half_close(ompjit__half_source *source); /* accepts NULL */
/* All but the object; `nparts` is 0 where the half is not divided. */
const ompjit__host_half *ompjit__half_facts(const ompjit__half_source *source);
/* Appends an object for this CPU: of the core (0, once where the half is not
 * divided) or of a part. After a failure the source is fit for nothing but to be
 * closed. */
ompjit_status ompjit__half_generate(ompjit__compiler *compiler,
                                    ompjit__half_source *source, size_t part,
                                    ompjit__buf *object, ompjit_error *err);
/* Appends the remarks of openmp-opt on a unit's host half, each once
 * (optimizer/remark.h). Nothing of the code is kept. */
ompjit_status ompjit__half_remarks(ompjit__compiler *compiler,
                                   const ompjit__unit *unit,
                                   ompjit__buf *remarks, ompjit_error *err);

#endif
