/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The CUDA driver API as the library knows it: own declarations, loaded at run
 * time, so that neither the build nor the process needs CUDA.
 */
#ifndef OMPJIT_CUDA_DRIVER_H
#define OMPJIT_CUDA_DRIVER_H

#include "base/base.h"

#define OMPJIT__CUDA_LIBRARY "libcuda.so.1"

typedef unsigned cu_result; /* 0 is success; driver.def has others */
typedef int cu_device;
typedef unsigned long long cu_pointer; /* a device address */
typedef struct CUctx_st *cu_context;
typedef struct CUmod_st *cu_module;
typedef struct CUfunc_st *cu_function;
typedef struct CUstream_st *cu_stream;
typedef struct CUevent_st *cu_event;
typedef struct CUgraph_st *cu_graph;
typedef struct CUgraphExec_st *cu_graph_exec;
typedef struct CUmemPoolHandle_st *cu_pool;

/* CUmemPoolProps. The driver's prototypes in driver.def name NVIDIA's struct,
 * which is only declared here; t/cuda_abi_t.c compares the layouts. */
struct CUmemPoolProps_st;
typedef struct ompjit__cuda_pool_properties {
    unsigned type, handles;
    struct {
        unsigned type;
        int id;
    } location;
    void *security;
    size_t max_size; /* 0: the system's */
    unsigned char reserved[56];
} ompjit__cuda_pool_properties;

/* CUmemAccessDesc. */
struct CUmemAccessDesc_st;
typedef struct ompjit__cuda_pool_access {
    struct {
        unsigned type;
        int id;
    } location;
    unsigned flags;
} ompjit__cuda_pool_access;

enum {
#define CU_NUMBER(name, value) OMPJIT__CU_##name = value,
#include "device/cuda/driver.def"
};

enum {
#define CU_CODE(name, value, status, effect) OMPJIT__CUDA_##name = value,
#include "device/cuda/driver.def"
};

/* The functions, by their names in the documentation. A pointer is NULL where
 * the driver lacks a function that is not required: check it before each use,
 * as has_pools and has_graphs do. */
typedef struct ompjit__cuda {
#define CU_FUNCTION(name, suffix, version, required, args) \
    cu_result(*name) args;
#include "device/cuda/driver.def"
} ompjit__cuda;

/* The driver's functions, loaded by the first call in the process; not yet
 * cuInit. *out is the process's, and stays. UNAVAILABLE where there is no
 * driver, or an older one than is required; a failure is the same for the life
 * of the process. Any thread. */
ompjit_status ompjit__cuda_load(const ompjit__cuda **out, ompjit_error *err);

enum ompjit__cuda_effect {
    OMPJIT__CUDA_EFFECT_NONE,
    OMPJIT__CUDA_EFFECT_REFUSED, /* the image does not suit this driver     */
    OMPJIT__CUDA_EFFECT_LOST     /* the context is of no use any more       */
};

/* The library's status for a code that is not 0: DRIVER for one that driver.def
 * does not list. */
ompjit_status ompjit__cuda_status(cu_result code);
/* The consequence of a code, also of 0: NONE for those that are not listed. */
enum ompjit__cuda_effect ompjit__cuda_effect(cu_result code);

/* Appends "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2, out of memory)". Asks the
 * driver for its words, without a context. Any thread. */
void ompjit__cuda_describe(const ompjit__cuda *cu, const char *function,
                           cu_result code, ompjit__buf *out);

#endif
