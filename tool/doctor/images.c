/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit doctor: device images, where they are in files for the host, and
 * which kernels they have.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/doctor/doctor.h"

static const char clangs[] = "__omp_offloading_";

/* ----------------------------------------------------------------- kernels */

static struct doctor_kernel *add_kernel(struct doctor *d, const char *symbol)
{
    struct doctor_kernel *k = DOCTOR_ADD(d, kernels, nkernels);
    if (!k)
        return NULL;
    *k = (struct doctor_kernel){.symbol = doctor_text(d, symbol,
                                                      strlen(symbol)),
                                .image = (unsigned)d->nimages - 1,
                                .nargs = -1,
                                .certain = true};
    if (!k->symbol) {
        d->nkernels--;
        return NULL;
    }
    d->images[k->image].nkernels++;
    return k;
}

/* Constructors' and destructors' kernels of an image have no entries. */
static bool is_own(const char *symbol)
{
    return strstr(symbol, "$device$") != NULL;
}

/* As images/prebuilt_unit.c has it: the first parameter is the launch's own. */
static void add_gpu_kernel(struct doctor *d, const ompjit__gpu_kernel *from)
{
    struct doctor_kernel *k =
        is_own(from->symbol) ? NULL : add_kernel(d, from->symbol);
    if (!k)
        return;
    bool own = from->nparams && (from->environment_size ||
                                 !strncmp(from->symbol, clangs,
                                          sizeof clangs - 1));
    k->nargs = (int)(from->nparams - own);
    k->params = ompjit__memdup(from->params,
                               from->nparams * sizeof *from->params);
    k->nparams = k->params ? from->nparams : 0;
    d->failed |= from->nparams && !k->params;
}

static void read_gpu_code(struct doctor *d, const char *place,
                          const ompjit__piece *piece)
{
    ompjit__gpu_code code = {0};
    ompjit_error err;
    if (ompjit__gpu_code_read(piece, &code, &err)) {
        doctor_fault(d, "%s: %s; build it again", place, err.text);
        return;
    }
    for (unsigned i = 0; i < code.nkernels; i++)
        add_gpu_kernel(d, &code.kernels[i]);
    ompjit__gpu_code_free(&code);
}

/* LLVM knows the kernels of bitcode. */
static void read_ir(struct doctor *d, const char *place,
                    const ompjit__piece *piece)
{
    ompjit_module *mod;
    ompjit_error err;
    ompjit_module_options options = OMPJIT_MODULE_OPTIONS_INIT;
    options.name = place;
    if (!d->ctx && session_open(d->options, "host", &d->ctx)) {
        d->faults++;
        return;
    }
    if (ompjit_module_from_image(d->ctx, piece->data, piece->size, &options,
                                 &mod, &err)) {
        doctor_fault(d, "%s: %s", place, err.text);
        return;
    }
    for (unsigned i = 0; i < ompjit_module_kernel_count(mod); i++) {
        ompjit_kernel_info info = OMPJIT_KERNEL_INFO_INIT;
        struct doctor_kernel *k = NULL;
        if (!ompjit_kernel_info_get(ompjit_module_kernel_at(mod, i), &info,
                                    NULL))
            k = add_kernel(d, info.symbol);
        if (k)
            k->nargs = (int)info.nparams;
    }
    ompjit_module_destroy(mod);
}

/* A function that a host image defines; of others than clang's nobody says
 * whether they are kernels. */
static bool is_function(const struct elf_symbol *s)
{
    return ELF64_ST_TYPE(s->sym.st_info) == STT_FUNC &&
           ELF64_ST_BIND(s->sym.st_info) != STB_LOCAL &&
           s->sym.st_shndx != SHN_UNDEF;
}

static bool open_host(ompjit__bytes file, ompjit__elf_file *f, uint32_t *type)
{
    *f = (ompjit__elf_file){.file = file};
    if (ompjit__elf_head(f) || ompjit__elf_tables(f))
        return false;
    *type = f->head.e_type == ET_REL ? SHT_SYMTAB : SHT_DYNSYM;
    return true;
}

static void read_host_code(struct doctor *d, const ompjit__piece *piece)
{
    ompjit__elf_file f;
    Elf64_Shdr section;
    struct elf_symbol s;
    uint32_t type;
    if (!open_host((ompjit__bytes){piece->data, piece->size}, &f, &type))
        return;
    for (unsigned k = 0; ompjit__elf_file_section(&f, k, &section); k++)
        for (uint64_t i = 0;
             section.sh_type == type && elf_symbol_at(&f, k, i, &s); i++) {
            struct doctor_kernel *kernel =
                is_function(&s) ? add_kernel(d, s.name) : NULL;
            if (kernel)
                kernel->certain = !strncmp(s.name, clangs, sizeof clangs - 1);
        }
}

bool doctor_is_host_image(ompjit__bytes file)
{
    ompjit__elf_file f;
    Elf64_Shdr section;
    struct elf_symbol s;
    uint32_t type;
    if (!open_host(file, &f, &type))
        return false;
    for (unsigned k = 0; ompjit__elf_file_section(&f, k, &section); k++)
        for (uint64_t i = 0;
             section.sh_type == type && elf_symbol_at(&f, k, i, &s); i++)
            if (is_function(&s) &&
                !strncmp(s.name, clangs, sizeof clangs - 1))
                return true;
    return false;
}

/* ------------------------------------------------------------------ pieces */

static bool is_llvm(const ompjit__piece *p)
{
    return p->kind == OMPJIT__PIECE_BITCODE || p->kind == OMPJIT__PIECE_IR_TEXT;
}

static void unread(struct doctor *d, const char *place, const char *why)
{
    d->unread++;
    doctor_note(d, "%s: an image for no device of this library (%s)", place,
                why);
}

static void read_piece(struct doctor *d, const char *place, bool cuda,
                       const ompjit__piece *p)
{
    if (is_llvm(p) && *p->triple && strncmp(p->triple, "nvptx64", 7)) {
        unread(d, place, p->triple);
        return;
    }
    struct doctor_image *image = DOCTOR_ADD(d, images, nimages);
    char *name = ompjit__strdup(place);
    d->failed |= !name;
    if (!image) {
        free(name);
        return;
    }
    image->place = name;
    image->kind = p->kind;
    image->cuda = cuda;
    memcpy(image->arch, p->arch, sizeof image->arch);
    if (!name)
        return;
    if (is_llvm(p))
        read_ir(d, place, p);
    else if (p->kind == OMPJIT__PIECE_PTX || p->kind == OMPJIT__PIECE_CUBIN)
        read_gpu_code(d, place, p);
    else
        read_host_code(d, p);
}

void doctor_image(struct doctor *d, const char *place, bool cuda,
                  ompjit__bytes image)
{
    ompjit__pieces pieces;
    ompjit_error err;
    if (!ompjit__pieces_read(image.p, image.n, &pieces, &err)) {
        for (unsigned i = 0; i < pieces.n; i++)
            read_piece(d, place, cuda, &pieces.list[i]);
        ompjit__pieces_free(&pieces);
    } else if (strstr(err.text, "for which the library has no device")) {
        unread(d, place, err.text);
    } else {
        char *text = doctor_text(d, err.text, strlen(err.text));
        doctor_fault(d, "%s: %s; build it again", place, text ? text : "");
        free(text);
    }
}

/* -------------------------------------------------------- images in data */

/* How many bytes there are of a format, by its header; 0: it is none. */
typedef uint64_t size_fn(ompjit__bytes b);

static uint64_t container_size(ompjit__bytes b)
{
    enum { VERSION_MOST = 2 };
    uint64_t size = 0;
    uint32_t version = ompjit__bytes_word(b, 1);
    if (!version || version > VERSION_MOST)
        return 0;
    ompjit__bytes_read(b, 8, &size, sizeof size);
    return size < b.n ? size : b.n; /* one that is cut is told of */
}

static uint64_t elf_size(ompjit__bytes b)
{
    ompjit__elf_file f = {.file = b};
    Elf64_Shdr s;
    if (ompjit__elf_head(&f) || ompjit__elf_tables(&f))
        return 0;
    uint64_t end = f.head.e_shoff + f.head.e_shnum * sizeof s;
    for (unsigned i = 0; ompjit__elf_file_section(&f, i, &s); i++)
        if (s.sh_type != SHT_NOBITS && s.sh_offset < b.n &&
            s.sh_size <= b.n - s.sh_offset && s.sh_offset + s.sh_size > end)
            end = s.sh_offset + s.sh_size;
    return end;
}

/* Blocks follow each other: 2 bits that begin one, 8 of its number, then its
 * length in words. */
static uint64_t bitcode_size(ompjit__bytes b)
{
    enum {
        BEGINS = 1,
        MODULE = 8,
        IDENTIFICATION = 13,
        STRTAB = 23,
        SYMTAB = 25
    };
    uint64_t at = 4;
    while (b.n - at >= 8) {
        uint32_t head[2];
        ompjit__bytes_read(b, at, head, sizeof head);
        unsigned block = head[0] >> 2 & 0xff;
        if ((head[0] & 3) != BEGINS ||
            (block != IDENTIFICATION && block != MODULE && block != STRTAB &&
             block != SYMTAB) ||
            head[1] > (b.n - at - 8) / 4)
            break;
        at += 8 + 4 * (uint64_t)head[1];
    }
    return at > 4 ? at : 0;
}

static const struct {
    unsigned char magic[4];
    size_fn *size;
    bool sure; /* what does not parse is damaged, and no chance */
} formats[] = {{{0x10, 0xff, 0x10, 0xad}, container_size, true},
               {{0x7f, 'E', 'L', 'F'}, elf_size, false},
               {{'B', 'C', 0xc0, 0xde}, bitcode_size, false}};

/* The image that the bytes begin with: its size, or 0. */
static uint64_t image_at(ompjit__bytes b, bool *sure)
{
    for (size_t i = 0; i < OMPJIT__COUNT(formats); i++)
        if (!memcmp(b.p, formats[i].magic, sizeof formats[i].magic)) {
            *sure = formats[i].sure;
            return formats[i].size(b);
        }
    return 0;
}

static bool is_read(ompjit__bytes image)
{
    ompjit__pieces pieces;
    bool read = !ompjit__pieces_read(image.p, image.n, &pieces, NULL);
    if (read)
        ompjit__pieces_free(&pieces);
    return read;
}

/* Linkers and programs put images anywhere; few places look like one. */
static void search(struct doctor *d, const char *name, const char *section,
                   ompjit__bytes b)
{
    enum { CANDIDATES = 4096 };
    unsigned candidates = 0;
    for (size_t at = 0; b.n - at >= 16 && candidates < CANDIDATES; at++) {
        bool sure = false;
        ompjit__bytes rest = {b.p + at, b.n - at};
        rest.n = (size_t)image_at(rest, &sure);
        if (!rest.n)
            continue;
        candidates++;
        if (!sure && !is_read(rest))
            continue;
        char *place = ompjit__format("%s, byte %zu of section %s", name, at,
                                     section);
        if (place)
            doctor_image(d, place, false, rest);
        d->failed |= !place;
        free(place);
        at += rest.n - 1;
    }
}

/* ---------------------------------------------------------------- sections */

static bool is_cuda_section(const char *name)
{
    return !strcmp(name, ".nv_fatbin") || !strcmp(name, "__nv_relfatbin");
}

static void read_section(struct doctor *d, const char *name,
                         const char *section, ompjit__bytes bytes)
{
    char *place = ompjit__format("%s, section %s", name, section);
    if (place)
        doctor_image(d, place, is_cuda_section(section), bytes);
    d->failed |= !place;
    free(place);
}

void doctor_embedded(struct doctor *d, const char *name,
                     const ompjit__elf_file *f)
{
    Elf64_Shdr s;
    ompjit__bytes bytes;
    for (unsigned i = 0; ompjit__elf_file_section(f, i, &s); i++) {
        if (s.sh_type == SHT_NOBITS || s.sh_type == SHT_NULL || !s.sh_size ||
            !ompjit__bytes_slice(f->file, s.sh_offset, s.sh_size, &bytes))
            continue;
        const char *raw = ompjit__elf_section_name(f, &s);
        if (!strcmp(raw, ".llvm.offloading") || is_cuda_section(raw)) {
            read_section(d, name, raw, bytes);
        } else if (s.sh_type == SHT_PROGBITS && s.sh_flags & SHF_ALLOC &&
                   !(s.sh_flags & SHF_EXECINSTR)) {
            char *text = doctor_text(d, raw, strlen(raw));
            if (text)
                search(d, name, text, bytes);
            free(text);
        }
    }
}
