/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Compressed contents of containers.
 */
#ifndef OMPJIT_IMAGES_DECOMPRESS_H
#define OMPJIT_IMAGES_DECOMPRESS_H

#include "images/reader.h"

enum ompjit__compression {
    OMPJIT__ZLIB, /* by libz.so.1, RFC 1950 */
    OMPJIT__ZSTD, /* by libzstd.so.1, RFC 8878 */
    OMPJIT__LZ4   /* one block */
};

/* Reads what a content decompresses to, `size` bytes of it. */
ompjit_status ompjit__compressed_found(ompjit__image_reader *r,
                                       const ompjit__content *content,
                                       enum ompjit__compression method,
                                       uint64_t size);
/* Decompresses a block to exactly `size` bytes; false: it is none. lz4.c */
bool ompjit__lz4(ompjit__bytes in, unsigned char *out, size_t size);
#endif
