/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Finds flang and the folder of its runtime library.
 */
#include <stdlib.h>
#include <string.h>

#include "frontend/flang/flang.h"

#define MAJOR OMPJIT__COMPILER_MAJOR
#define GET "install the package flang-" MAJOR " or set OMPJIT_FLANG to one"

/* malloc'd; NULL: it is not there. */
static char *beside_clang(void)
{
    const char *clang = OMPJIT_CONFIG_CLANG, *slash = strrchr(clang, '/');
    char *path = slash ? ompjit__format("%.*s/flang", (int)(slash - clang),
                                        clang)
                       : NULL;
    if (path && ompjit__executable(path))
        return path;
    free(path);
    return NULL;
}

static ompjit_status find_path(char **out, ompjit_error *err)
{
    const char *env = getenv("OMPJIT_FLANG");
    if (env && *env)
        return ompjit__program_named("OMPJIT_FLANG", env,
                                     "flang " MAJOR
                                     " is needed to compile Fortran",
                                     out, err);
    *out = beside_clang();
    if (!*out)
        *out = ompjit__on_path("flang-" MAJOR);
    if (!*out)
        return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_FRONTEND,
                            "compiling Fortran needs flang " MAJOR ", which is "
                            "not there: neither flang beside "
                            OMPJIT_CONFIG_CLANG " nor flang-" MAJOR
                            " on PATH; " GET);
    return OMPJIT_OK;
}

/* A path from where the executable's links lead to, as flang's driver finds its
 * own files. */
static char *beside_flang(const char *path, const char *file)
{
    char *real = realpath(path, NULL);
    char *slash = real ? strrchr(real, '/') : NULL;
    char *found = slash ? ompjit__format("%.*s/%s", (int)(slash - real), real,
                                         file)
                        : NULL;
    free(real);
    return found;
}

ompjit_status ompjit__flang_find(ompjit__flang *out, ompjit_error *err)
{
    ompjit__flang flang = {0};
    ompjit_status status = find_path(&flang.path, err);
    if (status)
        return status;
    flang.resource_dir = beside_flang(flang.path, "../lib/clang/" MAJOR);
    flang.include_dir = beside_flang(flang.path, "../include/flang");
    flang.fir_opt = beside_flang(flang.path, "fir-opt");
    if (!flang.resource_dir || !flang.include_dir || !flang.fir_opt) {
        ompjit__flang_free(&flang);
        return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    }
    *out = flang;
    return OMPJIT_OK;
}

void ompjit__flang_free(ompjit__flang *flang)
{
    free(flang->path);
    free(flang->resource_dir);
    free(flang->include_dir);
    free(flang->fir_opt);
    *flang = (ompjit__flang){0};
}
