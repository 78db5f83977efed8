/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The dynamic linker knows the symbols that an executable exports (-rdynamic);
 * its symbol table, where nobody has stripped it, has the others.
 */
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context/executable.h"
#include "formats/elf_file.h"

/* An address, and whether it lies in the executable's segments. */
struct place {
    uintptr_t at;
    uintptr_t bias; /* addresses in memory less those in the file */
    bool inside;
};

/* For dl_iterate_phdr, whose first object is the executable. */
static int look_at_first(struct dl_phdr_info *info, size_t size, void *data)
{
    struct place *place = data;
    place->bias = info->dlpi_addr;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD &&
            place->at - (info->dlpi_addr + p->p_vaddr) < p->p_memsz)
            place->inside = true;
    }
    return 1;
}

bool ompjit__in_executable(const void *at)
{
    struct place place = {.at = (uintptr_t)at};
    dl_iterate_phdr(look_at_first, &place);
    return place.inside;
}

/* Is the symbol one that other files could refer to, with a place in this one?
 */
static bool is_defined(const Elf64_Sym *s)
{
    unsigned bind = ELF64_ST_BIND(s->st_info), type = ELF64_ST_TYPE(s->st_info);
    return (bind == STB_GLOBAL || bind == STB_WEAK || bind == STB_GNU_UNIQUE) &&
           (type == STT_OBJECT || type == STT_FUNC) &&
           s->st_shndx != SHN_UNDEF && s->st_shndx < SHN_LORESERVE;
}

/* NULL: the table has no such symbol, or the file does not read. */
static void *find(ompjit__bytes file, const char *name)
{
    ompjit__elf_file f = {.file = file};
    struct place place = {0};
    Elf64_Sym s;
    if (ompjit__elf_head(&f) || ompjit__elf_tables(&f) ||
        ompjit__elf_sections(&f))
        return NULL;
    dl_iterate_phdr(look_at_first, &place);
    for (size_t at = 0; ompjit__bytes_read(f.symbols, at, &s, sizeof s);
         at += sizeof s)
        if (is_defined(&s) &&
            !strcmp(ompjit__bytes_string(f.symbol_names, s.st_name), name))
            return (void *)(place.bias + s.st_value);
    return NULL;
}

/* The file is mapped for each call, which few programs need. */
void *ompjit__executable_symbol(const char *name)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    void *file = MAP_FAILED, *address = NULL;
    struct stat st;
    if (fd < 0)
        return NULL;
    if (!fstat(fd, &st) && st.st_size > 0)
        file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (file == MAP_FAILED)
        return NULL;
    address = find((ompjit__bytes){file, (size_t)st.st_size}, name);
    munmap(file, (size_t)st.st_size);
    return address;
}
