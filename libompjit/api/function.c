/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A module's functions by number and by name, and what they are. Calls are
 * function/'s.
 */
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "function/function.h"

/* ------------------------------------------------------- functions of a module */

ompjit_status ompjit_module_function_count(ompjit_module *mod, unsigned *count,
                                           ompjit_error *err)
{
    const ompjit__functions *all;
    if (!mod || !count)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_module_function_count: module and a place "
                            "for the number are needed");
    ompjit_status status = ompjit__functions_of(mod, &all, err);
    if (!status)
        *count = all->n;
    return status;
}

/* The pointer is valid as long as the module. */
ompjit_status ompjit_module_function_at(ompjit_module *mod, unsigned i,
                                        ompjit_function **fn, ompjit_error *err)
{
    const ompjit__functions *all;
    if (!mod || !fn)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_module_function_at: module and a place for "
                            "the function are needed");
    ompjit_status status = ompjit__functions_of(mod, &all, err);
    if (status)
        return status;
    if (i >= all->n)
        return ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_API,
                            "%s has no function %u: it has %u",
                            mod->unit.name, i, all->n);
    *fn = &all->functions[i];
    return OMPJIT_OK;
}

/* With the parameters of C++: "ns::axpy<float>(int, float*)". */
static bool is_whole_name(const ompjit_function *fn, const char *name)
{
    char *whole = ompjit__demangle(fn->symbol);
    size_t n = whole ? strlen(whole) : 0, m = strlen(name);
    /* A template's begins with its result. */
    bool same = n >= m && !strcmp(whole + n - m, name) &&
                (n == m || whole[n - m - 1] == ' ');
    free(whole);
    return same;
}

/* The linker's name is one function's; the others may be several's. */
static const ompjit_function *find(const ompjit__functions *all,
                                   const char *name, unsigned *found)
{
    const ompjit_function *last = NULL;
    *found = 0;
    for (unsigned i = 0; i < all->n; i++)
        if (!strcmp(all->functions[i].symbol, name)) {
            *found = 1;
            return &all->functions[i];
        }
    for (unsigned i = 0; i < all->n; i++)
        if (!strcmp(all->functions[i].name, name)) {
            last = &all->functions[i];
            ++*found;
        }
    for (unsigned i = 0; !*found && strchr(name, '(') && i < all->n; i++)
        if (is_whole_name(&all->functions[i], name)) {
            last = &all->functions[i];
            ++*found;
        }
    return last;
}

/* The prototypes of those that fit, or the names of all. */
static ompjit_status none_or_several(const ompjit_module *mod,
                                     const ompjit__functions *all,
                                     const char *name, unsigned found,
                                     ompjit_error *err)
{
    ompjit__buf list = {0};
    for (unsigned i = 0; i < all->n; i++) {
        const ompjit_function *fn = &all->functions[i];
        if (found && strcmp(fn->name, name))
            continue;
        ompjit__buf_printf(&list, "%s%s", found ? "\n  " : list.size ? ", " : " ",
                           found ? fn->prototype : fn->name);
    }
    ompjit_status status =
        found ? ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                             "%s has several functions %s:%s", mod->unit.name,
                             name, list.size ? list.data : "")
              : ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_API,
                             "%s has no function %s; it has:%s",
                             mod->unit.name, name,
                             list.size ? list.data : " none");
    ompjit__buf_free(&list);
    return status;
}

/* A function whose name is another's, too, is found by its symbol, or with its
 * parameters. */
ompjit_status ompjit_module_function_find(ompjit_module *mod, const char *name,
                                          ompjit_function **fn,
                                          ompjit_error *err)
{
    const ompjit__functions *all;
    unsigned found;
    if (!mod || !name || !fn)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_module_function_find: module, name and a "
                            "place for the function are needed");
    ompjit_status status = ompjit__functions_of(mod, &all, err);
    if (status)
        return status;
    const ompjit_function *one = find(all, name, &found);
    if (found != 1)
        return none_or_several(mod, all, name, found, err);
    *fn = (ompjit_function *)one;
    return OMPJIT_OK;
}

/* ----------------------------------------------------------------- what it is */

/* The texts and the type are the module's. */
ompjit_status ompjit_function_info_get(ompjit_function *fn,
                                       ompjit_function_info *info,
                                       ompjit_error *err)
{
    ompjit_function_info full = OMPJIT_FUNCTION_INFO_INIT;
    if (!fn)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_function_info_get: a function is needed");
    ompjit_status status =
        ompjit__result_check(OMPJIT__STRUCT_function_info, info, err);
    if (status)
        return status;
    full.name = fn->name;
    full.symbol = fn->symbol;
    full.prototype = fn->prototype;
    full.file = fn->file;
    full.type = fn->type;
    full.refused = fn->refused;
    full.line = fn->line;
    full.nparams = fn->nparams;
    full.from_source = fn->from_source;
    ompjit__result_fill(OMPJIT__STRUCT_function_info, &full, info);
    return OMPJIT_OK;
}

/* Parameters are numbered from 0. */
ompjit_status ompjit_function_param(ompjit_function *fn, unsigned i,
                                    ompjit_function_param_info *info,
                                    ompjit_error *err)
{
    ompjit_function_param_info full = OMPJIT_FUNCTION_PARAM_INFO_INIT;
    if (!fn)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_function_param: a function is needed");
    ompjit_status status =
        ompjit__result_check(OMPJIT__STRUCT_function_param_info, info, err);
    if (status)
        return status;
    if (i >= fn->nparams)
        return ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_API,
                            "%s has no parameter %u: it has %u", fn->name, i,
                            fn->nparams);
    full.name = fn->type->members[i].name;
    full.type = fn->type->members[i].type;
    full.sections = fn->mapped_texts[i];
    full.mapped = fn->mapped[i];
    ompjit__result_fill(OMPJIT__STRUCT_function_param_info, &full, info);
    return OMPJIT_OK;
}
