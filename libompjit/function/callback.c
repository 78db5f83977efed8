/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * C functions that call a function of the application's.
 */
#include <stdlib.h>
#include <unistd.h>

#include "device/engine/guard.h"
#include "function/function.h"

/* The most parameters of a callback: their values lie on the stack of
 * ompjit__callback_run. */
enum { PARAMS = 32 };

/* One callback, to which its slot points. It lives until
 * ompjit_callback_destroy. Calls that are under way are not counted: the caller
 * has promised that there are none. */
struct callback {
    ompjit_callback_fn *f;
    void *data;
    unsigned nparams;
    struct kind {
        uint8_t bytes;
        bool is_float, is_signed, truth;
    } result, params[PARAMS];
    ompjit__call_stub *stub;
};

/* ------------------------------------------------------------------- types */

/* False: it is not passed in one register. */
static bool read_kind(const ompjit_type *type, struct kind *out)
{
    const ompjit_type *number =
        type->kind == OMPJIT_TYPE_ENUM && type->target ? type->target : type;
    if (!ompjit__value_fits(type) || !type->bytes ||
        (type->kind == OMPJIT_TYPE_FLOAT && type->bytes < sizeof(float)))
        return false;
    *out = (struct kind){.bytes = (uint8_t)type->bytes,
                         .is_float = type->kind == OMPJIT_TYPE_FLOAT,
                         .is_signed = number->kind == OMPJIT_TYPE_SIGNED,
                         .truth = number->kind == OMPJIT_TYPE_BOOL};
    return true;
}

/* The UNAVAILABLE error, with the type as the source has it. */
static ompjit_status refused(const ompjit_type *type, const char *why,
                             ompjit_error *err)
{
    return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_API,
                        "no callback of type %s: %s", type->text, why);
}

/* Reads the parameters and the result of a function's type, or of a pointer's
 * to a function. A void result leaves out->result.bytes at 0. */
static ompjit_status read_type(const ompjit_type *type, struct callback *out,
                               ompjit_error *err)
{
    const ompjit_type *function =
        type->kind == OMPJIT_TYPE_POINTER ? type->target : type;
    if (function->kind != OMPJIT_TYPE_FUNCTION)
        return refused(type, "it is no function's", err);
    if (function->flags & OMPJIT_TYPE_VARIADIC || function->count > PARAMS)
        return refused(type, "it takes any number of arguments, or more than 32",
                       err);
    out->nparams = (unsigned)function->count;
    for (unsigned i = 0; i < out->nparams; i++)
        if (!read_kind(function->members[i].type, &out->params[i]))
            return refused(type, "a parameter is no number of at most 8 bytes, "
                                 "and no pointer", err);
    if (function->target->kind != OMPJIT_TYPE_VOID &&
        !read_kind(function->target, &out->result))
        return refused(type, "its result is no number of at most 8 bytes, and "
                             "no pointer", err);
    return OMPJIT_OK;
}

/* --------------------------------------------------------------------- run */

/* The value of a register's low bytes: a caller may leave anything above them.
 * A bool is one bit. */
static uint64_t number_of(const struct kind *kind, uint64_t word)
{
    if (kind->bytes < 8)
        word &= (UINT64_C(1) << kind->bytes * 8) - 1;
    if (kind->truth)
        return word & 1;
    uint64_t sign = UINT64_C(1) << (kind->bytes * 8 - 1);
    return kind->is_signed ? (word ^ sign) - sign : word;
}

/* Counts registers for numbers and pointers as the ABI does: each kind takes
 * its own registers, and what finds none takes the next word of the caller's
 * stack. */
static void read_arguments(const struct callback *c,
                           const ompjit__called *called, ompjit_value *args)
{
    unsigned integers = 0, floats = 0;
    const uint64_t *stack = called->stack;
    for (unsigned i = 0; i < c->nparams; i++) {
        const struct kind *kind = &c->params[i];
        uint64_t word = kind->is_float && floats < OMPJIT__FLOATS
                            ? called->floats[floats++]
                        : !kind->is_float && integers < OMPJIT__INTEGERS
                            ? called->integers[integers++]
                            : *stack++;
        args[i].u = kind->is_float ? word : number_of(kind, word);
    }
}

/* The call in which the callback was called ends, if it may be left. */
static void fail(ompjit__call_guard *call, const ompjit_error *err)
{
    if (!call)
        return;
    ompjit__call_fail(call, err);
    ompjit__call_leave(call);
}

/* The application's function is not within the guard of the call: its faults are
 * its own. Once the call has failed it is not called any more. */
void ompjit__callback_run(const ompjit__slot *slot, ompjit__called *called)
{
    const struct callback *c = slot->data;
    ompjit_value args[PARAMS], result = {0};
    ompjit__call_guard *call = ompjit__guarded_call(NULL);
    ompjit__call_guard *innermost = ompjit__innermost;
    ompjit_error err;
    /* The result that the function goes on with, where the call has failed and
     * cannot be left here. */
    called->integer = called->number = 0;
    if (call && call->status)
        return;
    read_arguments(c, called, args);
    err.stage = OMPJIT_STAGE_LAUNCH;
    err.text[0] = 0;
    /* Faults and constructs in the application's function are not the call's.
     */
    ompjit__innermost = NULL;
    ompjit_status status = c->f(c->data, args, &result, &err);
    ompjit__innermost = innermost;
    if (status) {
        err.status = status;
        fail(call, &err);
    } else if (c->result.is_float) {
        called->number = result.u;
    } else if (c->result.bytes) {
        called->integer = number_of(&c->result, result.u);
    }
}

/* --------------------------------------------------------------- interface */

/* The slot is filled before the caller gets the stub's address. On failure *fn
 * is not set. */
ompjit_status ompjit_callback_create(const ompjit_type *type,
                                     ompjit_callback_fn *f, void *data,
                                     void (**fn)(void), ompjit_error *err)
{
    if (!type || !f || !fn)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_callback_create: type, function and a place "
                            "for the C function are needed");
    struct callback *c = calloc(1, sizeof *c);
    if (!c)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    c->f = f;
    c->data = data;
    ompjit_status status = read_type(type, c, err);
    if (!status && !(c->stub = ompjit__call_stub_take()))
        status = ompjit__no_memory(err, OMPJIT_STAGE_API);
    if (status) {
        free(c);
        return status;
    }
    *c->stub->slot = (ompjit__slot){c, ompjit__callback_entry};
    *fn = (void (*)(void))(uintptr_t)c->stub->code;
    return OMPJIT_OK;
}

/* A stub's slot is as far behind it as a page is large. */
void ompjit_callback_destroy(void (*fn)(void))
{
    if (!fn)
        return;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    ompjit__slot *slot = (ompjit__slot *)((uintptr_t)fn + page);
    struct callback *c = slot->data;
    *slot = (ompjit__slot){0};
    ompjit__call_stub_give(c->stub);
    free(c);
}
