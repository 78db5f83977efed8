/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * One request: its head, which all kinds have, and the way to its reply, by a
 * worker or in this process, with a second try where the worker was lost.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/cuda_source.h"
#include "core/report.h"
#include "door/worker.h"

/* -------------------------------------------------------------------- head */

/* Packs the environment variables that the compiler reads: a worker may have
 * been started before they were set. */
static void pack_environment(ompjit__buf *out)
{
    const char *value;
#define VARIABLE(name)                                                         \
    value = getenv(#name);                                                     \
    ompjit__pack_number(out, value != NULL);                                   \
    ompjit__pack_string(out, value ? value : "");
#include "core/environment.def"
}

/* Packs the current folder, to which relative names in options refer
 * (-Iinclude). A worker changes to it. */
static void pack_folder(ompjit__buf *out)
{
    char *folder = getcwd(NULL, 0);
    ompjit__pack_string(out, folder ? folder : "");
    free(folder);
}

/* serve/session.c reads this head in the same order. */
void ompjit__ask_begin(ompjit__ask *ask, ompjit__compiler *compiler,
                       enum ompjit__op op)
{
    *ask = (ompjit__ask){.compiler = compiler,
                         .cancels = atomic_load(&compiler->cancels),
                         .op = op};
    ompjit__buf *out = &ask->request;
    ompjit__pack_number(out, op);
    ompjit__pack_number(out, compiler->assembler);
    ompjit__pack_number(out, compiler->checks);
    ompjit__pack_number(out, compiler->cancellation);
    ompjit__pack_number(out, compiler->explains);
    ompjit__pack_number(out, compiler->log != NULL);
    ompjit__pack_number(out, compiler->llvm_limit_ms);
    ompjit__pack_number(out, compiler->memory_limit);
    pack_environment(out);
    pack_folder(out);
}

void ompjit__ask_end(ompjit__ask *ask)
{
    ompjit__buf_free(&ask->request);
    ompjit__buf_free(&ask->answer);
}

/* --------------------------------------------------------------- carry out */

/* Has the compiler carry one request out, in its process or in this one. LOST
 * in this process: the compiler wing cannot be loaded. */
static ompjit__outcome exchange(ompjit__worker *w, ompjit__ask *ask,
                                const ompjit__buf *request)
{
    const ompjit__door *door;
    if (!w->session)
        return ompjit__worker_exchange(w, ask, request);
    ask->state = OMPJIT__ASK_OPEN;
    if (ompjit__door_open(&door, NULL))
        return OMPJIT__LOST;
    door->serve(w->session, request->data, request->size, ompjit__ask_tell,
                ask);
    return ask->state == OMPJIT__ASK_OPEN ? OMPJIT__LOST : OMPJIT__ASKED;
}

/* Sends the unit that the worker does not know. */
static ompjit__outcome hand_over(ompjit__worker *w, ompjit__ask *ask)
{
    ompjit__ask keep;
    ompjit__ask_begin(&keep, ask->compiler, OMPJIT__OP_UNIT_KEEP);
    ompjit__unit_pack(ask->unit, &keep.request);
    ompjit__pack_number(&keep.request, ask->unit->from_source);
    ompjit__pack_number(&keep.request, ask->unit->cuda != NULL);
    if (ask->unit->cuda)
        ompjit__cuda_pack(ask->unit->cuda, &keep.request);
    ompjit__outcome outcome = keep.request.failed
                                  ? OMPJIT__LOST
                                  : exchange(w, &keep, &keep.request);
    memcpy(ask->cause, keep.cause, sizeof ask->cause);
    ask->request.failed |= keep.request.failed;
    ompjit__ask_end(&keep);
    return outcome;
}

/* Asks; if the worker does not know the unit, sends it and asks once more. */
static ompjit__outcome carry_out(ompjit__worker *w, ompjit__ask *ask)
{
    ompjit__outcome outcome =
        ask->unit && ask->unit->unread ? hand_over(w, ask) : OMPJIT__ASKED;
    if (!outcome)
        outcome = exchange(w, ask, &ask->request);
    if (outcome || ask->state != OMPJIT__ASK_NEEDS_UNIT || !ask->unit)
        return outcome;
    outcome = hand_over(w, ask);
    return outcome ? outcome : exchange(w, ask, &ask->request);
}

/* The stage that an error of the request names. */
static ompjit_stage stage_of(const ompjit__ask *ask)
{
    bool builds = ask->op == OMPJIT__OP_BUILD || ask->op == OMPJIT__OP_HALF;
    return builds ? OMPJIT_STAGE_CODEGEN : OMPJIT_STAGE_READ;
}

/* The error of a request that has no reply. */
static ompjit_status failure(const ompjit__ask *ask, const ompjit__worker *w,
                             ompjit__outcome outcome, ompjit_error *err)
{
    ompjit_stage stage = stage_of(ask);
    ompjit_status status =
        stage == OMPJIT_STAGE_READ ? OMPJIT_ERR_IR : OMPJIT_ERR_COMPILE;
    if (atomic_load(&w->cancelled))
        return ompjit__fail(err, OMPJIT_ERR_ABORTED, stage,
                            "the compile was cancelled");
    if (ask->request.failed)
        return ompjit__no_memory(err, stage);
    if (outcome == OMPJIT__LATE)
        return ompjit__fail(err, OMPJIT_ERR_TIMEOUT, stage,
                            "LLVM did not end within %s",
                            ompjit__limit(ask->compiler->worker_limit_ms).text);
    if (*ask->cause)
        return ompjit__fail(err, status, stage,
                            "LLVM fails with this module: %s", ask->cause);
    return ompjit__fail(err, status, stage,
                        "the compiler's process was killed");
}

/* The status that the compiler replies, with ask->results behind it. */
static ompjit_status take_results(ompjit__ask *ask, ompjit_error *err)
{
    ask->results = (ompjit__reader){ask->answer.data, ask->answer.size, false};
    ompjit_status status = ompjit__read_error(&ask->results, err);
    if (!ask->answer.failed && !ask->results.bad)
        return status;
    return ompjit__fail(err, OMPJIT_ERR_INTERNAL, OMPJIT_STAGE_API,
                        "the compiler's reply ends too early");
}

ompjit_status ompjit__ask_unreadable(ompjit_error *err)
{
    return ompjit__fail(err, OMPJIT_ERR_INTERNAL, OMPJIT_STAGE_API,
                        "the compiler's results do not read");
}

/* True: ask another compiler. If a worker dies without a word, the request need
 * not be at fault: it is asked once more. If one dies before its hello, workers
 * do not run on this machine, and the next compiler is in this process. */
static bool ask_again(const ompjit__worker *w, const ompjit__ask *ask,
                      unsigned tries)
{
    if (atomic_load(&w->cancelled) || w->session || ask->request.failed)
        return false;
    if (!w->greeted) {
        ompjit__workers_fail(ask->compiler, *ask->cause
                                                ? ask->cause
                                                : "a worker ended before it "
                                                  "had begun");
        return tries < 2;
    }
    return !*ask->cause && !tries;
}

ompjit_status ompjit__ask_any(ompjit__ask *ask, ompjit_error *err)
{
    uint8_t unit[OMPJIT__DIGEST];
    if (ask->request.failed)
        return ompjit__no_memory(err, stage_of(ask));
    if (ask->unit)
        ompjit__unit_identity(ask->unit, unit);
    for (unsigned tries = 0;; tries++) {
        ompjit__worker *w;
        ompjit_status status =
            ompjit__worker_take(ask, ask->unit ? unit : NULL, &w, err);
        if (status)
            return status;
        ompjit__outcome outcome = carry_out(w, ask);
        bool lost = outcome == OMPJIT__LOST;
        bool more = lost && ask_again(w, ask, tries);
        if (outcome && !more)
            status = failure(ask, w, outcome, err);
        ompjit__worker_give(w);
        if (!outcome)
            return take_results(ask, err);
        if (!more)
            return status;
    }
}

ompjit_status ompjit__ask_holder(ompjit__worker **worker, ompjit__ask *ask,
                                 bool *again, ompjit_error *err)
{
    *again = false;
    if (ask->request.failed)
        return ompjit__no_memory(err, stage_of(ask));
    ompjit__outcome outcome = exchange(*worker, ask, &ask->request);
    *again = outcome == OMPJIT__LOST && ask_again(*worker, ask, 0);
    ompjit_status status = OMPJIT_OK;
    if (outcome)
        status = failure(ask, *worker, outcome, *again ? NULL : err);
    if (outcome || ask->last) {
        ompjit__worker_give(*worker);
        *worker = NULL;
    }
    return outcome ? status : take_results(ask, err);
}
