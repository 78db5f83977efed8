/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Device images: pieces by content and through all containers. Made by hand,
 * cut everywhere, damaged at random; and by NVIDIA's and LLVM's tools, where
 * they are.
 *
 * IMAGES="FIRST COUNT" in the environment damages with other seeds than CI's.
 */
#include <time.h>
#include <unistd.h>

#include "images/gpu_code.h"
#include "images_make.h"
#include "tap.h"

/* ------------------------------------------------------------------- memory */

/* Allocations until one fails; negative: none does. And those that live. */
static long allocations = -1, alive;

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
enum { MEMORY_FAILS = 1 };
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
void __libc_free(void *p);

static bool fails(void)
{
    return allocations >= 0 && allocations-- == 0;
}

void *malloc(size_t size)
{
    void *p = fails() ? NULL : __libc_malloc(size);
    alive += p != NULL;
    return p;
}

void *calloc(size_t n, size_t size)
{
    void *p = fails() ? NULL : __libc_calloc(n, size);
    alive += p != NULL;
    return p;
}

void *realloc(void *old, size_t size)
{
    void *p = fails() ? NULL : __libc_realloc(old, size);
    alive += p && !old;
    return p;
}

void free(void *p)
{
    alive -= p != NULL;
    __libc_free(p);
}
#else
enum { MEMORY_FAILS = 0 };
#endif

/* A copy of its own length, so that sanitizers see reads past it. */
static ompjit_status read_copy(const void *data, size_t size, void **copy,
                               ompjit__pieces *pieces, ompjit_error *err)
{
    *copy = malloc(size ? size : 1);
    if (size)
        memcpy(*copy, data, size);
    *pieces = (ompjit__pieces){0};
    return ompjit__pieces_read(*copy, size, pieces, err);
}

/* ------------------------------------------------------------------- pieces */

/* "ptx nvptx64-nvidia-cuda sm_80 120, ..." */
static char *describe(const ompjit__pieces *pieces)
{
    static const char *const kinds[] = {"bitcode", "ir",     "ptx",
                                        "cubin",   "object", "library"};
    ompjit__buf b = {0};
    ompjit__buf_add(&b, "", 0);
    for (unsigned i = 0; i < pieces->n; i++)
        ompjit__buf_printf(&b, "%s%s %s %s", i ? ", " : "",
                           kinds[pieces->list[i].kind], pieces->list[i].triple,
                           pieces->list[i].arch);
    char *text = ompjit__strdup(b.data ? b.data : "");
    ompjit__buf_free(&b);
    return text;
}

static void holds(const char *what, const ompjit__buf *image, const char *want)
{
    void *copy;
    ompjit__pieces pieces;
    ompjit_error err = {0};
    ompjit_status status = read_copy(image->data, image->size, &copy, &pieces,
                                     &err);
    char *got = describe(&pieces);
    ok(!status, "%s is read: %s", what, err.text);
    ok_string(got, want, "%s: its pieces", what);
    free(got);
    ompjit__pieces_free(&pieces);
    free(copy);
}

static void refused(const char *what, const void *data, size_t size,
                    const char *words)
{
    void *copy;
    ompjit__pieces pieces;
    ompjit_error err = {0};
    ok(read_copy(data, size, &copy, &pieces, &err) == OMPJIT_ERR_INVALID &&
           !pieces.n && !pieces.list,
       "%s is refused", what);
    ok_contains(err.text, words, "%s: said so", what);
    free(copy);
}

#define NV "nvptx64-nvidia-cuda"
#define X86 "x86_64-unknown-linux-gnu"

static void leaves(void)
{
    static const struct {
        const char *what, *data;
        size_t size;
        const char *want;
    } rows[] = {
        {"bitcode", bitcode, sizeof bitcode, "bitcode  "},
        {"wrapped bitcode", wrapped, sizeof wrapped, "bitcode  "},
        {"PTX", ptx, sizeof ptx - 1, "ptx " NV " sm_80"},
        {"PTX with a NUL", ptx, sizeof ptx, "ptx " NV " sm_80"},
        {"IR", ir, sizeof ir - 1, "ir " NV " "},
        {"IR without a triple", "define void @f()", 16, "ir  "},
    };
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        ompjit__buf b = of_bytes(rows[i].data, rows[i].size);
        holds(rows[i].what, &b, rows[i].want);
        ompjit__buf_free(&b);
    }
    refused("nothing", "", 0, "the image is empty");
    refused("other bytes", "hello", 5,
            "byte 0: the image is of no known format: it begins with 68 65");
    refused("SPIR-V", "\3\2#\7", 4, "the image is SPIR-V");
    refused("a NUL in PTX", ".version 7\n.target sm_70\n\0x", 27,
            "byte 25: a NUL within PTX");
    refused("PTX for nobody", ".version 7\n.visible", 19,
            "byte 11: PTX without .target");
}

static void elf_files(void)
{
    static const struct {
        const char *what;
        unsigned abi, sm, flags;
        const char *want;
    } cubins[] = {
        {"a cubin of CUDA 12", 7, 90, 0, "cubin " NV " sm_90"},
        {"one for sm_90a", 7, 90, 0x800, "cubin " NV " sm_90a"},
        {"one of CUDA 13", 8, 120, 0, "cubin " NV " sm_120"},
        {"one for sm_120a", 8, 120, 8, "cubin " NV " sm_120a"},
    };
    for (size_t i = 0; i < OMPJIT__COUNT(cubins); i++) {
        ompjit__buf b = make_cubin(cubins[i].abi, cubins[i].sm,
                                   cubins[i].flags);
        holds(cubins[i].what, &b, cubins[i].want);
        ompjit__buf_free(&b);
    }
    static const struct {
        const char *what;
        unsigned type, machine;
        const char *want, *words;
    } hosts[] = {
        {"an object", ET_REL, EM_X86_64, "object " X86 " ", NULL},
        {"a library", ET_DYN, EM_AARCH64, "library aarch64-unknown-linux-gnu ",
         NULL},
        {"a program", ET_EXEC, EM_X86_64, NULL,
         "an ELF file of type 2, neither relocatable nor shared"},
        {"AMD's code", ET_DYN, EM_AMDGPU, NULL,
         "byte 18: the ELF file is for machine 224"},
    };
    for (size_t i = 0; i < OMPJIT__COUNT(hosts); i++) {
        ompjit__buf b = make_host(hosts[i].type, hosts[i].machine, NULL, NULL);
        if (hosts[i].want)
            holds(hosts[i].what, &b, hosts[i].want);
        else
            refused(hosts[i].what, b.data, b.size, hosts[i].words);
        ompjit__buf_free(&b);
    }
}

/* --------------------------------------------------------------- containers */

static const struct image images[] = {
    {NV, "sm_70", bitcode, sizeof bitcode},
    {NV, "", ptx, sizeof ptx},
    {"amdgcn-amd-amdhsa", "gfx90a", bitcode, sizeof bitcode},
    {"spirv64-intel", "", "\3\2#\7", 4},
};
#define IMAGES_WANT                                                            \
    "bitcode " NV " sm_70, ptx " NV " sm_80, bitcode amdgcn-amd-amdhsa gfx90a"

static ompjit__buf make_offload(unsigned version)
{
    ompjit__buf b = {0};
    if (version > 1)
        put_offload(&b, version, images, OMPJIT__COUNT(images));
    for (size_t i = 0; version == 1 && i < OMPJIT__COUNT(images); i++)
        put_offload(&b, 1, &images[i], 1);
    return b;
}

static void offload_binaries(void)
{
    for (unsigned version = 1; version < 3; version++) {
        ompjit__buf b = make_offload(version), object, outer = {0};
        holds(version > 1 ? "version 2" : "version 1, several", &b,
              IMAGES_WANT);
        object = make_host(ET_REL, EM_X86_64, ".llvm.offloading", &b);
        holds("in a section", &object, IMAGES_WANT);
        put_offload(&outer, 1, &(struct image){"x", "y", object.data,
                                               object.size}, 1);
        holds("within another one", &outer, IMAGES_WANT);
        ompjit__buf_free(&b);
        ompjit__buf_free(&object);
        ompjit__buf_free(&outer);
    }
}

/* Fields of an offload binary, and what is said of other values. */
static const struct {
    size_t at;
    uint64_t value;
    const char *words;
} offload_rows[] = {
    {4, 3, "byte 4: version 3 of LLVM's offload binaries is not known"},
    {8, 1u << 20, "byte 8: the offload binary's size is 1048576 bytes"},
    {8, 31, "byte 8: the offload binary's size is 31 bytes"},
    {16, UINT64_MAX, "byte 16: 1 entries from offset 18446744073709551615"},
    {32 + 8, UINT64_MAX - 7, "byte 40: 2 strings from offset"},
    {32 + 16, UINT64_MAX / 16 + 3, "byte 40: 1152921504606846978 strings"},
    {32 + 24, 1u << 30, "byte 56: the image of 17 bytes from offset"},
    {32 + 32, UINT64_MAX, "byte 56: the image of 18446744073709551615 bytes"},
};

static void offload_fields(void)
{
    for (size_t i = 0; i < OMPJIT__COUNT(offload_rows); i++) {
        ompjit__buf b = {0};
        put_offload(&b, 1, images, 1);
        memcpy(b.data + offload_rows[i].at, &offload_rows[i].value,
               offload_rows[i].at == 4 ? 4 : 8);
        refused("a field", b.data, b.size, offload_rows[i].words);
        ompjit__buf_free(&b);
    }
    ompjit__buf b = {0};
    put_offload(&b, 1, images, 1);
    ompjit__buf_add(&b, "\0\0x", 3);
    refused("what follows", b.data, b.size, "neither an offload binary nor");
    ompjit__buf_free(&b);
}

/* All entries are of one image, which is an offload binary again. */
static void overlap(void)
{
    ompjit__buf b = of_bytes(bitcode, sizeof bitcode);
    enum { ENTRIES = 300 };
    for (unsigned depth = 0; depth < 4; depth++) {
        struct image same[ENTRIES] = {{"t", "a", b.data, b.size}};
        ompjit__buf outer = {0};
        for (unsigned i = 1; i < ENTRIES; i++)
            same[i] = (struct image){"t", "a", "", 0};
        put_offload(&outer, 2, same, ENTRIES);
        for (unsigned i = 1; i < ENTRIES; i++)
            memcpy(outer.data + 32 + 40 * i, outer.data + 32, 40);
        ompjit__buf_free(&b);
        b = outer;
    }
    refused("a bomb of 300^4 pieces", b.data, b.size,
            "what containers hold overlaps");
    ompjit__buf_free(&b);
}

static void depth(void)
{
    ompjit__buf b = of_bytes(bitcode, sizeof bitcode);
    for (unsigned i = 0; i < 9; i++) {
        ompjit__buf outer = {0};
        put_offload(&outer, 1, &(struct image){"t", "a", b.data, b.size}, 1);
        ompjit__buf_free(&b);
        b = outer;
    }
    refused("nine containers", b.data, b.size,
            "containers are nested deeper than 8");
    ompjit__buf_free(&b);
}

/* ------------------------------------------------------------------ damage */

static unsigned first_seed = 1, seeds = 4000;
static uint64_t state;

static size_t below(size_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % n;
}

/* A failure has a status that fits, and a text. */
static bool in_order(ompjit_status status, const ompjit_error *err)
{
    return !status || (status == OMPJIT_ERR_INVALID && err->text[0]);
}

/* All bytes of a piece can be read, and code for GPUs ends in order, too. */
static bool read_piece(const ompjit__piece *piece)
{
    ompjit_error err = {0};
    ompjit__gpu_code code = {0};
    unsigned sum = 0;
    for (size_t i = 0; i < piece->size; i++)
        sum += piece->data[i];
    if (piece->kind != OMPJIT__PIECE_PTX && piece->kind != OMPJIT__PIECE_CUBIN)
        return sum != UINT32_MAX;
    ompjit_status status = ompjit__gpu_code_read(piece, &code, &err);
    ompjit__gpu_code_free(&code);
    return in_order(status, &err);
}

/* 1: read, 0: refused, -1: neither as it should. */
static int read_all(const void *data, size_t size)
{
    void *copy;
    ompjit__pieces pieces;
    ompjit_error err = {0};
    ompjit_status status = read_copy(data, size, &copy, &pieces, &err);
    bool good = in_order(status, &err) && (status || pieces.n);
    for (unsigned i = 0; i < pieces.n; i++)
        good = read_piece(&pieces.list[i]) && good;
    ompjit__pieces_free(&pieces);
    free(copy);
    return good ? !status : -1;
}

static void damage(const char *what, const ompjit__buf *whole)
{
    size_t odd = 0, taken = 0, step = whole->size / 4096 + 1;
    for (size_t cut = 0; cut < whole->size; cut += step)
        odd += read_all(whole->data, cut) < 0;
    ok(!odd, "%s: cut at %zu places", what, (whole->size + step - 1) / step);
    char *bytes = ompjit__memdup(whole->data, whole->size);
    static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
    for (unsigned seed = first_seed; seed < first_seed + seeds; seed++) {
        state = 0x9e3779b97f4a7c15u * (seed + 1u);
        for (unsigned i = 0; i < 5; i++)
            below(2);
        /* Headers are damaged more often than what they tell of. */
        size_t at = below(below(2) ? whole->size
                                   : whole->size < 256 ? whole->size : 256);
        char old = bytes[at];
        bytes[at] = below(2) ? (char)below(256)
                             : (char)values[below(sizeof values)];
        int result = read_all(bytes, whole->size);
        odd += result < 0;
        taken += result > 0;
        bytes[at] = old;
    }
    free(bytes);
    ok(!odd, "%s: damaged %u times, %zu are read, all others refused", what,
       seeds, taken);
}

/* --------------------------------------------------------- other containers */

static const struct image bundled[] = {
    {"host-x86_64-unknown-linux-gnu-", NULL, "", 0},
    {"openmp-nvptx64-nvidia-cuda--sm_90", NULL, bitcode, sizeof bitcode},
    {"openmp-nvptx64-nvidia-cuda-sm_70", NULL, bitcode, sizeof bitcode},
    {"hip-amdgcn-amd-amdhsa--gfx90a:xnack+", NULL, wrapped, sizeof wrapped},
    {"openmp-nvptx64-nvidia-cuda", NULL, ptx, sizeof ptx},
};
#define BUNDLED_WANT                                                           \
    "bitcode " NV " sm_90, bitcode " NV " sm_70, "                             \
    "bitcode amdgcn-amd-amdhsa gfx90a:xnack+, ptx " NV " sm_80"

static void bundles(void)
{
    ompjit__buf b = make_bundle(bundled, OMPJIT__COUNT(bundled));
    holds("an offload bundle", &b, BUNDLED_WANT);
    memset(b.data + 24, 0xff, 8);
    refused("too many entries", b.data, b.size, "byte 24: the number of");
    ompjit__buf_free(&b);
    ompjit__buf code = of_bytes(bitcode, sizeof bitcode);
    b = make_host(ET_REL, EM_X86_64,
                  "__CLANG_OFFLOAD_BUNDLE__openmp-nvptx64-nvidia-cuda-sm_60",
                  &code);
    holds("a bundle of clang 15, in sections", &b, "bitcode " NV " sm_60");
    ompjit__buf_free(&b);
    ompjit__buf_free(&code);
    static const char text[] = "\n; __CLANG_OFFLOAD_BUNDLE____START__ host-x\n";
    refused("a bundle of texts", text, sizeof text,
            "an offload bundle of texts is not read");
}

/* Compressors of this machine; NULL: it has none. */
static struct {
    int (*zlib)(void *to, unsigned long *size, const void *from,
                unsigned long n);
    size_t (*zstd)(void *to, size_t size, const void *from, size_t n,
                   int level);
} compress;

static void find_compressors(void)
{
    static const char *const z[] = {"libz.so.1", NULL};
    static const char *const zstd[] = {"libzstd.so.1", NULL};
    const ompjit__symbol one[] = {{"compress", 0, true}};
    const ompjit__symbol two[] = {{"ZSTD_compress", 0, true}};
    if (ompjit__load_library("zlib", z, one, 1, &compress.zlib, NULL))
        printf("# skipped: no zlib on this machine\n");
    if (ompjit__load_library("zstd", zstd, two, 1, &compress.zstd, NULL))
        printf("# skipped: no zstd on this machine\n");
}

/* Empty where this machine cannot. `method`: 0 zlib, 1 zstd. */
static ompjit__buf compressed(unsigned method, const ompjit__buf *b)
{
    unsigned long size = 2 * b->size + 100;
    char *to = malloc(size);
    bool good = false;
    if (!method && compress.zlib)
        good = !compress.zlib(to, &size, b->data, b->size);
    else if (method && compress.zstd)
        good = (size = compress.zstd(to, size, b->data, b->size, 3)) > 0;
    ompjit__buf out = of_bytes(to, good ? size : 0);
    free(to);
    return out;
}

static void compressed_bundles(void)
{
    ompjit__buf b = make_bundle(bundled, OMPJIT__COUNT(bundled));
    for (unsigned method = 0; method < 2; method++) {
        ompjit__buf content = compressed(method, &b), all = {0};
        for (unsigned version = 1; content.size && version < 4; version++) {
            ompjit__buf one = {0};
            put_compressed(&one, version, method, &content, b.size);
            char *what = ompjit__format("compressed, version %u, method %u",
                                        version, method);
            holds(what, &one, BUNDLED_WANT);
            damage(what, &one);
            free(what);
            ompjit__buf_free(&one);
        }
        if (content.size) {
            put_compressed(&all, 3, method, &content, b.size + 1);
            refused("a wrong size", all.data, all.size, "are damaged, or do");
            ompjit__buf_free(&all);
            put_compressed(&all, 3, method, &content, (size_t)1 << 31);
            refused("a bomb", all.data, all.size,
                    "are said to become 2147483648");
            ompjit__buf_free(&all);
        }
        ompjit__buf_free(&content);
    }
    ompjit__buf_free(&b);
    refused("version 4", "CCOB\4\0\0\0", 8, "byte 4: version 4 of clang's");
    refused("a method", "CCOB\1\0\7\0\1\0\0\0________", 20,
            "byte 6: compression 7 of an offload bundle is neither");
}

/* One sequence of literals, or one that repeats them. */
static ompjit__buf lz4(const char *text, size_t size)
{
    ompjit__buf b = of_bytes("\xff", 1);
    unsigned char rest = 0;
    size_t more = size - 15;
    for (; more >= 255; more -= 255)
        ompjit__buf_add(&b, "\xff", 1);
    rest = (unsigned char)more;
    PUT(&b, rest);
    ompjit__buf_add(&b, text, size);
    ompjit__buf_add(&b, "\1\0\5", 3); /* the last byte 24 times */
    ompjit__buf_add(&b, "\x10\n", 2);  /* and one literal       */
    return b;
}

static void fat_binaries(void)
{
    ompjit__buf entries = {0}, b = {0}, cubin = make_cubin(7, 80, 0);
    ompjit__buf text = of_bytes(ptx, sizeof ptx);
    ompjit__buf short_text = lz4(ptx, sizeof ptx - 1);
    put_fat_entry(&entries, 2, 0, &cubin, 0);
    put_fat_entry(&entries, 1, 0, &text, 0);
    put_fat_entry(&entries, 1, 0x2000, &short_text, sizeof ptx - 1 + 24 + 1);
    put_fat_entry(&entries, 8, 0, &(ompjit__buf){.data = "lto", .size = 3}, 0);
    put_fat_binary(&b, &entries);
    put_fat_binary(&b, &entries);
#define FAT_WANT                                                               \
    "cubin " NV " sm_80, ptx " NV " sm_80, ptx " NV " sm_80"
    holds("two fat binaries", &b, FAT_WANT ", " FAT_WANT);
    damage("fat binaries", &b);
    ompjit__buf object = make_host(ET_DYN, EM_X86_64, ".nv_fatbin", &b);
    holds("in a section", &object, FAT_WANT ", " FAT_WANT);
    b.data[10] = 0x7f;
    refused("a size", b.data, entries.size + 16,
            "byte 8: the fat binary has 83");
    ompjit__buf_free(&b);
    ompjit__buf_free(&entries);
    put_fat_entry(&entries, 1, 0x2000, &short_text, sizeof ptx - 1);
    put_fat_binary(&b, &entries);
    refused("another size", b.data, b.size,
            "bytes compressed by LZ4 are damaged, or do not become");
    ompjit__buf *all[] = {&entries, &b, &cubin, &text, &short_text, &object};
    for (size_t i = 0; i < OMPJIT__COUNT(all); i++)
        ompjit__buf_free(all[i]);
}

static void archives(void)
{
    static const char names[] = "a-long-name-of-a-member.o/\nother.ptx/\n";
    ompjit__buf b = of_bytes("!<arch>\n", 8), outer = {0};
    ompjit__buf object = make_offload(1);
    put_member(&b, "/", "\0\0\0\0", 4);
    put_member(&b, "//", names, sizeof names - 1);
    put_member(&b, "/0", object.data, object.size);
    put_member(&b, "readme.txt/", "hello", 5);
    put_member(&b, "/27", ptx, sizeof ptx - 1);
    put_member(&b, "#1/8", "name.bc\0BC\xC0\xDE....", 16);
    put_member(&b, "__.SYMDEF", "\0", 1);
    holds("an archive", &b, IMAGES_WANT ", ptx " NV " sm_80, bitcode  ");
    damage("an archive", &b);
    put_offload(&outer, 1, &(struct image){"", "", b.data, b.size}, 1);
    holds("within an offload binary", &outer,
          IMAGES_WANT ", ptx " NV " sm_80, bitcode  ");
    ompjit__buf_free(&outer);
    ompjit__buf_free(&b);
    ompjit__buf_add(&b, "!<arch>\n", 8);
    put_member(&b, "readme.txt/", "hello", 5);
    refused("an archive of texts", b.data, b.size, "it has no code that can be "
            "used; byte 68: member readme.txt is of no known format: it begins "
            "with 68 65 6c 6c 6f");
    b.data[8 + 48] = 'x';
    refused("a member without a size", b.data, b.size, "byte 56: an archive");
    ompjit__buf_free(&b);
    ompjit__buf_free(&object);
    refused("a thin archive", "!<thin>\n", 8, "byte 0: a thin archive has");
}

/* ------------------------------------------------------------ descriptions */

/* "k(8@0 4@8) <=256 mode 3 env 48; none() ==0; var 40" */
static char *describe_code(const ompjit__gpu_code *code)
{
    ompjit__buf b = {0};
    ompjit__buf_printf(&b, "%s", "");
    for (unsigned i = 0; i < code->nkernels; i++) {
        const ompjit__gpu_kernel *k = &code->kernels[i];
        ompjit__buf_printf(&b, "%s(", k->symbol);
        for (unsigned p = 0; p < k->nparams; p++)
            ompjit__buf_printf(&b, "%s%u@%u", p ? " " : "", k->params[p].size,
                               k->params[p].offset);
        ompjit__buf_printf(&b, ")%s%u mode %d env %u; ",
                           k->threads_required ? "==" : "<=", k->max_threads,
                           k->exec_mode, k->environment_size);
    }
    for (unsigned i = 0; i < code->nvariables; i++)
        ompjit__buf_printf(&b, "%s %llu; ", code->variables[i].symbol,
                           (unsigned long long)code->variables[i].size);
    char *text = ompjit__strdup(b.data ? b.data : "");
    ompjit__buf_free(&b);
    return text;
}

/* The only piece of an image, described. */
static ompjit_status code_of(const void *data, size_t size,
                             ompjit__gpu_code *code, ompjit_error *err)
{
    void *copy;
    ompjit__pieces pieces;
    *code = (ompjit__gpu_code){0};
    ompjit_status status = read_copy(data, size, &copy, &pieces, err);
    if (!status)
        status = ompjit__gpu_code_read(pieces.list, code, err);
    ompjit__pieces_free(&pieces);
    free(copy);
    return status;
}

static void code_is(const char *what, const void *data, size_t size,
                    const char *want)
{
    ompjit__gpu_code code;
    ompjit_error err = {0};
    ompjit_status status = code_of(data, size, &code, &err);
    char *got = describe_code(&code);
    ok(!status, "%s is described: %s", what, err.text);
    ok_string(got, want, "%s: so", what);
    free(got);
    ompjit__gpu_code_free(&code);
}

#define HEAD ".version 8.5\n.target sm_90\n.address_size 64\n"

static const struct {
    const char *what, *ptx, *want, *words;
} ptx_rows[] = {
    {"a kernel without parameters", ".visible .entry k() { ret; }",
     "k()<=0 mode -1 env 0; ", NULL},
    {"nor parentheses", ".entry k { ret; }", "k()<=0 mode -1 env 0; ", NULL},
    {"parameters, aligned",
     ".entry k(.param .u8 a, .param .align 16 .b8 s[20000], .param .v2 .f32 f,"
     " .param .u16 h, .param .u64 .ptr .global .align 1 p) .reqntid 32, 2\n"
     "{ { ret; } }",
     "k(1@0 20000@16 8@20016 2@20024 8@20032)==64 mode -1 env 0; ", NULL},
    {"a declaration and its kernel",
     ".entry k(.param .b32 n);\n.entry k(.param .b32 n)\n.maxntid 4,4,4\n"
     ".minnctapersm 2 { }", "k(4@0)<=64 mode -1 env 0; ", NULL},
    {"functions, comments, sections",
     ".visible .func (.param .b32 r) f(.param .b64 .ptr .global p)\n"
     "{ .reg .b32 %a; // }\n /* } */ }\n.extern .func g();\n"
     ".file 1 \"a}.c\"\n.section .debug_str { .b8 1 }\n.entry k() {}",
     "k()<=0 mode -1 env 0; ", NULL},
    {"variables",
     ".visible .global .align 4 .u32 counter = 3;\n"
     ".weak .const .align 8 .f64 t[2][3] = {{0d0000000000000000, 1}, {2}};\n"
     ".visible .global .v4 .f32 a, b[2];\n.visible .global .b8 s[] = "
     "{1, 2, -3};\n.extern .global .u32 e;\n.global .u32 hidden;\n"
     ".visible .global .attribute(.managed) .s16 m;\n"
     ".extern .shared .align 16 .b8 smem[];",
     "counter 4; t 48; a 16; b 32; s 3; hidden 4; m 2; ", NULL},
    {"an environment of words",
     ".weak .global .align 8 .u64 k_kernel_environment[6] = {4295164160, 128, "
     "0, 0, generic(k), 0};\n.entry k() {}",
     "k()<=0 mode 3 env 48; k_kernel_environment 48; ", NULL},
    {"an environment of bytes",
     ".entry k() {}\n.global .align 8 .b8 k_kernel_environment[48] = {1, 0, "
     "0x3, 0, 0xFF(generic(k)), 0xFF00(generic(k))};",
     "k()<=0 mode 3 env 48; k_kernel_environment 48; ", NULL},
    {"an execution mode", ".visible .global .u8 k_exec_mode = 1;\n"
                          ".entry k() {}",
     "k()<=0 mode 1 env 1; k_exec_mode 1; ", NULL},
    {"a kernel without a name", ".entry (", NULL,
     "byte 51: a kernel without a name"},
    {"a kernel without a body", ".entry k()", NULL, "a kernel without a body"},
    {"an open brace", ".entry k() { ", NULL,
     "byte 55: a brace is not closed"},
    {"a parameter without a type", ".entry k(.param x)", NULL,
     "a declaration without a type"},
    {"a large variable", ".global .b64 x[99999999999][99999999999];", NULL,
     "a variable larger than the address space"},
    {"large parameters", ".entry k(.param .b8 x[5000000000]) {}", NULL,
     "parameters of more than 4 GiB"},
};

static void described(void)
{
    for (size_t i = 0; i < OMPJIT__COUNT(ptx_rows); i++) {
        ompjit_error err = {0};
        ompjit__gpu_code code;
        char *text = ompjit__format(HEAD "%s", ptx_rows[i].ptx);
        if (ptx_rows[i].want) {
            code_is(ptx_rows[i].what, text, strlen(text), ptx_rows[i].want);
        } else {
            ok(code_of(text, strlen(text), &code, &err) == OMPJIT_ERR_INVALID,
               "%s is refused", ptx_rows[i].what);
            ok_contains(err.text, ptx_rows[i].words, "%s: said so",
                        ptx_rows[i].what);
        }
        free(text);
    }
    for (unsigned abi = 7; abi < 9; abi++) {
        ompjit__buf b = make_cubin(abi, 90, 0);
        code_is("a cubin", b.data, b.size,
                "kern(8@0 4@8)<=256 mode 3 env 48; var 40; "
                "kern_kernel_environment 48; ");
        ompjit__buf_free(&b);
    }
    ompjit_error err = {0};
    ompjit__gpu_code code;
    ok(code_of(ir, sizeof ir, &code, &err) == OMPJIT_ERR_INVALID,
       "IR has no such description");
    ok_contains(err.text, "neither a cubin nor PTX", "said so");
}

/* ------------------------------------------------------------------- tools */

static char folder[] = "/tmp/images-XXXXXX";

/* The path of a tool of CUDA or LLVM, valid until the next call; "" where it
 * is not on this machine. */
static const char *tool(const char *name)
{
    static char path[512];
    const char *places[] = {"/usr/local/cuda/bin", getenv("LLVM_BINDIR"),
                            "/usr/bin", "/usr/local/bin"};
    for (size_t i = 0; i < OMPJIT__COUNT(places); i++) {
        snprintf(path, sizeof path, "%s/%s", places[i] ? places[i] : "", name);
        if (!access(path, X_OK))
            return path;
    }
    return path[0] = 0, path;
}

static void put_file(const char *name, const ompjit__buf *b)
{
    char *path = ompjit__format("%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    ok(f && fwrite(b->data, 1, b->size, f) == b->size && !fclose(f),
       "%s is written", name);
    free(path);
}

/* Runs a tool in the folder, with one argument in its line. It writes "out". */
static bool run_tool(const char *path, const char *format, const char *argument,
                     ompjit__buf *out)
{
    char *command = ompjit__format("cd %s && rm -f out && %s ", folder, path);
    char *line = ompjit__format(format, argument);
    char *all = ompjit__format("%s%s >log 2>&1 || { sed 's/^/# /' log; "
                               "false; }", command, line);
    char *made = ompjit__format("%s/out", folder);
    bool good = !system(all) && !ompjit__read_file(made, out, NULL);
    free(command);
    free(line);
    free(all);
    free(made);
    return good;
}

/* --------------------------------------------------------------- assembler */

static const char assembled_ptx[] =
    ".version %s\n.target %s\n.address_size 64\n"
    ".visible .global .align 4 .u32 counter = 3;\n"
    ".weak .global .align 8 .u64 k_kernel_environment[6] = {4295098368, 128, 0,"
    " 0, generic(counter), 0};\n"
    ".visible .const .align 8 .b8 table[32] = {1, 2};\n"
    ".visible .entry k(.param .u8 a, .param .align 16 .b8 s[2000],"
    " .param .u64 .ptr .global .align 1 p) .maxntid 16, 4\n"
    "{ .reg .b64 %%rd<4>; .reg .b32 %%r<4>;\n"
    "ld.param.u64 %%rd1, [p]; ld.param.u8 %%r1, [a];\n"
    "ld.param.u32 %%r2, [s+16]; add.u32 %%r1, %%r1, %%r2;\n"
    "ld.global.u32 %%r2, [counter]; add.u32 %%r1, %%r1, %%r2;\n"
    "ld.const.u8 %%r2, [table]; add.u32 %%r1, %%r1, %%r2;\n"
    "mov.u64 %%rd2, k_kernel_environment; st.global.u64 [%%rd1+8], %%rd2;\n"
    "st.global.u32 [%%rd1], %%r1; ret; }\n"
    ".visible .entry none() .reqntid 32 { ret; }\n";

/* In any order of kernels and variables. */
static bool same_code(const ompjit__gpu_code *a, const ompjit__gpu_code *b)
{
    unsigned same = 0;
    for (unsigned i = 0; i < a->nkernels; i++)
        for (unsigned j = 0; j < b->nkernels; j++) {
            const ompjit__gpu_kernel *x = &a->kernels[i], *y = &b->kernels[j];
            same += !strcmp(x->symbol, y->symbol) &&
                    x->nparams == y->nparams &&
                    (!x->nparams || !memcmp(x->params, y->params, x->nparams *
                                            sizeof *x->params)) &&
                    x->max_threads == y->max_threads &&
                    x->threads_required == y->threads_required &&
                    x->exec_mode == y->exec_mode &&
                    !memcmp(x->environment, y->environment,
                            sizeof x->environment);
        }
    for (unsigned i = 0; i < a->nvariables; i++)
        for (unsigned j = 0; j < b->nvariables; j++)
            same += !strcmp(a->variables[i].symbol, b->variables[j].symbol) &&
                    a->variables[i].size == b->variables[j].size;
    return a->nkernels == b->nkernels && a->nvariables == b->nvariables &&
           same == a->nkernels + a->nvariables;
}

/* PTX and the cubin that is made of it have the same description. */
static void assembled(const char *arch, const char *version)
{
    ompjit_error err = {0};
    ompjit__buf text = {0}, cubin = {0};
    ompjit__gpu_code of_ptx = {0}, of_cubin = {0};
    char *want = ompjit__format("cubin " NV " %s", arch);
    ompjit__buf_printf(&text, assembled_ptx, version, arch);
    char *ptx_name = ompjit__format("%s.ptx", arch);
    char *cubin_name = ompjit__format("%s.cubin", arch);
    put_file(ptx_name, &text);
    ok(run_tool(tool("ptxas"), "-arch=%1$s %1$s.ptx -o out", arch, &cubin),
       "%s: assembled", arch);
    put_file(cubin_name, &cubin);
    free(ptx_name);
    free(cubin_name);
    holds(arch, &cubin, want);
    ok(!code_of(text.data, text.size, &of_ptx, &err) &&
           !code_of(cubin.data, cubin.size, &of_cubin, &err),
       "%s: PTX and cubin are described: %s", arch, err.text);
    char *got = describe_code(&of_cubin);
    ok(same_code(&of_ptx, &of_cubin), "%s: the same", arch);
    ok_contains(got, "k(1@0 2000@16 8@2016)<=64 mode 2 env 48; ", "as is");
    free(got);
    free(want);
    ompjit__gpu_code_free(&of_ptx);
    ompjit__gpu_code_free(&of_cubin);
    ompjit__buf_free(&text);
    ompjit__buf_free(&cubin);
}

static void assembler(void)
{
    static const struct {
        const char *arch, *version;
    } rows[] = {{"sm_75", "6.3"},  {"sm_80", "7.0"},   {"sm_90", "7.8"},
                {"sm_90a", "8.0"}, {"sm_100a", "8.6"}, {"sm_120", "8.7"}};
    if (!*tool("ptxas")) {
        ok(1, "assembled PTX # SKIP no ptxas");
        return;
    }
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++)
        assembled(rows[i].arch, rows[i].version);
}

/* ------------------------------------------------- other tools' containers */

/* For sm_90, from the files that the assembler's test has left. */
static void tools(void)
{
    static const char *const modes[] = {"none", "size", "speed", "balance"};
    ompjit__buf b = {0};
    for (size_t i = 0; i < OMPJIT__COUNT(modes); i++) {
        if (!*tool("fatbinary") || !*tool("ptxas") ||
            !run_tool(tool("fatbinary"),
                      "--create=out -64 --compress-all --compress-mode=%s "
                      "--image3=kind=elf,sm=90,file=sm_90.cubin "
                      "--image3=kind=ptx,sm=90,file=sm_90.ptx", modes[i], &b)) {
            ok(1, "fatbinary, %s # SKIP none, or it does not know", modes[i]);
            continue;
        }
        holds(modes[i], &b, "cubin " NV " sm_90, ptx " NV " sm_90");
        damage(modes[i], &b);
        ompjit__buf_free(&b);
    }
    ompjit__buf code = of_bytes(bitcode, sizeof bitcode);
    put_file("x.bc", &code);
    ompjit__buf_free(&code);
    const char *packer = *tool("llvm-offload-binary")
                             ? "llvm-offload-binary"
                             : "clang-offload-packager";
    if (!*tool(packer) ||
        !ok(run_tool(tool(packer), "-o out "
                     "--image=file=x.bc,triple=" NV ",arch=%s,kind=openmp "
                     "--image=file=x.bc,triple=amdgcn-amd-amdhsa,arch=gfx90a",
                     "sm_70", &b), "%s packs", packer)) {
        ok(1, "%s # SKIP it is not there", packer);
        return;
    }
    holds(packer, &b, "bitcode " NV " sm_70, "
                      "bitcode amdgcn-amd-amdhsa gfx90a");
    ompjit__buf_free(&b);
}

/* -------------------------------------------------------------------- time */

enum { MANY = 60000, LONG = 8 << 20, SECONDS = 10 };

/* A file of MANY sections with the same name, which is LONG, and the same
 * content. A cubin has as many kernels, whose info each is. */
static ompjit__buf many_sections(unsigned machine, const char *prefix,
                                 unsigned type)
{
    Elf64_Ehdr h = {.e_machine = (Elf64_Half)machine, .e_type = ET_REL};
    ompjit__buf name = of_bytes("", 1), symbols = {0};
    ompjit__buf_add(&name, prefix, strlen(prefix));
    char *rest = malloc(LONG);
    memset(rest, 1, LONG);
    ompjit__buf_add(&name, rest, LONG);
    ompjit__buf_add(&name, "", 1);
    free(rest);
    for (unsigned i = 0; i < MANY; i++) {
        Elf64_Sym s = {.st_name = 1 + (Elf64_Word)(name.size - 20),
                       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                       .st_other = 0x10, .st_shndx = (Elf64_Half)(3 + i)};
        PUT(&symbols, s);
    }
    struct section s[] = {
        {".strtab", SHT_STRTAB, name.data, name.size, 0, 0, 0},
        {".symtab", SHT_SYMTAB, symbols.data, symbols.size, 1, 0,
         sizeof(Elf64_Sym)}};
    h.e_ident[EI_ABIVERSION] = 8;
    ompjit__buf b = make_elf(h, s, 2);
    memcpy(&h, b.data, sizeof h);
    Elf64_Shdr all = {.sh_type = type, .sh_name = 1, .sh_offset = sizeof h,
                      .sh_size = machine == EM_CUDA ? LONG : 1, .sh_link = 2};
    Elf64_Off before = h.e_shoff;
    h.e_shoff = b.size;
    Elf64_Shdr first[3];
    memcpy(first, b.data + before, sizeof first);
    PUT(&b, first);
    for (unsigned i = 0; i < MANY; i++) {
        all.sh_info = 3 + i;
        PUT(&b, all);
    }
    h.e_shnum = MANY + 3;
    h.e_shstrndx = 1;
    memcpy(b.data, &h, sizeof h);
    ompjit__buf_free(&name);
    ompjit__buf_free(&symbols);
    return b;
}

/* Reading must not take the product of counts and sizes. */
static void in_time(const char *what, const ompjit__buf *image)
{
    clock_t start = clock();
    ok(read_all(image->data, image->size) >= 0, "%s ends in order", what);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    ok(seconds < SECONDS, "%s: in time (%.1f s)", what, seconds);
}

static void time_of_many(void)
{
    ompjit__buf b = many_sections(EM_X86_64, "__CLANG_OFFLOAD_BUNDLE__",
                                  SHT_PROGBITS);
    in_time("60000 sections of one long name", &b);
    ompjit__buf_free(&b);
    b = many_sections(EM_CUDA, ".nv.info.", SHT_LOPROC);
    in_time("60000 kernels with one long section", &b);
    ompjit__buf_free(&b);
    b = of_bytes("!<arch>\n", 8);
    for (unsigned i = 0; i < MANY; i++)
        put_member(&b, "x.bc/", bitcode, 4);
    in_time("60000 members", &b);
    ompjit__buf_free(&b);
}

/* ---------------------------------------------------------- without memory */

/* Each allocation of a read fails once: the status says so, nothing is lost.
 * Of a compressed image the loader of libraries allocates, too. */
static void starve(const char *what, const ompjit__buf *image, bool compressed)
{
    unsigned failed = 0, odd = 0;
    ompjit_status status = OMPJIT_ERR_INTERNAL;
    for (long n = 0; status && n < 10000; n++) {
        ompjit__pieces pieces = {0};
        ompjit__gpu_code code = {0};
        long before = alive;
        ompjit_error err = {0};
        allocations = n;
        status = ompjit__pieces_read(image->data, image->size, &pieces, &err);
        for (unsigned i = 0; !status && i < pieces.n; i++) {
            if (pieces.list[i].kind == OMPJIT__PIECE_PTX ||
                pieces.list[i].kind == OMPJIT__PIECE_CUBIN)
                status = ompjit__gpu_code_read(&pieces.list[i], &code, &err);
            ompjit__gpu_code_free(&code);
        }
        allocations = -1;
        ompjit__pieces_free(&pieces);
        failed += status != OMPJIT_OK;
        odd += status && status != OMPJIT_ERR_NO_MEMORY &&
               (!compressed || status != OMPJIT_ERR_UNAVAILABLE);
        odd += !compressed && alive != before;
    }
    ok(!status && failed > 1 && !odd, "%s: each of %u allocations fails", what,
       failed);
}

static void without_memory(void)
{
    if (!MEMORY_FAILS) {
        ok(1, "memory that runs out # SKIP a sanitizer has its own malloc");
        return;
    }
    ompjit__buf b = of_bytes("!<arch>\n", 8), entries = {0}, fat = {0};
    ompjit__buf cubin = make_cubin(8, 90, 0), text = lz4(ptx, sizeof ptx - 1);
    put_fat_entry(&entries, 2, 0, &cubin, 0);
    put_fat_entry(&entries, 1, 0x2000, &text, sizeof ptx - 1 + 24 + 1);
    put_fat_binary(&fat, &entries);
    put_member(&b, "fat.o/", fat.data, fat.size);
    put_member(&b, "x.bc/", bitcode, sizeof bitcode);
    starve("an archive", &b, false);
    for (unsigned method = 0; method < 2; method++) {
        ompjit__buf content = compressed(method, &b), whole = {0};
        put_compressed(&whole, 3, method, &content, b.size);
        if (content.size)
            starve(method ? "zstd" : "zlib", &whole, true);
        ompjit__buf_free(&content);
        ompjit__buf_free(&whole);
    }
    ompjit__buf *all[] = {&b, &entries, &fat, &cubin, &text};
    for (size_t i = 0; i < OMPJIT__COUNT(all); i++)
        ompjit__buf_free(all[i]);
}

/* ------------------------------------------------------------------ corpus */

/* A line of t/images/expected: a file's name, and what its error says, or
 * nothing where it is read. */
static void hostile(const char *dir, char *line)
{
    char *words = strchr(line, '\t');
    ompjit__buf b = {0};
    ompjit_error err = {0};
    ompjit__gpu_code code;
    if (!words)
        return;
    *words++ = 0;
    words[strcspn(words, "\n")] = 0;
    char *path = ompjit__format("%s/%s.img", dir, line);
    ok(!ompjit__read_file(path, &b, NULL), "%s is there", line);
    ompjit_status status = code_of(b.data, b.size, &code, &err);
    ompjit__gpu_code_free(&code);
    ok(read_all(b.data, b.size) >= 0, "%s ends in order", line);
    /* A host file is not code for a GPU, which is not what is asked here. */
    bool other = strstr(err.text, "neither a cubin nor PTX");
    if (*words)
        ok_contains(err.text, words, "%s is refused", line);
    else
        ok(!status || other, "%s is read: %s", line, err.text);
    free(path);
    ompjit__buf_free(&b);
}

static void corpus(void)
{
    const char *top = getenv("srcdir");
    char *dir = ompjit__format("%s/t/images", top ? top : ".");
    char *name = ompjit__format("%s/expected", dir), line[512];
    FILE *f = fopen(name, "r");
    unsigned n = 0;
    for (; f && fgets(line, sizeof line, f); n++)
        hostile(dir, line);
    ok(n >= 50, "the corpus has %u images", n);
    if (f)
        fclose(f);
    char *made = ompjit__format("mkdir %1$s/made && cp %2$s/make.pl %1$s/made "
                                "&& perl %2$s/make.pl %1$s/made && "
                                "diff -r %2$s %1$s/made >&2", folder, dir);
    ok(!system(made), "it is what make.pl makes");
    free(made);
    free(name);
    free(dir);
}

static void damaged(void)
{
    ompjit__buf whole[] = {
        of_bytes(ptx, sizeof ptx),      of_bytes(ir, sizeof ir),
        make_cubin(7, 90, 0),           make_cubin(8, 120, 0),
        make_offload(1),                make_offload(2),
    };
    static const char *const names[] = {
        "PTX", "IR", "a cubin of CUDA 12", "a cubin of CUDA 13",
        "offload binaries", "an offload binary of version 2"};
    for (size_t i = 0; i < OMPJIT__COUNT(whole); i++) {
        damage(names[i], &whole[i]);
        ompjit__buf object = make_host(ET_REL, EM_X86_64, ".llvm.offloading",
                                       &whole[i]);
        damage("in a section", &object);
        ompjit__buf_free(&object);
        ompjit__buf_free(&whole[i]);
    }
}

int main(void)
{
    const char *asked = getenv("IMAGES");
    if (asked && sscanf(asked, "%u %u", &first_seed, &seeds) != 2)
        return 2;
    if (!mkdtemp(folder))
        return 2;
    leaves();
    elf_files();
    offload_binaries();
    offload_fields();
    overlap();
    depth();
    find_compressors();
    bundles();
    compressed_bundles();
    fat_binaries();
    archives();
    described();
    assembler();
    tools();
    without_memory();
    time_of_many();
    corpus();
    damaged();
    char *remove = ompjit__format("rm -r %s", folder);
    ok(!system(remove), "the folder is removed");
    free(remove);
    return done_testing();
}
