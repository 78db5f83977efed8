/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Keys: everything that an entry depends on as text, which can be shown and
 * compared, and its digest.
 */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "cache/cache.h"
#include "libompjit/cache/sources.h"

/* The library is named by its version and a digest of its sources, since
 * sources change without a new version. */
void ompjit__key_begin(ompjit__key *key, const char *kind)
{
    *key = (ompjit__key){0};
    ompjit__buf_printf(&key->text, "%s 1\nompjit %s %s\nllvm %s\n", kind,
                       ompjit_version(), OMPJIT__SOURCES, OMPJIT_CONFIG_LLVM);
}

/* Adds "name HEX", the digest of something that is too long for the text. */
void ompjit__key_digest(ompjit__key *key, const char *name,
                        const uint8_t digest[OMPJIT__DIGEST])
{
    char text[65];
    ompjit__digest_text(digest, text);
    ompjit__buf_printf(&key->text, "%s %s\n", name, text);
}

/* A file counts by its size and the time of its last change, which are cheaper
 * than its content. */
void ompjit__key_file(ompjit__key *key, const char *name, const char *path)
{
    struct stat s;
    if (!path || stat(path, &s))
        ompjit__buf_printf(&key->text, "%s none\n", name);
    else
        ompjit__buf_printf(&key->text, "%s %s %jd %jd.%09ld\n", name, path,
                           (intmax_t)s.st_size, (intmax_t)s.st_mtim.tv_sec,
                           s.st_mtim.tv_nsec);
}

void ompjit__key_cpu(ompjit__key *key)
{
    const ompjit__buf *cpu = ompjit__cpu_identity();
    key->text.failed |= cpu->failed;
    ompjit__buf_add(&key->text, cpu->data, cpu->size);
}

bool ompjit__key_end(ompjit__key *key)
{
    if (key->text.failed)
        return false;
    ompjit__digest(key->text.data, key->text.size, key->digest);
    return true;
}

/* For a key that was begun, also where its end failed. */
void ompjit__key_free(ompjit__key *key)
{
    ompjit__buf_free(&key->text);
}
