/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Thread-local variables of the process and its libraries, as errno's kind or
 * what std::call_once has in libstdc++, for code that was compiled here. Such
 * code has all thread-local variables by libgcc's emulation
 * (backend/host/options.cc): it asks __emutls_get_address for the variable's
 * control, which is the symbol __emutls_v.NAME. A variable that the dynamic
 * linker has placed has no control, so one is made here, which says where the
 * linker has put it:
 *
 *   libgcc's   size    alignment  what libgcc has put there  first value
 *   made here  module  0          offset                     -
 */
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "hosthalf/thread_local.h"
#include "loader/libraries.h"

extern void *__emutls_get_address(void *control);  /* libgcc          */
extern void *__tls_get_addr(void *place);          /* dynamic linker's */

/* The linker's tls_index. */
struct place {
    unsigned long module, offset;
};

struct control {
    uintptr_t module, alignment, offset;
};

struct ompjit__placed {
    struct ompjit__placed *next;
    struct control control;
};

void *ompjit__thread_local_address(void *control)
{
    const struct control *c = control;
    struct place place = {c->module, c->offset};
    return c->alignment ? __emutls_get_address(control)
                        : __tls_get_addr(&place);
}

struct search {
    const char *address; /* this thread's variable */
    size_t module;       /* 0: not found           */
};

/* dl_iterate_phdr: is it in the library's block of this thread? */
static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *s = arg;
    const char *block = info->dlpi_tls_data;
    for (unsigned i = 0; block && i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS && s->address >= block &&
            s->address < block + info->dlpi_phdr[i].p_memsz)
            s->module = info->dlpi_tls_modid;
    return s->module != 0;
}

/* dlsym gives this thread's variable. */
void *ompjit__thread_local_find(struct ompjit__placed *_Atomic *all,
                                const char *symbol)
{
    static const char prefix[] = OMPJIT__THREAD_LOCAL;
    if (strncmp(symbol, prefix, sizeof prefix - 1))
        return NULL;
    const char *name = symbol + sizeof prefix - 1;
    struct search s = {dlsym(RTLD_DEFAULT, name), 0};
    if (!s.address)
        s.address = ompjit__libraries_find(name);
    if (s.address)
        dl_iterate_phdr(look, &s);
    struct ompjit__placed *new = s.module ? malloc(sizeof *new) : NULL;
    if (!new)
        return NULL;
    struct place begin = {s.module, 0};
    const char *block = __tls_get_addr(&begin);
    new->control = (struct control){s.module, 0, (uintptr_t)(s.address - block)};
    new->next = atomic_load(all);
    while (!atomic_compare_exchange_weak(all, &new->next, new))
        ;
    return &new->control;
}

void ompjit__thread_local_free(struct ompjit__placed *all)
{
    while (all) {
        struct ompjit__placed *next = all->next;
        free(all);
        all = next;
    }
}
