/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Kernels and variables of a cubin: symbols, and of each kernel the section
 * .nv.info.KERNEL, whose sh_info is the section of the kernel's code.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/elf_file.h"
#include "images/gpu_reader.h"

enum {
    OBJECT_CUDA = 13,             /* a symbol's type in relocatable cubins  */
    ATTR_MAX_THREADS = 0x05,      /* x, y, z                                */
    ATTR_REQUIRED_THREADS = 0x10, /* x, y, z                                */
    ATTR_PARAM = 0x17,            /* struct param; `size` from bit 18 on    */
    ATTR_PARAM_2 = 0x45,          /* struct param; CUDA 12.1 on, over 4 KiB */
    PARAM_SIZE_SHIFT = 18
};

/* The value of ATTR_PARAM, as ptxas writes it. In ATTR_PARAM `size` has other
 * fields in its low 18 bits. */
struct param {
    uint32_t index;
    uint16_t ordinal, offset;
    uint32_t size;
};

/* The cubin while it is read; `kernels` has an element for each section. */
struct cubin {
    ompjit__gpu_reader *r;
    ompjit__elf_file elf;
    uint32_t *kernels; /* by their code's section: number and one, or 0 */
};

/* INVALID, with the sentence of formats/elf_file.h and its offset. */
static ompjit_status bad_elf(struct cubin *c, const char *bad)
{
    return ompjit__gpu_bad(c->r, c->elf.bad_at, "it is %s", bad);
}

/* The offset of symbol i in the file, for messages. */
static uint64_t symbol_at(const struct cubin *c, size_t i)
{
    return (uint64_t)(c->elf.symbols.p - c->elf.file.p) +
           i * sizeof(Elf64_Sym);
}

/* ----------------------------------------------------------------- symbols */

/* The name lies in the file. Charged, since any number of symbols may have the
 * same long one. */
static ompjit_status name_of(struct cubin *c, size_t i, const Elf64_Sym *s,
                             ompjit__bytes *out)
{
    const char *name = ompjit__bytes_string(c->elf.symbol_names, s->st_name);
    *out = (ompjit__bytes){(const unsigned char *)name, strlen(name)};
    return ompjit__gpu_charge(c->r, symbol_at(c, i), out->n);
}

/* Notes the kernel by the section of its code, by which its info section finds
 * it. */
static ompjit_status add_kernel(struct cubin *c, size_t i, const Elf64_Sym *s)
{
    ompjit__bytes name;
    ompjit__gpu_kernel *kernel;
    ompjit_status status = name_of(c, i, s, &name);
    if (!status && (!name.n || s->st_shndx >= c->elf.head.e_shnum))
        status = ompjit__gpu_bad(c->r, symbol_at(c, i),
                                 "a kernel has no name or no section");
    if (!status)
        status = ompjit__gpu_add_kernel(c->r, name, &kernel);
    if (!status)
        c->kernels[s->st_shndx] = c->r->nkernels;
    return status;
}

/* Initial bytes of an environment, as far as the file has them. */
static ompjit_status initial(struct cubin *c, size_t i, const Elf64_Sym *s,
                             ompjit__gpu_found *found)
{
    Elf64_Shdr section;
    ompjit__bytes content, bytes;
    size_t n = s->st_size < sizeof found->initial ? (size_t)s->st_size
                                                  : sizeof found->initial;
    ompjit__elf_file_section(&c->elf, s->st_shndx, &section);
    if (section.sh_type == SHT_NOBITS)
        return OMPJIT_OK;
    if (!ompjit__bytes_slice(c->elf.file, section.sh_offset, section.sh_size,
                             &content) ||
        !ompjit__bytes_slice(content, s->st_value, n, &bytes))
        return ompjit__gpu_bad(c->r, symbol_at(c, i),
                               "a variable is not within its section");
    memcpy(found->initial, bytes.p, n);
    return OMPJIT_OK;
}

/* A symbol of data that lies in a section of this file. */
static bool is_variable(const struct cubin *c, const Elf64_Sym *s)
{
    unsigned type = ELF64_ST_TYPE(s->st_info);
    return (type == STT_OBJECT || type == OBJECT_CUDA) &&
           s->st_shndx != SHN_UNDEF && s->st_shndx < c->elf.head.e_shnum;
}

/* Symbols without a name, such as those of sections, are none. */
static ompjit_status add_variable(struct cubin *c, size_t i, const Elf64_Sym *s)
{
    ompjit__bytes name;
    ompjit__gpu_found *found;
    ompjit_status status = name_of(c, i, s, &name);
    if (status || !name.n)
        return status;
    status = ompjit__gpu_add_found(c->r, name, &found);
    if (status)
        return status;
    found->size = s->st_size;
    return ompjit__gpu_is_environment(name) ? initial(c, i, s, found)
                                            : OMPJIT_OK;
}

/* Symbols in the file's order: that is the order of kernels for users. */
static ompjit_status read_symbols(struct cubin *c)
{
    size_t n = c->elf.symbols.n / sizeof(Elf64_Sym);
    ompjit_status status = OMPJIT_OK;
    Elf64_Sym s;
    for (size_t i = 0; !status && i < n; i++) {
        if (ompjit__cubin_kernel(&c->elf, i, &s))
            status = add_kernel(c, i, &s);
        else if (is_variable(c, &s))
            status = add_variable(c, i, &s);
    }
    return status;
}

/* -------------------------------------------------------------- parameters */

/* How many parameters an info section describes. */
static unsigned count(ompjit__bytes info)
{
    ompjit__cubin_info i = {.info = info};
    unsigned n = 0;
    while (ompjit__cubin_info_next(&i))
        n += i.attribute == ATTR_PARAM || i.attribute == ATTR_PARAM_2;
    return n;
}

/* Parameters come in any order, each with its number. False: no sound one. */
static bool set_param(ompjit__gpu_kernel *kernel, const ompjit__cubin_info *i)
{
    struct param p;
    if (!ompjit__bytes_read(i->value, 0, &p, sizeof p) ||
        p.ordinal >= kernel->nparams || kernel->params[p.ordinal].size)
        return false;
    uint32_t size = i->attribute == ATTR_PARAM ? p.size >> PARAM_SIZE_SHIFT
                                               : p.size;
    kernel->params[p.ordinal] = (ompjit__gpu_param){p.offset, size};
    return size > 0;
}

/* All attributes of a kernel; those that are not known are passed over. */
static ompjit_status attributes(struct cubin *c, ompjit__gpu_kernel *kernel,
                                ompjit__bytes info)
{
    uint64_t at = (uint64_t)(info.p - c->elf.file.p);
    ompjit__cubin_info i = {.info = info};
    kernel->nparams = count(info);
    kernel->params = calloc((size_t)kernel->nparams + 1,
                            sizeof *kernel->params);
    if (!kernel->params)
        return ompjit__no_memory(c->r->err, OMPJIT_STAGE_READ);
    while (ompjit__cubin_info_next(&i)) {
        bool param = i.attribute == ATTR_PARAM || i.attribute == ATTR_PARAM_2;
        bool required = i.attribute == ATTR_REQUIRED_THREADS;
        if (param && !set_param(kernel, &i))
            return ompjit__gpu_bad(c->r, at + i.at - i.value.n, "a parameter "
                                   "has no number, a taken one or no size");
        if ((required || i.attribute == ATTR_MAX_THREADS) &&
            i.value.n >= 3 * sizeof(uint32_t)) {
            kernel->max_threads = ompjit__cubin_threads(i.value);
            kernel->threads_required |= required;
        }
    }
    return i.bad ? ompjit__gpu_bad(c->r, at + i.at, "it is %s", i.bad)
                 : OMPJIT_OK;
}

/* A kernel without an info section has no parameters. */
static ompjit_status read_info(struct cubin *c)
{
    Elf64_Shdr s;
    ompjit__bytes info;
    ompjit_status status = OMPJIT_OK;
    for (unsigned i = 0;
         !status && ompjit__elf_file_section(&c->elf, i, &s); i++) {
        if (s.sh_type != OMPJIT__CUBIN_INFO ||
            s.sh_info >= c->elf.head.e_shnum || !c->kernels[s.sh_info] ||
            !ompjit__bytes_slice(c->elf.file, s.sh_offset, s.sh_size, &info))
            continue;
        ompjit__gpu_kernel *kernel =
            &c->r->kernels[c->kernels[s.sh_info] - 1];
        if (kernel->params)
            return ompjit__gpu_bad(c->r, s.sh_offset, "a kernel has two info "
                                   "sections");
        status = ompjit__gpu_charge(c->r, s.sh_offset, info.n);
        if (!status)
            status = attributes(c, kernel, info);
    }
    return status;
}

/* Symbols first: info sections refer to kernels. */
ompjit_status ompjit__gpu_read_cubin(ompjit__gpu_reader *r)
{
    struct cubin c = {.r = r, .elf.file = r->bytes};
    const char *bad = ompjit__cubin_open(&c.elf);
    if (bad)
        return bad_elf(&c, bad);
    c.kernels = calloc(c.elf.head.e_shnum, sizeof *c.kernels);
    if (!c.kernels)
        return ompjit__no_memory(r->err, OMPJIT_STAGE_READ);
    ompjit_status status = read_symbols(&c);
    if (!status)
        status = read_info(&c);
    free(c.kernels);
    return status;
}
