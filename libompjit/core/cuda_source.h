/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The CUDA source of a unit.
 */
#ifndef OMPJIT_CUDA_SOURCE_H
#define OMPJIT_CUDA_SOURCE_H

#include "core/core.h"

/* Linked with the runtime, no launch's values written in. */
struct ompjit__cuda_made {
    struct ompjit__cuda_made *next;
    char *arch;
    ompjit__buf ptx;
};

typedef struct ompjit__cuda {
    char *source, *name;
    char **options; /* NVRTC's */
    unsigned noptions;
    ompjit_cuda_compiler compiler;
    char *why;      /* what clang said where there is no IR */
    pthread_mutex_t lock;
    struct ompjit__cuda_made *made; /* PTX by architecture, under lock */
} ompjit__cuda;

/* `options` has a name. Takes of its flags what NVRTC knows. */
ompjit_status ompjit__cuda_new(const char *source,
                               const ompjit_module_options *options,
                               ompjit__cuda **out, ompjit_error *err);
void ompjit__cuda_free(ompjit__cuda *cuda); /* accepts NULL */
/* All but the PTX that was made. */
void ompjit__cuda_pack(const ompjit__cuda *cuda, ompjit__buf *out);
/* NULL: the bytes or memory do not suffice. */
ompjit__cuda *ompjit__cuda_unpack(ompjit__reader *r);

/* The error of whoever needs the IR of a unit that has none. */
ompjit_status ompjit__cuda_no_ir(const ompjit__cuda *cuda, ompjit_error *err);

/* Tells whether NVRTC compiles the unit for a GPU, where it is there. */
bool ompjit__cuda_by_nvrtc(const ompjit__unit *unit);

#endif
