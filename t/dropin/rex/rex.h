/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A program of a source-to-source compiler in one file: with KERNELS its device
 * code, which is compiled by itself; else its host code, which launches by the
 * symbols K_name of the kernels, which the file SYMBOLS defines. Each program
 * checks its own results.
 */
#ifndef KERNELS
#include <math.h>
#include <string.h>

#include "../abi.h"
#include SYMBOLS

void rex_offload_init(const char *path);
void rex_offload_fini(void);

struct argument {
    void *word;
    int64_t size, type;
};

static inline void *packed(const void *value, size_t size)
{
    void *word = NULL;
    memcpy(&word, value, size);
    return word;
}
#define VALUE(v) {packed(&(v), sizeof(v)), sizeof(v), PARAM | LITERAL}
#define ARRAY(p, n, way) {(p), (int64_t)((n) * sizeof *(p)), PARAM | (way)}

static inline int launch(void *key, int n, const struct argument *a,
                         uint32_t version, uint32_t teams, uint32_t threads)
{
    void *words[16];
    int64_t sizes[16], types[16];
    for (int i = 0; i < n; i++) {
        words[i] = a[i].word;
        sizes[i] = a[i].size;
        types[i] = a[i].type;
    }
    struct __tgt_kernel_arguments k = {
        .Version = version, .NumArgs = (uint32_t)n, .ArgsBase = words,
        .Args = words, .ArgSizes = sizes, .ArgTypes = types,
        .Teams = {teams}, .Threads = {threads}};
    return __tgt_target_kernel(NULL, -1, (int)teams, (int)threads, key, &k);
}
#define LAUNCH(name, ...) \
    launch(&OUT__##name##__id__, \
           (int)(sizeof(struct argument[]){__VA_ARGS__} / \
                 sizeof(struct argument)), \
           (struct argument[]){__VA_ARGS__}, 3, 0, 0)
#define KERNEL(name) \
    char OUT__##name##__id__ = 0; \
    ENTRY(OUT__##name##__id__, K_##name)

static int test(void); /* the number of wrong results */

int main(int argc, char **argv)
{
    rex_offload_init(argv[1]);
    int wrong = test();
    rex_offload_fini();
    printf("wrong %d\n", wrong);
    return wrong != 0;
}
#endif
