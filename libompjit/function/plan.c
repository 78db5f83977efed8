/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Which word of the registers, or of the stack, gets which part of an argument.
 * clang has chosen the parts (frontend/signature/pieces.cc); which register each
 * gets is counted from the left, as the ABI has it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "function/function.h"

/* Aggregates, complex numbers and integers of more than 8 bytes are passed by
 * their address in the ompjit_value (ompjit_function.h). */
bool ompjit__value_fits(const ompjit_type *type)
{
    switch (type->kind) {
    case OMPJIT_TYPE_BOOL:
    case OMPJIT_TYPE_SIGNED:
    case OMPJIT_TYPE_UNSIGNED:
    case OMPJIT_TYPE_ENUM:
    case OMPJIT_TYPE_POINTER:
    case OMPJIT_TYPE_FLOAT: return type->bytes <= sizeof(ompjit_value);
    default: return false;
    }
}

/* Words that are taken so far. One `integers` and `floats` each is a register,
 * one of `stack` is 8 bytes. */
struct places {
    unsigned integers, floats, stack;
};

/* Copies of a constant size are single loads: most pieces have 8 or 4 bytes.
 * Little-endian, as both CPUs are. */
static uint64_t read_bytes(const unsigned char *at, uint32_t bytes)
{
    uint64_t value = 0;
    switch (bytes) {
    case 8: memcpy(&value, at, 8); break;
    case 4: memcpy(&value, at, 4); break;
    default: memcpy(&value, at, bytes < 8 ? bytes : 8);
    }
    return value;
}

/* The first reason stays, also one of the compiler wing's, which is malloc'd;
 * function_free (signature.c) tells the two apart. */
static void refuse(ompjit_function *fn, const char *why)
{
    if (fn->refused)
        return;
    snprintf(fn->why, sizeof fn->why, "%s", why);
    fn->refused = fn->why;
}

/* The next word for a number of one of the kinds. */
static uint16_t take_word(struct places *p, bool is_float)
{
    if (is_float && p->floats < OMPJIT__FLOATS)
        return (uint16_t)(OMPJIT__FLOATS_AT + p->floats++);
    if (!is_float && p->integers < OMPJIT__INTEGERS)
        return (uint16_t)p->integers++;
    return (uint16_t)(OMPJIT__STACK_AT + p->stack++);
}

/* A parameter of several parts is in registers only as a whole. AAPCS64 then
 * gives later parameters no register of the kind either. On x86-64 clang passes
 * such a struct as PIECE_STACK instead (byval), of one piece. */
static void keep_together(struct places *p, const ompjit__piece *first,
                          unsigned n)
{
    unsigned *taken = first->how == OMPJIT__PIECE_FLOAT ? &p->floats
                                                        : &p->integers;
    unsigned all = first->how == OMPJIT__PIECE_FLOAT ? OMPJIT__FLOATS
                                                     : OMPJIT__INTEGERS;
    if (*taken + n > all)
        *taken = all;
}

/* How many pieces from i on belong to i's IR parameter. */
static unsigned group_size(const ompjit_function *fn, unsigned i)
{
    unsigned n = 1;
    while (i + n < fn->npieces && fn->pieces[i + n].group == fn->pieces[i].group)
        n++;
    return n;
}

/* Decides the word of piece i, and what `fill` does with its bytes. A float
 * that is a later part of a struct and finds no register shares a word of the
 * stack with its neighbour, which the steps cannot say: such a function is
 * refused. */
static void plan_piece(ompjit_function *fn, unsigned i, struct places *p)
{
    const ompjit__piece *piece = &fn->pieces[i];
    const ompjit_type *type = NULL;
    if (piece->how != OMPJIT__PIECE_PLACE && fn->type)
        type = fn->type->members[piece->param].type;
    ompjit__step *step = &fn->steps[i];
    *step = (ompjit__step){.param = piece->param,
                           .offset = piece->offset,
                           .bytes = piece->bytes,
                           .how = piece->how,
                           .signs = piece->extend == OMPJIT__EXTEND_SIGN,
                           .truth = type && type->kind == OMPJIT_TYPE_BOOL,
                           .in_memory = type && !ompjit__value_fits(type)};
    switch (piece->how) {
    case OMPJIT__PIECE_STACK:
        if (piece->align > 8)
            p->stack += p->stack % 2;
        step->word = (uint16_t)(OMPJIT__STACK_AT + p->stack);
        p->stack += (piece->bytes + 7) / 8;
        break;
    case OMPJIT__PIECE_PLACE:
        step->word = OMPJIT__PLACE_IS_FIRST ? take_word(p, false)
                                            : OMPJIT__PLACE_AT;
        break;
    default:
        step->word = take_word(p, piece->how == OMPJIT__PIECE_FLOAT);
    }
    if (step->word >= OMPJIT__STACK_AT && piece->how == OMPJIT__PIECE_FLOAT &&
        piece->bytes < 8 && piece->offset)
        refuse(fn, "floats of a struct are on the stack");
}

/* Refuses a result of more registers than ompjit__registers stores. */
static void plan_results(ompjit_function *fn)
{
    unsigned n[2] = {0, 0};
    for (unsigned i = 0; i < fn->nresults; i++) {
        fn->x87 |= fn->results[i].how == OMPJIT__PIECE_X87;
        n[fn->results[i].how == OMPJIT__PIECE_FLOAT]++;
    }
    if (n[0] > OMPJIT__RESULTS || n[1] > OMPJIT__FLOAT_RESULTS)
        refuse(fn, "its result comes in more registers than are read");
}

/* The words on the stack are an even number: both ABIs align it to 16 bytes. */
bool ompjit__plan(ompjit_function *fn)
{
    struct places places = {0, 0, 0};
    fn->steps = calloc(fn->npieces + 1u, sizeof *fn->steps);
    if (!fn->steps)
        return false;
    for (unsigned i = 0; i < fn->npieces && places.stack <= OMPJIT__STACK_MOST;
         i++) {
        unsigned n = group_size(fn, i);
        if (n > 1 && (!i || fn->pieces[i - 1].group != fn->pieces[i].group))
            keep_together(&places, &fn->pieces[i], n);
        plan_piece(fn, i, &places);
    }
    places.stack += places.stack % 2;
    if (places.stack > OMPJIT__STACK_MOST)
        refuse(fn, "its parameters take more than 2 KB of stack");
    fn->stack_words = (uint16_t)places.stack;
    plan_results(fn);
    return true;
}

/* A value in memory of which the caller gives no address reads as 0: `fill`
 * refuses it, but extents may be asked for without it. */
uint64_t ompjit__piece_value(const ompjit_function *fn, unsigned piece,
                             const ompjit_value *args)
{
    const ompjit__step *step = &fn->steps[piece];
    const ompjit_value *arg = &args[step->param];
    const unsigned char *at =
        step->in_memory ? arg->p : (const unsigned char *)arg;
    uint64_t value = at ? read_bytes(at + step->offset, step->bytes) : 0;
    return step->truth ? value != 0 : value;
}
