/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A hash table of names. A function that is declared before it is defined has a
 * stub (loader/stubs.h), which looks its name up when it is called. So has one
 * whose module is being linked while another asks for it.
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
    ompjit__stubs *stub; /* of one that was asked for meanwhile  */
    struct symbols *all;
    unsigned input;
    char name[];
};

enum { BUCKETS = 4096 };

struct symbols {
    struct symbol *buckets[BUCKETS];
    void (*missing)(void *data, const char *name);
    void *data;
};

static size_t bucket_of(const char *name)
{
    uint32_t hash = 2166136261u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash % BUCKETS;
}

symbols *symbols_new(void (*missing)(void *data, const char *name), void *data)
{
    symbols *s = calloc(1, sizeof *s);
    if (s) {
        s->missing = missing;
        s->data = data;
    }
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
            if (!each->stub)
                free(each);
        }
}

void symbols_free(symbols *s)
{
    if (s)
        symbols_drop(s, 0);
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
    new->all = s;
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
    if (before && before->stub)
        ompjit__stub_set(before->stub, 0, address);
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
    const struct symbol *declared = data;
    struct symbol *now = find(declared->all, declared->name);
    void *address = now ? address_of(now) : NULL;
    if (address)
        return address;
    declared->all->missing(declared->all->data, declared->name);
    return ompjit__stub_nothing();
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
    if (!found->stub && (found->late || !is_elsewhere(name)))
        found->stub = ompjit__stubs_new(1, find_late, found);
    return found->stub ? ompjit__stub(found->stub, 0) : NULL;
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
