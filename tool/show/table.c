/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit table: lists the runtime functions, or shows one. doc/runtime-table.md
 * is what --markdown prints; t/table_t.c compares the two.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ompjit.h"
#include "ompjit_rtl.h"
#include "tool/show/table.h"

static const char usage[] =
    "usage: ompjit table [INDEX | NAME | --grep TEXT] [--json | --markdown]\n"
    "\n"
    "The functions that clang's OpenMP code calls, with their LLVM types.\n"
    "  INDEX, NAME   all about one row\n"
    "  --grep TEXT   rows with TEXT in name, category or place\n"
    "  --json        as a JSON array of objects\n"
    "  --markdown    as the documentation has it\n";

/* How the rows are written. begin and end may be NULL. */
struct style {
    const char *option;
    void (*begin)(void);
    void (*row)(const ompjit_rtl_row *row, const ompjit_rtl_row *before);
    void (*end)(void);
};

/* ----------------------------------------------------------------- text */

static void list_begin(void)
{
    printf("%5s  %-41s %-21s %s\n", "index", "name", "implemented", "type");
}

static void list_row(const ompjit_rtl_row *row, const ompjit_rtl_row *before)
{
    printf("%5u  %-41s %-21s %s\n", row->index, row->name, row->where,
           row->type);
}

static void detail(const ompjit_rtl_row *row)
{
    printf("index        %u\nname         %s\ntype         %s\n", row->index,
           row->name, row->type);
    printf("attributes   %s\n", *row->attributes ? row->attributes : "none");
    printf("meaning      %s\n", row->meaning);
    printf("category     %s\nimplemented  %s\n", row->category, row->where);
    if (*row->cost)
        printf("cost         %s", row->cost);
    if (row->instructions)
        printf("; up to %u instructions", row->instructions);
    if (*row->cost)
        printf("\n");
    printf("releases     LLVM %u to %u\n", row->since, row->until);
    if (*row->note)
        printf("note         %s\n", row->note);
}

/* ----------------------------------------------------------------- JSON */

static void json_begin(void)
{
    printf("[");
}

/* The table has no character that JSON escapes. */
static void json_row(const ompjit_rtl_row *row, const ompjit_rtl_row *before)
{
    printf("%s\n  {\"index\": %u, \"name\": \"%s\", \"type\": \"%s\",\n"
           "   \"attributes\": \"%s\", \"category\": \"%s\",\n"
           "   \"implemented\": \"%s\", \"since\": %u, \"until\": %u,\n"
           "   \"meaning\": \"%s\",\n"
           "   \"cost\": \"%s\", \"instructions\": %u,\n"
           "   \"successor\": ",
           before ? "," : "", row->index, row->name, row->type,
           row->attributes, row->category, row->where, row->since,
           row->until, row->meaning, row->cost, row->instructions);
    if (row->successor < 0)
        printf("null");
    else
        printf("%d", row->successor);
    printf(", \"note\": \"%s\"}", row->note);
}

static void json_end(void)
{
    printf("\n]\n");
}

/* ------------------------------------------------------------- Markdown */

static void markdown_begin(void)
{
    printf("# The runtime table\n"
           "\n"
           "Every function that clang's OpenMP code calls, by index. Rows 0 "
           "to 193 are those\n"
           "of LLVM 21 in its order. This page is the output of\n"
           "`ompjit table --markdown`.\n"
           "\n"
           "*Implemented* says where a call arrives: in the device runtime "
           "(on a GPU and on\n"
           "the host device alike), in libomp or in libompjit itself (both "
           "for host code).\n"
           "*Cost* is what a call in device code comes to before LLVM "
           "simplifies it further,\n"
           "and how many PTX instructions (-O3, sm_90) the function is at "
           "most when it stands\n"
           "alone; a call of it is usually inlined, with less. "
           "`make update-sizes` measures.\n"
           "\n"
           "*Attributes* are those of a declaration; `result:` and `0:` "
           "stand before what is\n"
           "said of the result and of parameter 0. IR of LLVM 18 to 22 is "
           "accepted, and\n"
           "upgraded to LLVM 22's functions when it is read.\n");
}

static void markdown_row(const ompjit_rtl_row *row,
                         const ompjit_rtl_row *before)
{
    if (!before || strcmp(before->category, row->category))
        printf("\n## %u: %s\n"
               "\n"
               "| index | name | meaning | implemented | cost | type | "
               "attributes | releases |\n"
               "|---|---|---|---|---|---|---|---|\n",
               row->index, row->category);
    printf("| %u | `%s` | %s | %s | %s", row->index, row->name, row->meaning,
           row->where, row->cost);
    if (row->instructions)
        printf("; ≤ %u", row->instructions);
    printf(" | `%s` | %s%s%s | %s |\n", row->type,
           *row->attributes ? "`" : "", row->attributes,
           *row->attributes ? "`" : "", row->note);
}

/* -------------------------------------------------------------- command */

static const struct style styles[] = {
    {NULL, list_begin, list_row, NULL},
    {"--json", json_begin, json_row, json_end},
    {"--markdown", markdown_begin, markdown_row, NULL},
};

/* Prints the rows that have `text`; how many there were. */
static unsigned print_rows(const struct style *style, const char *text)
{
    ompjit_rtl_row row = OMPJIT_RTL_ROW_INIT, before = OMPJIT_RTL_ROW_INIT;
    unsigned n = 0;
    for (unsigned i = 0; i < ompjit_rtl_count(); i++) {
        if (ompjit_rtl_row_at(i, &row, NULL))
            continue;
        if (text && !strstr(row.name, text) && !strstr(row.category, text) &&
            !strstr(row.where, text))
            continue;
        if (!n)
            style->begin();
        style->row(&row, n++ ? &before : NULL);
        before = row;
    }
    if (n && style->end)
        style->end();
    return n;
}

static int print_one(const struct style *style, const char *which)
{
    ompjit_rtl_row row = OMPJIT_RTL_ROW_INIT;
    ompjit_error err;
    ompjit_status status;
    if (*which && strspn(which, "0123456789") == strlen(which)) {
        unsigned long index = strtoul(which, NULL, 10);
        status = ompjit_rtl_row_at(index < UINT_MAX ? (unsigned)index
                                                    : UINT_MAX,
                                   &row, &err);
    } else {
        status = ompjit_rtl_row_named(which, &row, &err);
    }
    if (status) {
        fprintf(stderr, "ompjit: %s\n", err.text);
        return 1;
    }
    if (style == styles) {
        detail(&row);
        return 0;
    }
    style->begin();
    style->row(&row, NULL);
    if (style->end)
        style->end();
    return 0;
}

static const struct style *style_named(const char *option)
{
    for (size_t i = 1; i < sizeof styles / sizeof *styles; i++)
        if (!strcmp(option, styles[i].option))
            return &styles[i];
    return NULL;
}

int tool_table(int argc, char **argv)
{
    const struct style *style = styles;
    const char *which = NULL, *text = NULL;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help")) {
            fputs(usage, stdout);
            return 0;
        }
        if (!strcmp(argv[i], "--grep") && i + 1 < argc)
            text = argv[++i];
        else if (style_named(argv[i]))
            style = style_named(argv[i]);
        else if (*argv[i] != '-' && !which)
            which = argv[i];
        else {
            if (!strcmp(argv[i], "--grep"))
                fputs("ompjit: --grep needs TEXT\n", stderr);
            fputs(usage, stderr);
            return 2;
        }
    }
    if (which && text) {
        fputs(usage, stderr);
        return 2;
    }
    if (which)
        return print_one(style, which);
    if (print_rows(style, text))
        return 0;
    fprintf(stderr, "ompjit: runtime table: no row has '%s'\n", text);
    return 1;
}
