/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What program_code.c, rewrite.c, hosthalf/cache.c and omp_alloc.c know of each
 * other.
 */
#ifndef OMPJIT_OFFLOAD_HOSTJIT_H
#define OMPJIT_OFFLOAD_HOSTJIT_H

#include "backend/backend.h"
#include "cache/cache.h"
#include "omptarget/offload.h"

/* An offload entry of the host half, in either of clang's layouts. */
typedef struct ompjit__host_entry {
    char *symbol;
    uint64_t size; /* 0: a kernel */
    uint64_t data; /* what a `requires` entry is about */
    uint32_t flags;
} ompjit__host_entry;

/* What was found in a host half, and what its code now needs defined. */
typedef struct ompjit__host_half {
    ompjit__host_entry *entries;
    size_t nentries;
    char **functions; /* those that others may call */
    size_t nfunctions;
    ompjit__absolute *needs; /* names are constants; contexts have none */
    size_t nneeds;
} ompjit__host_half;

/* The one symbol that is looked up: const void *[OMPJIT__TABLE_KEYS + n] with
 * the addresses below and those of the n entries' keys. */
#define OMPJIT__TABLE "ompjit.table"
enum {
    OMPJIT__TABLE_DSO,  /* __dso_handle, what atexit handlers belong to  */
    OMPJIT__TABLE_INIT, /* void (*)(void): constructors                  */
    OMPJIT__TABLE_KEYS
};

/* Names that rewrite.c makes code refer to; program_code.c defines them. */
#define OMPJIT__SYMBOL_CONTEXT "ompjit.context"
#define OMPJIT__SYMBOL_LIFE "ompjit.life"

/* Rewrites a host half that was just parsed: served functions get their
 * context, constructors become one function, everything is for this CPU.
 * `out` is filled also on failure, for ompjit__host_half_free. rewrite.c */
ompjit_status ompjit__host_prepare(LLVMModuleRef m, LLVMTargetMachineRef tm,
                                   ompjit__host_half *out, ompjit_error *err);
/* Puts right what clang gets wrong; before anything else. repair.c */
void ompjit__host_repair(LLVMModuleRef m);
/* Marks the entries of data regions that no program can tell from a copy;
 * before anything else. share.c */
void ompjit__host_share(ompjit_context *ctx, LLVMModuleRef m,
                        const ompjit__unit *unit);
void ompjit__host_half_free(ompjit__host_half *half);

/* A host half that is compiled, and not linked yet. */
typedef struct ompjit__compiled_half {
    ompjit__host_half half;
    ompjit__buf object;
} ompjit__compiled_half;
void ompjit__compiled_half_free(ompjit__compiled_half *compiled);

/* In the cache; the last is an ompjit__cache_take. hosthalf/cache.c */
bool ompjit__half_key(const ompjit__unit *unit, ompjit__key *key);
void ompjit__half_pack(const ompjit__compiled_half *compiled,
                       ompjit__buf *out);
bool ompjit__half_unpack(void *compiled, const void *payload, size_t size);

/* __cxa_thread_atexit with the life of the host half first. program_code.c */
extern const ompjit__served ompjit__thread_atexit_row;

/* Allocator functions in place of libomp's. omp_alloc.c */
extern const ompjit__served ompjit__alloc_table[];
extern const size_t ompjit__alloc_count;

#endif
