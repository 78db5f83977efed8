/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Finds a compiler's executable by path or name, and asks for its version.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/clang/clang.h"

bool ompjit__executable(const char *path)
{
    struct stat s;
    return !stat(path, &s) && S_ISREG(s.st_mode) && !access(path, X_OK);
}

char *ompjit__on_path(const char *name)
{
    const char *path = getenv("PATH");
    while (path && *path) {
        size_t n = strcspn(path, ":");
        char *file = ompjit__format("%.*s%s%s", (int)n, path, n ? "/" : "",
                                    name);
        if (file && ompjit__executable(file))
            return file;
        free(file);
        path += n + (path[n] == ':');
    }
    return NULL;
}

ompjit_status ompjit__program_named(const char *who, const char *path,
                                    const char *need, char **out,
                                    ompjit_error *err)
{
    char *found = strchr(path, '/') ? NULL : ompjit__on_path(path);
    if (!found && ompjit__executable(path))
        found = ompjit__strdup(path);
    if (!found)
        return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_FRONTEND,
                            "%s (%s) is not an executable file; %s", path, who,
                            need);
    *out = found;
    return OMPJIT_OK;
}

ompjit_status ompjit__version_check(char *path, const char *name,
                                    unsigned limit_ms, ompjit_error *err)
{
    char *argv[] = {path, "--version", NULL};
    char word[32];
    ompjit__buf out = {0};
    ompjit__exit how;
    ompjit_status status =
        ompjit__run_tool(argv, limit_ms, &out, NULL, &how, err);
    if (status)
        return status;
    snprintf(word, sizeof word, "%s version ", name);
    const char *version = out.data ? strstr(out.data, word) : NULL;
    if (version)
        version += strlen(word);
    if (!version)
        status = ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE,
                              OMPJIT_STAGE_FRONTEND,
                              "%s does not say that it is %s (--version); "
                              "%s " OMPJIT__COMPILER_MAJOR " is needed",
                              path, name, name);
    else if (strncmp(version, OMPJIT__COMPILER_MAJOR ".",
                     sizeof OMPJIT__COMPILER_MAJOR))
        status = ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE,
                              OMPJIT_STAGE_FRONTEND,
                              "%s is %s %.*s; %s " OMPJIT__COMPILER_MAJOR
                              " is needed",
                              path, name, (int)strcspn(version, " \n"), version,
                              name);
    ompjit__buf_free(&out);
    return status;
}
