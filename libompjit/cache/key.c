/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Keys: what an entry depends on, written out, so that it can be shown and
 * compared, and digested by BLAKE3, which LLVM brings.
 */
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/blake3.h>

#include "cache/cache.h"
#include "libompjit/cache/sources.h"

void ompjit__digest(const void *data, size_t size, uint8_t out[OMPJIT__DIGEST])
{
    llvm_blake3_hasher h;
    llvm_blake3_hasher_init(&h);
    llvm_blake3_hasher_update(&h, data, size);
    llvm_blake3_hasher_finalize(&h, out, OMPJIT__DIGEST);
}

void ompjit__digest_text(const uint8_t digest[OMPJIT__DIGEST], char out[65])
{
    static const char digits[] = "0123456789abcdef";
    for (unsigned i = 0; i < OMPJIT__DIGEST; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[2 * OMPJIT__DIGEST] = 0;
}

/* The library's own sources are told by their digest, which changes before
 * anybody changes its version. */
void ompjit__key_begin(ompjit__key *key, const char *kind)
{
    unsigned major, minor, patch;
    LLVMGetVersion(&major, &minor, &patch);
    *key = (ompjit__key){0};
    ompjit__buf_printf(&key->text, "%s 1\nompjit %s %s\nllvm %u.%u.%u\n",
                       kind, ompjit_version(), OMPJIT__SOURCES, major, minor,
                       patch);
}

void ompjit__key_digest(ompjit__key *key, const char *name,
                        const uint8_t digest[OMPJIT__DIGEST])
{
    char text[65];
    ompjit__digest_text(digest, text);
    ompjit__buf_printf(&key->text, "%s %s\n", name, text);
}

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

/* Asking the processor takes 0.2 ms where a hypervisor answers. */
static ompjit__buf cpu;

static void ask_cpu(void)
{
    char *name = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
    ompjit__buf_printf(&cpu, "cpu %s\nfeatures %s\n", name, features);
    LLVMDisposeMessage(name);
    LLVMDisposeMessage(features);
}

void ompjit__key_cpu(ompjit__key *key)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, ask_cpu);
    key->text.failed |= cpu.failed;
    ompjit__buf_add(&key->text, cpu.data, cpu.size);
}

bool ompjit__key_end(ompjit__key *key)
{
    if (key->text.failed)
        return false;
    ompjit__digest(key->text.data, key->text.size, key->digest);
    return true;
}

void ompjit__key_free(ompjit__key *key)
{
    ompjit__buf_free(&key->text);
}
