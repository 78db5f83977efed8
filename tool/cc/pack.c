/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Containers: device images in LLVM's offload binary (version 1, as LLVM 22
 * writes it), and bytes in an ELF object. `llvm-offload-binary` is what clang
 * calls to pack the bitcode of one source; LLVM's own program of that name
 * comes with another package than clang. Ours also corrects the source's halves:
 * of the host half clang makes an object next.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "tool/cc/cc.h"
#include "tool/tool.h"

/* Adds zeros up to a multiple of 8. */
static void align(ompjit__buf *out)
{
    static const char zeros[8];
    ompjit__buf_add(out, zeros, -out->size & 7);
}

/* ---------------------------------------------------------- offload binary */

enum { IMAGE_BITCODE = 2, FROM_OPENMP = 1, FORMAT = 1, NSTRINGS = 2 };

struct offload_head {
    uint8_t magic[4];
    uint32_t version;
    uint64_t size; /* of all; offsets count from this head */
    uint64_t entry_offset, entry_size;
};
struct offload_entry {
    uint16_t image_kind, producer;
    uint32_t flags;
    uint64_t string_offset, nstrings;
    uint64_t image_offset, image_size;
};
struct offload_string {
    uint64_t key, value; /* offsets */
};

/* Everything before the image. */
struct offload_front {
    struct offload_head head;
    struct offload_entry entry;
    struct offload_string strings[NSTRINGS];
};

/* Adds a string with its NUL; its offset from `start`. */
static uint64_t add_string(ompjit__buf *out, size_t start, const char *s)
{
    uint64_t at = out->size - start;
    ompjit__buf_add(out, s, strlen(s) + 1);
    return at;
}

void pack_image(ompjit__buf *out, const char *triple, const char *arch,
                const void *image, size_t size)
{
    struct offload_front f = {
        .head = {{0x10, 0xff, 0x10, 0xad}, FORMAT, 0,
                 offsetof(struct offload_front, entry), sizeof f.entry},
        .entry = {.image_kind = IMAGE_BITCODE,
                  .producer = FROM_OPENMP,
                  .string_offset = offsetof(struct offload_front, strings),
                  .nstrings = NSTRINGS,
                  .image_size = size}};
    align(out);
    const size_t start = out->size;
    ompjit__buf_add(out, &f, sizeof f);
    f.strings[0].key = add_string(out, start, "arch");
    f.strings[0].value = add_string(out, start, arch);
    f.strings[1].key = add_string(out, start, "triple");
    f.strings[1].value = add_string(out, start, triple);
    align(out);
    f.entry.image_offset = out->size - start;
    ompjit__buf_add(out, image, size);
    align(out);
    f.head.size = out->size - start;
    if (!out->failed)
        memcpy(out->data + start, &f, sizeof f);
}

/* -------------------------------------------------------------- ELF object */

#if defined __x86_64__
enum { MACHINE = EM_X86_64 };
#elif defined __aarch64__
enum { MACHINE = EM_AARCH64 };
#else
#error "no ELF machine is known for this CPU"
#endif

enum { NONE, CONTENT, STACK, SYMBOLS, NAMES, NSECTIONS };
enum { NO_SYMBOL, BEGIN, END, NSYMBOLS };

/* Offsets into `names`. */
static const char names[] = "\0.rodata.ompjit\0.note.GNU-stack\0.symtab\0"
                            ".strtab\0ompjit_images_begin\0"
                            "ompjit_images_end";
enum {
    NAME_CONTENT = 1,
    NAME_STACK = NAME_CONTENT + sizeof ".rodata.ompjit",
    NAME_SYMBOLS = NAME_STACK + sizeof ".note.GNU-stack",
    NAME_NAMES = NAME_SYMBOLS + sizeof ".symtab",
    NAME_BEGIN = NAME_NAMES + sizeof ".strtab",
    NAME_END = NAME_BEGIN + sizeof "ompjit_images_begin"
};

/* Adds a section's bytes, and where they are to its header. */
static void add_section(ompjit__buf *out, size_t start, Elf64_Shdr *section,
                        const void *bytes, size_t size)
{
    align(out);
    section->sh_offset = out->size - start;
    section->sh_size = size;
    ompjit__buf_add(out, bytes, size);
}

void pack_object(ompjit__buf *out, const ompjit__buf *bytes)
{
    const unsigned char info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
    const Elf64_Sym symbols[NSYMBOLS] = {
        [BEGIN] = {NAME_BEGIN, info, STV_HIDDEN, CONTENT, 0, bytes->size},
        [END] = {NAME_END, info, STV_HIDDEN, CONTENT, bytes->size, 0}};
    Elf64_Shdr sections[NSECTIONS] = {
        [CONTENT] = {NAME_CONTENT, SHT_PROGBITS, SHF_ALLOC, .sh_addralign = 8},
        [STACK] = {NAME_STACK, SHT_PROGBITS, .sh_addralign = 1},
        [SYMBOLS] = {NAME_SYMBOLS, SHT_SYMTAB, .sh_link = NAMES,
                     .sh_info = BEGIN, .sh_addralign = 8,
                     .sh_entsize = sizeof *symbols},
        [NAMES] = {NAME_NAMES, SHT_STRTAB, .sh_addralign = 1}};
    Elf64_Ehdr head = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                    ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_REL,
        .e_machine = MACHINE,
        .e_version = EV_CURRENT,
        .e_ehsize = sizeof head,
        .e_shentsize = sizeof *sections,
        .e_shnum = NSECTIONS,
        .e_shstrndx = NAMES};
    const size_t start = out->size;
    ompjit__buf_add(out, &head, sizeof head);
    add_section(out, start, &sections[CONTENT], bytes->data, bytes->size);
    add_section(out, start, &sections[STACK], NULL, 0);
    add_section(out, start, &sections[SYMBOLS], symbols, sizeof symbols);
    add_section(out, start, &sections[NAMES], names, sizeof names);
    align(out);
    head.e_shoff = out->size - start;
    ompjit__buf_add(out, sections, sizeof sections);
    if (!out->failed)
        memcpy(out->data + start, &head, sizeof head);
}

/* ---------------------------------------------------- llvm-offload-binary */

/* The value of KEY in "KEY=VALUE,KEY=VALUE", malloc'd; "" where it is not
 * there. */
static char *value_of(const char *image, const char *key)
{
    size_t n = strlen(key);
    while (*image) {
        size_t length = strcspn(image, ",");
        if (length > n && !strncmp(image, key, n) && image[n] == '=')
            return ompjit__format("%.*s", (int)(length - n - 1),
                                  image + n + 1);
        image += length + (image[length] == ',');
    }
    return ompjit__strdup("");
}

/* Adds the image that one --image= describes, if there is anything in it: the
 * object then has an empty section. */
static int add_image(ompjit__buf *out, const char *image)
{
    char *file = value_of(image, "file"), *arch = value_of(image, "arch");
    char *triple = value_of(image, "triple");
    ompjit__buf bytes = {0};
    ompjit_error err;
    int status = EXIT_OK;
    if (!file || !arch || !triple)
        out->failed = true;
    else if ((status = halves_repair(file)))
        ; /* told */
    else if (ompjit__read_file(file, &bytes, &err))
        status = failed(&err);
    else if (!bitcode_is_empty(&bytes))
        pack_image(out, triple, arch, bytes.data, bytes.size);
    ompjit__buf_free(&bytes);
    free(file);
    free(arch);
    free(triple);
    return status;
}

int tool_pack(int argc, char **argv)
{
    static const char image[] = "--image=";
    ompjit__args words = {0};
    ompjit__buf out = {0};
    const char *output = NULL;
    int status = EXIT_OK;
    words_expand(&words, argc - 1, argv + 1);
    for (size_t i = 0; i < words.n && !status; i++) {
        const char *word = words.v[i];
        if (!strcmp(word, "-o") && words.v[i + 1])
            output = words.v[++i];
        else if (!strncmp(word, image, sizeof image - 1))
            status = add_image(&out, word + sizeof image - 1);
    }
    if (!status && (out.failed || words.failed || !output)) {
        complain(output ? "out of memory"
                        : "llvm-offload-binary needs -o FILE");
        status = EXIT_FAILED;
    }
    if (!status)
        status = write_output(output, out.data, out.size);
    ompjit__buf_free(&out);
    ompjit__args_free(&words);
    return status;
}
