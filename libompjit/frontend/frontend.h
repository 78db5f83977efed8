/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * IR to a unit, whoever made the IR:
 *
 *   ir.c        reads, verifies and writes both halves
 *   join.c      one unit of several sources' units
 *   match.c     both halves agree, where another compiler makes objects of them
 *   dialect/    LLVM 22's dialect, and what it must be (upgrade.c)
 *   describe/   kernels, parameters and variables
 *
 * A host half of clang's is read while the device half is still being compiled
 * (ompjit__early): the device half's clang needs a part of it.
 */
#ifndef OMPJIT_FRONTEND_H
#define OMPJIT_FRONTEND_H

#include <llvm-c/Types.h>

#include "core/core.h"
#include "core/halves.h"

/* A host half that is read while the device half is still being compiled. */
typedef struct ompjit__early ompjit__early;

/* Reads and upgrades a host half. how: enum ompjit__half_flag, together. What
 * is wrong with the half is told when the unit is read. NULL without memory; the
 * caller frees it. ir.c */
ompjit__early *ompjit__early_read(const ompjit__buf *host, const char *name,
                                  unsigned how);
/* Appends what a device half reads of its host half, as bitcode; nothing where
 * the host half could not be read. */
void ompjit__early_info(const ompjit__early *early, ompjit__buf *info);
/* Has it regions in lambdas, whose names the halves may number differently? */
bool ompjit__early_has_lambdas(const ompjit__early *early);
/* Has the device half, bitcode, its regions by the host half's names? True where
 * there are none in lambdas. */
bool ompjit__early_agrees(const ompjit__early *early,
                          const ompjit__buf *device);
/* As ompjit__early_info, with every number that lambdas can have, for a device
 * half that is then renamed. False: those are too many. */
bool ompjit__early_numbers(const ompjit__early *early, ompjit__buf *info);
/* Ends one hold, the caller's of ompjit__early_read or another; accepts NULL. The
 * last one frees it. Not for several threads at a time. */
void ompjit__early_free(ompjit__early *early);
ompjit__early *ompjit__early_hold(ompjit__early *early); /* returns it */
/* The context of both halves' modules. */
LLVMContextRef ompjit__early_context(const ompjit__early *early);
/* The host half as the unit has it, which is the caller's from then on, but in the
 * context of `early`. NULL: there is none, or it was taken. */
LLVMModuleRef ompjit__early_take_host(ompjit__early *early);
/* The device half as the unit has it; NULL: no unit was read with it. */
LLVMModuleRef ompjit__early_device(const ompjit__early *early);

/* Reads, upgrades, checks and describes both halves. `early` may be NULL: the
 * host half has not been read, and is, as `how` says (enum ompjit__half_flag);
 * else it has both modules afterwards. opt_level is the enum's: 0 is the default,
 * 1 is -O0. `out` is the caller's, and set on success only. IR and ABI errors for
 * what is wrong with the IR, NO_MEMORY. Any thread. ir.c */
ompjit_status ompjit__unit_read(const ompjit__buf *device,
                                const ompjit__buf *host, const char *name,
                                unsigned opt_level, unsigned how,
                                ompjit__early *early, ompjit__unit *out,
                                ompjit_error *err);
/* Likewise of CUDA, whose kernels are the unit's. ir.c */
ompjit_status ompjit__unit_read_cuda(const ompjit__buf *device,
                                     const char *name, unsigned opt_level,
                                     ompjit__unit *out, ompjit_error *err);

/* One source's unit. Borrowed. */
typedef struct ompjit__part {
    ompjit__buf device, host;
    const char *name; /* of the source, for messages */
} ompjit__part;

/* Links units that ompjit__unit_read has made, each with a host half, n > 0.
 * LINK error with all that is defined twice; else as ompjit__unit_read. join.c
 */
ompjit_status ompjit__units_join(const ompjit__part *parts, unsigned n,
                                 const char *name, unsigned opt_level,
                                 ompjit__unit *out, ompjit_error *err);
/* Makes two halves agree. OK, also where nothing is to be done; `out` is zero
 * before, and its buffers are the caller's in any case. SOURCE error where it is
 * not clear which regions are the same, IR error, NO_MEMORY. Guarded. match.c */
ompjit_status ompjit__halves_match(const ompjit__halves *in,
                                   ompjit__matched *out, ompjit_error *err);
/* Appends the module's bitcode. NO_MEMORY. ir.c */
ompjit_status ompjit__write_half(LLVMModuleRef m, ompjit__buf *out,
                                 ompjit_error *err);
/* Appends the signatures of the functions of a host half, bitcode (core/signature.h). IR error, NO_MEMORY. Guarded. ir.c */
ompjit_status ompjit__half_signatures(const ompjit__buf *host, const char *name,
                                      ompjit__buf *out, ompjit_error *err);
/* Seals a unit that is complete and hands it out. If `status` is an error, or
 * memory runs out, it frees what there is of the unit. Returns the status. ir.c
 */
ompjit_status ompjit__unit_finish(ompjit__unit *unit, ompjit_status status,
                                  ompjit__unit *out, ompjit_error *err);

#endif
