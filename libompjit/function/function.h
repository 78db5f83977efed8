/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Functions of host halves, for bindings (ompjit_function.h):
 *
 *   signature.c   from the bytes of core/signature.h to types and functions
 *   extents.c     how much memory a call maps
 *   plan.c        which value goes into which register
 *   call.c        the guarded call
 *   pointer.c     the same, through a pointer
 *   exception.c   C++ exceptions that leave a function
 *   callback.c    C functions that are the application's
 *   stub.c        the code of those, which knows nothing but a place
 *   registers_*.c what is written for a CPU
 */
#ifndef OMPJIT_FUNCTION_ROOM_H
#define OMPJIT_FUNCTION_ROOM_H

#include "core/signature.h"
#include "device/engine/guard.h"
#include "function/registers.h"
#include "launch/module.h"
#include "ompjit_function.h"

/* Memory that a target construct maps of a parameter. Programs of size 0 are not
 * known. */
typedef struct ompjit__section {
    unsigned param;
    uint32_t mapped;      /* OMPJIT_MAPPED_...                              */
    unsigned line;
    char *text;           /* "x[:n]"                                        */
    ompjit__buf condition, offset, size;
} ompjit__section;

/* One step of a call: a value into a word of the registers. */
typedef struct ompjit__step {
    uint32_t param, offset, bytes;
    uint16_t word;        /* its place in ompjit__registers.words           */
    uint8_t how;          /* enum ompjit__piece_how                         */
    bool signs, truth;    /* extended by its sign; made 0 or 1              */
    bool in_memory;       /* the value is where the argument points to      */
} ompjit__step;

struct ompjit_function {
    ompjit_module *mod;
    char *name, *symbol, *prototype, *file, *refused;
    char why[128];        /* `refused` by the plan                          */
    unsigned line, nparams;
    bool from_source;
    const ompjit_type *type; /* NULL: of one that is called by pointer alone  */
    char **mapped_texts;  /* of each parameter: what is mapped of it        */
    uint32_t *mapped;     /* OMPJIT_MAPPED_... together                     */
    ompjit__piece *pieces, *results;
    unsigned npieces, nresults;
    ompjit__section *sections;
    unsigned nsections;
    ompjit__step *steps;  /* one for each piece                             */
    uint16_t stack_words; /* even                                           */
    bool x87, checks;     /* its result is in st(0); some section is known  */
    void *_Atomic address; /* NULL until it is first called                 */
    bool defers;          /* has constructs that may outlive it; set before
                             the address                                    */
};

/* All of a module. */
typedef struct ompjit__functions {
    ompjit_type *types;
    size_t ntypes;
    ompjit_function *functions;
    unsigned n;
} ompjit__functions;

/* The module's, made when they are first asked for. Any thread. signature.c */
ompjit_status ompjit__functions_of(ompjit_module *mod,
                                   const ompjit__functions **out,
                                   ompjit_error *err);
void ompjit__functions_free(ompjit__functions *functions); /* accepts NULL */

/* The texts of a unit's sources, one after the other. False: the end, or it is
 * damaged. */
bool ompjit__next_source(ompjit__reader *all, ompjit__reader *out);
/* Reads how the function is called, and makes its plan; nparams is UINT32_MAX
 * where pieces may name any parameter. */
void ompjit__read_passing(ompjit__reader *r, unsigned nparams,
                          ompjit_function *fn);
void ompjit__skip_passing(ompjit__reader *r);
void ompjit__function_free(ompjit_function *fn); /* what hangs from it */

/* Is the value in the ompjit_value itself? plan.c */
bool ompjit__value_fits(const ompjit_type *type);
/* Makes the steps; false: no memory. It may be refused. plan.c */
bool ompjit__plan(ompjit_function *fn);
/* A piece's value, zero-extended. plan.c */
uint64_t ompjit__piece_value(const ompjit_function *fn, unsigned piece,
                             const ompjit_value *args);

/* extents.c: a program that reads, and its value; false: it divides by zero.
 * valid: uses no more of the stack, and no pieces, than there are. */
bool ompjit__program_valid(const ompjit__buf *program, unsigned npieces);
bool ompjit__program_run(const ompjit_function *fn, const ompjit__buf *program,
                         const ompjit_value *args, uint64_t *value);
/* Compares with the bytes that arguments point to. ARGUMENT error. */
ompjit_status ompjit__extents_check(const ompjit_function *fn,
                                    const ompjit_value *args,
                                    const uint64_t *bytes, ompjit_error *err);

/* Installs the handlers of faults until the module ends. Any thread. call.c */
void ompjit__hold_faults(ompjit_module *mod);
/* A guarded call with these registers. call.c */
ompjit_status ompjit__function_run(const ompjit_function *fn,
                                   ompjit__registers *registers,
                                   bool by_pointer, ompjit_error *err);
/* The pointer that ompjit_module_function gives, valid as long as the module.
 * pointer.c */
ompjit_status ompjit__function_pointer(ompjit_module *mod, const char *symbol,
                                       void (**fn)(void), ompjit_error *err);
void ompjit__pointers_free(struct ompjit__pointer *list); /* accepts NULL */

/* The text of an exception, which ends with that. exception.c */
void ompjit__exception_text(void *exception, char *text, size_t size);

/* A guarded call of code of several modules, which has no type: f(arg). What goes
 * wrong in it is as in ompjit_function_call. */
typedef struct ompjit__guarded {
    ompjit_context *ctx;
    const ompjit__module_code *code; /* of all of them                        */
    void (*f)(void *arg);
    void *arg;
    bool defers;  /* it has constructs that may go on when it has returned    */
    uintptr_t pc; /* set: the instruction at which it has failed; 0: not known */
} ompjit__guarded;
ompjit_status ompjit__guarded_run(ompjit__guarded *g, ompjit_error *err);

#endif
