/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Environments of the processes that are started.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

extern char **environ;

/* Is there a variable of the setting's name? */
static bool is_set(const char *setting)
{
    size_t n = strcspn(setting, "=") + 1;
    for (char **e = environ; e && *e; e++)
        if (!strncmp(*e, setting, n))
            return true;
    return false;
}

static void add_setting(ompjit__buf *text, size_t *n, const char *setting)
{
    ompjit__buf_add(text, setting, strlen(setting) + 1);
    ++*n;
}

char **ompjit__environment_with(const char *const *settings, size_t n)
{
    ompjit__buf text = {0};
    size_t count = 0;
    for (char **e = environ; e && *e; e++)
        add_setting(&text, &count, *e);
    for (size_t i = 0; i < n; i++)
        if (!is_set(settings[i]))
            add_setting(&text, &count, settings[i]);
    size_t pointers = (count + 1) * sizeof(char *);
    char **all = text.failed ? NULL : calloc(1, pointers + text.size);
    char *at = all ? memcpy(all + count + 1, text.data, text.size) : NULL;
    for (size_t i = 0; all && i < count; i++, at += strlen(at) + 1)
        all[i] = at;
    ompjit__buf_free(&text);
    return all;
}
