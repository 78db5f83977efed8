/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Writes that are lost: to what is mapped only `to`, when the mapping ends and
 * nothing has copied it back meanwhile. The first one is kept with the block,
 * in words of its own, since the image whose it is may be unloaded before.
 */
#include <stdlib.h>

#include "device/check/check.h"

struct ompjit__lost {
    ompjit__touch touch;
    ompjit__site site;
};

void ompjit__lost_free(ompjit__lost *lost)
{
    if (!lost)
        return;
    free((char *)lost->touch.kernel);
    free((char *)lost->site.file);
    free((char *)lost->site.function);
    free((char *)lost->site.variable);
    free(lost);
}

ompjit__lost *ompjit__lost_new(const ompjit__touch *t)
{
    ompjit__lost *lost = calloc(1, sizeof *lost);
    if (!lost)
        return NULL;
    lost->touch = *t;
    lost->site = *t->site;
    lost->touch.site = &lost->site;
    lost->touch.kernel = ompjit__strdup(t->kernel);
    lost->site.file = ompjit__strdup(t->site->file);
    lost->site.function = ompjit__strdup(t->site->function);
    lost->site.variable = ompjit__strdup(t->site->variable);
    if (lost->touch.kernel && lost->site.file && lost->site.function &&
        lost->site.variable)
        return lost;
    ompjit__lost_free(lost);
    return NULL;
}

void ompjit__lost_report(ompjit__check *check, const void *begin)
{
    ompjit__lost *lost = ompjit__memory_take_lost(&check->memory, begin);
    ompjit__range r;
    if (lost && ompjit__memory_find(&check->memory, begin, &r)) {
        ompjit__report_lost(check, &lost->touch, &r);
        free(r.name);
    }
    ompjit__lost_free(lost);
}
