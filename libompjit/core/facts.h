/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The facts that are folded into a variant: the rows of facts.def as one
 * struct, and what can be done with all of them together. facts.c
 */
#ifndef OMPJIT_FACTS_H
#define OMPJIT_FACTS_H

#include "base/base.h"
#include "base/pack.h"

/* How many there are of what is numbered in up to three dimensions. */
typedef struct ompjit__extent {
    uint32_t all;  /* in all dimensions together; 0: not known              */
    uint32_t y, z; /* 0: there is one dimension                             */
} ompjit__extent;

/* The extent of numbers by dimension, of which those of y and z may be 0, for
 * 1. Not known where they are 2^32 or more together, as a GPU's teams may be.
 */
static inline ompjit__extent ompjit__extent_of(const uint32_t n[3])
{
    uint32_t y = n[1] ? n[1] : 1, z = n[2] ? n[2] : 1, all;
    if (y == 1 && z == 1)
        return (ompjit__extent){.all = n[0]};
    if (__builtin_mul_overflow(n[0], y, &all) ||
        __builtin_mul_overflow(all, z, &all))
        return (ompjit__extent){0};
    return (ompjit__extent){.all = all, .y = y, .z = z};
}
/* The numbers by dimension; zeros where they are not known. */
void ompjit__extent_numbers(const ompjit__extent *extent, uint32_t n[3]);

/* Numbers of some parameters: values[i] is parameter i's, where the mask has
 * bit i. */
typedef struct ompjit__param_values {
    uint64_t mask;
    const uint64_t *values;
} ompjit__param_values;

/* The contents that a pointer points to. */
typedef struct ompjit__contents {
    uint32_t param;    /* its number among the kernel's parameters */
    uint32_t size;     /* bytes, 1 to OMPJIT_CONTENTS_MAX          */
    const void *bytes; /* on the host                              */
} ompjit__contents;

typedef struct ompjit__contents_list {
    uint32_t n;
    const ompjit__contents *list;
} ompjit__contents_list;

typedef uint32_t ompjit__fact_NUMBER;
typedef ompjit__extent ompjit__fact_EXTENT;
typedef uint64_t ompjit__fact_POINTERS; /* bit i: of parameter i */
typedef ompjit__param_values ompjit__fact_SCALAR_VALUES;
typedef ompjit__param_values ompjit__fact_POINTER_VALUES;
typedef ompjit__contents_list ompjit__fact_CONTENTS;

/* Zero-initialised: nothing is folded. */
typedef struct ompjit__facts {
#define FACT(name, kind, fold, word, said) ompjit__fact_##kind name;
#include "core/facts.def"
} ompjit__facts;

/* Is anything folded? */
bool ompjit__facts_any(const ompjit__facts *f);
/* Goes on from `start`. Equal facts have equal hashes, wherever their arrays
 * are; the numbers are this process's alone. */
uint64_t ompjit__facts_hash(const ompjit__facts *f, uint64_t start);
/* Compares contents byte for byte, so that a variant is never taken for
 * another. */
bool ompjit__facts_same(const ompjit__facts *a, const ompjit__facts *b);

/* A copy with arrays of its own, which ompjit__facts_free frees. False: out of
 * memory; to be freed all the same. */
bool ompjit__facts_copy(ompjit__facts *to, const ompjit__facts *from);
void ompjit__facts_free(ompjit__facts *f);
/* Has the arrays of `from` in place of its own. */
void ompjit__facts_borrow(ompjit__facts *to, const ompjit__facts *from);

/* Drops what `fold`, OMPJIT_FOLD_... together, does not ask for, and facts of
 * pointers about parameters that are not in `pointers`. */
void ompjit__facts_restrict(ompjit__facts *f, unsigned fold, uint64_t pointers);

/* Writes what is folded, a line for each number: for keys. */
void ompjit__facts_text(const ompjit__facts *f, ompjit__buf *text);
/* Unpacked facts have arrays of their own; what contents point to stays in the
 * bytes that were read. If these are bad, to be freed all the same. */
void ompjit__facts_pack(const ompjit__facts *f, ompjit__buf *out);
void ompjit__facts_unpack(ompjit__reader *r, ompjit__facts *out);

/* Word by word: the hash of keys. */
static inline uint64_t ompjit__mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}

#endif
