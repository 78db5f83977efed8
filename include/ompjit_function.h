/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit_function.h - functions of modules for bindings of other languages: the
 * types of their parameters, the memory that these must point to, and calls
 * that return what goes wrong. The conventions of ompjit.h hold.
 *
 * A program in C casts the pointer of ompjit_module_function and needs none of
 * this.
 */
#ifndef OMPJIT_FUNCTION_H
#define OMPJIT_FUNCTION_H

#include "ompjit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A function of a module's host half that others may call. The module owns it;
 * so does it own the types and texts of the functions below, which stay as they
 * are as long as the module. */
typedef struct ompjit_function ompjit_function;

/* ------------------------------------------------------------------ types */

typedef enum ompjit_type_kind {
    OMPJIT_TYPE_UNKNOWN = 0, /* none of the following, or not known          */
    OMPJIT_TYPE_VOID,
    OMPJIT_TYPE_BOOL,
    OMPJIT_TYPE_SIGNED,      /* char is this or the next, as the machine has
                                it                                           */
    OMPJIT_TYPE_UNSIGNED,
    OMPJIT_TYPE_FLOAT,       /* of 2, 4, 8 or 16 bytes                       */
    OMPJIT_TYPE_COMPLEX,     /* target: of its two parts                     */
    OMPJIT_TYPE_ENUM,        /* target: its integer; members: its constants  */
    OMPJIT_TYPE_POINTER,     /* target: what it points to. References, too   */
    OMPJIT_TYPE_FUNCTION,    /* target: of the result; members: parameters   */
    OMPJIT_TYPE_ARRAY,       /* count elements of type target                */
    OMPJIT_TYPE_STRUCT,      /* members; so has                              */
    OMPJIT_TYPE_UNION
} ompjit_type_kind;

typedef enum ompjit_type_flags {
    OMPJIT_TYPE_CONST = 1,
    OMPJIT_TYPE_VOLATILE = 2,
    OMPJIT_TYPE_RESTRICT = 4,
    OMPJIT_TYPE_ATOMIC = 8,
    OMPJIT_TYPE_VARIADIC = 16 /* of FUNCTION */
} ompjit_type_flags;

typedef struct ompjit_type ompjit_type;
typedef struct ompjit_member ompjit_member;

/* Types may lead to themselves, as that of a list's node does. */
struct ompjit_type {
    size_t size;              /* the library's                              */
    ompjit_type_kind kind;
    uint32_t flags;           /* OMPJIT_TYPE_CONST ... together             */
    uint64_t bytes;           /* sizeof; 0: it has none, or it is not known,
                                 as of void, of a function, of a struct that
                                 is only declared, of an array whose length
                                 depends on the call                        */
    const char *text;         /* as the source has it: "const float *"      */
    const ompjit_type *target;/* NULL where the kind has none               */
    const ompjit_member *members; /* NULL: none                             */
    uint64_t count;           /* of elements, members, constants or
                                 parameters; 0 where that is not known      */
};

/* One member of a struct or union, parameter of a function, or constant of an
 * enumeration. */
struct ompjit_member {
    const char *name;         /* "" if it has none                          */
    const ompjit_type *type;  /* NULL: a constant                           */
    uint64_t offset;          /* bytes from the begin of the struct         */
    uint32_t bit, bits;       /* a bit-field: the first one, from there, and
                                 how many; 0, 0: it is none                 */
    int64_t value;            /* of a constant                              */
    uint64_t reserved;        /* 0                                          */
};

/* -------------------------------------------------------------- functions */

/* How many there are in the module, 0 of one without a host half, and the i-th,
 * in the order of the code.
 *
 * Names and types are the source's where it was compiled with `signatures` in
 * ompjit_module_options, or IR has full debug information (-g). Else they are
 * what the code itself tells, by the compiler wing, when they are first asked
 * for: the sizes of numbers, which are signed where nothing says otherwise, and
 * pointers to an unknown type. */
ompjit_status ompjit_module_function_count(ompjit_module *mod, unsigned *count,
                                           ompjit_error *err);
ompjit_status ompjit_module_function_at(ompjit_module *mod, unsigned i,
                                        ompjit_function **fn,
                                        ompjit_error *err);

/* By the linker's name, or the source's, in C++ with or without parameters:
 * "saxpy", "ns::axpy<float>(int, float*)". NOT_FOUND lists those there are;
 * INVALID where several fit. */
ompjit_status ompjit_module_function_find(ompjit_module *mod, const char *name,
                                          ompjit_function **fn,
                                          ompjit_error *err);

typedef struct ompjit_function_info {
    size_t size;             /* OMPJIT_FUNCTION_INFO_INIT                   */
    const char *name;        /* the source's: "saxpy", "ns::axpy<float>"    */
    const char *symbol;      /* the linker's: what ompjit_module_function
                                takes                                       */
    const char *prototype;   /* "void saxpy(long n, float a, const float *x,
                                float *y)"                                  */
    const char *file;        /* "": not known                               */
    const ompjit_type *type; /* FUNCTION: its result and parameters         */
    const char *refused;     /* why ompjit_function_call cannot call it;
                                NULL: it can                                */
    uint32_t line;           /* 0: not known                                */
    uint32_t nparams;
    int from_source;         /* 1: names and types are the source's         */
    uint32_t unused;         /* 0                                           */
} ompjit_function_info;
#define OMPJIT_FUNCTION_INFO_INIT OMPJIT_SIZED(ompjit_function_info)

ompjit_status ompjit_function_info_get(ompjit_function *fn,
                                       ompjit_function_info *info,
                                       ompjit_error *err);

/* How target constructs use the memory that a pointer parameter points to, by
 * their map clauses: all constructs of the function, and of the functions of
 * the same source that it calls. */
typedef enum ompjit_mapped {
    OMPJIT_MAPPED_TO = 1,    /* read                                        */
    OMPJIT_MAPPED_FROM = 2,  /* written                                     */
    OMPJIT_MAPPED_ALLOC = 4  /* neither, by at least one clause             */
} ompjit_mapped;

typedef struct ompjit_function_param_info {
    size_t size;             /* OMPJIT_FUNCTION_PARAM_INFO_INIT             */
    const char *name;        /* "" if it has none                           */
    const ompjit_type *type;
    const char *sections;    /* what is mapped of it, as the source has it:
                                "x[:n]", "a[0:n*m], a[:k]"; "": nothing     */
    uint32_t mapped;         /* OMPJIT_MAPPED_... together; 0: nothing      */
    uint32_t unused;         /* 0                                           */
} ompjit_function_param_info;
#define OMPJIT_FUNCTION_PARAM_INFO_INIT OMPJIT_SIZED(ompjit_function_param_info)

ompjit_status ompjit_function_param(ompjit_function *fn, unsigned i,
                                    ompjit_function_param_info *info,
                                    ompjit_error *err);

/* ------------------------------------------------------------------ calls */

/* An argument, or a result, of a type:
 *   BOOL, UNSIGNED                u
 *   SIGNED, ENUM                  i
 *   FLOAT of 4 and 8 bytes        f32, f64; of 2: its bits in u
 *   POINTER                       p, to a function: f
 * For all other types, and for integers of more than 8 bytes, p is the address
 * of the value, which a call copies; for such a result the caller sets it to
 * memory. Only the low bytes of an integer's type are looked at. */
typedef union ompjit_value {
    int64_t i;
    uint64_t u;
    float f32;
    double f64;
    void *p;
    void (*f)(void);
} ompjit_value;

/* Bytes that are not known. */
#define OMPJIT_BYTES_UNKNOWN UINT64_MAX

/* How many bytes the function's target constructs map from each pointer of the
 * arguments on, to bytes[0] to bytes[nargs - 1]. It is the largest section of
 * those constructs that this call is certain to come to, by the values of the
 * arguments alone; OMPJIT_BYTES_UNKNOWN where nothing is known, 0 where nothing
 * is mapped. Looks at no memory that an argument points to. ARGUMENT error for a
 * section of a negative length, or one that begins before the pointer. */
ompjit_status ompjit_function_extents(ompjit_function *fn,
                                      const ompjit_value *args, unsigned nargs,
                                      uint64_t *bytes, ompjit_error *err);

/* Calls the function and waits for it. The module's host half is compiled when
 * one of its functions is first asked for or called.
 *
 * bytes: NULL, or the number of bytes that each pointer argument points to, or
 * OMPJIT_BYTES_UNKNOWN: where ompjit_function_extents says more, nothing is
 * called, and the ARGUMENT error names the section. result may be NULL.
 *
 * A failure in the function is the call's error:
 *  - A target construct that fails, in the calling thread: its error. The
 *    function ends there. The context's on_failure and after_failure have no
 *    part in it, and ompjit_context_failure does not tell it.
 *  - A fault of the function's own code, or of one that it calls, abort(), a
 *    stack that overflows, a C++ exception that nobody catches: DEVICE. So is
 *    exit() and its kind, where the function's own code calls it.
 *  - ompjit_function_abort: ABORTED. A callback's failure: the callback's.
 * A function that ends so is left in its middle, as by longjmp: what it has
 * allocated and locked stays so, destructors of its C++ objects do not run but
 * for an exception; what it has mapped by `target data` and `enter data` and not
 * unmapped is unmapped, without copies.
 * With keep_signals in ompjit_context_options, or OMPJIT_SIGNALS=0, faults are
 * the process's. So are those of other threads that the function has made, and
 * those that happen while the C library's heap is locked.
 *
 * A call takes some 20 ns more than one through a pointer. ARGUMENT error for
 * another number of arguments; UNAVAILABLE for a function that cannot be called
 * (`refused`). */
ompjit_status ompjit_function_call(ompjit_function *fn,
                                   const ompjit_value *args, unsigned nargs,
                                   const uint64_t *bytes, ompjit_value *result,
                                   ompjit_error *err);

/* Ends the innermost ompjit_function_call of the calling thread, which returns
 * ABORTED: for signal handlers, in which nothing else of the library but
 * ompjit_device_abort and ompjit_kernel_abort may be called. A launch of that
 * thread on the host device is aborted; the function's own code is left as soon
 * as it is not within the C library or this one. NOT_FOUND: there is no such
 * call. UNAVAILABLE: as ompjit_device_abort. */
ompjit_status ompjit_function_abort(void);

/* -------------------------------------------------------------- callbacks */

/* Called for a C function that was made by ompjit_callback_create; `args` has as
 * many as its type has parameters, *result is 0 before. Any thread. A status
 * other than OK, with *err filled, ends the ompjit_function_call in which it is
 * called, where that is the calling thread's; else the result is 0 and nobody is
 * told. `err` is never NULL. Faults within it are the process's. */
typedef ompjit_status ompjit_callback_fn(void *data, const ompjit_value *args,
                                         ompjit_value *result,
                                         ompjit_error *err);

/* Makes a C function of the type, FUNCTION or a pointer to one, that calls
 * f(data, ...). Parameters and result are numbers of at most 8 bytes and
 * pointers, 32 parameters at most; UNAVAILABLE for others. It lives until it is
 * destroyed, also longer than the module that the type is of. */
ompjit_status ompjit_callback_create(const ompjit_type *type,
                                     ompjit_callback_fn *f, void *data,
                                     void (**fn)(void), ompjit_error *err);
/* The caller promises that nobody calls it any more. Accepts NULL. */
void ompjit_callback_destroy(void (*fn)(void));

#ifdef __cplusplus
}
#endif
#endif
