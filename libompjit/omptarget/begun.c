/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The data that a function's guarded call has mapped and not unmapped yet, by
 * data regions and `enter data`. A call that is left in its middle never comes to
 * the ends of its regions; what they have mapped is unmapped then, without
 * copies. Nothing is listed outside of guarded calls.
 */
#include <stdlib.h>
#include <string.h>

#include "device/engine/guard.h"
#include "omptarget/offload.h"
#include "omptarget/program.h"

/* One begin. The arrays are copies: the program's lie in frames that are
 * abandoned. */
struct ompjit__begun {
    struct ompjit__begun *next; /* the one before */
    ompjit_device *dev;
    int32_t n;
    int64_t *sizes, *types;
    void *bases[]; /* n of them, then n begins, sizes and types */
};

/* Those with mappers are not listed: a mapper is the program's own code. */
static bool has_mappers(const ompjit__maps *maps)
{
    for (int32_t i = 0; maps->mappers && i < maps->n; i++)
        if (maps->mappers[i])
            return true;
    return false;
}

/* Types that say neither which way to copy nor that the mapping ends whatever its
 * count. */
static int64_t without_copies(int64_t type)
{
    return type & ~(int64_t)(OMPJIT__MAP_TO | OMPJIT__MAP_FROM |
                             OMPJIT__MAP_ALWAYS | OMPJIT__MAP_DELETE |
                             OMPJIT__MAP_PRESENT);
}

/* `call` is the calling thread's, so there is no lock. Where memory runs out
 * the construct is not listed: its data stays mapped if the call is left. */
void ompjit__begun_add(ompjit__call_guard *call, ompjit_device *dev,
                       const ompjit__maps *maps)
{
    size_t n = maps->n > 0 ? (size_t)maps->n : 0, bytes = n * sizeof(void *);
    if (!n || has_mappers(maps))
        return;
    struct ompjit__begun *b = malloc(sizeof *b + 4 * bytes);
    if (!b)
        return;
    *b = (struct ompjit__begun){.next = call->begun, .dev = dev, .n = maps->n};
    memcpy(b->bases, maps->bases, bytes);
    memcpy(b->bases + n, maps->begins, bytes);
    b->sizes = (int64_t *)(b->bases + 2 * n);
    b->types = b->sizes + n;
    memcpy(b->sizes, maps->sizes, bytes);
    for (size_t i = 0; i < n; i++)
        b->types[i] = without_copies(maps->types[i]);
    call->begun = b;
}

/* Takes off the list the last begin with the same sections. An end that finds
 * none ends what was mapped before the call, or a construct with mappers. */
void ompjit__begun_remove(ompjit__call_guard *call, const ompjit__maps *maps)
{
    struct ompjit__begun **at = &call->begun;
    for (; *at; at = &(*at)->next) {
        struct ompjit__begun *b = *at;
        if (b->n != maps->n || memcmp(b->bases + b->n, maps->begins,
                                      (size_t)b->n * sizeof(void *)))
            continue;
        *at = b->next;
        free(b);
        return;
    }
}

/* Undoes the last begin first. A failure is logged only: the call has its error
 * already, or none to report this by. */
void ompjit__begun_end(ompjit__call_guard *call, bool undo)
{
    while (call->begun) {
        struct ompjit__begun *b = call->begun;
        const ompjit__maps maps = {.n = b->n,
                                   .bases = b->bases,
                                   .begins = b->bases + b->n,
                                   .sizes = b->sizes,
                                   .types = b->types};
        ompjit_error err;
        call->begun = b->next;
        if (undo && ompjit__map_end(b->dev, &maps, &err))
            ompjit__log(call->ctx, "%s: %s", call->name, err.text);
        free(b);
    }
}
