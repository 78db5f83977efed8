/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How unlike two names are, for "did you mean".
 */
#include <string.h>

#include "base/base.h"

unsigned ompjit__distance(const char *a, const char *b)
{
    unsigned char row[OMPJIT__DISTANCE_MOST + 1];
    unsigned n = (unsigned)strnlen(b, OMPJIT__DISTANCE_MOST);
    for (unsigned j = 0; j <= n; j++)
        row[j] = (unsigned char)j;
    for (unsigned i = 0; a[i] && i < OMPJIT__DISTANCE_MOST; i++) {
        unsigned corner = row[0];
        row[0] = (unsigned char)(i + 1);
        for (unsigned j = 0; j < n; j++) {
            unsigned best = corner + (a[i] != b[j]);
            corner = row[j + 1];
            if (corner + 1 < best)
                best = corner + 1;
            if (row[j] + 1u < best)
                best = row[j] + 1u;
            row[j + 1] = (unsigned char)best;
        }
    }
    return row[n];
}
