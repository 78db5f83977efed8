/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What a cubin or PTX has: kernels, their parameters, global variables. No byte
 * of it is believed.
 */
#ifndef OMPJIT_IMAGES_GPU_CODE_H
#define OMPJIT_IMAGES_GPU_CODE_H

#include "abi/offload.h"
#include "images/images.h"

/* Where a parameter lies in the block of a launch's arguments. */
typedef struct ompjit__gpu_param {
    uint32_t offset, size; /* bytes */
} ompjit__gpu_param;

typedef struct ompjit__gpu_kernel {
    char *symbol;
    ompjit__gpu_param *params;
    unsigned nparams;
    uint32_t max_threads;  /* of a team, .maxntid or .reqntid; 0: not said */
    bool threads_required; /* .reqntid: as many exactly                    */
    /* Of OpenMP kernels: the initial bytes of SYMBOL_kernel_environment, whose
     * pointers are 0 or not relocated. Clang 16 and before have one byte,
     * SYMBOL_exec_mode. */
    uint8_t environment[sizeof(ompjit__kernel_environment)];
    unsigned environment_size; /* bytes of it that are there; 0: none      */
    int exec_mode; /* enum ompjit__exec_mode; -1: no OpenMP kernel         */
} ompjit__gpu_kernel;

typedef struct ompjit__gpu_variable {
    char *symbol;
    uint64_t size; /* bytes */
} ompjit__gpu_variable;

typedef struct ompjit__gpu_code {
    ompjit__gpu_kernel *kernels; /* in the order of the code */
    unsigned nkernels;
    /* In global and constant memory. Local symbols too: nvcc makes most so,
     * and the driver finds them. */
    ompjit__gpu_variable *variables;
    unsigned nvariables;
} ompjit__gpu_code;

/* Describes a piece that is PTX or a cubin; INVALID for other kinds, and for
 * one that cannot be read, which names the byte. PTX is read as far as names
 * and sizes need it: an error in an instruction is the driver's to find. `out`
 * is set on success only, and refers to nothing of the piece. Any thread. */
ompjit_status ompjit__gpu_code_read(const ompjit__piece *piece,
                                    ompjit__gpu_code *out, ompjit_error *err);
/* Frees all that hangs from it, and leaves zeros. */
void ompjit__gpu_code_free(ompjit__gpu_code *code);

#endif
