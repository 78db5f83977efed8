/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ELF files, read with every offset checked (System V ABI, chapter 4).
 */
#include <string.h>

#include "formats/elf_file.h"

#define AT(field) offsetof(Elf64_Ehdr, field)
#define SECTION_AT(f, i, field) \
    ((f)->head.e_shoff + (uint64_t)(i) * sizeof(Elf64_Shdr) + \
     offsetof(Elf64_Shdr, field))

const char *ompjit__elf_bad(ompjit__elf_file *f, uint64_t at, const char *what)
{
    f->bad_at = at;
    return what;
}

const char *ompjit__elf_head(ompjit__elf_file *f)
{
    const Elf64_Ehdr *h = &f->head;
    if (!ompjit__bytes_read(f->file, 0, &f->head, sizeof f->head))
        return ompjit__elf_bad(f, 0, "shorter than an ELF header");
    if (memcmp(h->e_ident, ELFMAG, SELFMAG) ||
        h->e_ident[EI_CLASS] != ELFCLASS64 ||
        h->e_ident[EI_DATA] != ELFDATA2LSB)
        return ompjit__elf_bad(f, 0, "no 64-bit little-endian ELF file");
    return NULL;
}

const char *ompjit__elf_tables(ompjit__elf_file *f)
{
    const Elf64_Ehdr *h = &f->head;
    ompjit__bytes table;
    if (h->e_shentsize != sizeof(Elf64_Shdr) || !h->e_shnum ||
        !ompjit__bytes_slice(f->file, h->e_shoff,
                             (uint64_t)h->e_shnum * sizeof(Elf64_Shdr), &table))
        return ompjit__elf_bad(f, AT(e_shoff),
                               "cut or spoilt: no section table");
    if (h->e_phnum &&
        (h->e_phentsize != sizeof(Elf64_Phdr) ||
         !ompjit__bytes_slice(f->file, h->e_phoff,
                              (uint64_t)h->e_phnum * sizeof(Elf64_Phdr),
                              &table)))
        return ompjit__elf_bad(f, AT(e_phoff),
                               "cut or spoilt: no program table");
    return NULL;
}

bool ompjit__elf_file_section(const ompjit__elf_file *f, unsigned i,
                              Elf64_Shdr *out)
{
    return i < f->head.e_shnum &&
           ompjit__bytes_read(f->file,
                              f->head.e_shoff + (uint64_t)i * sizeof *out, out,
                              sizeof *out);
}

const char *ompjit__elf_section_name(const ompjit__elf_file *f,
                                     const Elf64_Shdr *s)
{
    return ompjit__bytes_string(f->section_names, s->sh_name);
}

const char *ompjit__elf_sections(ompjit__elf_file *f)
{
    Elf64_Shdr s;
    for (unsigned i = 0; ompjit__elf_file_section(f, i, &s); i++) {
        ompjit__bytes content = {0};
        if (s.sh_type != SHT_NOBITS && s.sh_type != SHT_NULL &&
            !ompjit__bytes_slice(f->file, s.sh_offset, s.sh_size, &content))
            return ompjit__elf_bad(f, SECTION_AT(f, i, sh_offset),
                                   "cut or spoilt: a section reaches past the "
                                   "end");
        if (i == f->head.e_shstrndx)
            f->section_names = ompjit__bytes_strings(content);
        if (s.sh_type != SHT_SYMTAB)
            continue;
        Elf64_Shdr names;
        if (s.sh_entsize != sizeof(Elf64_Sym) ||
            !ompjit__elf_file_section(f, s.sh_link, &names) ||
            !ompjit__bytes_slice(f->file, names.sh_offset, names.sh_size,
                                 &f->symbol_names))
            return ompjit__elf_bad(f, SECTION_AT(f, i, sh_link),
                                   "spoilt: no symbol names");
        f->symbol_names = ompjit__bytes_strings(f->symbol_names);
        f->symbols = content;
    }
    return NULL;
}
