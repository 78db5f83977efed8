/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Reads the resources of kernels from a cubin: an ELF file, read with every
 * offset checked, so that any bytes at all end in an error or an answer. Knows
 * the layouts of CUDA 12 (ELF ABI version 7) and 13 (8; with 12.8 on for new
 * architectures).
 *
 *   .symtab              functions; bit 4 of st_other marks a kernel
 *   .nv.info             registers, frames, stacks, by symbol number
 *   .nv.info.KERNEL      thread bounds
 *   .nv.shared.KERNEL    static shared memory (size only)
 *   .nv.constantN.KERNEL constant banks
 *   .text.KERNEL         code
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/nvptx/nvptx.h"

enum {
    ABI_CUDA_12 = 7,
    ABI_CUDA_13 = 8,
    OTHER_ENTRY = 0x10,
    SECTION_INFO = SHT_LOPROC, /* .nv.info and .nv.info.KERNEL */
    /* From sm_90 on the first KiB of a team's shared memory is the system's.
     * Section sizes count it where a kernel uses any; nobody else does. */
    RESERVING_SM = 90,
    RESERVED_SHARED = 1024
};

/* Attributes in info sections, and how their value is stored. */
enum {
    FORMAT_SIZED = 4, /* 16 bits of size, then so many bytes; else 16 bits */
    ATTR_MAX_THREADS = 0x05,    /* x, y, z                 */
    ATTR_REQUIRED_THREADS = 0x10, /* x, y, z               */
    ATTR_FRAME_SIZE = 0x11,     /* symbol number, bytes    */
    ATTR_MIN_STACK_SIZE = 0x12, /* symbol number, bytes: frames of all callees
                                   too, where that is known */
    ATTR_REGISTERS = 0x2f       /* symbol number, registers */
};

/* A part of the file, borrowed. Every access goes through slice or read_at. */
struct bytes {
    const unsigned char *p;
    size_t n;
};

/* The file and what has been found of it so far. */
struct cubin {
    struct bytes file;
    Elf64_Ehdr head;
    struct bytes section_names;
    struct bytes symbols, symbol_names;
    unsigned sm;
    ompjit__usage *usage;
    uint32_t *numbers; /* usage[i]'s symbol number */
    unsigned n;
    const char *bad; /* what is wrong, once something is */
};

/* ------------------------------------------------------------ safe reading */

/* False: not all of these n bytes are in `from`. Neither sum can overflow. */
static bool slice(struct bytes from, uint64_t at, uint64_t n,
                  struct bytes *out)
{
    if (at > from.n || n > from.n - at)
        return false;
    *out = (struct bytes){from.p + at, (size_t)n};
    return true;
}

/* Copies, since nothing in the file need be aligned. */
static bool read_at(struct bytes from, uint64_t at, void *out, size_t n)
{
    struct bytes s;
    if (!slice(from, at, n, &s))
        return false;
    memcpy(out, s.p, n);
    return true;
}

/* The i-th 32 bits; 0 past the end. */
static uint32_t word(struct bytes from, size_t i)
{
    uint32_t w = 0;
    read_at(from, i * sizeof w, &w, sizeof w);
    return w;
}

/* A string that ends within its table; "" otherwise. */
static const char *string_at(struct bytes table, uint32_t at)
{
    if (at >= table.n || !memchr(table.p + at, 0, table.n - at))
        return "";
    return (const char *)table.p + at;
}

/* The i-th section's header; false past the last. */
static bool section(const struct cubin *c, unsigned i, Elf64_Shdr *out)
{
    return i < c->head.e_shnum &&
           read_at(c->file, c->head.e_shoff + (uint64_t)i * sizeof *out, out,
                   sizeof *out);
}

/* "" for a section without one. */
static const char *section_name(const struct cubin *c, const Elf64_Shdr *s)
{
    return string_at(c->section_names, s->sh_name);
}

/* ------------------------------------------------------------- the outside */

/* Returns what is wrong, or NULL, as all checks here. The architecture is in
 * the low byte of e_flags in version 7, and in the second in version 8. */
static const char *check_head(struct cubin *c)
{
    const Elf64_Ehdr *h = &c->head;
    struct bytes table;
    if (!read_at(c->file, 0, &c->head, sizeof c->head))
        return "shorter than an ELF header";
    if (memcmp(h->e_ident, ELFMAG, SELFMAG) ||
        h->e_ident[EI_CLASS] != ELFCLASS64 ||
        h->e_ident[EI_DATA] != ELFDATA2LSB)
        return "no 64-bit little-endian ELF file";
    if (h->e_machine != EM_CUDA)
        return "an ELF file for another machine than CUDA";
    uint8_t abi = h->e_ident[EI_ABIVERSION];
    if (abi != ABI_CUDA_12 && abi != ABI_CUDA_13)
        return "of an ELF ABI version other than 7 (CUDA 12) and 8 (CUDA 13)";
    if (h->e_shentsize != sizeof(Elf64_Shdr) || !h->e_shnum ||
        !slice(c->file, h->e_shoff,
               (uint64_t)h->e_shnum * sizeof(Elf64_Shdr), &table))
        return "cut or spoilt: no section table";
    if (h->e_phnum &&
        (h->e_phentsize != sizeof(Elf64_Phdr) ||
         !slice(c->file, h->e_phoff,
                (uint64_t)h->e_phnum * sizeof(Elf64_Phdr), &table)))
        return "cut or spoilt: no program table";
    c->sm = abi == ABI_CUDA_12 ? h->e_flags & 0xff : h->e_flags >> 8 & 0xff;
    return NULL;
}

/* Every section lies within the file, and there is a table of symbols. */
static const char *check_sections(struct cubin *c)
{
    Elf64_Shdr s;
    for (unsigned i = 0; section(c, i, &s); i++) {
        struct bytes content = {0};
        if (s.sh_type != SHT_NOBITS && s.sh_type != SHT_NULL &&
            !slice(c->file, s.sh_offset, s.sh_size, &content))
            return "cut or spoilt: a section reaches past the end";
        if (i == c->head.e_shstrndx)
            c->section_names = content;
        if (s.sh_type != SHT_SYMTAB)
            continue;
        Elf64_Shdr names;
        if (s.sh_entsize != sizeof(Elf64_Sym) ||
            !section(c, s.sh_link, &names) ||
            !slice(c->file, names.sh_offset, names.sh_size, &c->symbol_names))
            return "spoilt: no symbol names";
        c->symbols = content;
    }
    if (!c->section_names.n)
        return "spoilt: no section names";
    return c->symbols.n ? NULL : "spoilt: no symbols";
}

/* ----------------------------------------------------------------- kernels */

/* Is the i-th symbol a kernel that the file defines? */
static bool kernel_symbol(const struct cubin *c, size_t i, Elf64_Sym *symbol)
{
    return read_at(c->symbols, i * sizeof *symbol, symbol, sizeof *symbol) &&
           ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
           symbol->st_other & OTHER_ENTRY && symbol->st_shndx != SHN_UNDEF;
}

/* One usage for each, in the order of the symbols. */
static ompjit_status find_kernels(struct cubin *c)
{
    size_t count = c->symbols.n / sizeof(Elf64_Sym), n = 0;
    Elf64_Sym symbol;
    for (size_t i = 0; i < count; i++)
        n += kernel_symbol(c, i, &symbol);
    if (!n)
        return OMPJIT_OK;
    c->usage = calloc(n, sizeof *c->usage);
    c->numbers = calloc(n, sizeof *c->numbers);
    if (!c->usage || !c->numbers)
        return OMPJIT_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        if (!kernel_symbol(c, i, &symbol))
            continue;
        const char *name = string_at(c->symbol_names, symbol.st_name);
        c->numbers[c->n] = (uint32_t)i;
        c->usage[c->n].symbol = ompjit__strdup(name);
        if (!c->usage[c->n++].symbol)
            return OMPJIT_ERR_NO_MEMORY;
        if (!*name)
            c->bad = "spoilt: a kernel has no name";
    }
    return OMPJIT_OK;
}

/* The kernel that a section ".prefix.KERNEL" belongs to; NULL if it is none. */
static ompjit_resources *owner(const struct cubin *c, const char *name,
                               const char *prefix)
{
    size_t n = strlen(prefix);
    if (strncmp(name, prefix, n))
        return NULL;
    for (unsigned i = 0; i < c->n; i++)
        if (!strcmp(c->usage[i].symbol, name + n))
            return &c->usage[i].res;
    return NULL;
}

/* A file may claim any size; a resource that is too large stays so. */
static uint32_t clamp(uint64_t v)
{
    return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

/* The facts that are sizes of sections. A kernel may have several constant
 * banks, whose sizes add up. */
static void sizes(struct cubin *c, const Elf64_Shdr *s, const char *name)
{
    ompjit_resources *r;
    if ((r = owner(c, name, ".text."))) {
        r->code = clamp(s->sh_size);
    } else if ((r = owner(c, name, ".nv.shared."))) {
        bool counted = c->sm >= RESERVING_SM && s->sh_size >= RESERVED_SHARED;
        r->shared_static = clamp(s->sh_size - (counted ? RESERVED_SHARED : 0));
    } else if (!strncmp(name, ".nv.constant", 12)) {
        char prefix[32];
        size_t digits = strspn(name + 12, "0123456789");
        snprintf(prefix, sizeof prefix, "%.*s.", (int)(12 + digits), name);
        if ((r = owner(c, name, prefix)))
            r->constant = clamp((uint64_t)r->constant + s->sh_size);
    }
}

/* -------------------------------------------------------------- attributes */

/* An attribute of the kernel with that symbol number. Functions that are no
 * kernels have such attributes too, and are passed over. */
static void by_symbol(struct cubin *c, unsigned attr, struct bytes value)
{
    uint32_t number = word(value, 0), v = word(value, 1);
    for (unsigned i = 0; i < c->n; i++) {
        ompjit_resources *r = &c->usage[i].res;
        if (c->numbers[i] != number)
            continue;
        if (attr == ATTR_REGISTERS)
            r->registers = v;
        else if (attr != ATTR_MIN_STACK_SIZE || v != UINT32_MAX)
            r->local = v > r->local ? v : r->local;
    }
}

/* `r` is the kernel whose info section it is, or NULL. */
static void attribute(struct cubin *c, ompjit_resources *r, unsigned attr,
                      struct bytes value)
{
    switch (attr) {
    case ATTR_REGISTERS:
    case ATTR_FRAME_SIZE:
    case ATTR_MIN_STACK_SIZE:
        if (value.n >= 8)
            by_symbol(c, attr, value);
        break;
    case ATTR_MAX_THREADS:
    case ATTR_REQUIRED_THREADS:
        if (value.n >= 12 && r)
            r->max_threads = clamp((uint64_t)clamp((uint64_t)word(value, 0) *
                                                   word(value, 1)) *
                                   word(value, 2));
        break;
    }
}

/* One info section: entries of format, attribute and 16 bits, which are the
 * value or the size of the value that follows. `r` is NULL in the one that is
 * not of a kernel. */
static const char *attributes(struct cubin *c, ompjit_resources *r,
                              struct bytes info)
{
    struct {
        uint8_t format, attr;
        uint16_t value;
    } entry;
    for (size_t at = 0; at < info.n;) {
        struct bytes value = {0};
        if (!read_at(info, at, &entry, sizeof entry))
            return "spoilt: an attribute is cut";
        at += sizeof entry;
        if (entry.format == FORMAT_SIZED) {
            if (!slice(info, at, entry.value, &value))
                return "spoilt: an attribute's value is cut";
            at += entry.value;
        }
        attribute(c, r, entry.attr, value);
    }
    return NULL;
}

static const char *read_sections(struct cubin *c)
{
    Elf64_Shdr s;
    const char *bad = NULL;
    for (unsigned i = 0; !bad && section(c, i, &s); i++) {
        const char *name = section_name(c, &s);
        ompjit_resources *r = owner(c, name, ".nv.info.");
        struct bytes info;
        sizes(c, &s, name);
        if (s.sh_type == SECTION_INFO && (r || !strcmp(name, ".nv.info")) &&
            slice(c->file, s.sh_offset, s.sh_size, &info))
            bad = attributes(c, r, info);
    }
    return bad;
}

/* ------------------------------------------------------------------- whole */

/* From the outside to the inside. c->bad tells what is wrong. */
static ompjit_status read_cubin(struct cubin *c)
{
    c->bad = check_head(c);
    if (!c->bad)
        c->bad = check_sections(c);
    ompjit_status status = c->bad ? OMPJIT_OK : find_kernels(c);
    if (!status && !c->bad)
        c->bad = read_sections(c);
    return c->bad && !status ? OMPJIT_ERR_ASSEMBLE : status;
}

ompjit_status ompjit__cubin_usage(const void *cubin, size_t size,
                                  ompjit__usage **usage, unsigned *n,
                                  ompjit_error *err)
{
    struct cubin c = {.file = {cubin, size}};
    ompjit_status status = read_cubin(&c);
    free(c.numbers);
    if (!status) {
        *usage = c.usage;
        *n = c.n;
        return OMPJIT_OK;
    }
    for (unsigned i = 0; i < c.n; i++)
        free(c.usage[i].symbol);
    free(c.usage);
    if (status == OMPJIT_ERR_NO_MEMORY)
        return ompjit__no_memory(err, OMPJIT_STAGE_ASSEMBLE);
    return ompjit__fail(err, status, OMPJIT_STAGE_ASSEMBLE,
                        "this is no cubin we can read (%zu bytes): %s", size,
                        c.bad);
}
