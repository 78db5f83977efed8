/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit doctor: the offload entries of a file for the host, read from its
 * sections and relocations, and the symbols that entries depend on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/doctor/doctor.h"

const struct doctor_layout doctor_layouts[LAYOUTS] = {
    [NEW] = {OMPJIT__ENTRY_SECTION, "__start_" OMPJIT__ENTRY_SECTION,
             sizeof(ompjit__offload_entry)},
    [OLD] = {OMPJIT__ENTRY_SECTION_OLD, "__start_" OMPJIT__ENTRY_SECTION_OLD,
             sizeof(ompjit__offload_entry_old)}};

enum {
    NAME_MOST = 1 << 16, /* bytes of a name that are looked at */
    FLAGS = OMPJIT__ENTRY_LINK | OMPJIT__ENTRY_INDIRECT |
            OMPJIT__ENTRY_REQUIRES | OMPJIT__ENTRY_INDIRECT_VTABLE,
    FLAGS_GONE = OMPJIT__ENTRY_CTOR | OMPJIT__ENTRY_DTOR
};

/* A relocation of an address in the section. */
struct relocation {
    uint64_t at; /* offset in the section */
    struct elf_symbol symbol; /* name NULL: none, as of R_*_RELATIVE */
    uint64_t addend;
};

/* One section of entries. */
struct section {
    struct doctor *d;
    const char *name; /* the file's */
    const ompjit__elf_file *f;
    unsigned index, layout;
    Elf64_Shdr head;
    ompjit__bytes bytes;
    struct relocation *relocations; /* by `at` */
    size_t nrelocations;
};

/* What a pointer in the section points to. */
struct pointer {
    const struct elf_symbol *symbol; /* NULL: `at` is an address */
    uint64_t at;                     /* or an offset from it     */
};

/* ------------------------------------------------------------- relocations */

static bool is_relocatable(const ompjit__elf_file *f)
{
    return f->head.e_type == ET_REL;
}

/* Is it one of an address, with or without a symbol? */
static bool is_address(const ompjit__elf_file *f, uint32_t type, bool *symbolic)
{
    const bool x86 = f->head.e_machine == EM_X86_64;
    *symbolic = type == (x86 ? R_X86_64_64 : R_AARCH64_ABS64);
    return *symbolic || type == (x86 ? R_X86_64_RELATIVE : R_AARCH64_RELATIVE);
}

static void add_relocation(struct section *s, const Elf64_Shdr *table,
                           const Elf64_Rela *r)
{
    const uint64_t base = is_relocatable(s->f) ? 0 : s->head.sh_addr;
    bool symbolic;
    if (r->r_offset < base || r->r_offset - base >= s->bytes.n ||
        !is_address(s->f, (uint32_t)ELF64_R_TYPE(r->r_info), &symbolic))
        return;
    struct relocation *to = doctor_grow(s->d, &s->relocations,
                                        &s->nrelocations, sizeof *to);
    if (!to)
        return;
    to->at = r->r_offset - base;
    to->addend = (uint64_t)r->r_addend;
    if (symbolic)
        elf_symbol_at(s->f, table->sh_link, ELF64_R_SYM(r->r_info),
                      &to->symbol);
}

static int by_place(const void *a, const void *b)
{
    const struct relocation *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

static void read_relocations(struct section *s)
{
    Elf64_Shdr table;
    Elf64_Rela r;
    ompjit__bytes bytes;
    for (unsigned i = 0; ompjit__elf_file_section(s->f, i, &table); i++) {
        const bool ours = is_relocatable(s->f) ? table.sh_info == s->index
                                               : table.sh_flags & SHF_ALLOC;
        if (table.sh_type != SHT_RELA || !ours ||
            !ompjit__bytes_slice(s->f->file, table.sh_offset, table.sh_size,
                                 &bytes))
            continue;
        for (uint64_t k = 0;
             ompjit__bytes_read(bytes, k * sizeof r, &r, sizeof r); k++)
            add_relocation(s, &table, &r);
    }
    if (s->nrelocations)
        qsort(s->relocations, s->nrelocations, sizeof *s->relocations,
              by_place);
}

static const struct relocation *relocation_at(const struct section *s,
                                              uint64_t at)
{
    const struct relocation wanted = {.at = at};
    return s->nrelocations ? bsearch(&wanted, s->relocations, s->nrelocations,
                                     sizeof wanted, by_place)
                           : NULL;
}

/* Packed relative relocations (.relr.dyn) leave the address in its place. False
 * for a null pointer. */
static bool pointer_at(const struct section *s, uint64_t at,
                       struct pointer *out)
{
    const struct relocation *r = relocation_at(s, at);
    *out = (struct pointer){0};
    if (!r) {
        ompjit__bytes_read(s->bytes, at, &out->at, sizeof out->at);
        return out->at && !is_relocatable(s->f);
    }
    out->at = r->addend;
    if (!r->symbol.name)
        return r->addend != 0;
    if (is_relocatable(s->f) || r->symbol.sym.st_shndx == SHN_UNDEF)
        out->symbol = &r->symbol;
    else
        out->at += r->symbol.sym.st_value;
    return true;
}

/* ------------------------------------------------------------------- names */

/* What the file has from there on, to the end of the section or segment. */
static bool content(const struct section *s, const struct pointer *p,
                    ompjit__bytes *out)
{
    const ompjit__elf_file *f = s->f;
    Elf64_Shdr section;
    Elf64_Phdr segment;
    if (p->symbol) {
        uint64_t at = p->symbol->sym.st_value + p->at;
        return ompjit__elf_file_section(f, p->symbol->sym.st_shndx, &section) &&
               p->symbol->sym.st_shndx && section.sh_type != SHT_NOBITS &&
               at < section.sh_size &&
               ompjit__bytes_slice(f->file, section.sh_offset + at,
                                   section.sh_size - at, out);
    }
    for (unsigned i = 0; i < f->head.e_phnum; i++) {
        if (!ompjit__bytes_read(f->file,
                                f->head.e_phoff + i * sizeof segment, &segment,
                                sizeof segment))
            return false;
        uint64_t at = p->at - segment.p_vaddr;
        if (segment.p_type == PT_LOAD && p->at >= segment.p_vaddr &&
            at < segment.p_filesz)
            return ompjit__bytes_slice(f->file, segment.p_offset + at,
                                       segment.p_filesz - at, out);
    }
    return false;
}

/* malloc'd; NULL where there is no string that ends. */
static char *read_name(const struct section *s, uint64_t at)
{
    struct pointer p;
    ompjit__bytes text;
    if (!pointer_at(s, at, &p) || !content(s, &p, &text))
        return NULL;
    size_t most = text.n < NAME_MOST ? text.n : NAME_MOST;
    size_t n = strnlen((const char *)text.p, most);
    return n == most ? NULL : doctor_text(s->d, (const char *)text.p, n);
}

/* malloc'd; NULL for none. */
static char *read_key(const struct section *s, uint64_t at)
{
    struct pointer p;
    char *key, *text;
    if (!pointer_at(s, at, &p))
        return NULL;
    if (!p.symbol)
        key = ompjit__format("%s:0x%llx", s->name, (unsigned long long)p.at);
    else if (ELF64_ST_BIND(p.symbol->sym.st_info) != STB_LOCAL)
        key = ompjit__format(p.at ? "%.999s+0x%llx" : "%.999s", p.symbol->name,
                             (unsigned long long)p.at);
    else
        key = ompjit__format("%s:section %u+0x%llx", s->name,
                             p.symbol->sym.st_shndx,
                             (unsigned long long)(p.symbol->sym.st_value +
                                                  p.at));
    text = key ? doctor_text(s->d, key, strlen(key)) : NULL;
    free(key);
    s->d->failed |= !text;
    return text;
}

/* ----------------------------------------------------------------- entries */

/* One entry, as its bytes have it but for the pointers. */
struct raw {
    uint64_t index, at;
    ompjit__offload_entry e;
};

static bool read_new(const struct section *s, struct raw *r)
{
    ompjit__bytes_read(s->bytes, r->at, &r->e, sizeof r->e);
    return !relocation_at(s, r->at) && !relocation_at(s, r->at + 8) &&
           !r->e.reserved;
}

static void read_old(const struct section *s, struct raw *r)
{
    ompjit__offload_entry_old o;
    ompjit__bytes_read(s->bytes, r->at, &o, sizeof o);
    r->e = (ompjit__offload_entry){.version = OMPJIT__ENTRY_VERSION,
                                   .kind = OMPJIT__OFFLOAD_OPENMP,
                                   .flags = (uint32_t)o.flags,
                                   .size = o.size};
}

/* Entries of 56 bytes in the section of those of 32. */
static bool looks_new(const struct section *s)
{
    struct raw r = {0};
    return s->bytes.n >= sizeof r.e && read_new(s, &r) &&
           r.e.version == OMPJIT__ENTRY_VERSION && r.e.kind &&
           r.e.kind <= OMPJIT__OFFLOAD_SYCL;
}

static enum entry_role role_of(const ompjit__offload_entry *e)
{
    if (e->kind != OMPJIT__OFFLOAD_OPENMP)
        return ENTRY_OTHER;
    if (e->flags & OMPJIT__ENTRY_REQUIRES)
        return ENTRY_REQUIREMENT;
    if (e->flags & (OMPJIT__ENTRY_INDIRECT | OMPJIT__ENTRY_INDIRECT_VTABLE))
        return ENTRY_FUNCTION;
    return e->size || e->flags ? ENTRY_VARIABLE : ENTRY_KERNEL;
}

/* Before LLVM 22 HIP was 3. */
static bool is_kind(unsigned kind)
{
    return kind && kind <= OMPJIT__OFFLOAD_SYCL &&
           (kind == 3 || !(kind & (kind - 1)));
}

/* What is wrong with the entry alone; NULL: nothing. */
static const char *fault_of(const struct raw *r, enum entry_role role,
                            const char *name, const char *key)
{
    if (role == ENTRY_OTHER)
        return NULL;
    if (r->e.flags & FLAGS_GONE)
        return "is a constructor or destructor, as clang 16 and before made "
               "them: build the program with a newer clang";
    if (r->e.flags & ~(uint32_t)FLAGS)
        return "has flags that no compiler sets: is its struct declared with "
               "all fields?";
    if (role == ENTRY_REQUIREMENT)
        return NULL;
    if (!key)
        return "has no host address: give it the address that launches pass";
    return name && *name ? NULL
                         : "has no name: give it the kernel's symbol in the "
                           "device code";
}

static void add_entry(struct section *s, const struct raw *r)
{
    const bool old = s->layout == OLD;
    char *key = read_key(
        s, r->at + (old ? offsetof(ompjit__offload_entry_old, address)
                        : offsetof(ompjit__offload_entry, address)));
    char *name = read_name(
        s, r->at + (old ? offsetof(ompjit__offload_entry_old, name)
                        : offsetof(ompjit__offload_entry, name)));
    enum entry_role role = role_of(&r->e);
    const char *fault = fault_of(r, role, name, key);
    if (fault)
        doctor_fault(s->d, "%s: entry %llu of %s (%s, flags 0x%x) %s", s->name,
                     (unsigned long long)r->index,
                     doctor_layouts[s->layout].section,
                     name && *name ? name : "no name", r->e.flags, fault);
    struct doctor_entry *e =
        fault ? NULL : DOCTOR_ADD(s->d, entries, nentries);
    if (!e) {
        free(name);
        free(key);
        return;
    }
    *e = (struct doctor_entry){s->name, name, key, role, old};
}

/* False where the bytes are of another layout: nothing after them has a
 * meaning. */
static bool read_one(struct section *s, uint64_t i)
{
    struct raw r = {.index = i, .at = i * doctor_layouts[s->layout].size};
    if (s->layout == OLD) {
        read_old(s, &r);
    } else if (!read_new(s, &r)) {
        doctor_fault(s->d, "%s: entry %llu of " OMPJIT__ENTRY_SECTION " is "
                     "none of 56 bytes, whose first 8 are 0: entries of 32 "
                     "bytes belong in " OMPJIT__ENTRY_SECTION_OLD, s->name,
                     (unsigned long long)i);
        return false;
    } else if (r.e.version != OMPJIT__ENTRY_VERSION || !is_kind(r.e.kind)) {
        doctor_fault(s->d, "%s: entry %llu of " OMPJIT__ENTRY_SECTION " has "
                     "version %u and kind %u; LLVM 20 to 22 make version %u "
                     "and kind %u, OpenMP's", s->name, (unsigned long long)i,
                     r.e.version, r.e.kind, OMPJIT__ENTRY_VERSION,
                     OMPJIT__OFFLOAD_OPENMP);
        return false;
    }
    add_entry(s, &r);
    return true;
}

/* ----------------------------------------------------------------- section */

/* Before entries are read one by one; NULL: nothing is wrong. */
static const char *fault_of_section(const struct section *s)
{
    if (!(s->head.sh_flags & SHF_ALLOC))
        return "is not loaded (no SHF_ALLOC), so nobody finds the entries: "
               "put them there as data, with "
               "__attribute__((section(\"...\")))";
    if (s->head.sh_type == SHT_NOBITS)
        return "has no bytes (SHT_NOBITS): initialize the entries";
    if (s->head.sh_flags & SHF_COMPRESSED)
        return "is compressed, which loaded sections must not be";
    if (s->layout == OLD && looks_new(s))
        return "has entries of 56 bytes, as LLVM 20 and later make them: these "
               "belong in " OMPJIT__ENTRY_SECTION;
    return NULL;
}

static void read_section(struct section *s)
{
    const struct doctor_layout *l = &doctor_layouts[s->layout];
    if (s->head.sh_type != SHT_NOBITS)
        ompjit__bytes_slice(s->f->file, s->head.sh_offset, s->head.sh_size,
                            &s->bytes);
    s->d->has[s->layout] = s->name;
    if (!s->head.sh_size)
        return;
    s->d->filled[s->layout] = s->name;
    read_relocations(s);
    const char *fault = fault_of_section(s);
    if (fault)
        doctor_fault(s->d, "%s: section %s %s", s->name, l->section, fault);
    else if (s->bytes.n % l->size)
        doctor_fault(s->d, "%s: section %s has %zu bytes, no multiple of %zu, "
                     "the size of an entry: declare the struct with all its "
                     "fields, and each entry with __attribute__((aligned(8))): "
                     "GCC leaves gaps else", s->name, l->section, s->bytes.n,
                     l->size);
    else
        for (uint64_t i = 0; i < s->bytes.n / l->size && read_one(s, i);)
            i++;
    free(s->relocations);
}

/* A name that was meant to be one of the two. */
static void check_name(struct doctor *d, const char *file, const char *name,
                       const Elf64_Shdr *s)
{
    if (s->sh_type != SHT_PROGBITS || !s->sh_size ||
        !strstr(name, "offload") || !strstr(name, "entries"))
        return;
    char *text = doctor_text(d, name, strlen(name));
    doctor_fault(d, "%s: section %s is read by nobody: entries of 32 bytes "
                 "belong in " OMPJIT__ENTRY_SECTION_OLD ", those of 56 in "
                 OMPJIT__ENTRY_SECTION, file, text ? text : "");
    free(text);
}

static void read_sections(struct doctor *d, const char *name,
                          const ompjit__elf_file *f)
{
    struct section s = {.d = d, .name = name, .f = f};
    for (; ompjit__elf_file_section(f, s.index, &s.head); s.index++) {
        const char *section = ompjit__elf_section_name(f, &s.head);
        unsigned layout = 0;
        while (layout < LAYOUTS &&
               strcmp(section, doctor_layouts[layout].section))
            layout++;
        if (layout == LAYOUTS) {
            check_name(d, name, section, &s.head);
            continue;
        }
        struct section one = s;
        one.layout = layout;
        read_section(&one);
    }
}

/* ----------------------------------------------------------------- symbols */

static bool begins(const char *s, const char *with)
{
    return !strncmp(s, with, strlen(with));
}

static void note_first(const char **first, const char *name)
{
    if (!*first)
        *first = name;
}

/* A use of the runtime, or of the linker's symbols of sections. */
static void look_at_undefined(struct doctor *d, const char *file,
                              const char *symbol)
{
    if (begins(symbol, "__tgt_target") && !begins(symbol, "__tgt_target_data"))
        note_first(&d->launches, file);
    for (unsigned i = 0; i < LAYOUTS; i++)
        if (!strcmp(symbol, doctor_layouts[i].start))
            note_first(&d->refers[i], file);
}

/* An entry, by the names that clang and REX give them, in a section where the
 * linker does not collect it. */
static void look_at_defined(struct doctor *d, const char *file,
                            const ompjit__elf_file *f,
                            const struct elf_symbol *s)
{
    Elf64_Shdr section;
    if (ELF64_ST_TYPE(s->sym.st_info) != STT_OBJECT ||
        (!begins(s->name, ".offloading.entry.") &&
         !begins(s->name, ".omp_offloading.entry.") &&
         !strstr(s->name, "omp_offload_entry__")) ||
        !ompjit__elf_file_section(f, s->sym.st_shndx, &section))
        return;
    const char *name = ompjit__elf_section_name(f, &section);
    if (strstr(name, "offload") && strstr(name, "entries"))
        return;
    char *symbol = doctor_text(d, s->name, strlen(s->name));
    char *in = doctor_text(d, name, strlen(name));
    doctor_fault(d, "%s: entry %s is in section %s, where nobody looks for it: "
                 "put it into " OMPJIT__ENTRY_SECTION_OLD " (32 bytes) or "
                 OMPJIT__ENTRY_SECTION " (56)", file, symbol ? symbol : "",
                 in ? in : "");
    free(symbol);
    free(in);
}

static void read_symbols(struct doctor *d, const char *name,
                         const ompjit__elf_file *f)
{
    Elf64_Shdr section;
    struct elf_symbol s;
    for (unsigned k = 0; ompjit__elf_file_section(f, k, &section); k++)
        for (uint64_t i = 0; elf_symbol_at(f, k, i, &s); i++) {
            if (!strcmp(s.name, "__tgt_register_lib"))
                note_first(&d->registers, name);
            if (s.sym.st_shndx == SHN_UNDEF)
                look_at_undefined(d, name, s.name);
            else if (section.sh_type == SHT_SYMTAB)
                look_at_defined(d, name, f, &s);
        }
}

void doctor_host(struct doctor *d, const char *name, ompjit__elf_file *f)
{
    const char *bad = ompjit__elf_tables(f);
    if (!bad)
        bad = ompjit__elf_sections(f);
    if (bad) {
        doctor_fault(d, "%s: an ELF file that is %s (byte %llu): build it "
                     "again", name, bad, (unsigned long long)f->bad_at);
        return;
    }
    note_first(&d->host, name);
    if (f->head.e_type != ET_REL)
        note_first(&d->linked, name);
    read_sections(d, name, f);
    read_symbols(d, name, f);
    doctor_embedded(d, name, f);
}
