/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ELF files of any machine and of CUDA's (cubins), read with every offset
 * checked, so that any bytes at all end in an error or an answer. Knows the
 * cubins of CUDA 12 (ELF ABI version 7) and 13 (8; with 12.8 on for new
 * architectures). Checks return what is wrong, a part of a sentence, or NULL.
 */
#ifndef OMPJIT_ELF_FILE_H
#define OMPJIT_ELF_FILE_H

#include <elf.h>

#include "formats/bytes.h"

enum {
    OMPJIT__CUBIN_ABI_12 = 7, /* EI_ABIVERSION of CUDA 12 */
    OMPJIT__CUBIN_ABI_13 = 8,
    OMPJIT__CUBIN_INFO = SHT_LOPROC /* type of .nv.info, .nv.info.KERNEL */
};

/* A file and what has been found of it. The bytes are the caller's and outlive
 * it; there is nothing to free. Zero-initialised but for `file`. */
typedef struct ompjit__elf_file {
    ompjit__bytes file;
    Elf64_Ehdr head;
    ompjit__bytes section_names;
    ompjit__bytes symbols, symbol_names; /* of the last symbol table */
    unsigned sm;                         /* of a cubin: 90           */
    uint64_t bad_at; /* offset of the field that the last check refused */
} ompjit__elf_file;

/* Notes where what is wrong is, and returns it. */
const char *ompjit__elf_bad(ompjit__elf_file *f, uint64_t at, const char *what);
/* Reads the header of a 64-bit little-endian file. elf_file.c, as all here but
 * for the cubins' */
const char *ompjit__elf_head(ompjit__elf_file *f);
/* The tables of sections and of segments lie within the file. */
const char *ompjit__elf_tables(ompjit__elf_file *f);
/* Every section lies within the file; finds names and symbols, if any. */
const char *ompjit__elf_sections(ompjit__elf_file *f);
/* The i-th section's header; false past the last. */
bool ompjit__elf_file_section(const ompjit__elf_file *f, unsigned i,
                              Elf64_Shdr *out);
/* "" for a section without one. */
const char *ompjit__elf_section_name(const ompjit__elf_file *f,
                                     const Elf64_Shdr *s);

/* ------------------------------------------------------------ cubin_file.c */

/* Reads the header of a cubin, with the architecture. */
const char *ompjit__cubin_head(ompjit__elf_file *f);
/* The whole of the above, and a cubin has names and symbols. */
const char *ompjit__cubin_open(ompjit__elf_file *f);
/* Is the i-th symbol a kernel that the file defines? */
bool ompjit__cubin_kernel(const ompjit__elf_file *f, size_t i,
                          Elf64_Sym *symbol);

/* Walks one info section: entries of format, attribute and 16 bits, which are
 * the value or the size of the value that follows. Zero-initialised but for
 * `info`. */
typedef struct ompjit__cubin_info {
    ompjit__bytes info;
    size_t at;
    unsigned attribute;
    unsigned immediate;  /* the 16 bits                          */
    ompjit__bytes value; /* empty where the value is the 16 bits */
    const char *bad;     /* what is wrong, once something is     */
} ompjit__cubin_info;
/* False at the end, and where something is wrong. */
bool ompjit__cubin_info_next(ompjit__cubin_info *i);
/* The threads of an attribute's value that is x, y, z; UINT32_MAX at most. */
uint32_t ompjit__cubin_threads(ompjit__bytes value);
#endif
