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
    ompjit__stub *stub;
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
        ompjit__stub_give(p->stub);
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

/* Reads the text of one source up to the function of this symbol. False: it has
 * none, or it does not read. */
static bool read_one(ompjit__reader *r, const char *symbol,
                     struct ompjit__pointer *p)
{
    size_t n = ompjit__read_count(r);
    for (size_t i = 0; !r->bad && i < n; i++) {
        p->fn.symbol = ompjit__read_string(r);
        p->result_bytes = ompjit__read_number(r);
        ompjit__read_passing(r, UINT32_MAX, &p->fn);
        if (!r->bad && !strcmp(p->fn.symbol, symbol))
            return !p->fn.refused;
        ompjit__function_free(&p->fn);
        p->fn = (ompjit_function){0};
    }
    return false;
}

static bool read_any(const ompjit_module *mod, const char *symbol,
                     struct ompjit__pointer *p)
{
    const ompjit__buf *passing = &mod->unit.passing;
    ompjit__reader all = {passing->data, passing->size, false}, r;
    while (ompjit__next_source(&all, &r))
        if (read_one(&r, symbol, p))
            return true;
    return false;
}

/* Under the module's lock: the pointer there is, or a new one; NULL: calls of
 * the function cannot be handed on, or there is no memory. */
static struct ompjit__pointer *find_or_make(ompjit_module *mod,
                                            const char *symbol, void *address)
{
    for (struct ompjit__pointer *p = mod->pointers; p; p = p->next)
        if (!strcmp(p->fn.symbol, symbol))
            return p;
    struct ompjit__pointer *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    if (!read_any(mod, symbol, p) || !(p->stub = ompjit__stub_take())) {
        pointer_free(p);
        return NULL;
    }
    p->fn.mod = mod;
    atomic_store(&p->fn.address, address);
    *p->stub->slot = (ompjit__slot){p, ompjit__pointer_entry};
    p->next = mod->pointers;
    mod->pointers = p;
    return p;
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
        pthread_mutex_lock(&mod->lock);
        const struct ompjit__pointer *p = find_or_make(mod, symbol, address);
        pthread_mutex_unlock(&mod->lock);
        if (p)
            address = p->stub->code;
    }
    *fn = (void (*)(void))(uintptr_t)address;
    return OMPJIT_OK;
}
