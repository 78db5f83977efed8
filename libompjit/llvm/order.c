/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Used by make: which of LLVM's and clang's functions stand next to each other.
 *
 *   order LIST SCRIPT...  reads the symbols of static libraries, as nm -P prints
 *                         them, and writes a linker script for each list of
 *                         hashes: the functions in it, one behind the other.
 *   order                 reads names of functions, writes such a list.
 *
 * A list holds hashes, since 20,000 mangled names are 2 MB.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* FNV-1a of 32 bits. */
static uint32_t hash(const char *name)
{
    uint32_t h = 2166136261u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h;
}

/* ------------------------------------------------------------------- lists */

/* Sorted, each hash once. The file is open while its script is written. */
typedef struct {
    uint32_t *hashes;
    char *written;
    size_t n;
    FILE *script;
} list;

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void add(list *l, uint32_t h)
{
    if ((l->n & (l->n - 1)) == 0) {
        l->hashes = realloc(l->hashes, (l->n ? 2 * l->n : 1) * sizeof h);
        if (!l->hashes)
            fail("order");
    }
    l->hashes[l->n++] = h;
}

static void sort(list *l)
{
    size_t kept = 0;
    if (l->n)
        qsort(l->hashes, l->n, sizeof *l->hashes, by_value);
    for (size_t i = 0; i < l->n; i++)
        if (!kept || l->hashes[kept - 1] != l->hashes[i])
            l->hashes[kept++] = l->hashes[i];
    l->n = kept;
}

static list open_list(const char *path, const char *script)
{
    list l = {0};
    FILE *in = fopen(path, "r");
    unsigned h;
    if (!in)
        fail(path);
    while (fscanf(in, "%8x", &h) == 1)
        add(&l, h);
    if (!feof(in)) {
        fprintf(stderr, "%s: not a list of hashes\n", path);
        exit(1);
    }
    fclose(in);
    sort(&l);
    l.written = calloc(l.n + 1, 1);
    l.script = fopen(script, "w");
    if (!l.written || !l.script)
        fail(script);
    return l;
}

/* ----------------------------------------------------------------- scripts */

/* A pattern of the linker's cannot have other characters. */
static int is_plain(const char *name)
{
    return !name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "abcdefghijklmnopqrstuvwxyz0123456789_.")];
}

static void write_function(list *l, const char *name, uint32_t h)
{
    uint32_t *found = l->n ? bsearch(&h, l->hashes, l->n, sizeof h, by_value)
                           : NULL;
    if (!found || l->written[found - l->hashes])
        return;
    l->written[found - l->hashes] = 1;
    fprintf(l->script, "        *(.text.%s)\n", name);
}

static void write_scripts(list *lists, int n)
{
    char *line = NULL, name[4096], type;
    size_t size = 0;
    for (int i = 0; i < n; i++)
        fputs("SECTIONS\n{\n    .text.order :\n    {\n", lists[i].script);
    while (getline(&line, &size, stdin) > 0)
        if (sscanf(line, "%4095s %c", name, &type) == 2 &&
            strchr("tTwW", type) && is_plain(name))
            for (int i = 0; i < n; i++)
                write_function(&lists[i], name, hash(name));
    free(line);
    for (int i = 0; i < n; i++) {
        fputs("    }\n}\nINSERT BEFORE .text;\n", lists[i].script);
        if (fclose(lists[i].script))
            fail("order");
    }
}

static void write_list(void)
{
    list l = {0};
    char name[4096];
    while (scanf("%4095s", name) == 1)
        add(&l, hash(name));
    sort(&l);
    for (size_t i = 0; i < l.n; i++)
        printf("%08x\n", (unsigned)l.hashes[i]);
    free(l.hashes);
}

int main(int argc, char **argv)
{
    enum { MOST = 4 };
    list lists[MOST];
    int n = argc / 2;
    if (argc % 2 == 0 || n > MOST) {
        fprintf(stderr, "usage: order [LIST SCRIPT]...\n");
        return 2;
    }
    for (int i = 0; i < n; i++)
        lists[i] = open_list(argv[1 + 2 * i], argv[2 + 2 * i]);
    if (n)
        write_scripts(lists, n);
    else
        write_list();
    for (int i = 0; i < n; i++) {
        free(lists[i].hashes);
        free(lists[i].written);
    }
    return fflush(stdout) ? 1 : 0;
}
