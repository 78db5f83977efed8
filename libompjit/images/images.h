/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Device images that a program or the user hands over: which pieces of code
 * they have, by content and through all containers. No byte of them is
 * believed.
 */
#ifndef OMPJIT_IMAGES_H
#define OMPJIT_IMAGES_H

#include "base/base.h"

/* The form of a piece's code. */
enum ompjit__piece_kind {
    OMPJIT__PIECE_BITCODE,
    OMPJIT__PIECE_IR_TEXT,
    OMPJIT__PIECE_PTX,          /* text, without the NULs behind it        */
    OMPJIT__PIECE_CUBIN,        /* linked, or relocatable (nvcc -dc)       */
    OMPJIT__PIECE_HOST_OBJECT,  /* ELF, relocatable: x86-64, AArch64       */
    OMPJIT__PIECE_HOST_LIBRARY  /* ELF, shared: the same CPUs              */
};

/* Code for one target. The architecture of PTX and of a cubin and the triple of
 * IR text are what the code itself says, all else is what the innermost
 * container says that says anything. */
typedef struct ompjit__piece {
    uint8_t kind;    /* enum ompjit__piece_kind                            */
    char triple[64]; /* "nvptx64-nvidia-cuda"; "" where nothing says it.
                        Also of targets that the library has no use for    */
    char arch[32];   /* "sm_90a", "gfx90a"; "" where nothing says it. Cubins
                        do not tell sm_100f from sm_100                    */
    const unsigned char *data; /* in the input, or in `memory`; aligned as
                                  it happens to be, no NUL follows          */
    size_t size;
} ompjit__piece;

typedef struct ompjit__pieces {
    ompjit__piece *list; /* in the order of the input */
    unsigned n;
    void **memory; /* what was decompressed */
    unsigned nmemory;
} ompjit__pieces;

/* The pieces of an image: LLVM bitcode and IR text, PTX, cubins, host ELF
 * files, and these in LLVM's offload binaries, clang's offload bundles, CUDA's
 * fat binaries, sections of ELF files, and ar archives, within each other.
 *
 * What the library has no use for (SPIR-V, an archive's other members) is
 * passed over. INVALID where nothing is left, which says why, and where bytes
 * are damaged, which names the field and its offset; UNAVAILABLE for a
 * compression whose library this machine lacks. `out` is set on success only,
 * and refers to the bytes. Allocates as much as the image says that it
 * decompresses to, at most 1 GiB. Any thread. */
ompjit_status ompjit__pieces_read(const void *bytes, size_t size,
                                  ompjit__pieces *out, ompjit_error *err);
/* Frees the list and what was decompressed, and leaves zeros. */
void ompjit__pieces_free(ompjit__pieces *pieces);

#endif
