/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The guarded call of a function. Its way:
 *
 *   check     the number of arguments, and the memory that they point to
 *   prepare   once: the host half is compiled, and the function found
 *   fill      arguments into registers, by the plan
 *   run       the call; its end, whichever it is
 *   take      the result out of the registers
 */
#include <stdio.h>
#include <string.h>

#include "device/engine/fault.h"
#include "device/engine/fiber.h"
#include "device/engine/guard.h"
#include "device/engine/libomp.h"
#include "function/function.h"
#include "omptarget/offload.h"

/* ------------------------------------------------------------------ before */

/* Finds the caller's mistakes before any code of the program runs. `bytes` has
 * one size for each argument; NULL: no argument's memory is checked. */
static ompjit_status check(const ompjit_function *fn, const ompjit_value *args,
                           unsigned nargs, const uint64_t *bytes,
                           ompjit_error *err)
{
    if (!fn || (nargs && !args))
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_function_call: function and arguments are "
                            "needed");
    if (nargs != fn->nparams)
        return ompjit__fail(err, OMPJIT_ERR_ARGUMENT, OMPJIT_STAGE_API,
                            "%s takes %u arguments, not %u", fn->name,
                            fn->nparams, nargs);
    if (fn->refused)
        return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_API,
                            "%s cannot be called: %s", fn->name, fn->refused);
    return bytes && fn->checks ? ompjit__extents_check(fn, args, bytes, err)
                               : OMPJIT_OK;
}

/* Handlers of faults stay as long as the module, so that a call need not install
 * them. */
void ompjit__hold_faults(ompjit_module *mod)
{
    pthread_mutex_lock(&mod->lock);
    if (!mod->holds_faults && !mod->ctx->keeps_signals) {
        ompjit__fault_hold();
        mod->holds_faults = true;
    }
    pthread_mutex_unlock(&mod->lock);
}

/* Threads that prepare it at once do so alike. The address is stored last, and
 * released: a thread that reads it finds `defers` set and the handlers
 * installed. api/module.c drops the handlers when it destroys the module. */
static ompjit_status prepare(ompjit_function *fn, ompjit_error *err)
{
    void *address;
    ompjit_status status =
        ompjit__hostjit_function(fn->mod, fn->symbol, &address, err);
    if (status)
        return status;
    ompjit__hold_faults(fn->mod);
    fn->defers = ompjit__hostjit_defers(fn->mod->hostjit);
    atomic_store_explicit(&fn->address, address, memory_order_release);
    return OMPJIT_OK;
}

/* --------------------------------------------------------------- registers */

/* Extends the low 1, 2 or 4 bytes by their sign. Values of other sizes stay as
 * they are. */
static uint64_t extended(uint64_t value, uint32_t bytes)
{
    switch (bytes) {
    case 1: return (uint64_t)(int64_t)(int8_t)value;
    case 2: return (uint64_t)(int64_t)(int16_t)value;
    case 4: return (uint64_t)(int64_t)(int32_t)value;
    default: return value;
    }
}

/* The ARGUMENT error for a NULL in place of the address of a value. `what`
 * names the value, `type` is its type as the source has it. */
static ompjit_status no_place(const ompjit_function *fn, const char *what,
                              const char *type, ompjit_error *err)
{
    return ompjit__fail(err, OMPJIT_ERR_ARGUMENT, OMPJIT_STAGE_API,
                        "%s: %s, a %s, is NULL; it is passed by its address",
                        fn->name, what, type);
}

static ompjit_status no_argument(const ompjit_function *fn, unsigned param,
                                 ompjit_error *err)
{
    char what[32];
    snprintf(what, sizeof what, "argument %u", param + 1);
    return no_place(fn, what, fn->type->members[param].type->text, err);
}

/* Writes each argument to the word that its step names. Words of no step keep
 * whatever the stack had: the function reads none of them. A step of
 * PIECE_PLACE reads `result`, which ompjit_function_call has checked by then.
 */
static ompjit_status fill(const ompjit_function *fn, const ompjit_value *args,
                          const ompjit_value *result, ompjit__registers *r,
                          ompjit_error *err)
{
    for (unsigned i = 0; i < fn->npieces; i++) {
        const ompjit__step *step = &fn->steps[i];
        const ompjit_value *arg = &args[step->param];
        uint64_t *word = &r->words[step->word];
        if (step->in_memory && !arg->p)
            return no_argument(fn, step->param, err);
        switch (step->how) {
        case OMPJIT__PIECE_STACK:
            memcpy(word, (const char *)arg->p + step->offset, step->bytes);
            break;
        case OMPJIT__PIECE_ADDRESS: *word = (uintptr_t)arg->p; break;
        case OMPJIT__PIECE_PLACE: *word = (uintptr_t)result->p; break;
        default:
            /* ompjit__piece_value fills the upper bytes with zeros. The System
             * V ABI does not ask for an extension, but code of clang's relies
             * on it. */
            *word = ompjit__piece_value(fn, i, args);
            if (step->signs)
                *word = extended(*word, step->bytes);
        }
    }
    return OMPJIT_OK;
}

/* A number, as its type has it. */
static void take_number(const ompjit_type *type, uint64_t word,
                        ompjit_value *result)
{
    const ompjit_type *number =
        type->kind == OMPJIT_TYPE_ENUM && type->target ? type->target : type;
    uint64_t low =
        type->bytes < 8 ? word & ((UINT64_C(1) << type->bytes * 8) - 1) : word;
    result->u = number->kind == OMPJIT_TYPE_BOOL ? low & 1
                : number->kind == OMPJIT_TYPE_SIGNED
                    ? extended(low, (uint32_t)type->bytes)
                    : low;
}

/* Stores the result, register after register: the pieces are in the order in
 * which each kind's registers are used. A register may be wider than what is
 * left of the value; so much only is copied to result->p. */
static void take(const ompjit_function *fn, const ompjit__registers *r,
                 ompjit_value *result)
{
    const ompjit_type *type = fn->type->target;
    unsigned integers = 0, floats = 0;
    for (unsigned i = 0; i < fn->nresults; i++) {
        const ompjit__piece *piece = &fn->results[i];
        const void *from = piece->how == OMPJIT__PIECE_X87 ? r->x87
                           : piece->how == OMPJIT__PIECE_FLOAT
                               ? (const void *)&r->floats[floats++]
                               : (const void *)&r->integers[integers++];
        if (ompjit__value_fits(type)) {
            uint64_t word;
            memcpy(&word, from, sizeof word);
            take_number(type, word, result);
        } else if (piece->offset < type->bytes) {
            uint64_t left = type->bytes - piece->offset;
            memcpy((char *)result->p + piece->offset, from,
                   piece->bytes < left ? piece->bytes : left);
        }
    }
}

/* --------------------------------------------------------------------- run */

/* Why a call has ended in its middle, where no construct and no callback has
 * said so. */
static void explain(ompjit__call_guard *g, int ended, void *exception)
{
    char text[512];
    if (ended == OMPJIT__ENDED_THREW)
        ompjit__exception_text(exception, text, sizeof text);
    else if (!ompjit__fault_cause(text, sizeof text)) {
        ompjit__call_fail_text(g, OMPJIT_ERR_ABORTED, "the call was aborted");
        return;
    }
    ompjit__call_fail_text(g, OMPJIT_ERR_DEVICE, "%s", text);
}

/* Deferred constructs are a part of the call. */
static void wait_for_tasks(void)
{
    const struct ompjit__libomp *omp = ompjit__libomp_loaded();
    if (omp && omp->kmpc_omp_taskwait)
        omp->kmpc_omp_taskwait(NULL, omp->kmpc_global_thread_num(NULL));
}

/* To the end of the call, whichever it is. It waits for tasks within the guard,
 * so that the failure of a construct in one is the call's. A task cannot be
 * left, so such a failure is only noted. The mappings that a call has left
 * behind are undone outside of its guard. */
static ompjit_status run_guarded(ompjit__call_guard *g, ompjit__registers *r,
                                 bool defers)
{
    ompjit__call_guard_enter(g);
    int ended = ompjit__registers_call(r, &g->escape);
    if (defers)
        wait_for_tasks();
    ompjit__call_guard_exit(g);
    if (g->ticks)
        ompjit__call_settle(g);
    if (g->begun)
        ompjit__begun_end(g, ended != OMPJIT__ENDED_RETURNED);
    if (ended || ompjit__call_over(g))
        explain(g, ended, r->exception);
    return g->status;
}

/* An abort may leave it at an instruction of this module only
 * (device/engine/guard.c). Tasks of a call through a pointer are its caller's,
 * who waits for them where the source says so. */
ompjit_status ompjit__function_run(const ompjit_function *fn,
                                   ompjit__registers *r, bool by_pointer,
                                   ompjit_error *err)
{
    ompjit__call_guard g = {.takes_faults = !fn->mod->ctx->keeps_signals,
                            .ctx = fn->mod->ctx,
                            .by_pointer = by_pointer,
                            .name = fn->name ? fn->name : fn->symbol,
                            .code = ompjit__hostjit_code(fn->mod->hostjit),
                            .err = err};
    return run_guarded(&g, r, fn->defers && !by_pointer);
}

/* The call needs no plan: f's one argument is in word 0, the first integer
 * register of both CPUs. nstack and wants_x87 are 0. */
ompjit_status ompjit__guarded_run(ompjit__guarded *what, ompjit_error *err)
{
    ompjit__call_guard g = {.takes_faults = !what->ctx->keeps_signals,
                            .ctx = what->ctx,
                            .code = what->code,
                            .err = err};
    ompjit__registers registers = {.function = (void *)what->f};
    registers.words[0] = (uintptr_t)what->arg;
    ompjit__fault_thread();
    ompjit_status status = run_guarded(&g, &registers, what->defers);
    what->pc = g.pc;
    return status;
}

/* A call that fails does not set *result. Memory at result->p to which the
 * function writes itself (PIECE_PLACE) may have changed all the same. */
ompjit_status ompjit_function_call(ompjit_function *fn,
                                   const ompjit_value *args, unsigned nargs,
                                   const uint64_t *bytes, ompjit_value *result,
                                   ompjit_error *err)
{
    ompjit__registers registers;
    ompjit_status status = check(fn, args, nargs, bytes, err);
    if (status)
        return status;
    void *address = atomic_load_explicit(&fn->address, memory_order_acquire);
    if (!address) {
        status = prepare(fn, err);
        if (status)
            return status;
        address = atomic_load_explicit(&fn->address, memory_order_acquire);
    }
    /* Any thread may call: each needs a signal stack of its own, and the
     * signals unblocked. */
    ompjit__fault_thread();
    const ompjit_type *type = fn->type->target;
    bool wanted = type->kind != OMPJIT_TYPE_VOID;
    if (wanted && !ompjit__value_fits(type) && (!result || !result->p))
        return no_place(fn, "the place for the result", type->text, err);
    registers.function = address;
    registers.nstack = fn->stack_words;
    registers.wants_x87 = fn->x87;
    status = fill(fn, args, result, &registers, err);
    if (!status)
        status = ompjit__function_run(fn, &registers, false, err);
    if (!status && wanted && result)
        take(fn, &registers, result);
    return status;
}

/* For signal handlers: it may do nothing but forward. */
ompjit_status ompjit_function_abort(void)
{
    return ompjit__call_abort();
}
