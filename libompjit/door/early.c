/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A host half that a compiler reads while the front end is still at the device
 * half: the compiler is kept, and the requests about this half go to it alone.
 * If it is lost, reading the unit goes on without it.
 */
#include <stdlib.h>

#include "door/worker.h"

/* A host half that a compiler has read. `host` and `name` are the caller's. */
struct ompjit__door_early {
    ompjit__compiler *compiler;
    const ompjit__buf *host;
    const char *name;
    unsigned how; /* enum ompjit__half_flag */
    ompjit__worker *worker; /* NULL: it is lost, or was refused */
    bool has_lambdas;
    bool ended;             /* the compiler has no half of it any more */
};

/* Packs the arguments of OP_EARLY_READ. */
static void pack_early(const ompjit__door_early *early, ompjit__buf *out)
{
    ompjit__pack_bytes(out, early->host->data, early->host->size);
    ompjit__pack_string(out, early->name);
    ompjit__pack_number(out, early->how);
}

/* Asks the compiler that has the half. True: it succeeded. */
static bool ask_holder(ompjit__door_early *early, ompjit__ask *ask)
{
    bool again;
    return early->worker &&
           !ompjit__ask_holder(&early->worker, ask, &again, NULL);
}

/* Takes the results of OP_EARLY_READ. */
static bool take_info(ompjit__door_early *early, ompjit__ask *ask,
                      ompjit__buf *info)
{
    early->has_lambdas = ompjit__read_number(&ask->results);
    ompjit__read_buf(&ask->results, info);
    return !ask->results.bad;
}

/* The compiler belongs to this half, and counts as busy, until early_free. */
ompjit__door_early *ompjit__door_early_read(ompjit__compiler *compiler,
                                            const ompjit__buf *host,
                                            const char *name, unsigned how,
                                            ompjit__buf *info)
{
    ompjit__door_early *early = calloc(1, sizeof *early);
    if (!early)
        return NULL;
    *early = (ompjit__door_early){.compiler = compiler,
                                  .host = host,
                                  .name = name,
                                  .how = how};
    ompjit__ask ask;
    ompjit__ask_begin(&ask, compiler, OMPJIT__OP_EARLY_READ);
    if (ompjit__worker_take(&ask, NULL, &early->worker, NULL))
        early->worker = NULL;
    pack_early(early, &ask.request);
    bool done = ask_holder(early, &ask) && take_info(early, &ask, info);
    ompjit__ask_end(&ask);
    if (done)
        return early;
    ompjit__door_early_free(early);
    return NULL;
}

/* Also true if the compiler is lost: reading the unit will decide then. */
bool ompjit__door_early_agrees(ompjit__door_early *early,
                               const ompjit__buf *device)
{
    ompjit__ask ask;
    if (!early->has_lambdas)
        return true;
    ompjit__ask_begin(&ask, early->compiler, OMPJIT__OP_EARLY_AGREES);
    ompjit__pack_bytes(&ask.request, device->data, device->size);
    bool agrees =
        !ask_holder(early, &ask) || ompjit__read_number(&ask.results);
    ompjit__ask_end(&ask);
    return agrees;
}

bool ompjit__door_early_numbers(ompjit__door_early *early, ompjit__buf *info)
{
    ompjit__ask ask;
    ompjit__ask_begin(&ask, early->compiler, OMPJIT__OP_EARLY_NUMBERS);
    bool few = ask_holder(early, &ask) && ompjit__read_number(&ask.results);
    if (few)
        ompjit__read_buf(&ask.results, info);
    ompjit__ask_end(&ask);
    return few;
}

/* Tells the compiler to forget the half, unless its unit was read. */
static void forget(ompjit__door_early *early)
{
    ompjit__ask ask;
    ompjit__ask_begin(&ask, early->compiler, OMPJIT__OP_EARLY_FREE);
    ask_holder(early, &ask);
    ompjit__ask_end(&ask);
}

/* Gives the compiler back. */
void ompjit__door_early_free(ompjit__door_early *early)
{
    if (!early)
        return;
    if (!early->ended)
        forget(early);
    if (early->worker)
        ompjit__worker_give(early->worker);
    free(early);
}

ompjit_status ompjit__door_early_ask(ompjit__door_early *early,
                                     ompjit__ask *ask, ompjit_error *err)
{
    bool again = true;
    ompjit_status status = OMPJIT_OK;
    if (early && early->worker)
        status = ompjit__ask_holder(&early->worker, ask, &again, err);
    if (early)
        early->ended = true;
    return again ? ompjit__ask_any(ask, err) : status;
}

unsigned ompjit__door_early_how(const ompjit__door_early *early)
{
    return early->how;
}
