/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A kernel in an image of the host device: its entry, its code, and what the
 * passes have said of its threads by names in the object.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/host_layout.h"
#include "device/host/host.h"
#include "loader/elf.h"
#include "loader/jit.h"

/* Under dev->lock: the image's code in whole pages, where that is all that they
 * have of what can be executed. */
static void find_code(ompjit__loaded *loaded, const ompjit__function *f)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    ompjit__host_code *code = &loaded->code;
    if (code->begin ||
        ompjit__jit_extent(loaded->jit, (uintptr_t)f->entry, &code->begin,
                           &code->end))
        return;
    code->begin = f->code_begin / page * page;
    code->end = (f->code_end + page - 1) / page * page;
}

/* Is a name in the object's table? */
static bool has_name(const ompjit__loaded *loaded, const char *name)
{
    return memmem(loaded->object.data, loaded->object.size, name,
                  strlen(name) + 1);
}

/* passes/host/team/independent.cc has left a name. */
static bool is_independent(const ompjit_device *dev,
                           const ompjit__loaded *loaded, const char *symbol)
{
    char *name = ompjit__format("%s.independent", symbol);
    bool found = name && !dev->ctx->check && has_name(loaded, name);
    free(name);
    return found;
}

/* passes/host/flat_loops.cc has left a number in a name. */
static uint32_t instructions_of(const ompjit__loaded *loaded,
                                const char *symbol)
{
    const ompjit__buf *object = &loaded->object;
    char *name = ompjit__format("%s.instructions.", symbol);
    const char *at = name ? memmem(object->data, object->size, name,
                                   strlen(name))
                          : NULL;
    uint32_t n = 0;
    if (at) /* a table of names ends with a zero */
        n = (uint32_t)strtoul(at + strlen(name), NULL, 10);
    free(name);
    return n;
}

/* passes/host/team/loops.cc may have made loops over its threads. */
static void find_team(const ompjit_device *dev, const ompjit__loaded *loaded,
                      ompjit__function *f)
{
    char *name = ompjit__format("%s" OMPJIT__TEAM_SUFFIX, f->symbol);
    void *address;
    if (name && !dev->ctx->check && has_name(loaded, name) &&
        !ompjit__jit_lookup(loaded->jit, name, &address, NULL))
        f->team = (void (*)(void **))address;
    free(name);
}

ompjit_status ompjit__host_function(ompjit_device *dev, ompjit__loaded *loaded,
                                    const char *symbol, ompjit__function **out,
                                    ompjit_error *err)
{
    if (loaded->library)
        return ompjit__library_function(dev, loaded, symbol, out, err);
    ompjit__function *f = calloc(1, sizeof *f);
    char *entry = ompjit__format("%s" OMPJIT__ENTRY_SUFFIX, symbol);
    void *address;
    ompjit_status status = OMPJIT_OK;
    if (!f || !entry || !(f->symbol = ompjit__strdup(symbol)))
        status = ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    else
        status = ompjit__jit_lookup(loaded->jit, entry, &address, err);
    if (!status)
        ompjit__elf_code(loaded->object.data, loaded->object.size, entry,
                            (uintptr_t)address, &f->code_begin, &f->code_end);
    free(entry);
    if (status) {
        free(f ? f->symbol : NULL);
        free(f);
        return status;
    }
    f->entry = (void (*)(void **))address;
    f->loaded = loaded;
    f->name = symbol;
    f->independent = is_independent(dev, loaded, symbol);
    f->instructions = instructions_of(loaded, symbol);
    find_team(dev, loaded, f);
    pthread_mutex_lock(&dev->lock);
    find_code(loaded, f);
    f->next = loaded->functions;
    loaded->functions = f;
    pthread_mutex_unlock(&dev->lock);
    *out = f;
    return OMPJIT_OK;
}
