/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * rows FOLDER: the device runtime's test kernels by the library's own API, from
 * precompiled IR (FOLDER/NAME.bc), on the context's first device: generic and
 * specialized, in several geometries, against what the sequential program
 * leaves. RT_KERNEL in the environment names the only kernels to run.
 */
#include <stdbool.h>
#include <stddef.h>

#include "ompjit.h"
#include "rt_work.h"
#include "tap.h"

enum { MOST_PARAMS = 4 };

static ompjit_error err;
static ompjit_device *dev;
static ompjit_module *mod;
static args *on_device;

static void must(ompjit_status status)
{
    if (!status)
        return;
    printf("Bail out! %s\n", err.text);
    exit(1);
}

static char *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *bytes = NULL;
    if (f && !fseek(f, 0, SEEK_END)) {
        *size = (size_t)ftell(f);
        rewind(f);
        bytes = malloc(*size);
    }
    if (!bytes || fread(bytes, 1, *size, f) != *size) {
        printf("Bail out! cannot read %s\n", path);
        exit(1);
    }
    fclose(f);
    return bytes;
}

static bool read_module(ompjit_context *ctx, const char *folder,
                        const char *name)
{
    char path[4096];
    size_t size;
    snprintf(path, sizeof path, "%s/%s.bc", folder, name);
    char *ir = read_file(path, &size);
    ompjit_status status =
        ompjit_module_from_ir(ctx, ir, size, NULL, 0, NULL, &mod, &err);
    free(ir);
    if (!ok(!status, "%s is read", name))
        printf("# %s\n", err.text);
    return !status;
}

enum { MOST_KERNELS = 16 };
static ompjit_kernel_info infos[MOST_KERNELS + 1]; /* of mod; "" ends them */

static const char *entry_at(int i)
{
    return infos[i].symbol[0] ? infos[i].symbol : NULL;
}

static void list_kernels(void)
{
    unsigned n = ompjit_module_kernel_count(mod);
    for (unsigned i = 0; i < n && i < MOST_KERNELS; i++) {
        infos[i].size = sizeof infos[i];
        ompjit_kernel_info_get(ompjit_module_kernel_at(mod, i), &infos[i],
                               &err);
    }
    infos[n < MOST_KERNELS ? n : MOST_KERNELS].symbol[0] = 0;
}

/* A thread_limit clause of one of the module's kernels says how many. */
static bool fits(unsigned threads)
{
    for (int i = 0; entry_at(i); i++)
        if (infos[i].max_threads && threads > infos[i].max_threads)
            return false;
    return true;
}

/* A kernel's pointers come in the order of their first use. */
static ompjit_status launch(const char *symbol, bool locks,
                            const ompjit_launch *how)
{
    char *base = (char *)on_device;
    const struct {
        void *plain, *locks;
    } rows[MOST_PARAMS] = {
        {base, base + offsetof(args, lock)},
        {base + offsetof(args, sum), base},
        {base + offsetof(args, isum), base + offsetof(args, nest)},
        {base + offsetof(args, imin), base},
    };
    ompjit_arg values[MOST_PARAMS] = {0};
    ompjit_kernel_info info = OMPJIT_KERNEL_INFO_INIT;
    ompjit_kernel *k;
    ompjit_status status = ompjit_module_kernel(mod, symbol, &k, &err);
    if (status)
        return status;
    ompjit_kernel_info_get(k, &info, NULL);
    for (unsigned i = 0; i < info.nparams && i < MOST_PARAMS; i++) {
        values[i].type = OMPJIT_ARG_POINTER;
        values[i].value.p = locks ? rows[i].locks : rows[i].plain;
    }
    return ompjit_kernel_launch(k, dev, how, values, info.nparams, &err);
}

/* NULL, or what is wrong. */
static const char *run_kernel(const kernel *k, const ompjit_launch *how)
{
    args *got = args_new(), *want = args_new();
    const char *symbol, *wrong = NULL;
    k->sequential(want);
    ompjit_status status =
        ompjit_device_upload(dev, on_device, got, sizeof *got, &err);
    for (int i = 0; !status && (symbol = find_entry(entry_at, k->name, i)); i++) {
        status = launch(symbol, !strcmp(k->name, "locks"), how);
    }
    if (!status)
        status = ompjit_device_download(dev, got, on_device, sizeof *got, &err);
    wrong = status ? err.text : difference(got, want, k->inexact);
    free(got);
    free(want);
    return wrong;
}

static void run_geometries(const kernel *k, ompjit_specialize specialize)
{
    static const unsigned geometry[][2] = {{1, 32}, {1, 128}, {1, 50},
                                           {4, 64}, {70, 96}, {5, 20}};
    for (size_t g = 0; g < sizeof geometry / sizeof *geometry; g++) {
        ompjit_launch how = OMPJIT_LAUNCH_INIT;
        how.teams = geometry[g][0];
        how.threads = geometry[g][1];
        how.specialize.mode = specialize;
        bool folded = specialize == OMPJIT_SPECIALIZE_NOW;
        if ((one_team(k->name) && how.teams > 1) || (folded && g % 2 == 0) ||
            !fits(how.threads))
            continue;
        const char *wrong = run_kernel(k, &how);
        ok(!wrong, "%s, %u x %u%s", k->name, how.teams, how.threads,
           folded ? ", specialized" : "");
        if (wrong)
            printf("# %s\n", wrong);
    }
}

int main(int argc, char **argv)
{
    ompjit_context *ctx;
    void *p;
    if (argc != 2)
        return 2;
    must(ompjit_context_create(NULL, &ctx, &err));
    must(ompjit_context_device(ctx, 0, &dev, &err));
    must(ompjit_device_alloc(dev, sizeof *on_device, &p, &err));
    on_device = p;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (wanted(&kernels[i]) &&
            read_module(ctx, argv[1], kernels[i].name)) {
            list_kernels();
            run_geometries(&kernels[i], OMPJIT_SPECIALIZE_OFF);
            run_geometries(&kernels[i], OMPJIT_SPECIALIZE_NOW);
            ompjit_module_destroy(mod);
        }
    must(ompjit_device_free(dev, p, &err));
    ompjit_context_destroy(ctx);
    return done_testing();
}
