/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Environment variables whose names are like those of variables.def, and none
 * of them: nothing reads them.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/base.h"

#define PREFIX "OMPJIT_"

static const char *const variables[] = {
#define VARIABLE(name) PREFIX #name,
#include "base/variables.def"
};

/* The name that `name` was meant to be; NULL: it is one, or like none. Letters
 * of either case are alike; after the right prefix a third of the letters may
 * differ, or the end be missing, else two in all. */
static const char *meant(const char *name)
{
    enum { PREFIX_SIZE = sizeof PREFIX - 1 };
    bool prefixed = !strncmp(name, PREFIX, PREFIX_SIZE);
    size_t n = strlen(name);
    unsigned least = !prefixed ? 2 : n < PREFIX_SIZE + 5 ? 1
                               : (unsigned)(n - PREFIX_SIZE) / 3 + 1;
    const char *best = NULL;
    char upper[OMPJIT__DISTANCE_MOST + 1];
    for (size_t i = 0; i <= n && i < sizeof upper; i++)
        upper[i] = name[i] >= 'a' && name[i] <= 'z' ? (char)(name[i] - 'a' + 'A')
                                                    : name[i];
    if (n >= sizeof upper)
        return NULL;
    for (size_t i = 0; i < OMPJIT__COUNT(variables); i++) {
        unsigned d = ompjit__distance(upper, variables[i]);
        if (!strcmp(name, variables[i]))
            return NULL;
        if (prefixed && n >= PREFIX_SIZE + 4 &&
            !strncmp(upper, variables[i], n))
            d = 1;
        if (d < least || (d == least && !best)) {
            least = d;
            best = variables[i];
        }
    }
    return best;
}

void ompjit__variables_misspelled(ompjit__misspelled_fn *tell, void *data)
{
    extern char **environ;
    for (char **p = environ; p && *p; p++) {
        char name[OMPJIT__DISTANCE_MOST + 1], text[256];
        size_t n = strcspn(*p, "=");
        if (n >= sizeof name || strncasecmp(*p, "OMP", 3))
            continue;
        memcpy(name, *p, n);
        name[n] = 0;
        const char *best = meant(name);
        if (!best)
            continue;
        snprintf(text, sizeof text, "the environment variable %s is read by "
                 "nobody; did you mean %s?", name, best);
        tell(data, text);
    }
}
