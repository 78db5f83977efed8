/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ELF files: cubins and host files are pieces. A host file with sections of
 * device images is a container of these, and no piece itself.
 */
#include <stdio.h>
#include <string.h>

#include "formats/elf_file.h"
#include "images/reader.h"

/* Bits of a cubin's e_flags that say sm_90a rather than sm_90; and of CUDA 13
 * an attribute of section .nv.compat, which ptxas 13.0 writes instead. */
enum {
    ACCELERATORS_12 = 0x800,
    ACCELERATORS_13 = 0x8,
    COMPAT = SHT_LOPROC + 0x86,
    COMPAT_CLASS = 9, /* attribute; the value of sm_90a is */
    CLASS_A = 1
};

static const char gpu_triple[] = "nvptx64-nvidia-cuda";

bool ompjit__elf_image_is(ompjit__bytes b)
{
    return b.n >= SELFMAG && !memcmp(b.p, ELFMAG, SELFMAG);
}

/* ------------------------------------------------------------------ cubins */

/* `bad` is the sentence of formats/elf_file.h about the byte at f->bad_at. */
static ompjit_status bad_elf(ompjit__image_reader *r, const char *what,
                             const ompjit__elf_file *f, const char *bad)
{
    size_t at = f->bad_at < f->file.n ? (size_t)f->bad_at : f->file.n;
    return ompjit__image_bad(r, f->file.p + at, "%s that is %s", what, bad);
}

/* Is the cubin for sm_90a rather than sm_90? The flag's bit depends on the
 * ABI's version. */
static bool says_a(const ompjit__elf_file *f)
{
    bool old = f->head.e_ident[EI_ABIVERSION] == OMPJIT__CUBIN_ABI_12;
    Elf64_Shdr s;
    if (f->head.e_flags & (old ? ACCELERATORS_12 : ACCELERATORS_13))
        return true;
    for (unsigned i = 0; ompjit__elf_file_section(f, i, &s); i++) {
        ompjit__cubin_info info = {0};
        if (s.sh_type != COMPAT ||
            !ompjit__bytes_slice(f->file, s.sh_offset, s.sh_size, &info.info))
            continue;
        while (ompjit__cubin_info_next(&info))
            if (info.attribute == COMPAT_CLASS)
                return info.immediate == CLASS_A;
        return false;
    }
    return false;
}

/* A cubin's own architecture counts, not the container's. */
static ompjit_status cubin(ompjit__image_reader *r, ompjit__elf_file *f,
                           const ompjit__content *content)
{
    char arch[sizeof content->arch];
    const char *bad = ompjit__cubin_open(f);
    if (bad)
        return bad_elf(r, "a cubin", f, bad);
    snprintf(arch, sizeof arch, "sm_%u%s", f->sm, says_a(f) ? "a" : "");
    return ompjit__piece_add(r, content, OMPJIT__PIECE_CUBIN, gpu_triple, arch);
}

/* -------------------------------------------------------------- host files */

/* NULL: no device of the library's runs that machine's code. */
static const char *host_triple(unsigned machine)
{
    return machine == EM_X86_64    ? "x86_64-unknown-linux-gnu"
           : machine == EM_AARCH64 ? "aarch64-unknown-linux-gnu"
                                   : NULL;
}

/* Clang 15 and before bundle objects as sections of the host's. */
static const char bundled[] = "__CLANG_OFFLOAD_BUNDLE__";
/* Bytes of a section's name that are looked at: all may have the same long
 * one. */
enum { ID_MOST = 128, NAME_MOST = 32 };

/* Is it one of the sections that clang 15 made? */
static bool is_bundled(const char *name)
{
    return !strncmp(name, bundled, strlen(bundled));
}

/* Sections that compilers put device images into. */
static bool is_images(const char *name)
{
    static const char *const names[] = {".llvm.offloading", ".nv_fatbin",
                                        "__nv_relfatbin"};
    for (size_t i = 0; i < OMPJIT__COUNT(names); i++)
        if (!strcmp(name, names[i]))
            return true;
    return is_bundled(name);
}

/* The images of a section. */
static ompjit_status section(ompjit__image_reader *r, ompjit__elf_file *f,
                             const Elf64_Shdr *s, const ompjit__content *whole)
{
    ompjit__content images = *whole;
    const char *name = ompjit__elf_section_name(f, s);
    if (s->sh_type == SHT_NOBITS || !s->sh_size)
        return OMPJIT_OK;
    ompjit__bytes_slice(f->file, s->sh_offset, s->sh_size, &images.bytes);
    if (s->sh_flags & SHF_COMPRESSED)
        return ompjit__image_bad(r, images.bytes.p, "section %.*s is "
                                 "compressed", NAME_MOST, name);
    snprintf(images.name, sizeof images.name, "section %.*s", NAME_MOST, name);
    if (is_bundled(name)) {
        const char *id = name + strlen(bundled);
        ompjit__bundle_target(
            (ompjit__bytes){(const unsigned char *)id, strnlen(id, ID_MOST)},
            &images);
    }
    return ompjit__piece_found(r, &images);
}

/* Each section of images is a content. The container's triple, if there is one,
 * is more exact than what e_machine says. */
static ompjit_status host(ompjit__image_reader *r, ompjit__elf_file *f,
                          const ompjit__content *content)
{
    Elf64_Shdr s;
    unsigned sections = 0;
    const char *triple = host_triple(f->head.e_machine);
    for (unsigned i = 0; ompjit__elf_file_section(f, i, &s); i++) {
        if (!is_images(ompjit__elf_section_name(f, &s)))
            continue;
        ompjit_status status = section(r, f, &s, content);
        if (status)
            return status;
        sections++;
    }
    if (sections)
        return OMPJIT_OK;
    triple = *content->triple ? "" : triple;
    if (f->head.e_type == ET_REL)
        return ompjit__piece_add(r, content, OMPJIT__PIECE_HOST_OBJECT, triple,
                                 "");
    if (f->head.e_type == ET_DYN)
        return ompjit__piece_add(r, content, OMPJIT__PIECE_HOST_LIBRARY, triple,
                                 "");
    return ompjit__image_skip(r, content->bytes.p, "an ELF file of type %u, "
                              "neither relocatable nor shared",
                              f->head.e_type);
}

/* Cubins have their own tables (formats/cubin_file.c), so those of the file are
 * read for hosts only. */
ompjit_status ompjit__elf_image_read(ompjit__image_reader *r,
                                     const ompjit__content *content)
{
    ompjit__elf_file f = {.file = content->bytes};
    const char *bad = ompjit__elf_head(&f);
    if (bad)
        return bad_elf(r, "an ELF file", &f, bad);
    if (f.head.e_machine == EM_CUDA)
        return cubin(r, &f, content);
    if (!host_triple(f.head.e_machine))
        return ompjit__image_skip(
            r, content->bytes.p + offsetof(Elf64_Ehdr, e_machine), "the ELF "
            "file is for machine %u, for which the library has no device",
            f.head.e_machine);
    bad = ompjit__elf_tables(&f);
    if (!bad)
        bad = ompjit__elf_sections(&f);
    return bad ? bad_elf(r, "an ELF file", &f, bad) : host(r, &f, content);
}
