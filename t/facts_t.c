/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Facts, which are folded into variants: every row of core/facts.def is hashed,
 * compared, copied, packed, written as text and restricted.
 */
#include "core/core.h"
#include "tap.h"

/* A fact of each kind that says something, and one that says something else. */
static uint64_t numbers[2][64];
static ompjit__contents contents[2][2] = {{{1, 3, "abc"}, {4, 9, "123456789"}},
                                          {{1, 3, "abd"}, {4, 9, "123456789"}}};

static void sample_NUMBER(uint32_t *fact, int which)
{
    *fact = 7 + (uint32_t)which;
}

static void sample_EXTENT(ompjit__extent *fact, int which)
{
    *fact = ompjit__extent_of((uint32_t[]){8, which ? 2 : 1, 0});
}

static void sample_POINTERS(uint64_t *fact, int which)
{
    *fact = UINT64_C(5) << (60 + which);
}

static void sample_SCALAR_VALUES(ompjit__param_values *fact, int which)
{
    fact->mask = UINT64_C(1) << 63 | 4;
    fact->values = numbers[which];
}
#define sample_POINTER_VALUES sample_SCALAR_VALUES

static void sample_CONTENTS(ompjit__contents_list *fact, int which)
{
    fact->n = 2;
    fact->list = contents[which];
}

static const struct row {
    const char *name, *kind;
    unsigned fold;
} rows[] = {
#define FACT(name, kind, fold, word, said) {#name, #kind, OMPJIT_FOLD_##fold},
#include "core/facts.def"
};
enum { ROWS = OMPJIT__COUNT(rows) };

static ompjit__facts only(int wanted, int which)
{
    ompjit__facts f = {0};
    int row = 0;
#define FACT(name, kind, fold, word, said) \
    if (row++ == wanted)                   \
        sample_##kind(&f.name, which);
#include "core/facts.def"
    return f;
}

static char *text_of(const ompjit__facts *f)
{
    ompjit__buf text = {0};
    ompjit__buf_printf(&text, ".");
    ompjit__facts_text(f, &text);
    return text.data;
}

static void apart(void)
{
    static const ompjit__facts none;
    ok(!ompjit__facts_any(&none), "nothing is folded");
    for (int i = 0; i < 2 * ROWS; i++) {
        ompjit__facts f = only(i / 2, i % 2);
        char *text = text_of(&f);
        bool differs = ompjit__facts_any(&f) && !ompjit__facts_same(&f, &none);
        for (int j = 0; j < 2 * ROWS; j++) {
            ompjit__facts g = only(j / 2, j % 2);
            char *other = text_of(&g);
            bool same = ompjit__facts_same(&f, &g) &&
                        !strcmp(text, other) &&
                        ompjit__facts_hash(&f, 1) == ompjit__facts_hash(&g, 1);
            differs &= same == (i == j);
            free(other);
        }
        ok(differs, "%s: no other facts are the same", rows[i / 2].name);
        free(text);
    }
}

static ompjit__facts all_of(int which)
{
    ompjit__facts f = {0};
#define FACT(name, kind, fold, word, said) sample_##kind(&f.name, which);
#include "core/facts.def"
    return f;
}

static void copies(void)
{
    ompjit__facts f = all_of(0), copy, borrowed = all_of(1);
    ok(ompjit__facts_copy(&copy, &f) && ompjit__facts_same(&copy, &f) &&
           ompjit__facts_hash(&copy, 9) == ompjit__facts_hash(&f, 9),
       "a copy is the same");
    numbers[0][63]++;
    ok(!ompjit__facts_same(&copy, &f), "and has arrays of its own");
    numbers[0][63]--;
    ompjit__facts_borrow(&borrowed, &copy);
    ok(borrowed.literals.values == copy.literals.values &&
           borrowed.contents.list == copy.contents.list &&
           borrowed.aligned != copy.aligned,
       "arrays alone can be borrowed");
    ompjit__facts_free(&copy);
    ok(!copy.literals.values && !copy.contents.list, "and are freed");
}

static void packs(void)
{
    ompjit__facts f = all_of(0), back;
    ompjit__buf bytes = {0};
    ompjit__facts_pack(&f, &bytes);
    ompjit__reader r = {bytes.data, bytes.size, false};
    ompjit__facts_unpack(&r, &back);
    ok(!r.bad && !r.left && ompjit__facts_same(&f, &back),
       "packed and unpacked they are the same");
    ompjit__facts_free(&back);
    unsigned refused = 0;
    for (size_t n = 0; n < bytes.size; n++) {
        r = (ompjit__reader){bytes.data, n, false};
        ompjit__facts_unpack(&r, &back);
        refused += r.bad;
        ompjit__facts_free(&back);
    }
    ok(refused == bytes.size, "bytes that end too early are bad: %u of %zu",
       refused, bytes.size);
    ompjit__buf_free(&bytes);
}

static void restricts(void)
{
    for (int i = 0; i < ROWS; i++) {
        ompjit__facts f = only(i, 0), g = f;
        ompjit__facts_restrict(&f, rows[i].fold, UINT64_MAX);
        ok(ompjit__facts_same(&f, &g), "%s is kept where it is asked for",
           rows[i].name);
        ompjit__facts_restrict(&f, OMPJIT_FOLD_ALL & ~rows[i].fold, UINT64_MAX);
        ok(!ompjit__facts_any(&f), "and nowhere else");
        ompjit__facts_restrict(&g, OMPJIT_FOLD_ALL, 0);
        bool of_pointers = !strncmp(rows[i].kind, "POINTER", 7);
        ok(ompjit__facts_any(&g) == !of_pointers, "it is %sof pointers",
           of_pointers ? "" : "not ");
    }
}

static void extents(void)
{
    static const struct {
        uint32_t asked[3], all, numbers[3];
    } cases[] = {{{0, 0, 0}, 0, {0, 0, 0}},   {{5, 0, 0}, 5, {5, 1, 1}},
                 {{5, 1, 1}, 5, {5, 1, 1}},   {{5, 2, 0}, 10, {5, 2, 1}},
                 {{5, 1, 3}, 15, {5, 1, 3}},  {{4, 2, 3}, 24, {4, 2, 3}},
                 {{65537, 65537, 1}, 0, {0, 0, 0}},
                 {{65536, 256, 257}, 0, {0, 0, 0}}};
    for (size_t i = 0; i < OMPJIT__COUNT(cases); i++) {
        uint32_t n[3];
        ompjit__extent e = ompjit__extent_of(cases[i].asked);
        ompjit__extent_numbers(&e, n);
        ok(e.all == cases[i].all && !memcmp(n, cases[i].numbers, sizeof n),
           "%u x %u x %u", n[0], n[1], n[2]);
    }
}

int main(void)
{
    for (int i = 0; i < 64; i++) {
        numbers[0][i] = UINT64_MAX - (uint64_t)i;
        numbers[1][i] = (uint64_t)i;
    }
    apart();
    copies();
    packs();
    restricts();
    extents();
    return done_testing();
}
