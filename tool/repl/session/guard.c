/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Runs a session's code, of which nothing ends the session: a fault, exit() and
 * its kind, an exception that nobody catches, an interrupt.
 */
#include <stdlib.h>
#include <string.h>

#include "device/engine/fault.h"
#include "device/engine/guard.h"
#include "device/engine/thread.h"
#include "function/function.h"
#include "omptarget/offload.h"
#include "tool/repl/session/engine.h"

/* Signal handlers look at the pages while they are added to: the array stays
 * where it is. */
enum { MOST_PAGES = 1 << 18 };

bool guard_begin(engine *e)
{
    e->code.pages = calloc(MOST_PAGES, sizeof *e->code.pages);
    if (e->code.pages)
        ompjit__fault_hold();
    return e->code.pages != NULL;
}

void guard_end(engine *e)
{
    if (e->code.pages)
        ompjit__fault_drop();
    free(e->code.pages);
}

void guard_add(engine *e, const ompjit_module *mod)
{
    const ompjit__module_code *code = ompjit__hostjit_code(mod->hostjit);
    size_t n = atomic_load(&e->code.n), more = atomic_load(&code->n);
    if (n + more > MOST_PAGES)
        return;
    memcpy(e->code.pages + n, code->pages, more * sizeof *code->pages);
    atomic_store(&e->code.n, n + more);
}

/* The last pages take their places: who looks meanwhile finds some twice. */
void guard_remove(engine *e, const ompjit_module *mod)
{
    const ompjit__module_code *code = ompjit__hostjit_code(mod->hostjit);
    for (size_t i = 0; i < atomic_load(&code->n); i++)
        for (size_t k = atomic_load(&e->code.n); k; k--)
            if (e->code.pages[k - 1].begin == code->pages[i].begin) {
                const size_t last = atomic_load(&e->code.n) - 1;
                e->code.pages[k - 1] = e->code.pages[last];
                atomic_store(&e->code.n, last);
                break;
            }
}

/* The source line of an instruction, behind the error's text. */
static void add_place(engine *e, uintptr_t pc, ompjit_error *err)
{
    const ompjit_error own = *err;
    ompjit__buf place = {0};
    for (size_t i = e->nunits + (e->running != NULL); i && !place.size; i--) {
        struct unit *u = i > e->nunits ? e->running : e->units[i - 1];
        if (u->linked)
            ompjit__hostjit_place(u->mod->hostjit, pc, &place);
        if (u->optimized && !place.size)
            ompjit__hostjit_place(u->optimized->hostjit, pc, &place);
    }
    if (place.size)
        ompjit__fail(err, own.status, own.stage, "%s%s", own.text, place.data);
    ompjit__buf_free(&place);
}

bool guard_run(engine *e, void (*f)(void *arg), void *arg, ompjit_error *err)
{
    ompjit__guarded g = {
        .ctx = e->ctx, .code = &e->code, .f = f, .arg = arg, .defers = true};
    if (!ompjit__guarded_run(&g, err))
        return true;
    if (g.pc)
        add_place(e, g.pc, err);
    return false;
}

bool guard_busy(bool busy)
{
    ompjit__call_guard *g = ompjit__guarded_call(NULL);
    const bool before = g && g->busy;
    if (g)
        g->busy = busy;
    return before;
}

bool guard_is_parallel(void)
{
    return ompjit__guarded_call(NULL) && !ompjit__host_current &&
           !ompjit__call_can_leave();
}

/* In a parallel region it cannot be left: then the function does nothing, and
 * its result is 0, but the input fails in the end. */
void guard_missing(const char *name)
{
    ompjit__call_guard *g = ompjit__guarded_call(NULL);
    if (!g)
        return;
    if (engine_late.status)
        ompjit__call_fail(g, &engine_late);
    engine_late.status = OMPJIT_OK;
    ompjit__call_fail_text(g, OMPJIT_ERR_LINK,
                           "%s is declared, but not defined", name);
    ompjit__call_leave(g);
}
