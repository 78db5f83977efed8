/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Which architectures there are (arch.def).
 */
#include <string.h>

#include "targets/arch.h"

static const ompjit__arch archs[] = {
#define ARCH(name, cuda, needs, given) {name, cuda, needs, given, NULL, NULL},
#define HOST(name, triple, cpu) {name, 0, 0, 0, triple, cpu},
#define PTX(cuda, version)
#include "targets/arch.def"
#undef ARCH
#undef HOST
#undef PTX
};

static const struct release {
    unsigned cuda, ptx;
} releases[] = {
#define ARCH(name, cuda, needs, given)
#define HOST(name, triple, cpu)
#define PTX(cuda, version) {cuda, version},
#include "targets/arch.def"
#undef ARCH
#undef HOST
#undef PTX
};

#define ARCH(name, cuda, needs, given) \
    _Static_assert((given) >= (needs), name " needs a newer PTX");
#define HOST(name, triple, cpu)
#define PTX(cuda, version)
#include "targets/arch.def"
#undef ARCH
#undef HOST
#undef PTX

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

unsigned ompjit__ptx_of_cuda(unsigned cuda)
{
    unsigned ptx = 0;
    for (size_t i = 0; i < OMPJIT__COUNT(releases); i++)
        if (releases[i].cuda <= cuda)
            ptx = releases[i].ptx;
    return ptx;
}

unsigned ompjit__ptx_version(const ompjit__arch *arch, unsigned newest)
{
    return newest && newest < arch->ptx_given ? newest : arch->ptx_given;
}

bool ompjit__arch_runs(const char *arch, unsigned ptx)
{
    const ompjit__arch *row;
    return !ompjit__arch_find(arch, &row, NULL) && row->ptx_given &&
           row->ptx_needs <= ptx;
}

ompjit_status ompjit__arch_check(const char *arch, ompjit_error *err)
{
    const ompjit__arch *row;
    return ompjit__arch_find(arch, &row, err);
}
