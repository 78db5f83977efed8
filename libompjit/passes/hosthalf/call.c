/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Reads host_calls.def.
 */
#include <string.h>

#include "core/core.h"
#include "passes/hosthalf/call.h"

ompjit__call_class ompjit__call_class_of(const char *name)
{
    static const struct {
        const char *pattern;
        ompjit__call_class class;
    } rows[] = {
#define CALL(pattern, class) {pattern, OMPJIT__CALL_##class},
#include "passes/hosthalf/host_calls.def"
    };
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        size_t n = strlen(rows[i].pattern) - 1;
        if (rows[i].pattern[n] == '*' ? !strncmp(name, rows[i].pattern, n)
                                      : !strcmp(name, rows[i].pattern))
            return rows[i].class;
    }
    return OMPJIT__CALL_ANYTHING;
}
