/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The plain linker. One mapping holds the object's sections by their
 * protection: first the read-only ones (code and stubs, constants and slots for
 * addresses, which for most kernels fit in one page together), then variables.
 * Starting ORC and linking with it costs a millisecond of a process's first
 * call, and half of one of each later call; this a few dozen microseconds.
 *
 * The steps are those of ompjit__elf_link, in its order: read and check, lay
 * out and copy, resolve, relocate, protect. No step prints or fills an error: a
 * refusal only means that ORC is asked next. `struct link` is gone when the
 * function returns; an ompjit__elf stays.
 */
#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loader/elf.h"

/* FIXED is executable and not writable once it is linked, VARIABLES the other
 * way round. Code and constants share a part, so constants can be executed.
 * That saves a page and a call of mprotect for each kernel. */
enum part { FIXED, VARIABLES, PARTS };

/* A definition that others may look up. Symbols are few, so they are searched
 * one by one. */
struct symbol {
    char *name; /* into names */
    void *address;
};

/* Nothing of it changes once it is linked: any thread may look up symbols. */
struct ompjit__elf {
    char *memory; /* one mapping for all parts */
    size_t size;
    size_t start[PARTS + 1]; /* offsets of the parts, whole pages */
    char *names;             /* a copy of the object's */
    struct symbol *symbols;  /* global and weak ones that it defines */
    size_t nsymbols;
    void *frames; /* registered for unwinding, or NULL */
    char **places; /* of the object's sections; NULL: not loaded */
    unsigned nsections;
};

/* An object that is being linked. `bytes`, `sections`, `symbols` and `names`
 * are the caller's object. `places`, which `out` takes, and `addresses` are
 * malloc'd, by section and symbol number. */
struct link {
    const unsigned char *bytes;
    size_t size;
    const Elf64_Shdr *sections;
    unsigned nsections;
    const Elf64_Sym *symbols;
    size_t nsymbols;
    const char *names;
    size_t names_size;
    char **places;      /* of the sections; NULL: not loaded      */
    uint64_t *addresses; /* of the symbols                        */
    size_t slots, stubs; /* offsets; one of each for each symbol  */
    const Elf64_Shdr *frames;
    ompjit__elf_find *find;
    void *data;
    ompjit__buf *undefined; /* NULL: the first one ends it */
    ompjit__elf *out;
};

/* libgcc's, which has no header for them: `frames` is an .eh_frame section that
 * ends in four zero bytes. */
extern void __register_frame(void *frames);
extern void __deregister_frame(void *frames);

/* --------------------------------------------------------------- reading
 * System V ABI, chapter 4. An object comes from a worker or from a cache. None
 * of its numbers is believed: no offset is used unchecked. */

/* Compares without a sum, which a damaged offset could make overflow. */
static bool inside(const struct link *l, uint64_t offset, uint64_t size)
{
    return offset <= l->size && size <= l->size - offset;
}

/* Only for sections that read_sections has found inside the object. */
static const void *contents(const struct link *l, const Elf64_Shdr *s)
{
    return l->bytes + s->sh_offset;
}

/* A relocatable object of this CPU. If it has 65280 sections or more
 * (SHN_LORESERVE), their number stands elsewhere and e_shnum is 0: it seems to
 * have no symbol table, and is refused for that. e_shoff is a multiple of 8 so
 * that the headers can be read in place; so are the offsets of symbols and
 * relocations below. */
static bool read_header(struct link *l)
{
    const Elf64_Ehdr *h = (const void *)l->bytes;
    if (l->size < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) ||
        h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_type != ET_REL ||
        !ompjit__elf_machine || h->e_machine != ompjit__elf_machine ||
        h->e_shentsize != sizeof *l->sections || h->e_shoff % 8 ||
        !inside(l, h->e_shoff, (uint64_t)h->e_shnum * sizeof *l->sections))
        return false;
    l->sections = (const void *)(l->bytes + h->e_shoff);
    l->nsections = h->e_shnum;
    return h->e_shstrndx < l->nsections &&
           l->sections[h->e_shstrndx].sh_type == SHT_STRTAB;
}

/* Reads the one symbol table that an object has. Its names end in a NUL, so
 * that each is a string. The table itself was found inside the object by
 * read_sections. */
static bool read_symbols(struct link *l, const Elf64_Shdr *s)
{
    const Elf64_Shdr *names = &l->sections[s->sh_link];
    if (l->symbols || s->sh_link >= l->nsections ||
        s->sh_entsize != sizeof *l->symbols || s->sh_offset % 8 ||
        names->sh_type != SHT_STRTAB || !names->sh_size ||
        !inside(l, names->sh_offset, names->sh_size))
        return false;
    l->symbols = contents(l, s);
    l->nsymbols = s->sh_size / sizeof *l->symbols;
    l->names = contents(l, names);
    l->names_size = names->sh_size;
    return !l->names[l->names_size - 1];
}

/* In l->names, which end in a NUL: that is the name of one that has none. */
static const char *name_of(const struct link *l, const Elf64_Sym *s)
{
    return l->names + (s->st_name < l->names_size ? s->st_name
                                                  : l->names_size - 1);
}

/* Are alignments, which are in st_value, and sizes what can be laid out? */
static bool commons_sound(const struct link *l)
{
    for (size_t i = 0; i < l->nsymbols; i++) {
        const Elf64_Sym *s = &l->symbols[i];
        if (s->st_shndx == SHN_COMMON &&
            (s->st_value > 4096 || s->st_value & (s->st_value - 1) ||
             s->st_size > INT32_MAX))
            return false;
    }
    return true;
}

/* Only what this linker does: all else is ORC's. It runs no constructors: those
 * of a program are run by the host half's own table (core/host_half.h). SHT_REL
 * has no addends and is no type that LLVM writes for these CPUs. A section may
 * be aligned to 4096 at most, the smallest page: the mapping begins at a page,
 * so that is kept without more. */
static bool read_sections(struct link *l)
{
    for (unsigned i = 0; i < l->nsections; i++) {
        const Elf64_Shdr *s = &l->sections[i];
        if (s->sh_type != SHT_NOBITS && !inside(l, s->sh_offset, s->sh_size))
            return false;
        switch (s->sh_type) {
        case SHT_SYMTAB:
            if (!read_symbols(l, s))
                return false;
            break;
        case SHT_RELA:
            if (s->sh_entsize != sizeof(Elf64_Rela) || s->sh_offset % 8)
                return false;
            break;
        case SHT_REL:
        case SHT_INIT_ARRAY:
        case SHT_FINI_ARRAY:
        case SHT_SYMTAB_SHNDX:
            return false;
        }
        if (s->sh_flags & SHF_TLS || s->sh_addralign > 4096 ||
            (s->sh_flags & SHF_ALLOC && s->sh_size > INT32_MAX))
            return false; /* nor are sums of sizes more than a size_t */
    }
    return l->symbols && commons_sound(l);
}

/* ---------------------------------------------------------------- layout */

/* `to` 0 and 1 both mean no alignment (ELF's sh_addralign). */
static size_t align(size_t n, size_t to)
{
    return to > 1 ? (n + to - 1) / to * to : n;
}

/* Is that the section's name? */
static bool is_named(const struct link *l, const Elf64_Shdr *s,
                     const char *name)
{
    const Elf64_Ehdr *h = (const void *)l->bytes;
    const Elf64_Shdr *names = &l->sections[h->e_shstrndx];
    return s->sh_name < names->sh_size &&
           strlen(name) < names->sh_size - s->sh_name &&
           !strcmp((const char *)contents(l, names) + s->sh_name, name);
}

/* Sections that are written are variables; all others are fixed, as are
 * constants with addresses, which only the linker writes. */
static enum part part_of(const struct link *l, const Elf64_Shdr *s)
{
    const bool linked = is_named(l, s, ".data.rel.ro") ||
                        is_named(l, s, ".data.rel.ro.local");
    return s->sh_flags & SHF_WRITE && !linked ? VARIABLES : FIXED;
}

/* LLVM's own type on x86-64, SHT_X86_64_UNWIND, or a plain one by its name:
 * relocations tell nothing, but nothing else that is loaded has that type. */
static bool holds_frames(const struct link *l, const Elf64_Shdr *s)
{
    return is_named(l, s, ".eh_frame");
}

/* Variables that the object leaves to its linker to place (-fcommon): their
 * value is an alignment. Until there is memory their addresses are offsets.
 * They lie in VARIABLES, behind its sections. */
static void place_commons(struct link *l, size_t *at)
{
    for (size_t i = 0; i < l->nsymbols; i++) {
        const Elf64_Sym *s = &l->symbols[i];
        if (s->st_shndx != SHN_COMMON)
            continue;
        *at = align(*at, s->st_value);
        l->addresses[i] = *at;
        *at += s->st_size;
    }
}

/* The place of each section, as an offset + 1 in `places` until there is
 * memory. The unwinder wants four zero bytes behind the frames. Each part
 * begins at a page, since mprotect works on pages. Stubs and slots are reached
 * by displacements of 32 bits from the code, so they lie in the same mapping,
 * in FIXED: a slot is written once, before the part is protected. Every symbol
 * gets one of each, used or not, which takes 24 bytes. */
static void lay_out(struct link *l, size_t *at)
{
    for (int part = 0; part < PARTS; part++) {
        *at = align(*at, (size_t)sysconf(_SC_PAGESIZE));
        l->out->start[part] = *at;
        for (unsigned i = 0; i < l->nsections; i++) {
            const Elf64_Shdr *s = &l->sections[i];
            if (!(s->sh_flags & SHF_ALLOC) || (int)part_of(l, s) != part)
                continue;
            *at = align(*at, s->sh_addralign);
            l->places[i] = (char *)NULL + *at + 1;
            *at += s->sh_size;
            if (holds_frames(l, s) && s->sh_size) {
                l->frames = s;
                *at += sizeof(uint32_t);
            }
        }
        if (part == VARIABLES)
            place_commons(l, at);
        if (part == FIXED) {
            *at = l->stubs = align(*at, OMPJIT__ELF_STUB);
            *at += l->nsymbols * OMPJIT__ELF_STUB;
            l->slots = *at;
            *at += l->nsymbols * sizeof(uint64_t);
        }
    }
    l->out->start[PARTS] = align(*at, (size_t)sysconf(_SC_PAGESIZE));
}

/* Copies the sections to their places. Pages of a mapping are zero, as a
 * section without contents (SHT_NOBITS) has to be. Memory is writable and not
 * executable until `finish`. ompjit__elf_free unmaps it also after a failure,
 * by out->memory. */
static bool load_sections(struct link *l)
{
    size_t size = 0;
    lay_out(l, &size);
    l->out->size = l->out->start[PARTS];
    char *memory = mmap(NULL, l->out->size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    l->out->memory = memory;
    for (unsigned i = 0; i < l->nsections; i++) {
        const Elf64_Shdr *s = &l->sections[i];
        if (!l->places[i])
            continue;
        l->places[i] = memory + (l->places[i] - (char *)NULL) - 1;
        if (s->sh_type != SHT_NOBITS)
            memcpy(l->places[i], contents(l, s), s->sh_size);
        if (s == l->frames)
            l->out->frames = l->places[i];
    }
    return true;
}

/* --------------------------------------------------------------- symbols */

/* __start_NAME and __stop_NAME, which a linker defines for each section whose
 * name is an identifier: hand-written tables of offload entries have such. NULL:
 * the name is no such one, or several sections have it, which would have to be
 * joined. */
static void *section_bound(const struct link *l, const char *name)
{
    static const char start[] = "__start_", stop[] = "__stop_";
    bool at_start = !strncmp(name, start, sizeof start - 1);
    if (!at_start && strncmp(name, stop, sizeof stop - 1))
        return NULL;
    name += at_start ? sizeof start - 1 : sizeof stop - 1;
    char *found = NULL;
    unsigned n = 0;
    for (unsigned i = 0; i < l->nsections; i++)
        if (l->places[i] && is_named(l, &l->sections[i], name)) {
            found = l->places[i] + (at_start ? 0 : l->sections[i].sh_size);
            n++;
        }
    return n == 1 ? found : NULL;
}

/* True: the others are looked for, too. */
static bool note_undefined(const struct link *l, const char *name)
{
    if (!l->undefined)
        return false;
    char *readable = ompjit__demangle(name);
    ompjit__buf_printf(l->undefined, "%s%s", l->undefined->size ? ", " : "",
                       readable ? readable : name);
    free(readable);
    return true;
}

/* The address of a symbol; *out has the offset of a common one. False: it needs
 * ORC, or nobody defines it. A section that is not loaded (debug information)
 * begins at 0. */
static bool resolve(struct link *l, const Elf64_Sym *s, uint64_t *out)
{
    unsigned type = ELF64_ST_TYPE(s->st_info);
    if (type == STT_GNU_IFUNC || type == STT_TLS)
        return false;
    if (s->st_shndx == SHN_COMMON) {
        *out += (uint64_t)(uintptr_t)l->out->memory;
        return true;
    }
    if (s->st_shndx == SHN_ABS) {
        *out = s->st_value;
        return true;
    }
    if (s->st_shndx == SHN_UNDEF) {
        const char *name = name_of(l, s);
        void *address = section_bound(l, name);
        if (!address && *name)
            address = l->find(l->data, name);
        *out = (uint64_t)(uintptr_t)address;
        return address || !*name || ELF64_ST_BIND(s->st_info) == STB_WEAK ||
               note_undefined(l, name);
    }
    if (s->st_shndx >= l->nsections)
        return false;
    const char *place = l->places[s->st_shndx];
    *out = place ? (uint64_t)(uintptr_t)place + s->st_value : 0;
    return true;
}

/* Local symbols of two functions may have one name, and an absolute symbol is a
 * number, no address. */
static bool is_public(const Elf64_Sym *s)
{
    return ELF64_ST_BIND(s->st_info) != STB_LOCAL &&
           s->st_shndx != SHN_UNDEF && s->st_shndx != SHN_ABS;
}

/* Copies the names, since the object's bytes are freed after linking. */
static bool keep_symbols(struct link *l)
{
    ompjit__elf *out = l->out;
    out->names = malloc(l->names_size);
    out->symbols = calloc(l->nsymbols + 1, sizeof *out->symbols);
    if (!out->names || !out->symbols)
        return false;
    memcpy(out->names, l->names, l->names_size);
    for (size_t i = 0; i < l->nsymbols; i++)
        if (is_public(&l->symbols[i]))
            out->symbols[out->nsymbols++] = (struct symbol){
                out->names + (name_of(l, &l->symbols[i]) - l->names),
                (void *)(uintptr_t)l->addresses[i]};
    return true;
}

/* Symbols before relocations: a relocation may refer to any of them. */
static bool resolve_all(struct link *l)
{
    for (size_t i = 0; i < l->nsymbols; i++)
        if (!resolve(l, &l->symbols[i], &l->addresses[i]))
            return false;
    return !(l->undefined && l->undefined->size) && keep_symbols(l);
}

/* ----------------------------------------------------------- relocations */

/* Each symbol has one slot and one stub, which all relocations to it share. A
 * place has 4 bytes at least (ompjit__relocation's `room` has the rest): that
 * is checked here for all types at once. The CPU's file checks the types that
 * write 8. */
static bool relocate_section(const struct link *l, const Elf64_Shdr *s)
{
    const Elf64_Rela *rela = contents(l, s);
    const Elf64_Shdr *target = &l->sections[s->sh_info];
    unsigned char *memory = (unsigned char *)l->out->memory;
    for (size_t n = s->sh_size / sizeof *rela; n; n--, rela++) {
        size_t i = ELF64_R_SYM(rela->r_info);
        if (i >= l->nsymbols || rela->r_offset > target->sh_size ||
            target->sh_size - rela->r_offset < sizeof(uint32_t))
            return false;
        ompjit__relocation r = {
            .type = (uint32_t)ELF64_R_TYPE(rela->r_info),
            .place = (unsigned char *)l->places[s->sh_info] + rela->r_offset,
            .room = target->sh_size - rela->r_offset,
            .symbol = l->addresses[i],
            .addend = rela->r_addend,
            .slot = memory + l->slots + i * sizeof(uint64_t),
            .stub = memory + l->stubs + i * OMPJIT__ELF_STUB};
        if (!ompjit__elf_relocate(&r))
            return false;
    }
    return true;
}

/* Sections that are not loaded, such as debug information, keep their
 * relocations: nobody reads them here, and publish.c gives gdb the object with
 * addresses instead. */
static bool relocate_all(const struct link *l)
{
    for (unsigned i = 0; i < l->nsections; i++) {
        const Elf64_Shdr *s = &l->sections[i];
        if (s->sh_type == SHT_RELA && s->sh_info < l->nsections &&
            l->places[s->sh_info] && !relocate_section(l, s))
            return false;
    }
    return true;
}

/* libgcc takes a whole section of frames; LLVM's libunwind, which has the
 * function below, wants them one by one: ORC knows how. Frames may speak of
 * code in this mapping only: libgcc keeps one tree of ranges for the process,
 * and no range of somebody else's code may get into it. */
static bool can_register_frames(const struct link *l)
{
    const ompjit__elf *out = l->out;
    ompjit__code_range code = {(uintptr_t)out->memory,
                          (uintptr_t)out->memory + out->size};
    return ompjit__elf_frames_sound(out->frames, l->frames->sh_size, &code) &&
           !dlsym(RTLD_DEFAULT, "__unw_add_dynamic_fde");
}

/* From here on the code can be executed. Frames are registered last: libgcc
 * reads them at once. After a failure `frames` is NULL again, so that
 * ompjit__elf_free does not deregister what was never registered. The
 * instruction cache has to be told of new code on AArch64; on x86-64 that call
 * is nothing. */
static bool finish(const struct link *l)
{
    ompjit__elf *out = l->out;
    if (out->frames && !can_register_frames(l)) {
        out->frames = NULL;
        return false;
    }
    size_t size = out->start[VARIABLES];
    if (size && mprotect(out->memory, size, PROT_READ | PROT_EXEC)) {
        out->frames = NULL;
        return false;
    }
    __builtin___clear_cache(out->memory, out->memory + size);
    if (out->frames)
        __register_frame(out->frames);
    return true;
}

#if !defined __x86_64__ && !defined __aarch64__ /* ORC links everything */
const unsigned ompjit__elf_machine = 0;

bool ompjit__elf_relocate(const ompjit__relocation *r)
{
    return false;
}
#endif

/* ------------------------------------------------------------- interface */

/* `good` short-circuits: no step runs after one that failed. `places` goes to
 * the result, or with it to ompjit__elf_free. */
ompjit__elf *ompjit__elf_link(const void *object, size_t size,
                              ompjit__elf_find *find, void *data,
                              ompjit__buf *undefined)
{
    struct link l = {.bytes = object, .size = size, .find = find, .data = data,
                     .undefined = undefined};
    if ((uintptr_t)object % 8 || !read_header(&l) || !read_sections(&l))
        return NULL;
    l.out = calloc(1, sizeof *l.out);
    l.places = calloc(l.nsections + 1, sizeof *l.places);
    l.addresses = calloc(l.nsymbols + 1, sizeof *l.addresses);
    bool good = l.out && l.places && l.addresses && load_sections(&l) &&
                resolve_all(&l) && relocate_all(&l);
    if (l.out && !good)
        l.out->frames = NULL; /* not registered */
    good = good && finish(&l);
    free(l.addresses);
    if (l.out) {
        l.out->places = l.places;
        l.out->nsections = l.nsections;
    } else {
        free(l.places);
    }
    if (!good) {
        ompjit__elf_free(l.out);
        return NULL;
    }
    return l.out;
}

void *ompjit__elf_symbol(const ompjit__elf *elf, const char *name)
{
    for (size_t i = 0; elf && i < elf->nsymbols; i++)
        if (!strcmp(elf->symbols[i].name, name))
            return elf->symbols[i].address;
    return NULL;
}

const char *ompjit__elf_name(const ompjit__elf *elf, const void *address)
{
    for (size_t i = 0; elf && i < elf->nsymbols; i++)
        if (elf->symbols[i].address == address)
            return elf->symbols[i].name;
    return NULL;
}

/* The number is the object's own section number. */
uint64_t ompjit__elf_section(const ompjit__elf *elf, unsigned section)
{
    return section < elf->nsections ? (uintptr_t)elf->places[section] : 0;
}

/* FIXED is all that can be executed; it begins the mapping. */
void ompjit__elf_extent(const ompjit__elf *elf, uintptr_t *begin,
                        uintptr_t *end)
{
    *begin = (uintptr_t)elf->memory;
    *end = *begin + elf->start[VARIABLES];
}

/* Frames are deregistered before the code is unmapped: an exception that
 * another thread throws reads them. */
void ompjit__elf_free(ompjit__elf *elf)
{
    if (!elf)
        return;
    if (elf->frames)
        __deregister_frame(elf->frames);
    if (elf->memory)
        munmap(elf->memory, elf->size);
    free(elf->names);
    free(elf->symbols);
    free(elf->places);
    free(elf);
}
