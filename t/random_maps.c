/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Prints a random OpenMP program that maps data, and a list of what it must
 * print:
 *
 *     random_maps SEED program.c expected.txt
 *
 * The generator carries the program out while it writes it, with a memory for
 * the host and one for the device, as OpenMP 5.2 ("map clause", "target update
 * construct") has them where they are separate. So the program may print values
 * that a kernel has changed since, and such prints tell shared memory from
 * separate memory.
 *
 * Data are arrays of two halves, in which all elements are equal. An array is
 * mapped as a whole, or by halves: one element never belongs to two mapped
 * sections. Memory that is not initialized is neither printed nor read.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chance.h"

/* ------------------------------------------------------------------- texts */

static FILE *program, *expected;
static int depth = 1;

static void put(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void put(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (*format != '#')
        fprintf(program, "%*s", depth * 4, "");
    vfprintf(program, format, list);
    fputc('\n', program);
    va_end(list);
}

/* ------------------------------------------------------------------ memory */

enum { ARRAYS = 5, HALVES = 2, HALF = 8, REGIONS = 3 };

struct value {
    bool known;
    int64_t number;
};

/* A part of an array that is mapped as one. */
struct section {
    unsigned count; /* references; 0: it is not present */
};

static struct array {
    enum { HEAP, GLOBAL, LOCAL, MEMBER, THROUGH_GLOBAL } kind;
    bool by_halves;
    struct section section[HALVES]; /* the first alone, if not by halves */
    struct value host[HALVES], device[HALVES];
} arrays[ARRAYS];

static const char *const kinds[] = {"heap", "global", "local", "member",
                                    "through_global"};

static unsigned sections_of(const struct array *a)
{
    return a->by_halves ? HALVES : 1;
}

/* Halves that belong to a section: from the first to before the last. */
static unsigned first_of(const struct array *a, unsigned section)
{
    return a->by_halves ? section : 0;
}

static unsigned end_of(const struct array *a, unsigned section)
{
    return a->by_halves ? section + 1 : HALVES;
}

static unsigned section_of(const struct array *a, unsigned half)
{
    return a->by_halves ? half : 0;
}

enum map {
    MAP_ALLOC,
    MAP_TO,
    MAP_FROM,
    MAP_TOFROM,
    MAP_RELEASE,
    MAP_DELETE
};
static const char *const map_names[] = {"alloc", "to",      "from",
                                        "tofrom", "release", "delete"};

static void copy(struct value *to, const struct value *from,
                 const struct array *a, unsigned section)
{
    for (unsigned h = first_of(a, section); h < end_of(a, section); h++)
        to[h] = from[h];
}

static void enter(struct array *a, unsigned section, enum map map, bool always)
{
    bool new = !a->section[section].count++;
    bool to = map == MAP_TO || map == MAP_TOFROM;
    if (new)
        for (unsigned h = first_of(a, section); h < end_of(a, section); h++)
            a->device[h].known = false;
    if (to && (new || always))
        copy(a->device, a->host, a, section);
}

static void leave(struct array *a, unsigned section, enum map map, bool always)
{
    struct section *s = &a->section[section];
    bool from = map == MAP_FROM || map == MAP_TOFROM;
    if (!s->count)
        return;
    s->count = map == MAP_DELETE ? 0 : s->count - 1;
    if (from && (!s->count || always))
        copy(a->host, a->device, a, section);
}

/* ------------------------------------------------------------------- names */

/* An expression for the array, one of several. */
static const char *name_of(unsigned i)
{
    static char text[4][40];
    static unsigned turn;
    char *out = text[turn++ % 4];
    const char *kind = kinds[arrays[i].kind];
    bool heap = arrays[i].kind == HEAP || arrays[i].kind == THROUGH_GLOBAL;
    if (arrays[i].kind == MEMBER)
        snprintf(out, sizeof *text, "all.member%u", i);
    else if (heap && chance(30))
        snprintf(out, sizeof *text, "other%u", i);
    else
        snprintf(out, sizeof *text, "%s%u", kind, i);
    return out;
}

/* In a clause only a variable or a member. */
static void section_text(char *out, size_t size, unsigned i, unsigned section)
{
    const struct array *a = &arrays[i];
    unsigned first = first_of(a, section), end = end_of(a, section);
    snprintf(out, size, "%s[%u:%u]", name_of(i), first * HALF,
             (end - first) * HALF);
}

/* -------------------------------------------------------------- statements */

static int64_t small(void)
{
    return 1 + below(9);
}

static void host_write(void)
{
    unsigned i = below(ARRAYS), h = below(HALVES);
    struct value *v = &arrays[i].host[h];
    if (v->known && chance(50)) {
        int64_t plus = small();
        put("for (int i = %u; i < %u; i++) %s[i] += %ld;", h * HALF,
            (h + 1) * HALF, name_of(i), (long)plus);
        v->number += plus;
        return;
    }
    *v = (struct value){true, small()};
    if (chance(50))
        put("set(%s + %u, %ld);", name_of(i), h * HALF, (long)v->number);
    else
        put("for (int i = %u; i < %u; i++) %s[i] = %ld;", h * HALF,
            (h + 1) * HALF, name_of(i), (long)v->number);
}

static void host_read(void)
{
    unsigned i = below(ARRAYS), h = below(HALVES);
    const struct value *v = &arrays[i].host[h];
    if (!v->known)
        return;
    if (chance(50))
        put("printf(\"%%ld\\n\", (long)%s[%u]);", name_of(i),
            h * HALF + below(HALF));
    else
        put("show(%s + %u);", name_of(i), h * HALF);
    fprintf(expected, "%ld\n", (long)v->number);
}

static void enter_data(void)
{
    char text[80];
    unsigned i = below(ARRAYS), s = below(sections_of(&arrays[i]));
    enum map map = chance(60) ? MAP_TO : MAP_ALLOC;
    bool always = chance(10);
    section_text(text, sizeof text, i, s);
    put("#pragma omp target enter data map(%s%s: %s)", always ? "always, " : "",
        map_names[map], text);
    enter(&arrays[i], s, map, always);
}

/* References that structured regions hold are theirs to give back. */
static unsigned held[ARRAYS][HALVES];

static void exit_data(void)
{
    char text[80];
    unsigned i = below(ARRAYS), s = below(sections_of(&arrays[i]));
    unsigned count = arrays[i].section[s].count;
    enum map map = chance(50) ? MAP_FROM : MAP_RELEASE;
    bool always = chance(10);
    if (!count || count <= held[i][s])
        return;
    if (!held[i][s] && chance(15))
        map = MAP_DELETE;
    always &= map == MAP_FROM;
    section_text(text, sizeof text, i, s);
    put("#pragma omp target exit data map(%s%s: %s)", always ? "always, " : "",
        map_names[map], text);
    leave(&arrays[i], s, map, always);
}

static void update(void)
{
    char text[80];
    unsigned i = below(ARRAYS), s = below(sections_of(&arrays[i]));
    bool to = chance(40);
    section_text(text, sizeof text, i, s);
    put("#pragma omp target update %s(%s)", to ? "to" : "from", text);
    if (!arrays[i].section[s].count)
        return;
    if (to)
        copy(arrays[i].device, arrays[i].host, &arrays[i], s);
    else
        copy(arrays[i].host, arrays[i].device, &arrays[i], s);
}

/* One array's half in a kernel: how it is mapped, and by what name. */
struct use {
    unsigned array, half, section;
    enum map map;
    bool always, implicit;
    char name[40];
};

/* Enters it; false: the kernel would read what is not known. */
static bool use(struct use *u, bool reads)
{
    *u = (struct use){.array = below(ARRAYS), .half = below(HALVES)};
    struct array *a = &arrays[u->array];
    u->section = section_of(a, u->half);
    bool present = a->section[u->section].count;
    /* A pointer without a map gets the address of the section that it points
     * into, which is the first. */
    bool pointer = a->kind == HEAP || a->kind == THROUGH_GLOBAL;
    u->implicit = present && pointer && !u->section && chance(40);
    u->map = (enum map)below(4);
    u->always = !u->implicit && chance(10);
    snprintf(u->name, sizeof u->name, "%s", name_of(u->array));
    if (!reads)
        return true;
    bool copied = (u->map == MAP_TO || u->map == MAP_TOFROM) && !u->implicit &&
                  (!present || u->always);
    return copied ? a->host[u->half].known
                  : present && a->device[u->half].known;
}

static void map_text(char *out, size_t size, const struct use *u)
{
    const struct array *a = &arrays[u->array];
    unsigned first = first_of(a, u->section), end = end_of(a, u->section);
    *out = 0;
    if (!u->implicit)
        snprintf(out, size, " map(%s%s: %s[%u:%u])",
                 u->always ? "always, " : "", map_names[u->map], u->name,
                 first * HALF, (end - first) * HALF);
}

/* Two members in one construct are one section, with what lies between. */
static bool is_member(const struct use *u)
{
    return arrays[u->array].kind == MEMBER;
}

static void kernel(void)
{
    static const char *const directives[] = {
        "target", "target teams distribute parallel for", "target parallel for",
        "target teams loop"};
    struct use to, from;
    char maps[2][120];
    bool two = chance(70);
    if (two && !use(&from, true))
        return;
    use(&to, false);
    if (two && (to.array == from.array || (is_member(&to) && is_member(&from))))
        return;
    map_text(maps[0], sizeof maps[0], &to);
    if (two)
        map_text(maps[1], sizeof maps[1], &from);
    bool nowait = chance(15);
    int64_t plus = small();
    put("#pragma omp %s%s%s%s", directives[below(4)], maps[0],
        two ? maps[1] : "", nowait ? " nowait" : "");
    put("for (int i = 0; i < %d; i++)", HALF);
    if (two)
        put("    %s[%u + i] = %s[%u + i] + %ld;", to.name, to.half * HALF,
            from.name, from.half * HALF, (long)plus);
    else
        put("    %s[%u + i] = %ld;", to.name, to.half * HALF, (long)plus);
    if (nowait)
        put("#pragma omp taskwait");
    struct array *a = &arrays[to.array], *b = two ? &arrays[from.array] : NULL;
    if (!to.implicit)
        enter(a, to.section, to.map, to.always);
    if (two && !from.implicit)
        enter(b, from.section, from.map, from.always);
    a->device[to.half] = (struct value){
        true, two ? b->device[from.half].number + plus : plus};
    if (!to.implicit)
        leave(a, to.section, to.map, to.always);
    if (two && !from.implicit)
        leave(b, from.section, from.map, from.always);
}

static void statements(unsigned n, unsigned regions);

static void region(unsigned regions)
{
    char text[80];
    unsigned i = below(ARRAYS), s = below(sections_of(&arrays[i]));
    enum map map = (enum map)below(4);
    if (!regions)
        return;
    section_text(text, sizeof text, i, s);
    put("#pragma omp target data map(%s: %s)", map_names[map], text);
    put("{");
    enter(&arrays[i], s, map, false);
    held[i][s]++;
    depth++;
    statements(2 + below(6), regions - 1);
    depth--;
    held[i][s]--;
    leave(&arrays[i], s, map, false);
    put("}");
}

/* A part of the program that is a function of its own. */
static void statements(unsigned n, unsigned regions)
{
    for (unsigned i = 0; i < n; i++) {
        uint32_t which = below(100);
        if (which < 15)
            host_write();
        else if (which < 30)
            host_read();
        else if (which < 42)
            enter_data();
        else if (which < 54)
            exit_data();
        else if (which < 64)
            update();
        else if (which < 90)
            kernel();
        else
            region(regions);
    }
}

/* --------------------------------------------------------------- programs */

static void declare(unsigned i)
{
    if (arrays[i].kind == GLOBAL)
        put("static long global%u[%d];", i, HALVES * HALF);
    if (arrays[i].kind == THROUGH_GLOBAL)
        put("static long *through_global%u;", i);
    if (arrays[i].kind == HEAP || arrays[i].kind == THROUGH_GLOBAL)
        put("static long *other%u;", i);
}

static void allocate(unsigned i)
{
    const char *kind = kinds[arrays[i].kind];
    size_t bytes = HALVES * HALF * sizeof(long);
    if (arrays[i].kind == LOCAL)
        put("long local%u[%d];", i, HALVES * HALF);
    if (arrays[i].kind == HEAP)
        put("long *heap%u = other%u = malloc(%zu);", i, i, bytes);
    if (arrays[i].kind == THROUGH_GLOBAL)
        put("%s%u = other%u = malloc(%zu);", kind, i, i, bytes);
    if (arrays[i].kind == GLOBAL)
        for (unsigned h = 0; h < HALVES; h++)
            arrays[i].host[h] = (struct value){true, 0};
}

static void write_program(unsigned seed)
{
    depth = 0;
    put("/* random_maps %u */", seed);
    put("#include <stdio.h>");
    put("#include <stdlib.h>");
    put("static __attribute__((noinline)) void set(long *p, long value)");
    put("{ for (int i = 0; i < %d; i++) p[i] = value; }", HALF);
    put("static __attribute__((noinline)) void show(const long *p)");
    put("{ for (int i = 1; i < %d; i++) if (p[i] != p[0]) puts(\"torn\");", HALF);
    put("  printf(\"%%ld\\n\", p[0]); }");
    for (unsigned i = 0; i < ARRAYS; i++)
        declare(i);
    bool members = false;
    for (unsigned i = 0; i < ARRAYS; i++)
        members |= arrays[i].kind == MEMBER;
    if (members) {
        put("static struct {");
        for (unsigned i = 0; i < ARRAYS; i++)
            if (arrays[i].kind == MEMBER)
                put("    long member%u[%d];", i, HALVES * HALF);
        put("} all;");
    }
    put("int main(void)");
    put("{");
    depth = 1;
    for (unsigned i = 0; i < ARRAYS; i++)
        allocate(i);
    statements(20 + below(30), REGIONS);
    for (unsigned i = 0; i < ARRAYS; i++)
        for (unsigned h = 0; h < HALVES; h++)
            if (arrays[i].host[h].known) {
                put("show(%s + %u);", name_of(i), h * HALF);
                fprintf(expected, "%ld\n", (long)arrays[i].host[h].number);
            }
    depth = 0;
    put("}");
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    unsigned seed = (unsigned)strtoul(argv[1], NULL, 10);
    program = fopen(argv[2], "w");
    expected = fopen(argv[3], "w");
    if (!program || !expected)
        return 2;
    state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (unsigned i = 0; i < 10; i++)
        below(2);
    for (unsigned i = 0; i < ARRAYS; i++) {
        arrays[i].kind = below(5);
        arrays[i].by_halves = chance(30);
        if (arrays[i].kind == MEMBER)
            for (unsigned h = 0; h < HALVES; h++)
                arrays[i].host[h] = (struct value){true, 0};
    }
    write_program(seed);
    return fclose(program) || fclose(expected) ? 2 : 0;
}
