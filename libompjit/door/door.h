/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The door between the runtime wing, which knows no LLVM, and the compiler
 * wing, which knows no device. The compiler wing is a shared library of its own;
 * it is loaded with the first call here, so that a process which takes all its
 * code from the cache never maps it. Every function is thread-safe. Each one
 * that returns a status returns UNAVAILABLE where the library cannot be loaded.
 */
#ifndef OMPJIT_DOOR_H
#define OMPJIT_DOOR_H

#include <signal.h>

#include "core/core.h"
#include "core/host_half.h"

/* A host half that is read while the device half is still being compiled. */
typedef struct ompjit__early ompjit__early;

/* An LLJIT for objects that the plain linker does not take. */
typedef struct ompjit__orc ompjit__orc;
/* Asked for each name that the objects lack; NULL: not known. */
typedef void *ompjit__orc_find(void *data, const char *name);

/* The services that the compiler wing has of the process it is loaded into:
 * device/host/fault.h. */
typedef struct ompjit__services {
    bool (*fault_guard)(void (*f)(void *arg), void *arg, char *text,
                        size_t size);
    void (*fault_hold)(void);
    void (*fault_drop)(void);
    int (*fault_signal)(void);
    /* Has the handler of faults ask `taken` first. */
    void (*fault_ask)(bool (*taken)(const siginfo_t *info, uintptr_t pc));
} ompjit__services;

/* The compiler wing's table of operations; its files say more of each. */
typedef struct ompjit__door {
    const char *sources; /* OMPJIT__SOURCES, the same in both wings */
    void (*attach)(const ompjit__services *services);
    void (*release)(ompjit__compiler *compiler);
    void (*prepare)(ompjit__compiler *compiler);
    /* frontend/ */
    ompjit_status (*unit_read)(const ompjit__buf *device,
                               const ompjit__buf *host, const char *name,
                               unsigned opt_level, ompjit__early *early,
                               ompjit__unit *out, ompjit_error *err);
    ompjit_status (*unit_read_cuda)(const ompjit__buf *device, const char *name,
                                    unsigned opt_level, ompjit__unit *out,
                                    ompjit_error *err);
    ompjit__early *(*early_read)(const ompjit__buf *host, const char *name,
                                 bool own_lines, bool all_numbers);
    void (*early_info)(const ompjit__early *early, ompjit__buf *info);
    bool (*early_agrees)(const ompjit__early *early, const ompjit__buf *device);
    bool (*early_numbers)(const ompjit__early *early, ompjit__buf *info);
    void (*early_free)(ompjit__early *early);
    /* backend/ */
    ompjit_status (*build)(ompjit__compiler *compiler, const ompjit__unit *unit,
                           const char *arch, ompjit_format format,
                           const ompjit__spec *spec, ompjit__image *out,
                           ompjit_error *err);
    ompjit_status (*cuda_check)(ompjit__compiler *compiler,
                                struct ompjit__cuda *cuda, ompjit_error *err);
    ompjit_status (*cuda_kernels_of)(ompjit__compiler *compiler,
                                     struct ompjit__cuda *cuda,
                                     const char *clang, ompjit__unit *out,
                                     ompjit_error *err);
    const char *(*cuda_header)(void);
    void (*object_line)(const void *object, size_t size, const char *symbol,
                        uint64_t offset, ompjit__buf *text);
    void (*host_cpu)(char *name, size_t size);
    /* passes/hosthalf/ */
    ompjit_status (*half)(ompjit__compiler *compiler, const ompjit__unit *unit,
                          ompjit__host_half *out, ompjit_error *err);
    /* llvm/ */
    ompjit_status (*print_ir)(const ompjit__buf *bc, const char *name,
                              ompjit__buf *text, ompjit_error *err);
    /* backend/host/orc.c */
    ompjit_status (*orc_new)(const char *name, ompjit__orc_find *find,
                             void *data, ompjit__orc **out, ompjit_error *err);
    ompjit_status (*orc_define)(ompjit__orc *orc, const ompjit__absolute *defs,
                                size_t n, ompjit_error *err);
    ompjit_status (*orc_add)(ompjit__orc *orc, const void *object, size_t size,
                             ompjit_error *err);
    ompjit_status (*orc_lookup)(ompjit__orc *orc, const char *name,
                                void **address, ompjit_error *err);
    void (*orc_free)(ompjit__orc *orc);
    /* table/llvm/: ompjit_llvm.h, whose LLVM the application shares. */
    ompjit_status (*rtl_declare)(void *module, unsigned index, void **fn,
                                 ompjit_error *err);
    ompjit_status (*rtl_check)(void *module, ompjit_error *err);
    ompjit_status (*rtl_type)(void *context, int which, void **type,
                              ompjit_error *err);
} ompjit__door;

/* Offers the process's services to the compiler wing, for guards; `services` must
 * stay. Once, or always the same. load.c */
void ompjit__door_offer(const ompjit__services *services);
/* The table, loaded when first asked for. load.c */
ompjit_status ompjit__door_open(const ompjit__door **out, ompjit_error *err);
/* The table where it is loaded already, else NULL. load.c */
const ompjit__door *ompjit__door_if_open(void);

/* ----------------------------------------------------------- calls: door.c */

void ompjit__door_release(ompjit__compiler *compiler);
ompjit_status ompjit__door_build(ompjit__compiler *compiler,
                                 const ompjit__unit *unit, const char *arch,
                                 ompjit_format format, const ompjit__spec *spec,
                                 ompjit__image *out, ompjit_error *err);
ompjit_status ompjit__door_half(ompjit__compiler *compiler,
                                const ompjit__unit *unit,
                                ompjit__host_half *out, ompjit_error *err);
ompjit_status ompjit__door_print(const ompjit__buf *bc, const char *name,
                                 ompjit__buf *text, ompjit_error *err);

#endif
