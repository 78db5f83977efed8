/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The templates that were used last lie in the stock as modules; a build works
 * at a copy of one. A stock belongs to one target machine, and a machine to one
 * build at a time: nothing here has a lock.
 */
#include <llvm-c/Core.h>
#include <stdlib.h>
#include <string.h>

#include "backend/build_scratch.h"

enum {
    KEPT = 4,  /* templates: those used last                               */
    BUILDS = 64 /* of a context; what they leave behind is 1 to 5 kB each */
};

/* A template's module. Only copies of it are changed. */
struct kept {
    uint64_t number; /* of the template: no two in a process share one */
    LLVMModuleRef m; /* NULL: none */
};

struct ompjit__stock {
    LLVMContextRef context;
    ompjit__generator *generator;
    unsigned builds;
    struct kept kept[KEPT]; /* the one used last first */
};

ompjit__stock *ompjit__stock_new(LLVMTargetMachineRef tm,
                                 LLVMCodeGenFileType type)
{
    ompjit__stock *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->context = LLVMContextCreate();
    s->generator = ompjit__generator_new(tm, type);
    return s;
}

void ompjit__stock_free(ompjit__stock *s)
{
    if (!s)
        return;
    for (unsigned i = 0; i < KEPT; i++)
        if (s->kept[i].m)
            LLVMDisposeModule(s->kept[i].m);
    ompjit__generator_free(s->generator);
    LLVMContextDispose(s->context);
    free(s);
}

LLVMContextRef ompjit__stock_context(const ompjit__stock *s)
{
    return s->context;
}

ompjit__generator *ompjit__stock_generator(const ompjit__stock *s)
{
    return s->generator;
}

/* The others move one place on. */
static void put_first(ompjit__stock *s, unsigned i)
{
    struct kept first = s->kept[i];
    memmove(s->kept + 1, s->kept, i * sizeof first);
    s->kept[0] = first;
}

LLVMModuleRef ompjit__stock_find(ompjit__stock *s, uint64_t number)
{
    for (unsigned i = 0; i < KEPT && s->kept[i].m; i++)
        if (s->kept[i].number == number) {
            put_first(s, i);
            return s->kept[0].m;
        }
    return NULL;
}

void ompjit__stock_keep(ompjit__stock *s, uint64_t number, LLVMModuleRef m)
{
    struct kept *last = &s->kept[KEPT - 1];
    if (last->m)
        LLVMDisposeModule(last->m);
    *last = (struct kept){number, m};
    put_first(s, KEPT - 1);
}

bool ompjit__stock_is_used_up(ompjit__stock *s)
{
    return ++s->builds >= BUILDS;
}
