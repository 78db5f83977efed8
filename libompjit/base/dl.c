/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Libraries that are loaded when first needed: a missing one is an ordinary
 * status with every cause in its text.
 */
#include <dlfcn.h>
#include <string.h>

#include "base/base.h"

static const char *fill(void *handle, const ompjit__symbol *symbols, size_t n,
                        void *table)
{
    for (size_t i = 0; i < n; i++) {
        void *address = dlsym(handle, symbols[i].name);
        if (!address && symbols[i].required)
            return symbols[i].name;
        memcpy((char *)table + symbols[i].offset, &address, sizeof address);
    }
    return NULL;
}

ompjit_status ompjit__load_library(const char *what, const char *const *paths,
                                   const ompjit__symbol *symbols, size_t n,
                                   void *table, ompjit_error *err)
{
    ompjit__buf causes = {0};
    for (; *paths; paths++) {
        void *handle = dlopen(*paths, RTLD_NOW | RTLD_LOCAL);
        if (!handle) {
            ompjit__buf_printf(&causes, "\n  %s", dlerror());
            continue;
        }
        const char *missing = fill(handle, symbols, n, table);
        if (!missing) {
            ompjit__buf_free(&causes);
            return OMPJIT_OK;
        }
        ompjit__buf_printf(&causes, "\n  %s: no symbol %s", *paths, missing);
        dlclose(handle);
    }
    ompjit_status status = ompjit__fail(
        err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_LOAD, "%s not found:%s", what,
        causes.data ? causes.data : " nowhere to look");
    ompjit__buf_free(&causes);
    return status;
}
