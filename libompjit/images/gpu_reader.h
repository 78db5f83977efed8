/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * One call of ompjit__gpu_code_read: what the readers of cubins and of PTX
 * share.
 */
#ifndef OMPJIT_IMAGES_GPU_READER_H
#define OMPJIT_IMAGES_GPU_READER_H

#include "formats/bytes.h"
#include "images/gpu_code.h"

/* A variable, with the first of its initial bytes if it is an environment. */
typedef struct ompjit__gpu_found {
    char *symbol;
    uint64_t size;
    uint8_t initial[sizeof(ompjit__kernel_environment)];
} ompjit__gpu_found;

/* Sizes of `kernels` and `found` are powers of two. */
typedef struct ompjit__gpu_reader {
    ompjit__bytes bytes;
    const char *what; /* "cubin", "PTX" */
    ompjit__gpu_kernel *kernels;
    unsigned nkernels;
    ompjit__gpu_found *found;
    unsigned nfound;
    uint64_t work; /* bytes that may still be copied or looked at; what
                      overlaps uses it up */
    ompjit_error *err;
} ompjit__gpu_reader;

/* Fills the error with the offset, and returns INVALID. */
ompjit_status ompjit__gpu_bad(ompjit__gpu_reader *r, uint64_t at,
                              const char *format, ...) OMPJIT__PRINTF(3, 4);
ompjit_status ompjit__gpu_charge(ompjit__gpu_reader *r, uint64_t at,
                                 uint64_t work);
/* Append with a name that is copied. Results are valid until the next one. */
ompjit_status ompjit__gpu_add_kernel(ompjit__gpu_reader *r, ompjit__bytes name,
                                     ompjit__gpu_kernel **out);
ompjit_status ompjit__gpu_add_found(ompjit__gpu_reader *r, ompjit__bytes name,
                                    ompjit__gpu_found **out);
/* Is it the name of a kernel's environment or execution mode? */
bool ompjit__gpu_is_environment(ompjit__bytes name);

ompjit_status ompjit__gpu_read_cubin(ompjit__gpu_reader *r);
ompjit_status ompjit__gpu_read_ptx(ompjit__gpu_reader *r);
#endif
