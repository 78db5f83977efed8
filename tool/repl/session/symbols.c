/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A hash table of names. A function that is declared before it is defined has a
 * stub (loader/stubs.h), which looks its name up when it is called. So has one
 * whose module is being linked while another asks for it. Stubs are made in
 * blocks, since each block takes two pages.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "loader/stubs.h"
#include "tool/repl/session/symbols.h"

struct symbol {
    struct symbol *next;
    void *address;       /* NULL: declared only, or not made yet */
    symbols_late *late;  /* NULL: nobody can make it             */
    void *owner;
    bool function;
    struct block *block; /* of the stub of one that was asked for meanwhile; */
    unsigned stub;       /* NULL: it has none                                */
    unsigned input;
    char name[];
};

enum { BUCKETS = 4096, STUBS = 128 };

struct block {
    struct block *next;
    ompjit__stubs *stubs;
    struct symbols *all;
    unsigned n;                   /* that are in use */
    struct symbol *of[STUBS];
};

struct symbols {
    struct symbol *buckets[BUCKETS];
    struct block *blocks; /* the first one has room, or there is none */
    void (*missing)(const char *name);
};

static size_t bucket_of(const char *name)
{
    uint32_t hash = 2166136261u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash % BUCKETS;
}

symbols *symbols_new(void (*missing)(const char *name))
{
    symbols *s = calloc(1, sizeof *s);
    if (s)
        s->missing = missing;
    return s;
}

/* Stubs stay: code that has their addresses may still be called. */
void symbols_drop(symbols *s, unsigned input)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct symbol **at = &s->buckets[i]; *at;) {
            struct symbol *each = *at;
            if (each->input < input) {
                at = &each->next;
                continue;
            }
            *at = each->next;
            if (!each->block)
                free(each);
        }
}

/* No code of the session's is left. */
void symbols_free(symbols *s)
{
    if (!s)
        return;
    symbols_drop(s, 0);
    while (s->blocks) {
        struct block *block = s->blocks;
        s->blocks = block->next;
        ompjit__stubs_free(block->stubs);
        while (block->n)
            free(block->of[--block->n]);
        free(block);
    }
    free(s);
}

static struct symbol *find(const symbols *s, const char *name)
{
    struct symbol *each = s->buckets[bucket_of(name)];
    while (each && strcmp(each->name, name))
        each = each->next;
    return each;
}

static struct symbol *add(symbols *s, const char *name, unsigned input)
{
    size_t n = strlen(name) + 1;
    struct symbol *new = calloc(1, sizeof *new + n);
    if (!new)
        return NULL;
    memcpy(new->name, name, n);
    new->input = input;
    new->next = s->buckets[bucket_of(name)];
    s->buckets[bucket_of(name)] = new;
    return new;
}

/* A declaration before it stays, for when this one is taken back. */
bool symbols_add(symbols *s, const char *name, void *address, unsigned input)
{
    struct symbol *before = find(s, name), *new = add(s, name, input);
    if (!new)
        return false;
    new->address = address;
    if (before && before->block)
        ompjit__stub_set(before->block->stubs, before->stub, address);
    return true;
}

bool symbols_add_late(symbols *s, const char *name, bool function,
                      symbols_late *late, void *owner, unsigned input)
{
    struct symbol *new = add(s, name, input);
    if (!new)
        return false;
    new->late = late;
    new->owner = owner;
    new->function = function;
    return true;
}

bool symbols_declare(symbols *s, const char *name, unsigned input)
{
    struct symbol *new = find(s, name);
    if (!new)
        new = add(s, name, input);
    if (new)
        new->function = true;
    return new != NULL;
}

static void *address_of(struct symbol *symbol)
{
    bool lasts = true;
    if (symbol->address || !symbol->late)
        return symbol->address;
    void *address =
        symbol->late(symbol->owner, symbol->name, symbol->function, &lasts);
    if (lasts)
        symbol->address = address;
    return address;
}

/* ompjit__stubs_find */
static void *find_late(void *data, size_t i)
{
    const struct block *block = data;
    const char *name = block->of[i]->name;
    struct symbol *now = find(block->all, name);
    void *address = now ? address_of(now) : NULL;
    if (address)
        return address;
    block->all->missing(name);
    return ompjit__stub_nothing();
}

static struct block *block_with_room(symbols *s)
{
    struct block *block = s->blocks;
    if (block && block->n < STUBS)
        return block;
    block = calloc(1, sizeof *block);
    if (!block)
        return NULL;
    block->stubs = ompjit__stubs_new(STUBS, find_late, block);
    if (!block->stubs) {
        free(block);
        return NULL;
    }
    block->all = s;
    block->next = s->blocks;
    s->blocks = block;
    return block;
}

/* NULL: there can be none. */
static void *stub_of(symbols *s, struct symbol *symbol)
{
    if (!symbol->block) {
        struct block *block = block_with_room(s);
        if (!block)
            return NULL;
        symbol->block = block;
        symbol->stub = block->n++;
        block->of[symbol->stub] = symbol;
    }
    return ompjit__stub(symbol->block->stubs, symbol->stub);
}

/* Has the process such a function, so that the declaration is of that? */
static bool is_elsewhere(const char *name)
{
    static const char *const libraries[] = {"libm.so.6", "libstdc++.so.6"};
    if (dlsym(RTLD_DEFAULT, name))
        return true;
    for (size_t i = 0; i < OMPJIT__COUNT(libraries); i++) {
        void *handle = dlopen(libraries[i], RTLD_NOW | RTLD_NOLOAD);
        bool found = handle && dlsym(handle, name);
        if (handle)
            dlclose(handle);
        if (found)
            return true;
    }
    return false;
}

void *symbols_find(symbols *s, const char *name)
{
    struct symbol *found = find(s, name);
    void *address = found ? address_of(found) : NULL;
    if (address || !found || !found->function)
        return address;
    return found->block || found->late || !is_elsewhere(name)
               ? stub_of(s, found)
               : NULL;
}

/* Values of inputs (input_N_is) have names of their own, or none. */
static bool is_value(const char *name)
{
    return !strncmp(name, "input_", 6);
}

const char *symbols_name(const symbols *s, const void *address)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (const struct symbol *each = s->buckets[i]; each;
             each = each->next)
            if (each->address == address && !is_value(each->name))
                return each->name;
    return NULL;
}
