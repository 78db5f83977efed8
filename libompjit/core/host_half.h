/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A compiled host half: the object and the facts that the runtime needs to link
 * and register it. Made by passes/hosthalf/ and backend/host/, used by
 * hosthalf/program_code.c.
 */
#ifndef OMPJIT_HOST_HALF_H
#define OMPJIT_HOST_HALF_H

#include "base/base.h"
#include "base/pack.h"

/* An offload entry of the host half, in either of clang's layouts. */
typedef struct ompjit__host_entry {
    char *symbol;
    uint64_t size; /* 0: a kernel */
    uint64_t data; /* the subject of a `requires` entry */
    uint32_t flags;
} ompjit__host_entry;

typedef struct ompjit__host_half {
    ompjit__buf object;
    ompjit__host_entry *entries;
    size_t nentries;
    char **functions; /* those that others may call */
    size_t nfunctions;
    char **needs; /* names of abi/served.h that the object refers to */
    size_t nneeds;
    /* Parts that are compiled when they are needed (passes/hosthalf/parts.cc),
     * numbered from 1: their functions' names, of which some are among
     * `functions`, and names that they want of the process. */
    char **parts;
    size_t nparts;
    char **wants;
    size_t nwants;
} ompjit__host_half;

/* A part names a function of its own by this and the function's name, where it
 * is to have the address that it has in the other parts. */
#define OMPJIT__STUB_OF "ompjit.stub."

/* The one symbol that is looked up: const void *[OMPJIT__TABLE_KEYS + n] with
 * the addresses below and those of the n entries' keys. */
#define OMPJIT__TABLE "ompjit.table"
enum {
    OMPJIT__TABLE_DSO,  /* __dso_handle, what atexit handlers belong to  */
    OMPJIT__TABLE_INIT, /* void (*)(void): constructors                  */
    OMPJIT__TABLE_KEYS
};

void ompjit__host_half_free(ompjit__host_half *half);
/* half_pack.c; `out` is set on success only */
void ompjit__half_pack(const ompjit__host_half *half, ompjit__buf *out);
bool ompjit__half_unpack(ompjit__reader *r, ompjit__host_half *out);

#endif
