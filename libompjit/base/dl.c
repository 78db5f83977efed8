/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Libraries that are loaded when first needed: a missing one is an ordinary
 * status with every cause in its text.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

static const char *fill(void *handle, const ompjit__symbol *symbols, size_t n,
                        void *table)
{
    for (size_t i = 0; i < n; i++) {
        void *address = dlsym(handle, symbols[i].name);
        if (!address && symbols[i].required)
            return symbols[i].name;
        memcpy((char *)table + symbols[i].offset, &address, sizeof address);
    }
    return NULL;
}

ompjit_status ompjit__load_library(const char *what, const char *const *paths,
                                   const ompjit__symbol *symbols, size_t n,
                                   void *table, ompjit_error *err)
{
    ompjit__buf causes = {0};
    for (; *paths; paths++) {
        void *handle = dlopen(*paths, RTLD_NOW | RTLD_LOCAL);
        if (!handle) {
            ompjit__buf_printf(&causes, "\n  %s", dlerror());
            continue;
        }
        const char *missing = fill(handle, symbols, n, table);
        if (!missing) {
            ompjit__buf_free(&causes);
            return OMPJIT_OK;
        }
        ompjit__buf_printf(&causes, "\n  %s: no symbol %s", *paths, missing);
        dlclose(handle);
    }
    ompjit_status status = ompjit__fail(
        err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_LOAD, "%s not found:%s", what,
        causes.data ? causes.data : " nowhere to look");
    ompjit__buf_free(&causes);
    return status;
}

struct wanted {
    const char *name, *path;
};

/* The name that a library has of itself, whatever its file is called; "" where
 * it has none. Addresses in its table are the loader's, or still the file's. */
static const char *own_name(const struct dl_phdr_info *info)
{
    const ElfW(Dyn) *d = NULL;
    ElfW(Addr) strings = 0, name = 0;
    for (ElfW(Half) i = 0; i < info->dlpi_phnum && !d; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            d = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; d && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_STRTAB)
            strings = d->d_un.d_ptr;
        if (d->d_tag == DT_SONAME)
            name = d->d_un.d_val;
    }
    if (!strings || !name)
        return "";
    strings += strings < info->dlpi_addr ? info->dlpi_addr : 0;
    return (const char *)strings + name;
}

static int is_wanted(struct dl_phdr_info *info, size_t size, void *data)
{
    struct wanted *wanted = data;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *file = slash ? slash + 1 : info->dlpi_name;
    size_t length = strlen(wanted->name);
    if (strncmp(file, wanted->name, length) &&
        (!*file || strncmp(own_name(info), wanted->name, length)))
        return 0;
    wanted->path = info->dlpi_name;
    return 1;
}

const char *ompjit__library_here(const char *name)
{
    struct wanted wanted = {.name = name};
    dl_iterate_phdr(is_wanted, &wanted);
    return wanted.path;
}

/* Does the loader's list of libraries have the name? Also where there is none. */
static bool may_be_listed(const char *name)
{
    int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
    struct stat st;
    bool may = true;
    if (fd >= 0 && !fstat(fd, &st) && st.st_size > 0) {
        size_t size = (size_t)st.st_size;
        void *list = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (list != MAP_FAILED) {
            may = memmem(list, size, name, strlen(name)) != NULL;
            munmap(list, size);
        }
    }
    if (fd >= 0)
        close(fd);
    return may;
}

static bool is_in_system_folder(const char *name)
{
#define CPU_FOLDERS(cpu) "/lib/" cpu "-linux-gnu", "/usr/lib/" cpu "-linux-gnu"
    static const char *const folders[] = {
        CPU_FOLDERS("x86_64"), CPU_FOLDERS("aarch64"), "/lib64",
        "/usr/lib64",          "/lib",                 "/usr/lib"};
#undef CPU_FOLDERS
    for (size_t i = 0; i < OMPJIT__COUNT(folders); i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", folders[i], name);
        if (!access(path, F_OK))
            return true;
    }
    return false;
}

bool ompjit__library_missing(const char *name)
{
    const char *path = getenv("LD_LIBRARY_PATH");
    return !(path && *path) && !ompjit__library_here(name) &&
           !may_be_listed(name) && !is_in_system_folder(name);
}
