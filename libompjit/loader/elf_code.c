/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The section of a symbol in a relocatable ELF object (System V ABI, chapter
 * 4), read with every offset checked.
 *
 * The host device asks where a kernel's code begins and ends. ORC may have
 * linked the object, so the results of elf.c are not used here.
 */
#include <elf.h>
#include <string.h>

#include "loader/elf.h"

typedef struct file {
    const char *data;
    size_t size;
    const Elf64_Shdr *sections; /* within data */
    unsigned n;                 /* of them     */
} file;

/* Compares without a sum, which a damaged offset could make overflow. */
static bool inside(const file *f, uint64_t offset, uint64_t size)
{
    return offset <= f->size && size <= f->size - offset;
}

/* The caller's bytes are malloc'd, and so aligned for these structs where the
 * offsets are. */
static bool open_file(const void *object, size_t size, file *f)
{
    const Elf64_Ehdr *head = object;
    *f = (file){.data = object, .size = size};
    if (size < sizeof *head || memcmp(head->e_ident, ELFMAG, SELFMAG) ||
        head->e_shentsize != sizeof *f->sections ||
        head->e_shoff % _Alignof(Elf64_Shdr) ||
        !inside(f, head->e_shoff, head->e_shnum * sizeof *f->sections))
        return false;
    f->sections = (const void *)(f->data + head->e_shoff);
    f->n = head->e_shnum;
    return true;
}

/* The symbol `name` of the symbol table `s`; NULL: it has none. Names are
 * compared with their NUL, within the string table. */
static const Elf64_Sym *find_in(const file *f, const Elf64_Shdr *s,
                                const char *name)
{
    size_t length = strlen(name) + 1;
    if (s->sh_link >= f->n || !inside(f, s->sh_offset, s->sh_size) ||
        s->sh_offset % _Alignof(Elf64_Sym))
        return NULL;
    const Elf64_Shdr *names = &f->sections[s->sh_link];
    const Elf64_Sym *symbol = (const void *)(f->data + s->sh_offset);
    if (!inside(f, names->sh_offset, names->sh_size))
        return NULL;
    for (size_t k = s->sh_size / sizeof *symbol; k; k--, symbol++)
        if (ELF64_ST_TYPE(symbol->st_info) != STT_FILE &&
            symbol->st_name < names->sh_size &&
            length <= names->sh_size - symbol->st_name &&
            !memcmp(f->data + names->sh_offset + symbol->st_name, name, length))
            return symbol;
    return NULL;
}

/* st_value is the symbol's offset in its section, as in every relocatable
 * object. */
bool ompjit__elf_code(const void *object, size_t size, const char *symbol,
                      uintptr_t address, uintptr_t *begin, uintptr_t *end)
{
    file f;
    if (!open_file(object, size, &f))
        return false;
    for (unsigned i = 0; i < f.n; i++) {
        const Elf64_Sym *found = f.sections[i].sh_type == SHT_SYMTAB
                                     ? find_in(&f, &f.sections[i], symbol)
                                     : NULL;
        if (!found || !found->st_shndx || found->st_shndx >= f.n)
            continue;
        *begin = address - found->st_value;
        *end = *begin + f.sections[found->st_shndx].sh_size;
        return true;
    }
    return false;
}
