/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Kernels of this library for LLVM's libomptarget (ompjit_offload.h): its image
 * is loaded and called as the plugin of the host CPU does, and by the plugin
 * itself, of each libomptarget that is beside clang.
 */
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/offload.h"
#include "base/base.h"
#include "ompjit_offload.h"
#include "ompjit_tune.h"
#include "tap.h"

enum { N = 100 };

/* `many` has more words than registers hold. */
static const char source[] =
    "#include <omp.h>\n"
    "void add(int n, float a, float *x, float *y) {\n"
    "#pragma omp target teams distribute parallel for map(to: x[:n]) "
    "map(tofrom: y[:n])\n"
    "  for (int i = 0; i < n; i++) y[i] += a * x[i];\n}\n"
    "void many(char a, short b, int c, long d, float e, double f, char g,\n"
    "          short h, int i, double *out) {\n"
    "#pragma omp target teams num_teams(3) map(tofrom: out[:1])\n"
    "  if (omp_get_team_num() == 0)\n"
    "    out[0] = a + 2*b + 3*c + 4*d + 5*e + 6*f + 7*g + 8*h + 9*i +\n"
    "             1000 * omp_get_num_teams();\n}\n"
    "void faults(int *p) {\n"
    "#pragma omp target map(tofrom: p[:1])\n"
    "  *(volatile int *)8 = p[0];\n}\n";

static ompjit_error err;
static ompjit_context *ctx;
static ompjit_device *dev;
static ompjit_module *mod;

static ompjit_kernel *kernel(const char *name)
{
    ompjit_kernel *k = NULL;
    if (ompjit_module_kernel(mod, name, &k, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return k;
}

static void begin(void)
{
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    o.devices = "host";
    if (ompjit_context_create(&o, &ctx, &err) ||
        ompjit_context_device(ctx, 0, &dev, &err) ||
        ompjit_module_from_c(ctx, source, NULL, &mod, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
}

static ompjit_offload *offload(const ompjit_launch *launch, unsigned llvm)
{
    ompjit_offload *o = NULL;
    ok(!ompjit_offload_create(mod, dev, launch, llvm, &o, &err),
       "entries and image, LLVM %u", llvm);
    if (!o) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return o;
}

/* A word of a launch, with a value in its low end. */
static void *word(const void *value, size_t size)
{
    void *w = NULL;
    memcpy(&w, value, size);
    return w;
}
#define WORD(type, value) word(&(type){value}, sizeof(type))

/* ------------------------------------------------------- entries and image */

static void *load(const ompjit__bin_desc *d)
{
    char path[32];
    const char *at = d->images->image_begin;
    size_t size = (size_t)((char *)d->images->image_end - at);
    int fd = memfd_create("image", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    void *handle = fd >= 0 && write(fd, at, size) == (ssize_t)size
                       ? dlopen(path, RTLD_NOW | RTLD_LOCAL)
                       : NULL;
    if (!handle)
        fprintf(stderr, "# %s\n", dlerror());
    close(fd);
    return handle;
}

static void structure(void)
{
    ompjit_offload *o = offload(NULL, 0), *old = offload(NULL, 19);
    const ompjit__bin_desc *d = ompjit_offload_descriptor(o),
                           *e = ompjit_offload_descriptor(old);
    const ompjit__offload_entry *entries = d->entries_begin;
    const ompjit__offload_entry_old *olds = e->entries_begin;
    void *image = load(d), *key = NULL;
    unsigned n = ompjit_module_kernel_count(mod);
    ok(image != NULL, "the image is a shared library");
    ok((char *)d->entries_end - (char *)entries == (long)(n * sizeof *entries) &&
           (char *)e->entries_end - (char *)olds == (long)(n * sizeof *olds),
       "one entry for each of %u kernels, in both layouts", n);
    for (unsigned i = 0; i < n; i++) {
        ompjit_kernel_info info = OMPJIT_KERNEL_INFO_INIT;
        ompjit_kernel *k = ompjit_module_kernel_at(mod, i);
        ompjit_kernel_info_get(k, &info, &err);
        ompjit_offload_key(o, k, &key, &err);
        ok_string(entries[i].name, info.symbol, "  its name");
        ok(entries[i].address == key && entries[i].version == 1 &&
               entries[i].kind == 1 && !entries[i].size,
           "  its key is the launch's");
        ok(image && dlsym(image, info.symbol), "  the image has its symbol");
        ompjit_offload_key(old, k, &key, &err);
        ok(olds[i].address == key && !strcmp(olds[i].name, info.symbol) &&
               !olds[i].size && !olds[i].flags, "  so in the old layout");
    }
    ok(image && !dlsym(image, "another"), "no other symbol");
    if (image)
        dlclose(image);
    ompjit_offload_destroy(o);
    ompjit_offload_destroy(old);
}

static void direct(void)
{
    typedef void function(void *, void *, void *, void *, void *, void *,
                          void *, void *, void *, void *, void *);
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    ompjit_kernel_info info = OMPJIT_KERNEL_INFO_INIT;
    launch.teams = 3;
    ompjit_offload *o = offload(&launch, 0);
    void *image = load(ompjit_offload_descriptor(o));
    double out = 0;
    void *words[11] = {(void *)~UINTPTR_MAX}; /* no launch environment */
    ompjit_kernel *k = kernel("many");
    ompjit_kernel_info_get(k, &info, &err);
    for (unsigned i = 0; i < info.nparams; i++) {
        ompjit_param_info p = OMPJIT_PARAM_INFO_INIT;
        ompjit_kernel_param(k, i, &p, &err);
        switch (*p.name) {
        case 'a': words[i + 1] = WORD(char, 1); break;
        case 'b': words[i + 1] = WORD(short, 2); break;
        case 'c': words[i + 1] = WORD(int, 3); break;
        case 'd': words[i + 1] = WORD(long, 4); break;
        case 'e': words[i + 1] = WORD(float, 5); break;
        case 'f': words[i + 1] = WORD(double, 6); break;
        case 'g': words[i + 1] = WORD(char, 7); break;
        case 'h': words[i + 1] = WORD(short, 8); break;
        case 'i': words[i + 1] = WORD(int, 9); break;
        case 'o': words[i + 1] = &out; break;
        }
    }
    ok(info.nparams == 10, "ten arguments");
    function *f = NULL;
    *(void **)&f = image ? dlsym(image, info.symbol) : NULL;
    if (f)
        f(words[0], words[1], words[2], words[3], words[4], words[5], words[6],
          words[7], words[8], words[9], words[10]);
    ok(out == 285 + 3000, "in registers and on the stack; its teams: %g", out);
    ok(!ompjit_context_failure(ctx, &err), "no failure");
    int p = 1;
    ompjit_kernel_info_get(kernel("faults"), &info, &err);
    *(void **)&f = image ? dlsym(image, info.symbol) : NULL;
    if (f)
        f(words[0], &p, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    ok(ompjit_context_failure(ctx, &err), "a kernel that faults");
    ok_contains(err.text, "faults", "  is the context's failure");
    if (image)
        dlclose(image);
    ompjit_offload_destroy(o);
}

/* ------------------------------------------------------- LLVM's libomptarget */

typedef void register_fn(void *descriptor);
typedef int kernel_fn(void *where, int64_t device, int32_t teams,
                      int32_t threads, void *key, ompjit__kernel_args *args);

static void *function(void *handle, const char *name)
{
    void *at = dlsym(handle, name);
    ok(at != NULL, "  has %s", name);
    return at;
}

/* Does the same as clang's host code of `add`, three times. */
static void use(register_fn *enter, register_fn *leave, kernel_fn *run,
                unsigned llvm)
{
    ompjit_offload *o = offload(NULL, llvm);
    ompjit_kernel *k = kernel("add");
    void *key = NULL;
    float x[N], y[N];
    int failures = 0, wrong = 0;
    ompjit_launch_info last = OMPJIT_LAUNCH_INFO_INIT;
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 1;
    }
    ompjit_offload_key(o, k, &key, &err);
    enter(ompjit_offload_descriptor(o));
    for (int round = 0; round < 3; round++) {
        /* Each time anew: LLVM 22 adds an argument to them. */
        void *args[] = {WORD(int, N), y, WORD(float, 2), x};
        int64_t sizes[] = {4, sizeof y, 4, sizeof x};
        int64_t types[] = {0x320, 0x23, 0x320, 0x21};
        ompjit__kernel_args a = {.version = 3, .num_args = 4, .bases = args,
                                 .begins = args, .sizes = sizes,
                                 .types = types, .tripcount = N};
        failures += run(NULL, -1, 0, 0, key, &a) != 0;
    }
    leave(ompjit_offload_descriptor(o));
    for (int i = 0; i < N; i++)
        wrong += y[i] != 1 + 6 * (float)i;
    ok(!failures && !wrong, "  three launches, %d failures, %d wrong", failures,
       wrong);
    ok(!ompjit_kernel_last_launch(k, dev, &last, &err),
       "  which this library's host device has run");
    ok(!ompjit_context_failure(ctx, &err), "  without a failure");
    ompjit_offload_destroy(o);
}

/* Where Debian's packages put it. False: it is not there. */
static bool find(unsigned llvm, char path[256])
{
    const char *folder = getenv("OMPTARGET_FOLDER");
    snprintf(path, 256, "%s/llvm-%u/lib/libomptarget.so.%u.1",
             folder ? folder : "/usr/lib", llvm, llvm);
    return !access(path, R_OK);
}

static void real(unsigned llvm)
{
    char path[256];
    void *handle = find(llvm, path) ? dlopen(path, RTLD_NOW) : NULL;
    if (!ok(handle != NULL, "%s", path)) {
        fprintf(stderr, "# %s\n", dlerror());
        return;
    }
    use((register_fn *)function(handle, "__tgt_register_lib"),
        (register_fn *)function(handle, "__tgt_unregister_lib"),
        (kernel_fn *)function(handle, "__tgt_target_kernel"), llvm);
}

/* In a process of its own: two releases of LLVM in one do not get along. */
static void apart(unsigned llvm)
{
    char path[256], number[8];
    int status = 0;
    if (!find(llvm, path)) {
        ok(1, "libomptarget %u # SKIP no %s", llvm, path);
        return;
    }
    snprintf(number, sizeof number, "%u", llvm);
    pid_t child = fork();
    if (!child) {
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execl("/proc/self/exe", "offload_t", number, (char *)NULL);
        _exit(127);
    }
    ok(child > 0 && waitpid(child, &status, 0) == child && !status,
       "by libomptarget %u, %s", llvm, path);
}

int main(int argc, char **argv)
{
    if (argc == 1) {
        apart(22);
        apart(19);
    }
    begin();
    if (argc > 1) {
        real((unsigned)atoi(argv[1]));
    } else {
        structure();
        direct();
    }
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    return done_testing();
}
