/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Offload entries of a registered library: registering 10,000 of them, adding
 * their kernels, and finding a kernel by its host address, as each launch does;
 * and in a kernel on the host device the translation of pointers to 100,000
 * functions. The peers are the limits that are set for these: 10 ms, 50 ns and
 * 100 ns.
 */

#include "bench/bench.h"
#include "launch/module.h"
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

/* ---------------------------------------------------- functions by pointer */

enum { FUNCTIONS = 100000, ROUNDS = 10 };

static const char source[] =
    "#pragma omp begin declare target indirect\n"
    "int one(int x) { return x + 1; }\n"
    "#pragma omp end declare target\n"
    "#ifdef __NVPTX__\n"
    "#pragma omp begin declare target\n"
    "void *__kmpc_target_translate_fptr(void *);\n"
    "#pragma omp end declare target\n"
    "#else\n"
    "static void *__kmpc_target_translate_fptr(void *p) { return p; }\n"
    "#endif\n"
    "long sum(void **p, int n, int rounds) {\n"
    "  long s = 0;\n"
    "  int (*f)(int) = one;\n"
    "#pragma omp target map(to: p[:n]) map(tofrom: s) firstprivate(f)\n"
    "  {\n"
    "    s += f(-1);\n"
    "    for (int k = 0; k < rounds; k++)\n"
    "      for (int i = 0; i < n; i++)\n"
    "        s += (char *)__kmpc_target_translate_fptr(p[i]) - (char *)0;\n"
    "  }\n"
    "  return s; }\n";

/* Rows for functions that nobody calls: the i-th one's place is i there. */
static void fill_table(ompjit_context *ctx, ompjit_module *mod)
{
    ompjit__indirect_call *rows = calloc(FUNCTIONS, sizeof *rows);
    for (size_t i = 0; rows && i < FUNCTIONS; i++)
        rows[i] = (ompjit__indirect_call){(char *)0x100000 + 16 * i,
                                          (void *)i};
    try(rows ? ompjit__variants_calls(mod, ctx->devices[0], rows, FUNCTIONS,
                                      &err)
             : OMPJIT_ERR_NO_MEMORY);
    free(rows);
}

static void translate(const char *group)
{
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx;
    ompjit_module *mod;
    void (*f)(void);
    o.devices = "host";
    try(ompjit_context_create(&o, &ctx, &err));
    try(ompjit_module_from_c(ctx, source, NULL, &mod, &err));
    try(ompjit_module_function(mod, "sum", &f, &err));
    long (*sum)(void **, int, int) = (long (*)(void **, int, int))f;
    void **pointers = calloc(FUNCTIONS, sizeof *pointers);
    try(pointers ? OMPJIT_OK : OMPJIT_ERR_NO_MEMORY);
    for (unsigned i = 0; i < FUNCTIONS; i++)
        pointers[i] = (char *)0x100000 + 16 * (i * UINT64_C(7919) % FUNCTIONS);
    sum(pointers, 1, 0); /* the image is loaded */
    fill_table(ctx, mod);
    double best = 1;
    for (int k = 0; k < 5; k++) {
        double start = now();
        long s = sum(pointers, FUNCTIONS, ROUNDS);
        double each = (now() - start) / FUNCTIONS / ROUNDS;
        best = each < best ? each : best;
        if (s != ROUNDS * (FUNCTIONS * (FUNCTIONS - 1L) / 2))
            fprintf(stderr, "translation: wrong sum %ld\n", s), exit(1);
    }
    sample(group, "a pointer to one of 100,000 functions translated", "ours",
           best * 1e9, "ns");
    sample(group, "a pointer to one of 100,000 functions translated", "limit",
           100, "ns");
    free(pointers);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
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
    translate(group);
    return wrong != 0;
}
