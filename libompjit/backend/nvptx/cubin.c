/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Reads the resources of kernels from a cubin (formats/elf_file.h): any bytes at
 * all end in an error or an answer.
 *
 *   .symtab              functions; bit 4 of st_other marks a kernel
 *   .nv.info             registers, frames, stacks, by symbol number
 *   .nv.info.KERNEL      thread bounds
 *   .nv.shared.KERNEL    static shared memory (size only)
 *   .nv.constantN.KERNEL constant banks
 *   .text.KERNEL         code
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/nvptx/nvptx.h"
#include "formats/elf_file.h"

enum {
    /* From sm_90 on the first KiB of a team's shared memory is the system's.
     * Section sizes count it where a kernel uses any; nobody else does. */
    RESERVING_SM = 90,
    RESERVED_SHARED = 1024
};

/* Attributes in info sections. */
enum {
    ATTR_MAX_THREADS = 0x05,    /* x, y, z                 */
    ATTR_REQUIRED_THREADS = 0x10, /* x, y, z               */
    ATTR_FRAME_SIZE = 0x11,     /* symbol number, bytes    */
    ATTR_MIN_STACK_SIZE = 0x12, /* symbol number, bytes: frames of all callees
                                   too, where that is known */
    ATTR_REGISTERS = 0x2f       /* symbol number, registers */
};

/* The file and what has been found of it so far. */
struct cubin {
    ompjit__elf_file elf;
    ompjit__usage *usage;
    uint32_t *numbers; /* usage[i]'s symbol number */
    unsigned n;
    const char *bad; /* what is wrong, once something is */
};

/* ----------------------------------------------------------------- kernels */

/* One usage for each, in the order of the symbols. */
static ompjit_status find_kernels(struct cubin *c)
{
    size_t count = c->elf.symbols.n / sizeof(Elf64_Sym), n = 0;
    Elf64_Sym symbol;
    for (size_t i = 0; i < count; i++)
        n += ompjit__cubin_kernel(&c->elf, i, &symbol);
    if (!n)
        return OMPJIT_OK;
    c->usage = calloc(n, sizeof *c->usage);
    c->numbers = calloc(n, sizeof *c->numbers);
    if (!c->usage || !c->numbers)
        return OMPJIT_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        if (!ompjit__cubin_kernel(&c->elf, i, &symbol))
            continue;
        const char *name = ompjit__bytes_string(c->elf.symbol_names,
                                                symbol.st_name);
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
        bool counted =
            c->elf.sm >= RESERVING_SM && s->sh_size >= RESERVED_SHARED;
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
static void by_symbol(struct cubin *c, unsigned attr, ompjit__bytes value)
{
    uint32_t number = ompjit__bytes_word(value, 0);
    uint32_t v = ompjit__bytes_word(value, 1);
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
                      ompjit__bytes value)
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
            r->max_threads = ompjit__cubin_threads(value);
        break;
    }
}

/* One info section. `r` is NULL in the one that is not of a kernel. */
static const char *attributes(struct cubin *c, ompjit_resources *r,
                              ompjit__bytes info)
{
    ompjit__cubin_info i = {.info = info};
    while (ompjit__cubin_info_next(&i))
        attribute(c, r, i.attribute, i.value);
    return i.bad;
}

static const char *read_sections(struct cubin *c)
{
    Elf64_Shdr s;
    const char *bad = NULL;
    for (unsigned i = 0; !bad && ompjit__elf_file_section(&c->elf, i, &s);
         i++) {
        const char *name = ompjit__elf_section_name(&c->elf, &s);
        ompjit_resources *r = owner(c, name, ".nv.info.");
        ompjit__bytes info;
        sizes(c, &s, name);
        if (s.sh_type == OMPJIT__CUBIN_INFO &&
            (r || !strcmp(name, ".nv.info")) &&
            ompjit__bytes_slice(c->elf.file, s.sh_offset, s.sh_size, &info))
            bad = attributes(c, r, info);
    }
    return bad;
}

/* ------------------------------------------------------------------- whole */

/* From the outside to the inside. c->bad tells what is wrong. */
static ompjit_status read_cubin(struct cubin *c)
{
    c->bad = ompjit__cubin_open(&c->elf);
    ompjit_status status = c->bad ? OMPJIT_OK : find_kernels(c);
    if (!status && !c->bad)
        c->bad = read_sections(c);
    return c->bad && !status ? OMPJIT_ERR_ASSEMBLE : status;
}

ompjit_status ompjit__cubin_usage(const void *cubin, size_t size,
                                  ompjit__usage **usage, unsigned *n,
                                  ompjit_error *err)
{
    struct cubin c = {.elf.file = {cubin, size}};
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
