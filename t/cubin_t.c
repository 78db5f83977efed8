/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Reading cubins: made by hand in both layouts, so that no toolkit is needed;
 * cut everywhere, spoilt everywhere; and real ones where there is an assembler.
 */
#include <elf.h>

#include "backend/nvptx/nvptx.h"
#include "gpu_ir.h"
#include "ompjit_tune.h"

/* ----------------------------------------------------- cubins made by hand */

struct made {
    const char *what;
    unsigned abi, sm, shared; /* shared: as the section says it */
    ompjit_resources want;
};

static const struct made rows[] = {
    {"CUDA 12, sm_75", 7, 75, 512,
     {0, 40, 512, 96, 0, 0, 360 + 16, 256, 512, 0, 0}},
    {"CUDA 13, sm_75", 8, 75, 512,
     {0, 40, 512, 96, 0, 0, 360 + 16, 256, 512, 0, 0}},
    {"CUDA 13, sm_89", 8, 89, 2048,
     {0, 40, 2048, 96, 0, 0, 376, 256, 512, 0, 0}},
    {"CUDA 12, sm_90", 7, 90, 1536,
     {0, 40, 512, 96, 0, 0, 376, 256, 512, 0, 0}},
    {"CUDA 13, sm_90", 8, 90, 1536,
     {0, 40, 512, 96, 0, 0, 376, 256, 512, 0, 0}},
    {"sm_90, the system's part only", 8, 90, 1024,
     {0, 40, 0, 96, 0, 0, 376, 256, 512, 0, 0}},
    {"sm_120, no shared memory", 8, 120, 0,
     {0, 40, 0, 96, 0, 0, 376, 256, 512, 0, 0}},
};

static const uint32_t info[] = {
    0x00082f04, 2, 40,        /* registers of symbol 2               */
    0x00082f04, 1, 99,        /* of a function that is no kernel     */
    0x00081104, 2, 64,        /* frame                               */
    0x00081204, 2, 96,        /* stack with callees                  */
    0x00081204, 1, 4096,
};
static const uint32_t kernel_info[] = {
    0x00000a01,               /* formats without a value that follows */
    0xffff1b03,
    0x000c0504, 64, 2, 2,     /* thread bound */
    0x00043704, 130,
};

enum { NAMES = 1, SYMBOL_NAMES, SYMBOLS, INFO, KERNEL_INFO, TEXT, SHARED,
       CONSTANT0, CONSTANT4, SECTIONS };
static const char section_names[] =
    "\0.shstrtab\0.strtab\0.symtab\0.nv.info\0.nv.info.kern\0.text.kern\0"
    ".nv.shared.kern\0.nv.constant0.kern\0.nv.constant4.kern";
static const char symbol_names[] = "\0device\0kern";
static const char zeros[512];

static uint32_t nth_name(unsigned n)
{
    const char *p = section_names;
    for (; n; n--)
        p += strlen(p) + 1;
    return (uint32_t)(p - section_names);
}

static void put(ompjit__buf *b, Elf64_Shdr *s, unsigned i, uint32_t type,
                const void *data, size_t size)
{
    s[i].sh_name = nth_name(i);
    s[i].sh_type = type;
    s[i].sh_offset = b->size;
    s[i].sh_size = size;
    if (type != SHT_NOBITS)
        ompjit__buf_add(b, data, size);
}

static ompjit__buf make(const struct made *row)
{
    const Elf64_Sym symbols[] = {
        {0},
        {.st_name = 1, .st_info = STT_FUNC, .st_shndx = TEXT},
        {.st_name = 8, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
         .st_other = 0x10, .st_shndx = TEXT, .st_size = 512},
    };
    Elf64_Shdr s[SECTIONS] = {0};
    Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1,
                                0x41, (unsigned char)row->abi},
                    .e_type = ET_EXEC, .e_machine = EM_CUDA, .e_version = 1,
                    .e_ehsize = sizeof h, .e_shentsize = sizeof *s,
                    .e_shnum = SECTIONS, .e_shstrndx = NAMES,
                    .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1};
    h.e_flags = row->abi == 7 ? row->sm << 16 | 0x500 | row->sm
                              : 0x6000004 | row->sm << 8;
    ompjit__buf b = {0};
    ompjit__buf_add(&b, &h, sizeof h);
    put(&b, s, NAMES, SHT_STRTAB, section_names, sizeof section_names);
    put(&b, s, SYMBOL_NAMES, SHT_STRTAB, symbol_names, sizeof symbol_names);
    put(&b, s, SYMBOLS, SHT_SYMTAB, symbols, sizeof symbols);
    s[SYMBOLS].sh_entsize = sizeof *symbols;
    s[SYMBOLS].sh_link = SYMBOL_NAMES;
    put(&b, s, INFO, SHT_LOPROC, info, sizeof info);
    put(&b, s, KERNEL_INFO, SHT_LOPROC, kernel_info, sizeof kernel_info);
    put(&b, s, TEXT, SHT_PROGBITS, zeros, 512);
    put(&b, s, SHARED, SHT_NOBITS, NULL, row->shared);
    put(&b, s, CONSTANT0, SHT_PROGBITS, zeros, 360);
    put(&b, s, CONSTANT4, SHT_PROGBITS, zeros, 16);
    h.e_shoff = b.size;
    ompjit__buf_add(&b, s, sizeof s);
    h.e_phoff = b.size;
    ompjit__buf_add(&b, &(Elf64_Phdr){0}, sizeof(Elf64_Phdr));
    memcpy(b.data, &h, sizeof h);
    return b;
}

static void free_usage(ompjit__usage *usage, unsigned n)
{
    ompjit__image image = {.usage = usage, .nusage = n};
    ompjit__image_free(&image);
}

static void by_hand(void)
{
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        ompjit__buf b = make(&rows[i]);
        ompjit__usage *usage = NULL;
        unsigned n = 0;
        ompjit_error err = {0};
        ok(ompjit__cubin_usage(b.data, b.size, &usage, &n, &err) == OMPJIT_OK &&
               n == 1,
           "%s: read, one kernel: %s", rows[i].what, err.text);
        if (n == 1) {
            ok_string(usage->symbol, "kern", "%s: its name", rows[i].what);
            ok(!memcmp(&usage->res, &rows[i].want, sizeof usage->res),
               "%s: %u registers, %u shared, %u local, %u constant, "
               "%u threads, %u code", rows[i].what, usage->res.registers,
               usage->res.shared_static, usage->res.local, usage->res.constant,
               usage->res.max_threads, usage->res.code);
        }
        free_usage(usage, n);
        ompjit__buf_free(&b);
    }
}

/* ------------------------------------------------------------ spoilt bytes */

/* Reads a copy of its own length, so that valgrind sees reads past it. */
static ompjit_status read_copy(const char *data, size_t size,
                               ompjit_error *err)
{
    char *copy = ompjit__memdup(data, size);
    ompjit__usage *usage = NULL;
    unsigned n = 0;
    ompjit_status s = ompjit__cubin_usage(copy, size, &usage, &n, err);
    free_usage(usage, n);
    free(copy);
    return s;
}

static void spoil(const char *what, const ompjit__buf *whole, size_t step)
{
    ompjit_error err = {0};
    size_t accepted = 0, odd = 0, silent = 0;
    for (size_t cut = 0; cut < whole->size; cut += step) {
        err.text[0] = 0;
        accepted += read_copy(whole->data, cut, &err) != OMPJIT_ERR_ASSEMBLE;
        silent += !err.text[0];
    }
    ok(!accepted && !silent, "%s: a cut at any of %zu places is an error", what,
       (whole->size + step - 1) / step);
    char *bytes = ompjit__memdup(whole->data, whole->size);
    for (size_t i = 0; i < whole->size; i += step > 8 ? 7 : 1) {
        for (int bit = 0; bit < 8; bit += 7) {
            bytes[i] ^= (char)(1 << bit);
            ompjit_status s = read_copy(bytes, whole->size, NULL);
            odd += s != OMPJIT_OK && s != OMPJIT_ERR_ASSEMBLE;
            bytes[i] ^= (char)(1 << bit);
        }
    }
    free(bytes);
    ok(!odd, "%s: a flipped bit is an error or not, but never more", what);
}

static const struct {
    const char *what;
    size_t at;
    unsigned char value;
    const char *words;
} header_rows[] = {
    {"other bytes", 1, 'X', "no 64-bit little-endian ELF"},
    {"a 32-bit file", EI_CLASS, ELFCLASS32, "no 64-bit little-endian ELF"},
    {"a big-endian file", EI_DATA, ELFDATA2MSB, "no 64-bit little-endian"},
    {"an x86 object", offsetof(Elf64_Ehdr, e_machine), EM_X86_64,
     "another machine than CUDA"},
    {"a future ABI", EI_ABIVERSION, 9, "ABI version other than 7"},
    {"sections of another size", offsetof(Elf64_Ehdr, e_shentsize), 40,
     "no section table"},
    {"no section names", offsetof(Elf64_Ehdr, e_shstrndx), 200,
     "no section names"},
};

static void headers(void)
{
    ompjit_error err;
    ompjit__buf b = make(&rows[0]);
    for (size_t i = 0; i < OMPJIT__COUNT(header_rows); i++) {
        char old = b.data[header_rows[i].at];
        b.data[header_rows[i].at] = (char)header_rows[i].value;
        err.text[0] = 0;
        ok(read_copy(b.data, b.size, &err) == OMPJIT_ERR_ASSEMBLE &&
               err.stage == OMPJIT_STAGE_ASSEMBLE,
           "%s is refused", header_rows[i].what);
        ok_contains(err.text, header_rows[i].words, "%s: said so",
                    header_rows[i].what);
        b.data[header_rows[i].at] = old;
    }
    ok(read_copy("", 0, &err) == OMPJIT_ERR_ASSEMBLE, "nothing is no cubin");
    ok_contains(err.text, "(0 bytes): shorter than an ELF header",
                "with its size");
    spoil("by hand", &b, 1);
    ompjit__buf_free(&b);
}

/* ------------------------------------------------------------- real cubins */

static void real(ompjit_assembler by, const char *name, const char *arch,
                 const ompjit__buf *ptx)
{
    ompjit__compiler ctx = {.assembler = by};
    ompjit__image image = {0};
    ompjit_error err = {0};
    ompjit_status s = ompjit__assemble(&ctx, arch, ptx, &image, &err);
    if (s == OMPJIT_ERR_UNAVAILABLE) {
        printf("# skipped: no %s on this machine\n", name);
        return;
    }
    char what[64];
    snprintf(what, sizeof what, "%s, %s", name, arch);
    ok(!s, "%s: assembled: %s", what, err.text);
    if (!s)
        spoil(what, &image.bytes, 64);
    ompjit__image_free(&image);
}

static void real_cubins(void)
{
    static const char *const archs[] = {"sm_75", "sm_90", "sm_120"};
    ompjit__buf ir = gpu_ir();
    for (size_t i = 0; i < OMPJIT__COUNT(archs); i++) {
        ompjit__buf ptx = {0};
        ok(gpu_ptx(ir.data, archs[i], &ptx, NULL) == OMPJIT_OK,
           "PTX for %s", archs[i]);
        real(OMPJIT_ASSEMBLER_NVJITLINK, "nvJitLink", archs[i], &ptx);
        real(OMPJIT_ASSEMBLER_PTXAS, "ptxas", archs[i], &ptx);
        ompjit__buf_free(&ptx);
    }
    ompjit__buf_free(&ir);
}

int main(void)
{
    by_hand();
    headers();
    real_cubins();
    return done_testing();
}
