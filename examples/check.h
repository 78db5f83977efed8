/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How the examples report: "NAME: ok" or "NAME: wrong ...", and a checksum of
 * the result's bytes, which is the same on every device.
 */
#ifndef EXAMPLES_CHECK_H
#define EXAMPLES_CHECK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* FNV-1a, 64 bits. */
static inline uint64_t checksum(const void *data, size_t size)
{
    const unsigned char *p = data;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ p[i]) * 0x100000001b3u;
    return hash;
}

/* The exit status of an example that found `wrong` wrong elements. */
static inline int report(const char *name, long wrong, const void *data,
                         size_t size)
{
    if (wrong)
        printf("%s: %ld elements wrong\n", name, wrong);
    else
        printf("%s: ok\n", name);
    printf("%s: checksum %016llx\n", name,
           (unsigned long long)checksum(data, size));
    return wrong != 0;
}

/* The i-th argument as a number of at least 1. */
static inline long size_argument(int argc, char **argv, int i, long otherwise)
{
    long n = i < argc ? atol(argv[i]) : otherwise;
    return n > 0 ? n : otherwise;
}

static inline void *must(void *memory)
{
    if (!memory) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return memory;
}
#endif
