/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Device images made by hand, so that no toolkit is needed: cubins, host files
 * and the containers around them.
 */
#ifndef OMPJIT_T_IMAGES_MAKE_H
#define OMPJIT_T_IMAGES_MAKE_H

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

static const char bitcode[] = "BC\xC0\xDE some blocks";
static const char wrapped[] = "\xDE\xC0\x17\x0B wrapped";
static const char ptx[] =
    "// made\n/* by hand */ .version 7.8\n.target sm_80, debug\n"
    ".address_size 64\n.visible .entry k(.param .u64 k_param_0)\n{ ret; }\n";
static const char ir[] = "; ModuleID = 'x'\nsource_filename = \"x\"\n"
                         "target triple = \"nvptx64-nvidia-cuda\"\n"
                         "define void @f() { ret void }\n";

/* Bytes of a struct or an array. */
#define PUT(b, object) ompjit__buf_add(b, &(object), sizeof(object))

static inline void put32(ompjit__buf *b, uint32_t v)
{
    PUT(b, v);
}

static inline void put64(ompjit__buf *b, uint64_t v)
{
    PUT(b, v);
}

static inline void align8(ompjit__buf *b)
{
    ompjit__buf_add(b, "\0\0\0\0\0\0\0", (size_t)-b->size % 8);
}

static inline ompjit__buf of_bytes(const void *data, size_t size)
{
    ompjit__buf b = {0};
    ompjit__buf_add(&b, data, size);
    return b;
}

/* -------------------------------------------------------------- ELF files */

/* A section to be made. */
struct section {
    const char *name;
    uint32_t type;
    const void *data;
    size_t size;
    uint32_t link, info, entry_size;
};

/* Sections 1 and up are the caller's, the last one is that of the names. */
static inline ompjit__buf make_elf(Elf64_Ehdr h, const struct section *s,
                                   unsigned n)
{
    Elf64_Shdr t[16] = {{0}};
    ompjit__buf b = {0}, names = {0};
    memcpy(h.e_ident, ELFMAG, SELFMAG);
    h.e_ident[EI_CLASS] = ELFCLASS64;
    h.e_ident[EI_DATA] = ELFDATA2LSB;
    h.e_shentsize = sizeof *t;
    h.e_shnum = (Elf64_Half)(n + 2);
    h.e_shstrndx = (Elf64_Half)(n + 1);
    PUT(&b, h);
    ompjit__buf_add(&names, "", 1);
    for (unsigned i = 0; i <= n; i++) {
        struct section names_section = {".shstrtab", SHT_STRTAB, NULL, 0, 0, 0,
                                        0};
        const struct section *one = i < n ? &s[i] : &names_section;
        t[i + 1] = (Elf64_Shdr){.sh_name = (Elf64_Word)names.size,
                                .sh_type = one->type,
                                .sh_offset = b.size,
                                .sh_size = one->size,
                                .sh_link = one->link,
                                .sh_info = one->info,
                                .sh_entsize = one->entry_size};
        ompjit__buf_add(&names, one->name, strlen(one->name) + 1);
        if (i == n) {
            t[i + 1].sh_size = names.size;
            ompjit__buf_add(&b, names.data, names.size);
        } else if (one->type != SHT_NOBITS) {
            ompjit__buf_add(&b, one->data, one->size);
        }
    }
    h.e_shoff = b.size;
    ompjit__buf_add(&b, t, (n + 2) * sizeof *t);
    memcpy(b.data, &h, sizeof h);
    ompjit__buf_free(&names);
    return b;
}

/* A host file of that type, with a section of images where there are any. */
static inline ompjit__buf make_host(unsigned type, unsigned machine,
                                    const char *name, const ompjit__buf *images)
{
    Elf64_Ehdr h = {.e_type = (Elf64_Half)type,
                    .e_machine = (Elf64_Half)machine};
    struct section s[] = {
        {".text", SHT_PROGBITS, "\xc3", 1, 0, 0, 0},
        {name, SHT_PROGBITS, images ? images->data : NULL,
         images ? images->size : 0, 0, 0, 0}};
    return make_elf(h, s, images ? 2 : 1);
}

/* A cubin of kernel "kern" and variable "var", in both layouts. It has no
 * program table. */
static const uint32_t kernel_info[] = {
    0x000c1704, 0, 0x00080001, 0x0011f000, /* parameter 1: 4 bytes at 8 */
    0x000c1704, 0, 0x00000000, 0x0021f000, /* parameter 0: 8 bytes at 0 */
    0x000c0504, 64, 2, 2,                  /* thread bound              */
};
static inline ompjit__buf make_cubin(unsigned abi, unsigned sm, unsigned more)
{
    static const char strings[] = "\0kern\0var\0kern_kernel_environment";
    static const unsigned char initial[48] = {1, 0, 3, 0, 1, 0, 0, 0, 128};
    const Elf64_Sym symbols[] = {
        {0},
        {.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
         .st_other = 0x10, .st_shndx = 3, .st_size = 16},
        {.st_name = 6, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
         .st_shndx = 6, .st_size = 40},
        {.st_name = 10, .st_info = ELF64_ST_INFO(STB_WEAK, STT_OBJECT),
         .st_shndx = 5, .st_size = 48},
    };
    const struct section s[] = {
        {".strtab", SHT_STRTAB, strings, sizeof strings, 0, 0, 0},
        {".symtab", SHT_SYMTAB, symbols, sizeof symbols, 1, 0,
         sizeof *symbols},
        {".text.kern", SHT_PROGBITS, "\1\2\3\4\5\6\7\10\1\2\3\4\5\6\7", 16, 0,
         0, 0},
        {".nv.info.kern", SHT_LOPROC, kernel_info, sizeof kernel_info, 2, 3,
         0},
        {".nv.global.init", SHT_PROGBITS, initial, sizeof initial, 0, 0, 0},
        {".nv.global", SHT_NOBITS, NULL, 40, 0, 0, 0},
    };
    Elf64_Ehdr h = {.e_type = ET_EXEC, .e_machine = EM_CUDA};
    h.e_ident[EI_ABIVERSION] = (unsigned char)abi;
    h.e_flags = (abi == 7 ? sm << 16 | 0x500 | sm : 0x6000004 | sm << 8) | more;
    return make_elf(h, s, OMPJIT__COUNT(s));
}

/* --------------------------------------------------- LLVM's offload binary */

struct image {
    const char *triple, *arch;
    const void *data;
    size_t size;
};

static inline void put_image(ompjit__buf *b, unsigned version, size_t from,
                             const struct image *image, size_t entry)
{
    const char *strings[] = {"triple", image->triple, "arch", image->arch};
    uint64_t table[6], at[4];
    size_t each = version > 1 ? 3 : 2;
    for (size_t i = 0; i < 4; i++) {
        at[i] = b->size - from;
        ompjit__buf_add(b, strings[i], strlen(strings[i]) + 1);
    }
    for (size_t i = 0; i < 2; i++) {
        table[i * each] = at[2 * i];
        table[i * each + 1] = at[2 * i + 1];
        table[i * each + each - 1] =
            version > 1 ? strlen(strings[2 * i + 1]) : at[2 * i + 1];
    }
    align8(b);
    uint64_t fields[] = {1u << 16, b->size - from, 2,
                         b->size - from + 2 * each * 8, image->size};
    memcpy(b->data + entry, fields, sizeof fields);
    ompjit__buf_add(b, table, 2 * each * 8);
    ompjit__buf_add(b, image->data, image->size);
    align8(b);
}

/* Version 1 has one image. */
static inline void put_offload(ompjit__buf *b, unsigned version,
                               const struct image *images, unsigned n)
{
    size_t from = b->size;
    uint64_t size;
    put32(b, 0xad10ff10);
    put32(b, version);
    put64(b, 0);
    put64(b, 32);
    put64(b, version > 1 ? n : 40);
    for (unsigned i = 0; i < 5 * n; i++)
        put64(b, 0);
    for (unsigned i = 0; i < n; i++)
        put_image(b, version, from, &images[i], from + 32 + 40 * i);
    size = b->size - from;
    memcpy(b->data + from + 8, &size, sizeof size);
}

/* ------------------------------------------------- clang's offload bundles */

/* `triple` is the whole identifier. */
static inline ompjit__buf make_bundle(const struct image *images, unsigned n)
{
    ompjit__buf b = of_bytes("__CLANG_OFFLOAD_BUNDLE__", 24);
    size_t at = 32;
    put64(&b, n);
    for (unsigned i = 0; i < n; i++)
        at += 24 + strlen(images[i].triple);
    for (unsigned i = 0; i < n; at += images[i++].size) {
        put64(&b, at);
        put64(&b, images[i].size);
        put64(&b, strlen(images[i].triple));
        ompjit__buf_add(&b, images[i].triple, strlen(images[i].triple));
    }
    for (unsigned i = 0; i < n; i++)
        ompjit__buf_add(&b, images[i].data, images[i].size);
    return b;
}

/* `content` is compressed already, and `whole` its size before. */
static inline void put_compressed(ompjit__buf *b, unsigned version,
                                  unsigned method, const ompjit__buf *content,
                                  size_t whole)
{
    size_t each = version == 3 ? 8 : 4;
    size_t header = 8 + each * (version == 1 ? 1 : 2) + 8;
    uint64_t size = header + content->size, hash = 0, plain = whole;
    ompjit__buf_add(b, "CCOB", 4);
    put32(b, method << 16 | version);
    if (version > 1)
        ompjit__buf_add(b, &size, each);
    ompjit__buf_add(b, &plain, each);
    PUT(b, hash);
    ompjit__buf_add(b, content->data, content->size);
}

/* ----------------------------------------------------- CUDA's fat binaries */

/* An entry; `whole` is the size before compression. */
static inline void put_fat_entry(ompjit__buf *b, unsigned kind, unsigned flags,
                                 const ompjit__buf *content, size_t whole)
{
    size_t padding = -content->size % 8;
    put32(b, 0x01010000 | kind);
    put32(b, 64);
    put64(b, content->size + padding);
    put32(b, flags ? (uint32_t)content->size : 0);
    put32(b, 0);
    put32(b, 0x00010008);
    put32(b, 80); /* sm_80 */
    put64(b, 0);
    put64(b, flags | 0x11);
    put64(b, 0);
    put64(b, flags ? whole : 0);
    ompjit__buf_add(b, content->data, content->size);
    ompjit__buf_add(b, "\0\0\0\0\0\0\0", padding);
}

static inline void put_fat_binary(ompjit__buf *b, const ompjit__buf *entries)
{
    put32(b, 0xba55ed50);
    put32(b, 0x00100001);
    put64(b, entries->size);
    ompjit__buf_add(b, entries->data, entries->size);
}

/* ---------------------------------------------------------------- archives */

static inline void put_member(ompjit__buf *b, const char *name,
                              const void *data, size_t size)
{
    ompjit__buf_printf(b, "%-16s%-12s%-6s%-6s%-8s%-10zu`\n", name, "0", "0",
                       "0", "644", size);
    ompjit__buf_add(b, data, size);
    ompjit__buf_add(b, "\n", size % 2);
}
#endif
