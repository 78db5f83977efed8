/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Finds names in the libraries that compiled programs are linked with, and that
 * this process may lack.
 */
#include <dlfcn.h>

#include "base/base.h"
#include "loader/libraries.h"

void *ompjit__libraries_find(const char *name)
{
    static const char *const libraries[] = {"libm.so.6", "libgcc_s.so.1",
                                            "libstdc++.so.6"};
    for (size_t i = 0; i < OMPJIT__COUNT(libraries); i++) {
        void *handle = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
        void *address = handle ? dlsym(handle, name) : NULL;
        if (address)
            return address;
        if (handle)
            dlclose(handle);
    }
    return NULL;
}
