/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The arguments of a launch by the API: checked, and as values by parameter. A
 * value is its bytes in the low end of 64 bits, as the kernel ABI passes it;
 * the bits above are 0, so that equal arguments are equal keys of variants.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "launch/module.h"

/* A pointer's `size` is that of what it points to, so it does not count here.
 */
uint32_t ompjit__value_size(const ompjit__param *p)
{
    return p->kind != OMPJIT__PARAM_POINTER && p->size ? p->size : p->bytes;
}

const ompjit__param *ompjit__kernel_param_at(const ompjit_kernel *kernel,
                                             unsigned i, ompjit_error *err)
{
    const ompjit__kernel_desc *k = ompjit__desc_of(kernel);
    if (i < k->nparams)
        return &k->params[i];
    ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                 "kernel %s has %u parameters, none is number %u", k->name,
                 k->nparams, i);
    return NULL;
}

/* By ompjit_arg_type: the name in messages, bytes, enum ompjit__param_kind. */
static const struct {
    const char *name;
    uint8_t size, kind;
} arg_types[] = {
    [OMPJIT_ARG_POINTER] = {"pointer", 8, OMPJIT__PARAM_POINTER},
    [OMPJIT_ARG_I8] = {"i8", 1, OMPJIT__PARAM_INTEGER},
    [OMPJIT_ARG_I16] = {"i16", 2, OMPJIT__PARAM_INTEGER},
    [OMPJIT_ARG_I32] = {"i32", 4, OMPJIT__PARAM_INTEGER},
    [OMPJIT_ARG_I64] = {"i64", 8, OMPJIT__PARAM_INTEGER},
    [OMPJIT_ARG_F32] = {"f32", 4, OMPJIT__PARAM_FLOAT},
    [OMPJIT_ARG_F64] = {"f64", 8, OMPJIT__PARAM_FLOAT},
};

/* Words of messages, by enum ompjit__param_kind. */
static const char *const param_kinds[] = {
    [OMPJIT__PARAM_POINTER] = "pointer",
    [OMPJIT__PARAM_INTEGER] = "integer",
    [OMPJIT__PARAM_FLOAT] = "float",
    [OMPJIT__PARAM_SCALAR] = "scalar",
    [OMPJIT__PARAM_WORD] = "word",
};

/* "4-byte integer n, pointer y": what the kernel takes. */
static void list_params(const ompjit__kernel_desc *k, ompjit__buf *out)
{
    for (unsigned i = 0; i < k->nparams; i++) {
        const ompjit__param *p = &k->params[i];
        ompjit__buf_printf(out, "%s", i ? ", " : "");
        if (p->kind != OMPJIT__PARAM_POINTER)
            ompjit__buf_printf(out, "%u-byte ", ompjit__value_size(p));
        ompjit__buf_printf(out, "%s%s%s", param_kinds[p->kind],
                           *p->name ? " " : "", p->name);
    }
}

/* A pointer fits no number and no number a pointer, whatever their sizes. A
 * parameter whose source type is not known takes both integers and floats. A
 * word takes all, and of clang's kernels, which pass each value in 8 bytes,
 * shorter ones. */
static bool fits(const ompjit__kernel_desc *k, const ompjit__param *p,
                 uint8_t kind, uint32_t size)
{
    if (p->kind == OMPJIT__PARAM_WORD)
        return size == p->bytes || (k->launch_env && size < p->bytes);
    if (kind == OMPJIT__PARAM_POINTER || p->kind == OMPJIT__PARAM_POINTER)
        return kind == p->kind;
    return size == ompjit__value_size(p) &&
           (kind == p->kind || p->kind == OMPJIT__PARAM_SCALAR);
}

/* "kernel saxpy(4-byte integer n, pointer y): <cause>" */
static ompjit_status argument_error(const ompjit__kernel_desc *k,
                                    ompjit_error *err, const char *format, ...)
    OMPJIT__PRINTF(3, 4);

static ompjit_status argument_error(const ompjit__kernel_desc *k,
                                    ompjit_error *err, const char *format, ...)
{
    char cause[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(cause, sizeof cause, format, ap);
    va_end(ap);
    ompjit__buf list = {0};
    list_params(k, &list);
    ompjit_status status = ompjit__fail(
        err, OMPJIT_ERR_ARGUMENT, OMPJIT_STAGE_LAUNCH, "kernel %s(%s): %s",
        k->name, list.data ? list.data : "", cause);
    ompjit__buf_free(&list);
    return status;
}

/* The search is linear: kernels have few parameters, and most callers name
 * none. */
ompjit_status ompjit__find_param(const ompjit__kernel_desc *k,
                                 const ompjit_arg *arg, unsigned i,
                                 unsigned *at, ompjit_error *err)
{
    *at = i;
    if (!arg->name)
        return OMPJIT_OK;
    for (*at = 0; *at < k->nparams; ++*at)
        if (!strcmp(k->params[*at].name, arg->name))
            return OMPJIT_OK;
    return argument_error(k, err, "no parameter is called %s", arg->name);
}

/* ARGUMENT error where the value does not fit the parameter. */
static ompjit_status check_type(const ompjit__kernel_desc *k,
                                const ompjit__param *p, const ompjit_arg *arg,
                                ompjit_error *err)
{
    ompjit_status status =
        ompjit__enum_check("ompjit_arg", "type", (int)arg->type,
                           (int)OMPJIT__COUNT(arg_types) - 1, err);
    if (status)
        return status;
    if (fits(k, p, arg_types[arg->type].kind, arg_types[arg->type].size))
        return OMPJIT_OK;
    if (p->kind == OMPJIT__PARAM_POINTER)
        return argument_error(k, err, "%s is a pointer, got %s", p->name,
                              arg_types[arg->type].name);
    return argument_error(k, err, "%s is a %u-byte %s, got %s (%u bytes)",
                          *p->name ? p->name : "parameter",
                          ompjit__value_size(p), param_kinds[p->kind],
                          arg_types[arg->type].name,
                          arg_types[arg->type].size);
}

/* The member that the type names; each size by itself is a plain load. */
static uint64_t low_bytes(const ompjit_arg *arg)
{
    uint64_t value = 0;
    switch (arg_types[arg->type].size) {
    case 1: memcpy(&value, &arg->value, 1); break;
    case 2: memcpy(&value, &arg->value, 2); break;
    case 4: memcpy(&value, &arg->value, 4); break;
    default: memcpy(&value, &arg->value, 8); break;
    }
    return value;
}

/* On failure *value is as it was. */
ompjit_status ompjit__kernel_value(ompjit_kernel *kernel, const ompjit_arg *arg,
                                   unsigned *at, uint64_t *value,
                                   ompjit_error *err)
{
    const ompjit__kernel_desc *k = ompjit__desc_of(kernel);
    ompjit_status status = ompjit__find_param(k, arg, *at, at, err);
    if (!status)
        status = check_type(k, &k->params[*at], arg, err);
    if (status)
        return status;
    *value = low_bytes(arg);
    return OMPJIT_OK;
}

/* Checks the facts beside an argument's value: ompjit_arg has no size, so that
 * words which this version does not know must be 0 here. */
static ompjit_status check_facts(const ompjit__kernel_desc *k,
                                 const ompjit__param *p, const ompjit_arg *arg,
                                 ompjit_error *err)
{
    bool pointer = p->kind == OMPJIT__PARAM_POINTER;
    ompjit_status status = ompjit__bits_check(
        "ompjit_arg", "flags", arg->flags,
        OMPJIT_ARG_NOALIAS | OMPJIT_ARG_VARIES, err);
    if (status)
        return status;
    if (arg->reserved[0] || arg->reserved[1])
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_arg: reserved is not 0, of %s of kernel %s",
                            p->name, k->name);
    if (!pointer && (arg->bytes || arg->contents))
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_arg: bytes or contents of %s of kernel %s, "
                            "which is no pointer", p->name, k->name);
    if (arg->contents && (!arg->bytes || arg->bytes > OMPJIT_CONTENTS_MAX))
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_arg: %llu bytes of contents of %s of "
                            "kernel %s; 1 to %d can be",
                            (unsigned long long)arg->bytes, p->name, k->name,
                            OMPJIT_CONTENTS_MAX);
    return OMPJIT_OK;
}

/* Folds what pointer `at` points to. The request refers to the caller's bytes,
 * which must live until the launch is made. */
static ompjit_status add_contents(const ompjit__kernel_desc *k, unsigned at,
                                  const ompjit_arg *arg, ompjit__request *r,
                                  ompjit__fact_arrays *arrays,
                                  ompjit_error *err)
{
    if (at >= 64 || r->facts.contents.n == OMPJIT__COUNT(arrays->contents))
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_arg: contents of %s of kernel %s; 16 "
                            "pointers among the first 64 parameters can have "
                            "some", k->params[at].name, k->name);
    arrays->contents[r->facts.contents.n++] =
        (ompjit__contents){at, (uint32_t)arg->bytes, arg->contents};
    r->facts.contents.list = arrays->contents;
    return OMPJIT_OK;
}

/* A size is only noted where there are no contents, which have one of their
 * own. Parameters behind the 64th are not folded. */
ompjit_status ompjit__kernel_facts(ompjit_kernel *kernel, const ompjit_arg *arg,
                                   unsigned at, ompjit__request *r,
                                   ompjit__fact_arrays *arrays,
                                   ompjit_error *err)
{
    const ompjit__kernel_desc *k = ompjit__desc_of(kernel);
    if (!arg->flags && !arg->bytes && !arg->contents && !arg->reserved[0] &&
        !arg->reserved[1])
        return OMPJIT_OK;
    ompjit_status status = check_facts(k, &k->params[at], arg, err);
    if (!status && arg->contents)
        status = add_contents(k, at, arg, r, arrays, err);
    if (status || at >= 64)
        return status;
    uint64_t bit = UINT64_C(1) << at;
    r->varies |= arg->flags & OMPJIT_ARG_VARIES ? bit : 0;
    r->facts.noalias |= arg->flags & OMPJIT_ARG_NOALIAS ? bit : 0;
    if (arg->bytes && !arg->contents) {
        r->facts.sizes.mask |= bit;
        r->facts.sizes.values = arrays->sizes;
        arrays->sizes[at] = arg->bytes;
    }
    return OMPJIT_OK;
}

/* Every parameter has to be given, once, in any order where they are named. */
ompjit_status ompjit__kernel_values(ompjit_kernel *kernel,
                                    const ompjit_arg *args, unsigned nargs,
                                    uint64_t *values, ompjit__request *r,
                                    ompjit__fact_arrays *arrays,
                                    ompjit_error *err)
{
    const ompjit__kernel_desc *k = ompjit__desc_of(kernel);
    bool given[k->nparams + 1];
    memset(given, 0, sizeof given);
    if (nargs != k->nparams)
        return argument_error(k, err, "takes %u arguments, got %u", k->nparams,
                              nargs);
    for (unsigned i = 0; i < nargs; i++) {
        unsigned at = i;
        uint64_t value;
        ompjit_status status =
            ompjit__kernel_value(kernel, &args[i], &at, &value, err);
        if (!status)
            status = ompjit__kernel_facts(kernel, &args[i], at, r, arrays, err);
        if (status)
            return status;
        if (given[at])
            return argument_error(k, err, "%s is given twice",
                                  k->params[at].name);
        given[at] = true;
        values[at] = value;
    }
    return OMPJIT_OK;
}
