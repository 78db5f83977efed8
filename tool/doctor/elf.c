/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit doctor: symbols of ELF files by the section of their table. Linked
 * files have two tables, of which formats/elf_file.h knows one.
 */
#include "tool/doctor/doctor.h"

bool elf_symbol_at(const ompjit__elf_file *f, unsigned section, uint64_t i,
                   struct elf_symbol *out)
{
    Elf64_Shdr table, names;
    ompjit__bytes symbols, text;
    if (!ompjit__elf_file_section(f, section, &table) ||
        (table.sh_type != SHT_SYMTAB && table.sh_type != SHT_DYNSYM) ||
        i >= table.sh_size / sizeof out->sym ||
        !ompjit__bytes_slice(f->file, table.sh_offset, table.sh_size,
                             &symbols) ||
        !ompjit__bytes_read(symbols, i * sizeof out->sym, &out->sym,
                            sizeof out->sym))
        return false;
    out->name = "";
    if (ompjit__elf_file_section(f, table.sh_link, &names) &&
        names.sh_type == SHT_STRTAB &&
        ompjit__bytes_slice(f->file, names.sh_offset, names.sh_size, &text) &&
        text.n && !text.p[text.n - 1])
        out->name = ompjit__bytes_string(text, out->sym.st_name);
    return true;
}
