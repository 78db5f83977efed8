/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Options of the optimizer: tells which there are, and reads those that
 * contexts and modules are given.
 */
#include <stdlib.h>
#include <string.h>

#include "api/opt.h"
#include "base/structs.h"
#include "ompjit_opt.h"

unsigned ompjit_opt_count(void)
{
    return OMPJIT__OPT_COUNT;
}

/* The texts are the library's, and constant. */
ompjit_status ompjit_opt_at(unsigned i, ompjit_opt_info *info,
                            ompjit_error *err)
{
    ompjit_status status =
        ompjit__result_check(OMPJIT__STRUCT_opt_info, info, err);
    if (status)
        return status;
    if (i >= OMPJIT__OPT_COUNT)
        return ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_API,
                            "ompjit_opt_at: no option %u; they are 0 to %d", i,
                            OMPJIT__OPT_COUNT - 1);
    const ompjit__opt_row *row = ompjit__opt_at((enum ompjit__opt_id)i);
    const ompjit_opt_info full = {.name = row->name,
                                  .help = row->help,
                                  .most = row->most,
                                  .ordinary = row->ordinary};
    ompjit__result_fill(OMPJIT__STRUCT_opt_info, &full, info);
    return OMPJIT_OK;
}

/* Reads in order: a later option wins. `where` begins messages. */
ompjit_status ompjit__opts_read(const char *where, const char *const *list,
                                unsigned n, ompjit__opts *opts,
                                ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    if (n && !list)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "%s: %u opts, but no array", where, n);
    for (unsigned i = 0; i < n && !status; i++)
        status = list[i] ? ompjit__opt_set(opts, list[i], err)
                         : ompjit__fail(err, OMPJIT_ERR_INVALID,
                                        OMPJIT_STAGE_API,
                                        "%s: opts[%u] is NULL", where, i);
    return status;
}

/* Options are separated by commas. */
ompjit_status ompjit__opts_environment(ompjit__opts *opts, ompjit_error *err)
{
    static const char variable[] = "OMPJIT_OPT";
    const char *value = getenv(variable);
    char *list = ompjit__strdup(value ? value : ""), *rest, *one;
    ompjit_status status =
        list ? OMPJIT_OK : ompjit__no_memory(err, OMPJIT_STAGE_API);
    for (one = list ? strtok_r(list, ",", &rest) : NULL; one && !status;
         one = strtok_r(NULL, ",", &rest)) {
        ompjit_error why;
        status = ompjit__opt_set(opts, one, &why);
        if (status)
            ompjit__fail(err, status, OMPJIT_STAGE_API, "%s: %s", variable,
                         why.text);
    }
    free(list);
    return status;
}
