/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The plain linker: what it links works, what it does not know it refuses.
 */
#include <elf.h>

#include "backend/codegen/emit.h"
#include "backend/host/host.h"
#include "loader/elf.h"
#include "ir_text.h"
#include "tap.h"

static bool compile(const char *ir, ompjit__buf *object)
{
    ompjit_error err = {.text = ""};
    struct ir_text t;
    *object = (ompjit__buf){0};
    bool good = !ir_text_open(&t, ir, &err) &&
                !ompjit__host_machine(2, false, &t.tm, &err) &&
                !ompjit__emit_object(t.m, t.tm, NULL, OMPJIT__PASSES_ALL, object,
                                     &err);
    if (!good)
        printf("# %s\n", err.text);
    ir_text_close(&t);
    return good;
}

static int outside = 5;
static int far_away(int x) { return x + 100; }

static void *find(void *data, const char *name)
{
    return !strcmp(name, "outside")    ? (void *)&outside
           : !strcmp(name, "far_away") ? (void *)far_away
           /* No frame is unwound here. */
           : !strcmp(name, "__gxx_personality_v0") ? (void *)far_away
                                                   : NULL;
}

#define FLAGS                                                                  \
    "!llvm.module.flags = !{!0}\n!0 = !{i32 8, !\"PIC Level\", i32 2}\n"

static const struct {
    const char *what, *ir;
    int want; /* f(3); -1: refused */
} rows[] = {
    {"a function", "define i32 @f(i32 %x) { %r = add i32 %x, 1\n ret i32 %r }",
     4},
    {"variables, with and without a value",
     "@a = global i32 7\n@b = internal global i32 0\n"
     "define i32 @f(i32 %x) { %p = load i32, ptr @a\n store i32 %x, ptr @b\n"
     " %q = load volatile i32, ptr @b\n %r = add i32 %p, %q\n ret i32 %r }",
     10},
    {"a table of addresses",
     "@s = private constant [2 x i8] c\"A\\00\"\n"
     "@t = global [2 x ptr] [ptr null, ptr @s]\n"
     "define i32 @f(i32 %x) { %q = load ptr, ptr getelementptr (ptr, ptr @t, "
     "i64 1)\n %c = load i8, ptr %q\n %r = zext i8 %c to i32\n ret i32 %r }",
     65},
    {"functions and variables of the process",
     "declare i32 @far_away(i32)\n@outside = external global i32\n"
     "define i32 @f(i32 %x) { %a = call i32 @far_away(i32 %x)\n"
     " %b = load i32, ptr @outside\n %r = add i32 %a, %b\n ret i32 %r }",
     108},
    {"a weak function that is nowhere",
     "declare extern_weak i32 @nowhere(i32)\n"
     "define i32 @f(i32 %x) { %c = icmp eq ptr @nowhere, null\n"
     " %r = select i1 %c, i32 %x, i32 0\n ret i32 %r }",
     3},
    {"constants", "define i32 @f(i32 %x) { %d = sitofp i32 %x to double\n"
                  " %e = fmul double %d, 1.3e1\n"
                  " %r = fptosi double %e to i32\n ret i32 %r }",
     39},
    {"functions with and without a handler of exceptions",
     "define internal i32 @h(i32 %x) noinline uwtable {\n"
     " %r = call i32 @far_away(i32 %x)\n ret i32 %r }\n"
     "declare i32 @far_away(i32)\ndeclare i32 @__gxx_personality_v0(...)\n"
     "define i32 @f(i32 %x) uwtable personality ptr @__gxx_personality_v0 {\n"
     " %r = invoke i32 @h(i32 %x) to label %good unwind label %bad\n"
     "good:\n ret i32 %r\n"
     "bad:\n %e = landingpad { ptr, i32 } cleanup\n ret i32 0 }\n"
     "define i32 @k(i32 %x) uwtable { %r = call i32 @h(i32 %x)\n ret i32 %r }",
     103},
    {"something undefined", "declare i32 @nowhere(i32)\n"
                            "define i32 @f(i32 %x) { "
                            "%r = call i32 @nowhere(i32 %x)\n ret i32 %r }",
     -1},
    {"a thread's variable", "@v = thread_local global i32 1\n"
                            "define i32 @f(i32 %x) { "
                            "%r = load i32, ptr @v\n ret i32 %r }",
     -1},
    {"common symbols",
     "@v = common global i32 0\n@w = common global [9 x i64] zeroinitializer, "
     "align 64\n@x = common global i8 0\n"
     "define i32 @f(i32 %x) { store i32 %x, ptr @v\n"
     " %n = load i64, ptr getelementptr (i64, ptr @w, i64 8)\n"
     " store i64 4, ptr getelementptr (i64, ptr @w, i64 8)\n"
     " store i8 9, ptr @x\n %a = load volatile i32, ptr @v\n"
     " %m = trunc i64 %n to i32\n %p = ptrtoint ptr @w to i64\n"
     " %q = and i64 %p, 63\n %u = trunc i64 %q to i32\n"
     " %s = add i32 %a, %m\n %r = add i32 %s, %u\n ret i32 %r }",
     3},
    {"an indirect function", "@g = ifunc i32 (i32), ptr @h\n"
                             "define ptr @h() { ret ptr @f }\n"
                             "define i32 @f(i32 %x) { ret i32 %x }",
     -1},
};

static void test_rows(void)
{
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        ompjit__buf object;
        char *ir = ompjit__format("%s\n" FLAGS, rows[i].ir);
        if (!compile(ir, &object)) {
            ok(0, "%s compiles", rows[i].what);
            continue;
        }
        free(ir);
        ompjit__elf *elf = ompjit__elf_link(object.data, object.size, find,
                                            NULL, NULL);
        ompjit__buf_free(&object); /* not needed any more */
        int (*f)(int) = (int (*)(int))ompjit__elf_symbol(elf, "f");
        ok((f ? f(3) : -1) == rows[i].want, "%s%s", rows[i].what,
           rows[i].want < 0 ? ": refused" : "");
        ok(!ompjit__elf_symbol(elf, "g") && !ompjit__elf_symbol(elf, ""),
           "and no other symbol");
        ompjit__elf_free(elf);
    }
}

/* Cut anywhere, or with any byte of its tables turned: no crash. */
static void test_damage(void)
{
    ompjit__buf object;
    compile(rows[3].ir, &object);
    unsigned linked = 0;
    for (size_t n = 0; n < object.size; n++) {
        char *cut = ompjit__memdup(object.data, n ? n : 1);
        ompjit__elf *elf = ompjit__elf_link(cut, n, find, NULL, NULL);
        linked += elf != NULL;
        ompjit__elf_free(elf);
        free(cut);
    }
    ok(!linked, "cut short at each of %zu bytes: refused", object.size);
    for (size_t i = 0; i < object.size; i++) {
        object.data[i] ^= 0x91;
        ompjit__elf_free(ompjit__elf_link(object.data, object.size, find,
                                          NULL, NULL));
        object.data[i] ^= 0x91;
    }
    ok(1, "each byte turned: no crash");
    ompjit__buf_free(&object);
}

/* The section of that type, or of the whole list the first. */
static Elf64_Shdr *section(const ompjit__buf *object, unsigned type,
                           unsigned *number)
{
    const Elf64_Ehdr *head = (const void *)object->data;
    Elf64_Shdr *s = (void *)(object->data + head->e_shoff);
    for (*number = 0; *number < head->e_shnum; ++*number)
        if (s[*number].sh_type == type)
            return &s[*number];
    return s;
}

static void names_elsewhere(ompjit__buf *object)
{
    Elf64_Ehdr *head = (void *)object->data;
    unsigned number;
    Elf64_Shdr *bss = section(object, SHT_NOBITS, &number);
    head->e_shstrndx = (Elf64_Half)number;
    bss->sh_offset = UINT64_MAX / 2;
    Elf64_Shdr *all = (void *)(object->data + head->e_shoff);
    for (unsigned i = 0; i < head->e_shnum; i++)
        all[i].sh_name = 0;
}

static void wrapping_size(ompjit__buf *object)
{
    unsigned number;
    section(object, SHT_NOBITS, &number)->sh_size = UINT64_MAX - 8191;
}

static void nameless(ompjit__buf *object)
{
    unsigned number;
    const Elf64_Shdr *table = section(object, SHT_SYMTAB, &number);
    Elf64_Sym *s = (void *)(object->data + table->sh_offset);
    for (size_t n = table->sh_size / sizeof *s; n; n--, s++)
        s->st_name = UINT32_MAX;
}

/* Damage that no single changed byte does: the object is refused, or its
 * function is not found. */
static void test_abuse(void)
{
    static const struct {
        const char *what;
        void (*damage)(ompjit__buf *object);
    } cases[] = {{"sections' names that are not in the file", names_elsewhere},
                 {"a size that comes round", wrapping_size},
                 {"symbols' names beyond their end", nameless}};
    for (size_t i = 0; i < OMPJIT__COUNT(cases); i++) {
        ompjit__buf object;
        char *ir = ompjit__format("%s\n" FLAGS, rows[1].ir);
        bool compiled = compile(ir, &object);
        free(ir);
        if (!ok(compiled, "an object with a .bss"))
            continue;
        cases[i].damage(&object);
        ompjit__elf *elf =
            ompjit__elf_link(object.data, object.size, find, NULL, NULL);
        ok(!ompjit__elf_symbol(elf, "f"), "%s", cases[i].what);
        ompjit__elf_free(elf);
        ompjit__buf_free(&object);
    }
}

/* Frames of one function, as LLVM writes them: a common record, and one that
 * says that 16 bytes of code lie 256 bytes behind its own place. */
static const unsigned char frames[] = {
    20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b,
    0,  0, 0, 0, 0, 0, 0,
    16, 0, 0, 0, 28, 0, 0, 0, 0, 1, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0,
    0,  0, 0, 0};
enum { PLACE = 32, CODE = PLACE + 256, CODE_END = CODE + 16 };

static const struct {
    const char *what;
    unsigned at, value; /* a byte of the frames, and what it is instead */
    bool sound;
} frame_rows[] = {
    {"frames of one function", 0, 20, true},
    {"a code alignment of 4", 12, 4, true},
    {"a record beyond the end", 24, 200, false},
    {"an empty common record", 0, 4, false},
    {"letters that do not end", 11, 'S', false},
    {"an unknown letter", 10, 'Q', false},
    {"no letters", 9, 0, false},
    {"an unknown version", 8, 4, false},
    {"an encoding that LLVM does not use", 16, 0x03, false},
    {"a function without its common record", 28, 24, false},
    {"code in front of the section's", 35, 0x80, false},
    {"code behind it", 33, 2, false},
    {"too much code", 36, 17, false},
};

static void test_frames(void)
{
    for (size_t i = 0; i < OMPJIT__COUNT(frame_rows); i++) {
        unsigned char copy[sizeof frames];
        memcpy(copy, frames, sizeof copy);
        copy[frame_rows[i].at] = (unsigned char)frame_rows[i].value;
        ompjit__code_range code = {(uintptr_t)copy + CODE,
                              (uintptr_t)copy + CODE_END};
        ok(ompjit__elf_frames_sound(copy, sizeof copy, &code) ==
               frame_rows[i].sound,
           "%s: %s", frame_rows[i].what,
           frame_rows[i].sound ? "read" : "refused");
    }
}

int main(void)
{
    if (!ompjit__elf_machine)
        skip_all("ORC links everything on this processor");
    test_rows();
    test_frames();
    test_damage();
    test_abuse();
    return done_testing();
}
