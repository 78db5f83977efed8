/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A profiler as NVTX_INJECTION64_PATH names one: asks for NVTX's functions as
 * Nsight Systems does, puts its own in their place, and writes each call and
 * the thread's depth to the file FAKE_NVTX_LOG.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef void any_fn(void);
struct callbacks {
    size_t size;
    int (*table)(int module, any_fn ****out, unsigned *n);
};

static FILE *out;
static _Thread_local int depth;

static int push(const char *name)
{
    fprintf(out, "push %d %s\n", depth, name);
    fflush(out);
    return depth++;
}

static int pop(void)
{
    fprintf(out, "pop %d\n", --depth);
    fflush(out);
    return depth;
}

int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t));
int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t))
{
    enum { CALLBACKS = 1, CORE = 1, PUSH_A = 9, POP = 11 };
    const struct callbacks *callbacks = export_table(CALLBACKS);
    const char *path = getenv("FAKE_NVTX_LOG");
    any_fn ***table;
    unsigned n = 0;
    if (!callbacks || callbacks->size < sizeof *callbacks || !path ||
        !callbacks->table(CORE, &table, &n) || n <= POP)
        return 0;
    out = fopen(path, "w");
    *table[PUSH_A] = (any_fn *)push;
    *table[POP] = (any_fn *)pop;
    return out != NULL;
}
