/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Device images: pieces by content and through all containers. Made by hand,
 * cut everywhere, damaged at random; and by NVIDIA's and LLVM's tools, where
 * they are.
 *
 * IMAGES="FIRST COUNT" in the environment damages with other seeds than CI's.
 */
#include "images/images.h"
#include "images_make.h"
#include "tap.h"

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

/* Bytes that a piece has can be read; -1: an odd end. */
static int read_all(const void *data, size_t size)
{
    void *copy;
    ompjit__pieces pieces;
    ompjit_error err = {0};
    ompjit_status status = read_copy(data, size, &copy, &pieces, &err);
    unsigned sum = 0;
    for (unsigned i = 0; i < pieces.n; i++)
        for (size_t k = 0; k < pieces.list[i].size; k++)
            sum += pieces.list[i].data[k];
    int result = status == OMPJIT_OK            ? pieces.n > 0 ? 1 : -1
                 : status == OMPJIT_ERR_INVALID ? err.text[0] ? 0 : -1
                                                : -1;
    ompjit__pieces_free(&pieces);
    free(copy);
    return sum == UINT32_MAX ? 0 : result;
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
    leaves();
    elf_files();
    offload_binaries();
    offload_fields();
    overlap();
    depth();
    damaged();
    return done_testing();
}
