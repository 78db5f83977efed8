/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Images that a compiler has made for this CPU as shared libraries (clang
 * -fopenmp-targets=x86_64-pc-linux-gnu). Their kernels are ordinary functions,
 * which call libomp themselves: one call on the caller's thread is a launch,
 * whatever its geometry.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/engine/fault.h"
#include "device/engine/libomp.h"
#include "device/host/host.h"

/* ------------------------------------------------------------------ images */

/* False: the memory for the file ran out. */
static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size) {
        ssize_t n = write(fd, bytes, size);
        if (n <= 0)
            return false;
        bytes += n;
        size -= (size_t)n;
    }
    return true;
}

/* The dynamic linker wants a file, which has no name in any folder. */
static void *open_bytes(const ompjit__buf *bytes)
{
    char path[32];
    void *handle = NULL;
    int fd = memfd_create("ompjit-image", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd >= 0 && write_all(fd, bytes->data, bytes->size))
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (fd >= 0)
        close(fd);
    return handle;
}

/* The library's code calls libomp, which is there before it is. */
ompjit_status ompjit__library_load(ompjit_device *dev,
                                   const ompjit__image *image,
                                   ompjit__loaded *loaded, ompjit_error *err)
{
    if (dev->ctx->check)
        return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_LOAD,
                            "kernels that were compiled ahead of time for the "
                            "CPU cannot be checked");
    ompjit__host_libomp(dev);
    loaded->library = open_bytes(&image->bytes);
    if (loaded->library)
        return OMPJIT_OK;
    const char *cause = dlerror();
    return ompjit__fail(err, OMPJIT_ERR_LINK, OMPJIT_STAGE_LOAD,
                        "a host image of %zu bytes does not load: %s",
                        image->bytes.size, cause ? cause : "no memory");
}

/* The library's destructors run. */
void ompjit__library_unload(ompjit__loaded *loaded)
{
    dlclose(loaded->library);
}

/* Only symbols that the library exports have a size. */
ompjit_status ompjit__library_symbol(ompjit__loaded *loaded, const char *name,
                                     void **address, size_t *size,
                                     ompjit_error *err)
{
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    void *at = dlsym(loaded->library, name);
    if (!at || !dladdr1(at, &info, (void **)&symbol, RTLD_DL_SYMENT) ||
        !symbol)
        return ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_LOAD,
                            "no variable %s in the host image", name);
    *address = at;
    *size = symbol->st_size;
    return OMPJIT_OK;
}

/* The kernel is a plain function, whose parameters nobody knows. */
ompjit_status ompjit__library_function(ompjit_device *dev,
                                       ompjit__loaded *loaded,
                                       const char *symbol,
                                       ompjit__function **out,
                                       ompjit_error *err)
{
    void *at = dlsym(loaded->library, symbol);
    if (!at)
        return ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_LOAD,
                            "no kernel %s in the host image", symbol);
    ompjit__function *f = calloc(1, sizeof *f);
    if (!f || !(f->symbol = ompjit__strdup(symbol))) {
        free(f);
        return ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    }
    f->native = at;
    f->loaded = loaded;
    f->name = symbol;
    pthread_mutex_lock(&dev->lock);
    f->next = loaded->functions;
    loaded->functions = f;
    pthread_mutex_unlock(&dev->lock);
    *out = f;
    return OMPJIT_OK;
}

/* ---------------------------------------------------------------- launches */

enum { MOST = 64 }; /* parameters */

/* The argument of `call`, by way of the guard's one pointer. */
struct native_call {
    void *at;
    uint64_t values[MOST];
};

/* Words that a function does not take are where it does not look: in both ABIs
 * (System V x86-64, AAPCS64) the caller removes what it has pushed. */
static void call(void *arg)
{
    typedef uint64_t w;
    typedef void function(w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w,
                          w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w,
                          w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w,
                          w, w, w, w, w, w, w, w, w, w);
    const struct native_call *c = arg;
    const uint64_t *v = c->values;
    ((function *)c->at)(
        v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10],
        v[11], v[12], v[13], v[14], v[15], v[16], v[17], v[18], v[19], v[20],
        v[21], v[22], v[23], v[24], v[25], v[26], v[27], v[28], v[29], v[30],
        v[31], v[32], v[33], v[34], v[35], v[36], v[37], v[38], v[39], v[40],
        v[41], v[42], v[43], v[44], v[45], v[46], v[47], v[48], v[49], v[50],
        v[51], v[52], v[53], v[54], v[55], v[56], v[57], v[58], v[59], v[60],
        v[61], v[62], v[63]);
}

/* Each argument is a word: an address, or a value in the low end. */
ompjit_status ompjit__library_run(ompjit_device *dev, ompjit__function *f,
                                  void **args, unsigned nargs,
                                  ompjit_error *err)
{
    const ompjit__host *host = dev->state;
    struct native_call c = {.at = f->native};
    char cause[512];
    if (nargs > MOST)
        return ompjit__fail(err, OMPJIT_ERR_ARGUMENT, OMPJIT_STAGE_LAUNCH,
                            "kernel %s: %u arguments; a host image's can have "
                            "%d", f->symbol, nargs, MOST);
    for (unsigned i = 0; i < nargs; i++)
        memcpy(&c.values[i], args[i], sizeof c.values[i]);
    if (!host->catches) {
        call(&c);
        return OMPJIT_OK;
    }
    if (ompjit__fault_guard(call, &c, cause, sizeof cause))
        return OMPJIT_OK;
    return ompjit__fail(err, OMPJIT_ERR_DEVICE, OMPJIT_STAGE_LAUNCH,
                        "kernel %s: %s", f->symbol, cause);
}
