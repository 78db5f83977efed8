/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The CUDA source of a unit, and NVRTC's options for it. NVRTC itself is called
 * in the compiler wing (backend/cuda/).
 */
#ifndef OMPJIT_CUDA_SOURCE_H
#define OMPJIT_CUDA_SOURCE_H

#include "core/core.h"

/* PTX of NVRTC for one architecture, linked with the functions of the runtime,
 * no launch's values written in. Kept in the process that compiles. */
struct ompjit__cuda_made {
    struct ompjit__cuda_made *next;
    char *arch;
    ompjit__buf ptx;
};

typedef struct ompjit__cuda {
    char *source, *name;
    char **options; /* NVRTC's, each a whole word ("-DN=4") */
    unsigned noptions;
    ompjit_cuda_compiler compiler;
    char *why;      /* what clang said where there is no IR */
    pthread_mutex_t lock;
    struct ompjit__cuda_made *made; /* PTX by architecture, under lock */
} ompjit__cuda;

/* Copies source, name and, of the flags, what NVRTC knows; `options` has a
 * name. Adds the source's own folder, and the toolkit's headers where there are
 * any. NO_MEMORY alone. */
ompjit_status ompjit__cuda_new(const char *source,
                               const ompjit_module_options *options,
                               ompjit__cuda **out, ompjit_error *err);
void ompjit__cuda_free(ompjit__cuda *cuda); /* accepts NULL */
/* All but the PTX that was made. */
void ompjit__cuda_pack(const ompjit__cuda *cuda, ompjit__buf *out);
/* NULL: the bytes or memory do not suffice. */
ompjit__cuda *ompjit__cuda_unpack(ompjit__reader *r);

/* Appends a source's name as a directive of its text has it: in quotes, with a
 * backslash before each quote and backslash of its own. */
void ompjit__cuda_add_name(ompjit__buf *text, const char *name);

/* The error of whoever needs the IR of a unit that has none. */
ompjit_status ompjit__cuda_no_ir(const ompjit__cuda *cuda, ompjit_error *err);

/* Tells whether NVRTC compiles the unit for a GPU, where it is there. */
bool ompjit__cuda_by_nvrtc(const ompjit__unit *unit);

#endif
