/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Units that a session keeps: requests name them by their identity.
 */
#include <stdlib.h>
#include <string.h>

#include "core/template.h"
#include "serve/serve.h"

/* Accepts NULL, as the list's unused places are. */
static void release(ompjit__kept *k)
{
    if (k)
        ompjit__unit_free(&k->unit);
    free(k);
}

/* The one at `place` becomes the first. */
static void put_first(ompjit__kept_units *kept, size_t place, ompjit__kept *k)
{
    memmove(&kept->units[1], &kept->units[0], place * sizeof kept->units[0]);
    kept->units[0] = k;
}

/* The others keep only the code that was built, not their modules. The identity
 * is taken here, of the bytes that were sent: the unit that a request names
 * cannot be another, whoever sent it. */
bool ompjit__keep(ompjit__kept_units *kept, ompjit__unit *unit)
{
    enum { LAST = OMPJIT__KEPT_UNITS - 1 };
    ompjit__kept *k = calloc(1, sizeof *k);
    if (!unit->templates)
        unit->templates = ompjit__templates_new();
    if (!k || !unit->templates) {
        ompjit__unit_free(unit);
        free(k);
        return false;
    }
    k->unit = *unit;
    *unit = (ompjit__unit){0};
    ompjit__unit_identity(&k->unit, k->identity);
    if (ompjit__kept_find(kept, k->identity)) {
        release(k); /* the older one has templates */
        return true;
    }
    release(kept->units[LAST]);
    put_first(kept, LAST, k);
    for (size_t i = 1; i < OMPJIT__KEPT_UNITS && kept->units[i]; i++)
        ompjit__templates_drop_source(kept->units[i]->unit.templates);
    return true;
}

ompjit__unit *ompjit__kept_find(ompjit__kept_units *kept,
                                const uint8_t *identity)
{
    for (size_t i = 0; i < OMPJIT__KEPT_UNITS && kept->units[i]; i++) {
        ompjit__kept *k = kept->units[i];
        if (memcmp(k->identity, identity, sizeof k->identity))
            continue;
        put_first(kept, i, k);
        return &k->unit;
    }
    return NULL;
}

void ompjit__kept_free(ompjit__kept_units *kept)
{
    for (size_t i = 0; i < OMPJIT__KEPT_UNITS; i++)
        release(kept->units[i]);
    *kept = (ompjit__kept_units){0};
}
