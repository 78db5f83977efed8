/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * One call of ompjit__pieces_read: what its containers share. A container's
 * file says whether bytes are its format, and hands what is in it to
 * ompjit__piece_found, which may find a container again.
 */
#ifndef OMPJIT_IMAGES_READER_H
#define OMPJIT_IMAGES_READER_H

#include "formats/bytes.h"
#include "images/images.h"

/* What is known of some bytes before they are looked at. */
typedef struct ompjit__content {
    ompjit__bytes bytes;
    char triple[64], arch[32]; /* by the containers; "" */
    char name[48];             /* for messages: "member a.o"; "" */
} ompjit__content;

/* Memory that offsets in messages count from: the input, or what a part of it
 * decompresses to. */
typedef struct ompjit__origin {
    const unsigned char *base;
    char of[64]; /* " of what byte 80 decompresses to"; "" for the input */
} ompjit__origin;

typedef struct ompjit__image_reader {
    ompjit__pieces pieces;
    ompjit_error *err;
    ompjit__origin origin;
    unsigned depth;        /* of containers                                */
    uint64_t work;         /* bytes that may still be looked at. Containers
                              in which contents overlap use it up          */
    uint64_t decompressed; /* bytes, all together                          */
    char skipped[256];     /* why the first content was passed over; ""    */
} ompjit__image_reader;

/* Fills the error with the offset of `at`, and returns INVALID. */
ompjit_status ompjit__image_bad(ompjit__image_reader *r,
                                const unsigned char *at, const char *format,
                                ...) OMPJIT__PRINTF(3, 4);
/* Notes why what is at `at` is passed over; OK. */
ompjit_status ompjit__image_skip(ompjit__image_reader *r,
                                 const unsigned char *at, const char *format,
                                 ...) OMPJIT__PRINTF(3, 4);
/* Charges work that bytes ask for; INVALID where they ask for too much. */
ompjit_status ompjit__image_charge(ompjit__image_reader *r,
                                   const unsigned char *at, uint64_t work);
/* Allows the work of bytes that are there now: what was decompressed. */
void ompjit__image_allow(ompjit__image_reader *r, uint64_t bytes);
/* Reads a content, whatever it is. pieces.c */
ompjit_status ompjit__piece_found(ompjit__image_reader *r,
                                  const ompjit__content *content);
/* Contents that follow each other, with zero bytes between them, each of which
 * begins with `magic` and is read by `one`, which says where it ends. */
typedef ompjit_status ompjit__image_one(ompjit__image_reader *r,
                                        const ompjit__content *content,
                                        size_t *size);
ompjit_status ompjit__image_each(ompjit__image_reader *r,
                                 const ompjit__content *content,
                                 ompjit__bytes magic, const char *what,
                                 ompjit__image_one *one);

/* Copies a string that is `n` bytes; cuts what does not fit. */
void ompjit__image_copy(char *to, size_t room, const void *from, size_t n);

/* ------------------------------------------- formats, each in its own file */

/* Cubins and host files are pieces, and may be containers. Leaves are bitcode,
 * IR text and PTX, which hold nothing else. */
#define OMPJIT__IMAGE_FORMATS(F) \
    F(offload_binary) F(bundle) F(compressed_bundle) F(text_bundle) \
    F(fat_binary) F(archive) F(elf_image) F(leaf)
#define OMPJIT__IMAGE_FORMAT(name) \
    bool ompjit__##name##_is(ompjit__bytes b); \
    ompjit_status ompjit__##name##_read(ompjit__image_reader *r, \
                                        const ompjit__content *content);
OMPJIT__IMAGE_FORMATS(OMPJIT__IMAGE_FORMAT)
#undef OMPJIT__IMAGE_FORMAT

/* Triple and architecture of clang's "KIND-TRIPLE-ARCH". bundle.c */
void ompjit__bundle_target(ompjit__bytes id, ompjit__content *out);

/* Adds a piece. Its triple and architecture are the content's where the
 * arguments are "". */
ompjit_status ompjit__piece_add(ompjit__image_reader *r,
                                const ompjit__content *content,
                                enum ompjit__piece_kind kind,
                                const char *triple, const char *arch);
#endif
