/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Offload entries of a registered library: registering 10,000 of them, adding
 * their kernels, and finding a kernel by its host address, as each launch does.
 * The peers are the limits that are set for these: 10 ms and 50 ns.
 */

#include "bench/bench.h"
#include "omptarget/entry_points.h"
#include "omptarget/library.h"

enum { N = 10000, LOOKUPS = 10000000 };

static ompjit__offload_entry entries[N];
static char keys[N][16], names[N][32];

static void make_entries(void)
{
    for (size_t i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "__omp_offloading_%zu", i);
        entries[i] = (ompjit__offload_entry){
            .version = OMPJIT__ENTRY_VERSION, .kind = OMPJIT__OFFLOAD_OPENMP,
            .address = keys[i], .name = names[i]};
    }
}

int main(void)
{
    const char *group = "registered libraries, against limits";
    static ompjit__bin_desc desc;
    static char module; /* an address that is never read */
    ompjit_context *ctx;
    make_entries();
    desc.entries_begin = entries;
    desc.entries_end = entries + N;
    try(ompjit_context_create(NULL, &ctx, &err));

    double start = now();
    ompjit__s_register_lib(ctx, &desc);
    double registered = now() - start;
    ompjit__s_unregister_lib(ctx, &desc);
    sample(group, "10,000 entries registered", "ours", registered * 1e3, "ms");
    sample(group, "10,000 entries registered", "limit", 10, "ms");

    start = now();
    for (unsigned i = 0; i < N; i++)
        try(ompjit__tgt_add_kernel(ctx, keys[i], (ompjit_module *)&module, i,
                                   &err));
    sample(group, "10,000 kernels added", "ours", (now() - start) * 1e3, "ms");
    sample(group, "10,000 kernels added", "limit", 10, "ms");

    unsigned wrong = 0, i = 0;
    start = now();
    for (size_t k = 0; k < LOOKUPS; k++) {
        ompjit_module *mod;
        unsigned kernel;
        i = (i + 7919) % N;
        wrong += !ompjit__tgt_find(ctx->tgt, keys[i], &mod, &kernel) ||
                 kernel != i;
    }
    double each = (now() - start) / LOOKUPS;
    sample(group, "a kernel found by its address", "ours", each * 1e9, "ns");
    sample(group, "a kernel found by its address", "limit", 50, "ns");
    ompjit_context_destroy(ctx);
    return wrong != 0;
}
