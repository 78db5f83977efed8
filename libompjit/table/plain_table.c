/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The runtime table as plain arrays, for ompjit_rtl_table_get: made of rows.c's
 * once, when they are first asked for. An application has an LLVM of its own,
 * of any release, so the library can hand it no LLVM types or attributes. It
 * hands over names, letters and numbers, and the inline functions of
 * include/ompjit_llvm.h make LLVM's objects of them in the application.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "table/rows.h"

/* Room for one declaration's attributes; their texts are all in
 * ompjit_rtl.def, so that no input of a user's can be larger. */
enum { MOST_ATTRIBUTES = 8, MOST_OPERANDS = 8, MOST_NAME = 16 };

/* A declaration's attributes, read from its text in ompjit_rtl.def. `names`
 * holds the strings that `list` points to. */
typedef struct attributes {
    const char *text;
    unsigned n, ncallback;
    bool variadic;
    ompjit_rtl_attribute list[MOST_ATTRIBUTES];
    int32_t callback[MOST_OPERANDS];
    char names[MOST_ATTRIBUTES][MOST_NAME];
} attributes;

/* One for each OMPJIT_RTL_ATTRIBUTES of the table, as many rows share one.
 * Filled once, by `make`. */
static attributes sets[] = {
#define OMPJIT_RTL_ATTRIBUTES(attributes, words) {.text = words},
#include "ompjit_rtl.def"
};

/* Filled once, by `make`; read without a lock from then on. */
static ompjit_rtl_declaration declarations[OMPJIT_RTL_COUNT];

enum {
    OLDS = 0
#define OMPJIT_RTL_OLD(release, type, name) +1
#include "ompjit_rtl.def"
};
static ompjit_rtl_old olds[OLDS];

/* Types as LLVM writes them: the rows', then the olds'. */
static ompjit__rtl_type_text texts[OMPJIT_RTL_COUNT + OLDS];

static const ompjit_rtl_layout layouts[OMPJIT_RTL_STRUCT_COUNT] = {
#define OMPJIT_RTL_STRUCT(id, type, name, c_type) \
    [OMPJIT_RTL_STRUCT_##id] = {name, type, sizeof type - 1, 0},
#include "ompjit_rtl.def"
};

static const ompjit_rtl_table table = {
    .size = sizeof table,
    .declarations = declarations,
    .olds = olds,
    .layouts = layouts,
    .ndeclarations = OMPJIT_RTL_COUNT,
    .nolds = OLDS,
    .nlayouts = OMPJIT_RTL_STRUCT_COUNT,
    .oldest = OMPJIT__OLDEST_CLANG,
    .newest = OMPJIT__NEWEST_CLANG,
};

/* ------------------------------------------------------------ attributes */

/* !callback(2,-1,-1,...): argument 2 is called, with two arguments that are not
 * known, and with the variable ones. */
static void read_callback(attributes *set, const char *p)
{
    for (p = strchr(p, '('); *p != ')' && p[1] != '.';)
        set->callback[set->ncallback++] = (int32_t)strtol(p + 1, (char **)&p,
                                                          10);
    set->variadic = *p != ')';
}

/* The integer of an attribute. captures(none) is 0; allocsize has the index of
 * the size's parameter above, and below that of the count's, here none. */
static uint64_t value_of(const char *name, const char *parenthesis)
{
    if (strcmp(name, "allocsize"))
        return 0;
    return strtoull(parenthesis + 1, NULL, 10) << 32 | UINT32_MAX;
}

/* [N:|result:]name[(value)], such as "0:captures(none)". The index is LLVM's:
 * -1 is the function, 0 its result, and 1 its parameter 0. LLVM to 20 calls
 * captures(none) nocapture. */
static void read_attribute(attributes *set, const char *word, size_t length)
{
    ompjit_rtl_attribute *a = &set->list[set->n];
    char *copy = set->names[set->n++];
    const char *colon = memchr(word, ':', length);
    const char *name = colon ? colon + 1 : word;
    size_t n = strcspn(name, " (");
    memcpy(copy, name, n);
    *a = (ompjit_rtl_attribute){.name = copy, .index = -1};
    if (colon)
        a->index = *word == 'r' ? 0 : *word - '0' + 1;
    if (!strcmp(copy, "captures"))
        a->old_name = "nocapture";
    a->value = value_of(copy, name + n);
}

/* Reads the words of a text, with one space between two. */
static void read_attributes(attributes *set)
{
    size_t length;
    for (const char *p = set->text; *p; p += length + (p[length] == ' ')) {
        length = strcspn(p, " ");
        if (*p == '!')
            read_callback(set, p);
        else
            read_attribute(set, p, length);
    }
}

/* ----------------------------------------------------------- declarations */

ompjit_rtl_signature ompjit__rtl_signature(const char *letters,
                                           const char *text)
{
    const char *params = letters + 2;
    uint32_t n = (uint32_t)strcspn(params, ".");
    return (ompjit_rtl_signature){.text = text, .params = params, .nparams = n,
                                  .result = letters[0],
                                  .variadic = params[n] == '.'};
}

/* With the text number `number`. */
static ompjit_rtl_signature with_text(const char *letters, size_t number)
{
    texts[number] = ompjit__rtl_type(letters);
    return ompjit__rtl_signature(letters, texts[number].text);
}

/* Fills row `index`. previous and next are rows of the same name, whose
 * releases come before and behind its own. */
static void fill(unsigned index)
{
    const ompjit__rtl *row = &ompjit__rtl_rows[index];
    const attributes *set = &sets[row->attributes];
    ompjit_rtl_declaration *d = &declarations[index];
    *d = (ompjit_rtl_declaration){
        .name = row->name,
        .type = with_text(row->type, index),
        .attributes = set->list,
        .nattributes = set->n,
        .callback = set->ncallback ? set->callback : NULL,
        .ncallback = set->ncallback,
        .callback_variadic = set->variadic,
        .since = ompjit__rtl_since(index),
        .until = ompjit__rtl_until(index),
        .successor = ompjit__rtl_successor(index),
        .previous = -1,
        .next = -1,
    };
    for (int i = -1; (i = ompjit__rtl_next(row->name, i)) >= 0;)
        if (ompjit__rtl_until((unsigned)i) < d->since)
            d->previous = i;
        else if (ompjit__rtl_since((unsigned)i) > d->until)
            d->next = i;
}

/* Fills all arrays: attributes first, since declarations refer to them. */
static void make(void)
{
    for (size_t i = 0; i < OMPJIT__COUNT(sets); i++)
        read_attributes(&sets[i]);
    for (unsigned i = 0; i < OMPJIT_RTL_COUNT; i++)
        fill(i);
    for (size_t i = 0; i < OLDS; i++)
        olds[i] = (ompjit_rtl_old){
            .name = ompjit__rtl_olds[i].name,
            .type = with_text(ompjit__rtl_olds[i].type, OMPJIT_RTL_COUNT + i),
            .release = ompjit__rtl_olds[i].release,
        };
}

const ompjit_rtl_table *ompjit_rtl_table_get(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make);
    return &table;
}
