/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Which architectures there are (arch.def).
 */
#include <string.h>

#include "backend/arch.h"
#include "core.h"

static const ompjit__arch archs[] = {
#define ARCH(name, cuda, needs, given, feature)                                \
    {name, cuda, needs, given, feature, NULL, NULL},
#define HOST(name, triple, cpu) {name, 0, 0, 0, "", triple, cpu},
#include "backend/arch.def"
#undef ARCH
#undef HOST
};

#define ARCH(name, cuda, needs, given, feature)                                \
    _Static_assert((given) >= (needs), name " needs a newer PTX");
#define HOST(name, triple, cpu)
#include "backend/arch.def"
#undef ARCH
#undef HOST

const ompjit__arch *ompjit__arch_at(size_t i)
{
    return i < OMPJIT__COUNT(archs) ? &archs[i] : NULL;
}

ompjit_status ompjit__arch_find(const char *name, const ompjit__arch **out,
                                ompjit_error *err)
{
    for (size_t i = 0; name && i < OMPJIT__COUNT(archs); i++) {
        if (!strcmp(archs[i].name, name)) {
            *out = &archs[i];
            return OMPJIT_OK;
        }
    }
    ompjit__buf list = {0};
    for (size_t i = 0; i < OMPJIT__COUNT(archs); i++)
        ompjit__buf_printf(&list, "%s%s", i ? ", " : "", archs[i].name);
    ompjit_status status = ompjit__fail(
        err, OMPJIT_ERR_TARGET, OMPJIT_STAGE_API,
        "unknown architecture '%s'; there are %s", name ? name : "(none)",
        list.data ? list.data : "");
    ompjit__buf_free(&list);
    return status;
}

ompjit_status ompjit__arch_check(const char *arch, ompjit_error *err)
{
    const ompjit__arch *row;
    return ompjit__arch_find(arch, &row, err);
}
