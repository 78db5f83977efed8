/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Pointers to functions of host halves, for ompjit_module_function. A pointer
 * leads to a stub that calls under a guard: a fault in the function ends the
 * call, which then returns zero, and is kept for the context like the failure
 * of a target construct. Where a failure is to end the process, or the context
 * leaves signals alone, the pointer is the function's own address, and the
 * process ends by the fault itself.
 */
#include <stdlib.h>
#include <string.h>

#include "device/engine/fault.h"
#include "function/function.h"
#include "omptarget/offload.h"

/* One pointer, in its module's list. It is never changed once it is there. */
struct ompjit__pointer {
    struct ompjit__pointer *next;
    ompjit_function fn;    /* without a type                               */
    uint64_t result_bytes; /* of one in the caller's memory; 0: it is not  */
    ompjit__call_stub *stub;
};

/* ------------------------------------------------------------------- call */

/* The place where the caller wants the result, in memory. */
static void *result_place(const ompjit_function *fn, const ompjit__registers *r)
{
    unsigned i = 0;
    while (fn->steps[i].how != OMPJIT__PIECE_PLACE)
        i++;
    return (void *)(uintptr_t)r->words[fn->steps[i].word];
}

/* The result of a call that a fault has ended. x86-64 has the place of a result
 * in memory come back in its first register. */
static void return_zero(const struct ompjit__pointer *p, ompjit__registers *r)
{
    memset(r->integers, 0, sizeof r->integers);
    memset(r->floats, 0, sizeof r->floats);
    memset(r->x87, 0, sizeof r->x87);
    if (!p->result_bytes)
        return;
    void *place = result_place(&p->fn, r);
    memset(place, 0, p->result_bytes);
    r->integers[0] = (uintptr_t)place;
}

/* The failure may be that of a call around this one, which is left then. */
void ompjit__pointer_run(const ompjit__slot *slot, ompjit__registers *registers,
                         const uint64_t *stack)
{
    const struct ompjit__pointer *p = slot->data;
    ompjit_error err;
    registers->function =
        atomic_load_explicit(&p->fn.address, memory_order_relaxed);
    registers->nstack = p->fn.stack_words;
    registers->wants_x87 = p->fn.x87;
    memcpy(&registers->words[OMPJIT__STACK_AT], stack, p->fn.stack_words * 8u);
    ompjit__fault_thread();
    if (!ompjit__function_run(&p->fn, registers, true, &err))
        return;
    return_zero(p, registers);
    ompjit__tgt_fail(p->fn.mod->ctx->tgt, &err);
}

/* ------------------------------------------------------------------- make */

static void pointer_free(struct ompjit__pointer *p)
{
    if (p->stub)
        ompjit__call_stub_give(p->stub);
    ompjit__function_free(&p->fn);
    free(p);
}

void ompjit__pointers_free(struct ompjit__pointer *list)
{
    while (list) {
        struct ompjit__pointer *next = list->next;
        pointer_free(list);
        list = next;
    }
}

/* Reads on to the function of this symbol, behind its symbol. False: there is
 * none. */
static bool find_in_source(ompjit__reader *r, const char *symbol)
{
    size_t n = ompjit__read_count(r), length = strlen(symbol), size;
    for (size_t i = 0; !r->bad && i < n; i++) {
        const char *name = ompjit__read_bytes(r, &size);
        if (!r->bad && size == length && !memcmp(name, symbol, size))
            return true;
        ompjit__read_number(r);
        ompjit__skip_passing(r);
    }
    return false;
}

static bool find_in_unit(const ompjit__unit *unit, const char *symbol,
                         ompjit__reader *r)
{
    ompjit__reader all = {unit->passing.data, unit->passing.size, false};
    while (ompjit__next_source(&all, r))
        if (find_in_source(r, symbol))
            return true;
    return false;
}

/* A new pointer; `r` is behind the symbol. NULL: no memory. */
static struct ompjit__pointer *make(ompjit_module *mod, const char *symbol,
                                    void *address, ompjit__reader *r)
{
    struct ompjit__pointer *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->result_bytes = ompjit__read_number(r);
    ompjit__read_passing(r, UINT32_MAX, &p->fn);
    p->fn.mod = mod;
    p->fn.symbol = ompjit__strdup(symbol);
    p->stub = ompjit__call_stub_take();
    if (r->bad || !p->fn.symbol || !p->stub) {
        pointer_free(p);
        return NULL;
    }
    atomic_store(&p->fn.address, address);
    *p->stub->slot = (ompjit__slot){p, ompjit__pointer_entry};
    return p;
}

/* Under the module's lock: sets *out to the pointer there is, or a new one; NULL:
 * calls of the function cannot be handed on. False: no memory. */
static bool find_or_make(ompjit_module *mod, const char *symbol, void *address,
                         const struct ompjit__pointer **out)
{
    ompjit__reader r;
    struct ompjit__pointer *p = mod->pointers;
    while (p && strcmp(p->fn.symbol, symbol))
        p = p->next;
    if (!p && find_in_unit(&mod->unit, symbol, &r)) {
        if (!(p = make(mod, symbol, address, &r)))
            return false;
        p->next = mod->pointers;
        mod->pointers = p;
    }
    *out = p && !p->fn.refused ? p : NULL;
    return true;
}

/* Calls that cannot be handed on, as those with any number of arguments, go to
 * the function itself. */
ompjit_status ompjit__function_pointer(ompjit_module *mod, const char *symbol,
                                       void (**fn)(void), ompjit_error *err)
{
    void *address;
    ompjit_status status =
        ompjit__hostjit_function(mod, symbol, &address, err);
    if (status)
        return status;
    if (!mod->ctx->keeps_signals && !ompjit__tgt_ends(mod->ctx->tgt)) {
        ompjit__hold_faults(mod);
        const struct ompjit__pointer *p = NULL;
        pthread_mutex_lock(&mod->lock);
        bool good = find_or_make(mod, symbol, address, &p);
        pthread_mutex_unlock(&mod->lock);
        if (!good)
            return ompjit__no_memory(err, OMPJIT_STAGE_API);
        if (p)
            address = p->stub->code;
    }
    *fn = (void (*)(void))(uintptr_t)address;
    return OMPJIT_OK;
}
