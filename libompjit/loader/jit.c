/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Host objects become code of this process, each image for itself, so that
 * images see neither each other's symbols nor each other's errors, and freeing
 * one gives its memory back. A single plain object is linked by elf.c. Any
 * other goes to LLVM's ORC behind the door, which also words the error where
 * something is missing; it is made when it is needed.
 *
 * A single object goes one of two ways, decided in the first lookup
 * (link_pending): `plain` is set, or ORC takes the object and `plain` stays
 * NULL. Before that it waits in `pending`. An object that is added after that
 * lookup goes to ORC, which finds the symbols of `plain` by find_outside.
 */
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fork.h"
#include "door/door.h"
#include "loader/elf.h"
#include "loader/jit.h"
#include "loader/publish.h"

/* `pending`, `plain`, `orc`, `untold` and `published` change in lookups, under
 * `lock`; the rest is set before the first one. */
struct ompjit__jit {
    char *name;
    const char *advice;
    ompjit__buf pending;    /* the only object, until the first lookup   */
    ompjit__elf *plain;     /* and then, where elf.c could link it       */
    ompjit__absolute *defs; /* names are copies                          */
    size_t ndefs;
    const ompjit__absolute *shared; /* more, of a table that stays       */
    size_t nshared;
    const ompjit__door *door; /* of orc */
    ompjit__orc *orc;       /* NULL until needed                         */
    ompjit__jit_find *find;
    void *find_data;
    bool debug;             /* debuggers are told                        */
    ompjit__buf untold;     /* ORC's object, until tools know of it      */
    ompjit__published *published;

    pthread_mutex_t lock; /* one lookup at a time */
    ompjit__fork_lock at_fork;
    ompjit__jit *next;    /* of all; under all_lock */
};

/* Every jit of the process, for ompjit__jit_name alone. */
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
OMPJIT__FORK_TAKES(all_lock)
static ompjit__jit *all;

/* --------------------------------------------------------------- symbols */

/* Copied definitions come before the shared table, which is the host device's
 * engine. */
static void *find_definition(const ompjit__jit *jit, const char *name)
{
    for (size_t i = 0; i < jit->ndefs; i++)
        if (!strcmp(jit->defs[i].name, name))
            return jit->defs[i].address;
    for (size_t i = 0; i < jit->nshared; i++)
        if (!strcmp(jit->shared[i].name, name))
            return jit->shared[i].address;
    return NULL;
}

/* The name is not among the definitions. An object of this jit comes before the
 * process: its own functions may have a name that the process has, too. */
static void *find_outside(ompjit__jit *jit, const char *name)
{
    void *address = ompjit__elf_symbol(jit->plain, name);
    if (!address && jit->find)
        address = jit->find(jit->find_data, name);
    return address ? address : dlsym(RTLD_DEFAULT, name);
}

/* ompjit__elf_find for the plain linker, which knows no definitions. ORC has
 * been given them and gets find_for_orc. Under the lock. */
static void *find_any(void *data, const char *name)
{
    void *address = find_definition(data, name);
    return address ? address : find_outside(data, name);
}

/* Until ORC is needed the definitions wait here, for both linkers. A name that
 * cannot be copied leaves those before it defined. */
ompjit_status ompjit__jit_define(ompjit__jit *jit, const ompjit__absolute *defs,
                                 size_t n, ompjit_error *err)
{
    if (jit->orc)
        return jit->door->orc_define(jit->orc, defs, n, err);
    ompjit__absolute *more =
        realloc(jit->defs, (jit->ndefs + n + 1) * sizeof *more);
    if (!more)
        return ompjit__no_memory(err, OMPJIT_STAGE_LINK);
    jit->defs = more;
    for (size_t i = 0; i < n; i++) {
        char *name = ompjit__strdup(defs[i].name);
        if (!name)
            return ompjit__no_memory(err, OMPJIT_STAGE_LINK);
        more[jit->ndefs++] = (ompjit__absolute){name, defs[i].address};
    }
    return OMPJIT_OK;
}

void ompjit__jit_share(ompjit__jit *jit, const ompjit__absolute *defs, size_t n)
{
    jit->shared = defs;
    jit->nshared = n;
}

void ompjit__jit_search(ompjit__jit *jit, ompjit__jit_find *find, void *data)
{
    jit->find = find;
    jit->find_data = data;
}

void ompjit__jit_advise(ompjit__jit *jit, const char *advice)
{
    jit->advice = advice;
}

/* ----------------------------------------------------------- create, free */

static void *find_for_orc(void *jit, const char *name)
{
    return find_outside(jit, name);
}

/* Loads the compiler wing where it is not there yet, with LLVM. NULL in
 * jit->orc after a failure: an ORC that lacks definitions is not used. */
static ompjit_status need_orc(ompjit__jit *jit, ompjit_error *err)
{
    if (jit->orc)
        return OMPJIT_OK;
    ompjit_status status = ompjit__door_open(&jit->door, err);
    if (!status)
        status = jit->door->orc_new(jit->name, jit->advice, find_for_orc, jit,
                                    &jit->orc, err);
    if (!status)
        status = jit->door->orc_define(jit->orc, jit->shared, jit->nshared,
                                       err);
    if (!status)
        status = jit->door->orc_define(jit->orc, jit->defs, jit->ndefs, err);
    if (status && jit->orc) {
        jit->door->orc_free(jit->orc);
        jit->orc = NULL;
    }
    return status;
}

static void lock_all(void)
{
    pthread_mutex_lock(&all_lock);
}

static void unlock_all(void)
{
    pthread_mutex_unlock(&all_lock);
}

/* ompjit__jit_name takes each jit's lock within all_lock, by trylock alone: it
 * waits for no jit that is being linked. Nothing else takes both. */
static void join_all(ompjit__jit *jit)
{
    lock_all();
    jit->next = all;
    all = jit;
    unlock_all();
}

static void leave_all(const ompjit__jit *jit)
{
    lock_all();
    ompjit__jit **at = &all;
    while (*at != jit)
        at = &(*at)->next;
    *at = jit->next;
    unlock_all();
}

/* In the list from the first moment, since ompjit__jit_free takes it out. */
ompjit_status ompjit__jit_new(const char *name, ompjit__jit **out,
                              ompjit_error *err)
{
    ompjit__jit *jit = calloc(1, sizeof *jit);
    if (!jit)
        return ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    ompjit__fork_lock_init(&jit->at_fork, &jit->lock);
    join_all(jit);
    jit->name = ompjit__strdup(name);
    if (!jit->name) {
        ompjit__jit_free(jit);
        return ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    }
    *out = jit;
    return OMPJIT_OK;
}

/* It leaves the list first, so that no thread asks for names in it any more.
 * Tools are told before the code is unmapped. */
void ompjit__jit_free(ompjit__jit *jit)
{
    if (!jit)
        return;
    leave_all(jit);
    ompjit__unpublish(jit->published);
    if (jit->orc)
        jit->door->orc_free(jit->orc);
    ompjit__buf_free(&jit->untold);
    ompjit__elf_free(jit->plain);
    ompjit__buf_free(&jit->pending);
    for (size_t i = 0; i < jit->ndefs; i++)
        free((char *)jit->defs[i].name);
    free(jit->defs);
    ompjit__fork_lock_end(&jit->at_fork);
    free(jit->name);
    free(jit);
}

/* ------------------------------------------------------------------ tools */

void ompjit__jit_debug(ompjit__jit *jit)
{
    jit->debug = true;
}

/* Does anybody want to be told? Else no copy of the object is kept. */
static bool has_audience(const ompjit__jit *jit)
{
    return jit->debug || ompjit__publish_wanted();
}

/* For objects that were linked: their headers are sound. */
static const Elf64_Shdr *sections_of(const ompjit__buf *object, unsigned *n)
{
    const Elf64_Ehdr *head = (const void *)object->data;
    *n = head->e_shnum;
    return (const void *)(object->data + head->e_shoff);
}

/* ORC tells where symbols lie, and with them their sections. 0: ORC does not
 * have it, because it is local or was dropped. */
static uint64_t address_in_orc(ompjit__jit *jit, const char *name)
{
    void *found;
    return jit->door->orc_lookup(jit->orc, name, &found, NULL)
               ? 0
               : (uintptr_t)found;
}

/* Any global symbol of a section gives the section's address: where it lies
 * less its offset. A section without one stays 0, as one that is not loaded.
 * Lookups in ORC are repeated only until a section is known. */
static void find_in_orc(ompjit__jit *jit, const ompjit__buf *object,
                        uint64_t *addresses)
{
    unsigned n;
    const Elf64_Shdr *s = sections_of(object, &n);
    for (unsigned i = 0; i < n; i++) {
        if (s[i].sh_type != SHT_SYMTAB || s[i].sh_link >= n)
            continue;
        const Elf64_Sym *symbol = (const void *)(object->data + s[i].sh_offset);
        const char *names = object->data + s[s[i].sh_link].sh_offset;
        for (size_t k = s[i].sh_size / sizeof *symbol; k; k--, symbol++) {
            unsigned at = symbol->st_shndx;
            if (ELF64_ST_BIND(symbol->st_info) == STB_LOCAL || !at || at >= n ||
                addresses[at])
                continue;
            uint64_t p = address_in_orc(jit, names + symbol->st_name);
            addresses[at] = p ? p - symbol->st_value : 0;
        }
    }
}

/* The object was linked: as jit->plain, or by ORC. So it is sound, and its
 * headers are read as they are. Without memory nobody is told. */
static void publish(ompjit__jit *jit, const ompjit__buf *object)
{
    unsigned n;
    sections_of(object, &n);
    uint64_t *addresses = calloc(n + 1, sizeof *addresses);
    if (!addresses)
        return;
    for (unsigned i = 0; jit->plain && i < n; i++)
        addresses[i] = ompjit__elf_section(jit->plain, i);
    if (!jit->plain)
        find_in_orc(jit, object, addresses);
    jit->published = ompjit__publish(object->data, object->size, addresses,
                                     jit->debug);
    free(addresses);
}

/* ORC takes over what waits for it. Under the lock, or before the first lookup.
 * `pending` is freed in any case; where tools are to be told it becomes
 * `untold`, until a lookup has made ORC link it. Only the first object is kept
 * for them. */
static ompjit_status flush(ompjit__jit *jit, ompjit_error *err)
{
    ompjit_status status = need_orc(jit, err);
    if (!status && jit->pending.size)
        status = jit->door->orc_add(jit->orc, jit->pending.data,
                                    jit->pending.size, err);
    if (!status && has_audience(jit) && !jit->untold.size) {
        jit->untold = jit->pending;
        jit->pending = (ompjit__buf){0};
    }
    ompjit__buf_free(&jit->pending);
    return status;
}

/* The first object waits: a single one may be for the plain linker. With a
 * second both go to ORC, which links them with each other. */
ompjit_status ompjit__jit_add_object(ompjit__jit *jit, const void *object,
                                     size_t size, ompjit_error *err)
{
    if (!jit->orc && !jit->plain && !jit->pending.size) {
        ompjit__buf_add(&jit->pending, object, size);
        return jit->pending.failed ? ompjit__no_memory(err, OMPJIT_STAGE_LINK)
                                   : OMPJIT_OK;
    }
    ompjit_status status = flush(jit, err);
    return status ? status
                  : jit->door->orc_add(jit->orc, object, size, err);
}

/* Names that a session's inputs lack are told without ORC, which would stay. */
static ompjit_status tell_undefined(ompjit__jit *jit, ompjit__buf *undefined,
                                    ompjit_error *err)
{
    ompjit_status status =
        ompjit__fail(err, OMPJIT_ERR_LINK, OMPJIT_STAGE_LINK,
                     "%s: undefined symbols: %s\n%s", jit->name,
                     undefined->failed ? "?" : undefined->data, jit->advice);
    ompjit__buf_free(undefined);
    return status;
}

/* Under the lock. A failed try of the plain linker is no error: ORC either
 * links the object or says why it cannot. */
static ompjit_status link_pending(ompjit__jit *jit, ompjit_error *err)
{
    ompjit__buf undefined = {0};
    if (!jit->pending.size)
        return OMPJIT_OK;
    jit->plain = ompjit__elf_link(jit->pending.data, jit->pending.size,
                                  find_any, jit,
                                  jit->advice ? &undefined : NULL);
    if (undefined.size)
        return tell_undefined(jit, &undefined, err);
    if (!jit->plain)
        return flush(jit, err);
    if (has_audience(jit))
        publish(jit, &jit->pending);
    ompjit__buf_free(&jit->pending);
    return OMPJIT_OK;
}

/* dladdr knows the libraries' symbols, and gives the nearest one below: only an
 * exact hit counts. */
char *ompjit__jit_name(const void *address)
{
    Dl_info info;
    char *found = NULL;
    if (dladdr(address, &info) && info.dli_saddr == address)
        return ompjit__strdup(info.dli_sname);
    lock_all();
    for (ompjit__jit *it = all; it && !found; it = it->next) {
        if (pthread_mutex_trylock(&it->lock))
            continue; /* it is being linked */
        const char *name = ompjit__elf_name(it->plain, address);
        found = name ? ompjit__strdup(name) : NULL;
        pthread_mutex_unlock(&it->lock);
    }
    unlock_all();
    return found;
}

/* Without a lock: `plain` does not change after the first lookup. */
bool ompjit__jit_extent(const ompjit__jit *jit, uintptr_t address,
                        uintptr_t *begin, uintptr_t *end)
{
    uintptr_t from, to;
    if (!jit->plain)
        return false;
    ompjit__elf_extent(jit->plain, &from, &to);
    if (address < from || address >= to)
        return false;
    *begin = from;
    *end = to;
    return true;
}

static ompjit_status no_symbol(const ompjit__jit *jit, const char *name,
                               ompjit_error *err)
{
    return ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_LOAD,
                        "%s has no symbol %s", jit->name, name);
}

/* Under the lock. */
static ompjit_status lookup_orc(ompjit__jit *jit, const char *name,
                                void **address, ompjit_error *err)
{
    ompjit_status status = jit->door->orc_lookup(jit->orc, name, address, err);
    if (!status && jit->untold.size) {
        publish(jit, &jit->untold);
        ompjit__buf_free(&jit->untold);
    }
    return status;
}

/* An object's symbol wins over a definition of the same name. `err` is that of
 * linking, even for a name that is a definition and could be found without. */
ompjit_status ompjit__jit_lookup(ompjit__jit *jit, const char *name,
                                 void **address, ompjit_error *err)
{
    pthread_mutex_lock(&jit->lock);
    ompjit_status status = link_pending(jit, err);
    void *found = ompjit__elf_symbol(jit->plain, name);
    if (!found && !jit->orc)
        found = find_definition(jit, name);
    if (found)
        *address = found;
    else if (!status)
        status = jit->orc ? lookup_orc(jit, name, address, err)
                            : no_symbol(jit, name, err);
    pthread_mutex_unlock(&jit->lock);
    return status;
}
