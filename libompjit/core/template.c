/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The list of a unit's templates. backend/template_build.c makes them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/fork.h"
#include "core/template.h"

struct ompjit__templates {
    pthread_mutex_t lock;
    ompjit__fork_lock at_fork;
    ompjit__template *first;
    ompjit__template_source source;
};

ompjit__templates *ompjit__templates_new(void)
{
    ompjit__templates *all = calloc(1, sizeof *all);
    if (all)
        ompjit__fork_lock_init(&all->at_fork, &all->lock);
    return all;
}

static void template_free(ompjit__template *t)
{
    for (unsigned i = 0; i < t->nglobals; i++)
        free(t->globals[i].name);
    free(t->globals);
    free(t->kernel);
    free(t->arch);
    ompjit__buf_free(&t->bc);
    ompjit__buf_free(&t->remarks);
    free(t);
}

void ompjit__templates_drop_source(ompjit__templates *all)
{
    if (all->source.data)
        all->source.free(all->source.data);
    all->source = (ompjit__template_source){0};
}

void ompjit__templates_free(ompjit__templates *all)
{
    if (!all)
        return;
    while (all->first) {
        ompjit__template *t = all->first;
        all->first = t->next;
        template_free(t);
    }
    ompjit__templates_drop_source(all);
    ompjit__fork_lock_end(&all->at_fork);
    free(all);
}

ompjit__template_source *ompjit__templates_source(ompjit__templates *all)
{
    return &all->source;
}

static bool serves(const ompjit__template *t, const ompjit__template *key)
{
    return !strcmp(t->kernel, key->kernel) && t->alone == key->alone &&
           t->import_globals == key->import_globals &&
           ((t->any_gpu && key->ptx) ||
            (!strcmp(t->arch, key->arch) && t->ptx == key->ptx));
}

static ompjit__template *find(ompjit__templates *all,
                              const ompjit__template *key)
{
    ompjit__template *t = all->first;
    while (t && !serves(t, key))
        t = t->next;
    return t;
}

static ompjit_status add(
    ompjit__templates *all, const ompjit__template *key,
    ompjit_status (*make)(void *arg, ompjit__template *t, ompjit_error *err),
    void *arg, ompjit__template **out, ompjit_error *err)
{
    static _Atomic uint64_t numbers;
    ompjit__template *t = calloc(1, sizeof *t);
    if (!t)
        return ompjit__no_memory(err, OMPJIT_STAGE_LINK);
    t->number = ++numbers;
    t->kernel = ompjit__strdup(key->kernel);
    t->arch = ompjit__strdup(key->arch);
    t->ptx = key->ptx;
    t->alone = key->alone;
    t->import_globals = key->import_globals;
    ompjit_status status = t->kernel && t->arch
                               ? make(arg, t, err)
                               : ompjit__no_memory(err, OMPJIT_STAGE_LINK);
    if (status) {
        template_free(t);
        return status;
    }
    t->next = all->first;
    all->first = t;
    *out = t;
    return OMPJIT_OK;
}

ompjit_status ompjit__template_get(
    ompjit__templates *all, const ompjit__template *key,
    ompjit_status (*make)(void *arg, ompjit__template *t, ompjit_error *err),
    void *arg, const ompjit__template **out, ompjit_error *err)
{
    pthread_mutex_lock(&all->lock);
    ompjit__template *t = find(all, key);
    ompjit_status status = t ? OMPJIT_OK : add(all, key, make, arg, &t, err);
    pthread_mutex_unlock(&all->lock);
    if (!status)
        *out = t;
    return status;
}
