/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Reads host_calls.def: the list is searched from its begin, so a row must come
 * before a more general one, as KEEPER("_ZNSolsEPKv") does before
 * CALLER("_ZNSols*").
 */
#include <string.h>

#include "core/core.h"
#include "passes/hosthalf/points/call.h"

ompjit__call ompjit__call_of(const char *name)
{
    static const struct {
        const char *pattern;
        ompjit__call call;
    } rows[] = {
#define CALL(pattern, class) {pattern, {OMPJIT__CALL_##class, false, false}},
#define CALLER(pattern, class) {pattern, {OMPJIT__CALL_##class, true, false}},
#define KEEPER(pattern, class) {pattern, {OMPJIT__CALL_##class, true, true}},
#define MATH(name)                                                             \
    CALL(name, NOTHING) CALL(name "f", NOTHING) CALL(name "l", NOTHING)
#include "passes/hosthalf/points/host_calls.def"
    };
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        size_t n = strlen(rows[i].pattern) - 1;
        if (rows[i].pattern[n] == '*' ? !strncmp(name, rows[i].pattern, n)
                                      : !strcmp(name, rows[i].pattern))
            return rows[i].call;
    }
    return (ompjit__call){OMPJIT__CALL_ANYTHING, true, true};
}

const ompjit__call_back *ompjit__call_back_of(const char *name)
{
    static const struct {
        const char *name;
        ompjit__call_back back;
    } rows[] = {
#define BACK(name, function, first, second) {name, {function, {first, second}}},
#include "passes/hosthalf/points/host_calls.def"
    };
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++)
        if (!strcmp(name, rows[i].name))
            return &rows[i].back;
    return NULL;
}
