/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The smallest shared library that a dynamic linker loads: symbols, their hash
 * table and code in one segment, the dynamic section in another. It has no
 * relocations, since its code has the addresses of this process in it.
 */
#include <elf.h>
#include <string.h>

#include "api/offload_image.h"

/* ------------------------------------------------------------------- code */

/* Saves the words that came in registers, and calls fn(data, saved, stack). */
#if defined(__aarch64__)
enum { MACHINE = EM_AARCH64, DATA_AT = 56, FN_AT = 64, CODE_SIZE = 72 };
static const uint32_t code[CODE_SIZE / 4] = {
    0xa9bb7bfd,             /* stp x29, x30, [sp, #-80]! */
    0x910003fd,             /* mov x29, sp               */
    0xa90107e0, 0xa9020fe2, /* stp x0, x1, [sp, #16] ... */
    0xa90317e4, 0xa9041fe6,
    0x910043e1,             /* add x1, sp, #16           */
    0x910143e2,             /* add x2, sp, #80           */
    0x580000c0,             /* ldr x0, DATA_AT           */
    0x580000e9,             /* ldr x9, FN_AT             */
    0xd63f0120,             /* blr x9                    */
    0xa8c57bfd,             /* ldp x29, x30, [sp], #80   */
    0xd65f03c0,             /* ret                       */
};
#else
enum { MACHINE = EM_X86_64, DATA_AT = 50, FN_AT = 60, CODE_SIZE = 80 };
static const uint8_t code[CODE_SIZE] = {
    0xf3, 0x0f, 0x1e, 0xfa,       /* endbr64             */
    0x55,                         /* push rbp            */
    0x48, 0x89, 0xe5,             /* mov rbp, rsp        */
    0x48, 0x83, 0xec, 0x30,       /* sub rsp, 48         */
    0x48, 0x89, 0x3c, 0x24,       /* mov [rsp], rdi      */
    0x48, 0x89, 0x74, 0x24, 0x08, /* ... rsi             */
    0x48, 0x89, 0x54, 0x24, 0x10, /* ... rdx             */
    0x48, 0x89, 0x4c, 0x24, 0x18, /* ... rcx             */
    0x4c, 0x89, 0x44, 0x24, 0x20, /* ... r8              */
    0x4c, 0x89, 0x4c, 0x24, 0x28, /* ... r9              */
    0x48, 0x89, 0xe6,             /* mov rsi, rsp        */
    0x48, 0x8d, 0x55, 0x10,       /* lea rdx, [rbp + 16] */
    [DATA_AT - 2] = 0x48, 0xbf,   /* mov rdi, data       */
    [FN_AT - 2] = 0x48, 0xb8,     /* mov rax, fn         */
    [FN_AT + 8] = 0xff, 0xd0,     /* call rax            */
    0xc9, 0xc3,                   /* leave, ret          */
};
#endif

/* One kernel's code, with the two addresses filled in. */
static void add_code(ompjit__buf *out, void *data, ompjit__words_fn *fn)
{
    char bytes[CODE_SIZE];
    memcpy(bytes, code, sizeof bytes);
    memcpy(bytes + DATA_AT, &data, sizeof data);
    memcpy(bytes + FN_AT, &fn, sizeof fn);
    ompjit__buf_add(out, bytes, sizeof bytes);
}

/* ------------------------------------------------------------------- file */

enum {
    PAGE = 0x10000, /* the largest of either CPU */
    ENTRIES = 6,    /* of the dynamic section    */
    SEGMENTS = 4
};

/* Where the parts are, from the file's begin. The dynamic section's address is a
 * page further than its place in the file, so that its page is its own. */
typedef struct layout {
    uint64_t symbols, hash, names, code, dynamic, names_size;
} layout;

/* The next multiple of 16. */
static uint64_t aligned(uint64_t at)
{
    return (at + 15) & ~UINT64_C(15);
}

/* The parts follow each other in the order of the struct. */
static layout lay_out(const ompjit__stub *stubs, uint32_t n)
{
    layout l = {.symbols = sizeof(Elf64_Ehdr) + SEGMENTS * sizeof(Elf64_Phdr),
                .names_size = 1};
    for (uint32_t i = 0; i < n; i++)
        l.names_size += strlen(stubs[i].symbol) + 1;
    l.hash = l.symbols + (n + 1) * sizeof(Elf64_Sym);
    l.names = l.hash + (2 + (uint64_t)n + n + 1) * sizeof(uint32_t);
    l.code = aligned(l.names + l.names_size);
    l.dynamic = aligned(l.code + (uint64_t)n * CODE_SIZE);
    return l;
}

/* A program header for the text, one for the dynamic section's page, and those
 * that the dynamic linker wants. There are no section headers. */
static void add_headers(const layout *l, ompjit__buf *out)
{
    uint64_t size = ENTRIES * sizeof(Elf64_Dyn), at = l->dynamic + PAGE;
    const Elf64_Ehdr file = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                    ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_DYN, .e_machine = MACHINE, .e_version = EV_CURRENT,
        .e_phoff = sizeof file, .e_ehsize = sizeof file,
        .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = SEGMENTS,
        .e_shentsize = sizeof(Elf64_Shdr)};
    const Elf64_Phdr segments[SEGMENTS] = {
        {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = l->dynamic,
         .p_memsz = l->dynamic, .p_align = PAGE},
        {.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_offset = l->dynamic,
         .p_vaddr = at, .p_paddr = at, .p_filesz = size, .p_memsz = size,
         .p_align = PAGE},
        {.p_type = PT_DYNAMIC, .p_flags = PF_R | PF_W, .p_offset = l->dynamic,
         .p_vaddr = at, .p_paddr = at, .p_filesz = size, .p_memsz = size,
         .p_align = 8},
        {.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W, .p_align = 16}};
    ompjit__buf_add(out, &file, sizeof file);
    ompjit__buf_add(out, segments, sizeof segments);
}

/* Symbol 0 is none, as in any table. */
static void add_symbols(const layout *l, const ompjit__stub *stubs, uint32_t n,
                        ompjit__buf *out)
{
    uint32_t name = 1;
    ompjit__buf_add(out, &(Elf64_Sym){0}, sizeof(Elf64_Sym));
    for (uint32_t i = 0; i < n; i++) {
        const Elf64_Sym symbol = {
            .st_name = name, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
            .st_shndx = 1, /* any: it is defined */
            .st_value = l->code + (uint64_t)i * CODE_SIZE,
            .st_size = CODE_SIZE};
        ompjit__buf_add(out, &symbol, sizeof symbol);
        name += (uint32_t)strlen(stubs[i].symbol) + 1;
    }
}

/* System V ABI, "Hash Table". */
static uint32_t hash_of(const char *name)
{
    uint32_t h = 0;
    for (; *name; name++) {
        h = (h << 4) + (uint8_t)*name;
        h ^= (h & 0xf0000000) >> 24;
        h &= 0x0fffffff;
    }
    return h;
}

/* n buckets: each has the symbol that came last, whose chain has the others. */
static void add_hash(const ompjit__stub *stubs, uint32_t n, ompjit__buf *out)
{
    const uint32_t counts[2] = {n, n + 1};
    const size_t at = out->size + sizeof counts;
    ompjit__buf_add(out, counts, sizeof counts);
    for (uint32_t i = 0; i < 2 * n + 1; i++)
        ompjit__buf_add(out, &(uint32_t){0}, sizeof(uint32_t));
    for (uint32_t i = 1; i <= n && !out->failed; i++) {
        char *bucket = out->data + at +
                       hash_of(stubs[i - 1].symbol) % n * sizeof(uint32_t);
        memcpy(out->data + at + (n + i) * sizeof i, bucket, sizeof i);
        memcpy(bucket, &i, sizeof i);
    }
}

/* The least that the dynamic linker needs: no relocations, no needed libraries.
 */
static void add_dynamic(const layout *l, ompjit__buf *out)
{
    const Elf64_Dyn dynamic[ENTRIES] = {
        {DT_HASH, {l->hash}}, {DT_SYMTAB, {l->symbols}},
        {DT_STRTAB, {l->names}}, {DT_STRSZ, {l->names_size}},
        {DT_SYMENT, {sizeof(Elf64_Sym)}}, {DT_NULL, {0}}};
    ompjit__buf_add(out, dynamic, sizeof dynamic);
}

static void pad_to(uint64_t size, ompjit__buf *out)
{
    while (out->size < size && !out->failed)
        ompjit__buf_add(out, "", 1);
}

void ompjit__stub_library(const ompjit__stub *stubs, uint32_t n,
                          ompjit__words_fn *fn, ompjit__buf *out)
{
    layout l = lay_out(stubs, n);
    add_headers(&l, out);
    add_symbols(&l, stubs, n, out);
    add_hash(stubs, n, out);
    ompjit__buf_add(out, "", 1);
    for (uint32_t i = 0; i < n; i++)
        ompjit__buf_add(out, stubs[i].symbol, strlen(stubs[i].symbol) + 1);
    pad_to(l.code, out);
    for (uint32_t i = 0; i < n; i++)
        add_code(out, stubs[i].data, fn);
    pad_to(l.dynamic, out);
    add_dynamic(&l, out);
}
