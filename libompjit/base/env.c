/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Sizes that the environment says.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

ompjit_status ompjit__env_bytes(const char *variable, uint64_t *bytes,
                                ompjit_error *err)
{
    static const char letters[] = "KMGT";
    const char *text = getenv(variable);
    if (!text || !*text)
        return OMPJIT_OK;
    char *end;
    errno = 0;
    uint64_t n = strtoull(text, &end, 10);
    const char *letter = *end ? strchr(letters, *end) : NULL;
    unsigned shift = letter ? 10 * (unsigned)(letter - letters + 1) : 0;
    if (*text < '0' || *text > '9' || errno || end[letter != NULL] ||
        n > UINT64_MAX >> shift)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "%s=%s: not a number of bytes, which may end in K, "
                            "M, G or T",
                            variable, text);
    *bytes = n << shift;
    return OMPJIT_OK;
}
