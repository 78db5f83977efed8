/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Cubins: what they add to ELF files.
 */
#include "formats/elf_file.h"

enum {
    OTHER_ENTRY = 0x10, /* bit of st_other that marks a kernel */
    FORMAT_SIZED = 4    /* 16 bits of size, then so many bytes; else 16 bits */
};

/* The architecture is in the low byte of e_flags in version 7, and in the
 * second in version 8. */
const char *ompjit__cubin_head(ompjit__elf_file *f)
{
    const Elf64_Ehdr *h = &f->head;
    const char *bad = ompjit__elf_head(f);
    if (bad)
        return bad;
    if (h->e_machine != EM_CUDA)
        return ompjit__elf_bad(f, offsetof(Elf64_Ehdr, e_machine),
                               "an ELF file for another machine than CUDA");
    uint8_t abi = h->e_ident[EI_ABIVERSION];
    if (abi != OMPJIT__CUBIN_ABI_12 && abi != OMPJIT__CUBIN_ABI_13)
        return ompjit__elf_bad(f, EI_ABIVERSION,
                               "of an ELF ABI version other than 7 (CUDA 12) "
                               "and 8 (CUDA 13)");
    f->sm = abi == OMPJIT__CUBIN_ABI_12 ? h->e_flags & 0xff
                                        : h->e_flags >> 8 & 0xff;
    return NULL;
}

const char *ompjit__cubin_open(ompjit__elf_file *f)
{
    const char *bad = ompjit__cubin_head(f);
    if (!bad)
        bad = ompjit__elf_tables(f);
    if (!bad)
        bad = ompjit__elf_sections(f);
    if (!bad && !f->section_names.n)
        bad = ompjit__elf_bad(f, offsetof(Elf64_Ehdr, e_shstrndx),
                              "spoilt: no section names");
    if (!bad && !f->symbols.n)
        bad = ompjit__elf_bad(f, offsetof(Elf64_Ehdr, e_shoff),
                              "spoilt: no symbols");
    return bad;
}

bool ompjit__cubin_kernel(const ompjit__elf_file *f, size_t i,
                          Elf64_Sym *symbol)
{
    return ompjit__bytes_read(f->symbols, i * sizeof *symbol, symbol,
                              sizeof *symbol) &&
           ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
           symbol->st_other & OTHER_ENTRY && symbol->st_shndx != SHN_UNDEF;
}

bool ompjit__cubin_info_next(ompjit__cubin_info *i)
{
    struct {
        uint8_t format, attribute;
        uint16_t value;
    } entry;
    i->value = (ompjit__bytes){0};
    if (i->bad || i->at >= i->info.n)
        return false;
    if (!ompjit__bytes_read(i->info, i->at, &entry, sizeof entry)) {
        i->bad = "spoilt: an attribute is cut";
        return false;
    }
    i->at += sizeof entry;
    i->attribute = entry.attribute;
    i->immediate = entry.value;
    if (entry.format != FORMAT_SIZED)
        return true;
    if (!ompjit__bytes_slice(i->info, i->at, entry.value, &i->value)) {
        i->bad = "spoilt: an attribute's value is cut";
        return false;
    }
    i->at += entry.value;
    return true;
}

/* A file may claim any size: each product is clamped. */
uint32_t ompjit__cubin_threads(ompjit__bytes value)
{
    uint64_t n = ompjit__bytes_word(value, 0);
    for (size_t i = 1; i < 3; i++) {
        n *= ompjit__bytes_word(value, i);
        n = n > UINT32_MAX ? UINT32_MAX : n;
    }
    return (uint32_t)n;
}
