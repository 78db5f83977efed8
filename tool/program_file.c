/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Executable files, by PATH and by their ELF segments. Whatever a segment says
 * is read as far as it lies in the file.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/base.h"
#include "tool/program_file.h"

/* -------------------------------------------------------------------- PATH */

/* 0, or an errno. */
static int may_run(const char *path)
{
    struct stat s;
    if (stat(path, &s))
        return errno == ENOTDIR ? ENOENT : errno;
    return S_ISDIR(s.st_mode) ? EISDIR : access(path, X_OK) ? errno : 0;
}

int program_file_find(const char *name, char **path)
{
    const char *list = getenv("PATH");
    int cause = ENOENT;
    *path = NULL;
    if (strchr(name, '/')) {
        cause = may_run(name);
        return cause ? cause : (*path = ompjit__strdup(name)) ? 0 : ENOMEM;
    }
    if (!list)
        list = "/bin:/usr/bin";
    for (size_t n; *name && list; list = list[n] ? list + n + 1 : NULL) {
        n = strcspn(list, ":");
        *path = ompjit__format("%.*s%s%s", (int)n, list, n ? "/" : "./", name);
        int why = *path ? may_run(*path) : ENOMEM;
        if (!why)
            return 0;
        if (why == EACCES)
            cause = EACCES;
        free(*path);
        *path = NULL;
    }
    return cause;
}

/* -------------------------------------------------------------------- file */

typedef struct reader {
    int fd;
    ElfW(Ehdr) head;
    ElfW(Phdr) dynamic;
} reader;

static bool read_at(const reader *r, uint64_t at, void *to, size_t size)
{
    return pread(r->fd, to, size, (off_t)at) == (ssize_t)size;
}

static bool segment(const reader *r, unsigned i, ElfW(Phdr) *out)
{
    return i < r->head.e_phnum &&
           read_at(r, r->head.e_phoff + i * sizeof *out, out, sizeof *out);
}

/* Where the file has what lies at an address; 0: nowhere. */
static uint64_t offset_of(const reader *r, uint64_t address)
{
    ElfW(Phdr) p;
    for (unsigned i = 0; segment(r, i, &p); i++)
        if (p.p_type == PT_LOAD && address >= p.p_vaddr &&
            address - p.p_vaddr < p.p_filesz)
            return address - p.p_vaddr + p.p_offset;
    return 0;
}

/* The i-th entry of the dynamic section; false at its end. */
static bool dynamic(const reader *r, size_t i, ElfW(Dyn) *out)
{
    return i < r->dynamic.p_filesz / sizeof *out &&
           read_at(r, r->dynamic.p_offset + i * sizeof *out, out,
                   sizeof *out) &&
           out->d_tag != DT_NULL;
}

/* The name of a needed library, if it is libomptarget. */
static bool is_libomptarget(const reader *r, uint64_t at, char name[64])
{
    static const char wanted[] = "libomptarget.so";
    memset(name, 0, 64);
    return pread(r->fd, name, 63, (off_t)at) > 0 &&
           !strncmp(name, wanted, sizeof wanted - 1);
}

static void find_libomptarget(const reader *r, char name[64])
{
    ElfW(Dyn) d;
    uint64_t strings = 0;
    for (size_t i = 0; !strings && dynamic(r, i, &d); i++)
        if (d.d_tag == DT_STRTAB)
            strings = offset_of(r, d.d_un.d_ptr);
    for (size_t i = 0; strings && dynamic(r, i, &d); i++)
        if (d.d_tag == DT_NEEDED &&
            is_libomptarget(r, strings + d.d_un.d_val, name))
            return;
    *name = 0;
}

static bool is_ours(const ElfW(Ehdr) *head)
{
    const uint16_t one = 1;
    unsigned char order = *(const char *)&one ? ELFDATA2LSB : ELFDATA2MSB;
    return !memcmp(head->e_ident, ELFMAG, SELFMAG) &&
           head->e_ident[EI_DATA] == order &&
           head->e_ident[EI_CLASS] ==
               (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
           head->e_phentsize == sizeof(ElfW(Phdr));
}

/* By its mode or by capabilities, unless that changes nothing. */
static bool is_privileged(const reader *r)
{
    struct stat s;
    if (getauxval(AT_SECURE) || fstat(r->fd, &s))
        return false;
    return (s.st_mode & S_ISUID && s.st_uid != geteuid()) ||
           (s.st_mode & S_ISGID && s.st_mode & S_IXGRP &&
            s.st_gid != getegid()) ||
           (geteuid() && fgetxattr(r->fd, "security.capability", NULL, 0) > 0);
}

bool program_file_read(const char *path, struct program_file *out)
{
    reader r = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
    *out = (struct program_file){.is_static = true};
    bool known = r.fd >= 0 && read_at(&r, 0, &r.head, sizeof r.head) &&
                 is_ours(&r.head);
    ElfW(Phdr) p;
    for (unsigned i = 0; known && segment(&r, i, &p); i++) {
        if (p.p_type == PT_INTERP)
            out->is_static = false;
        if (p.p_type == PT_DYNAMIC)
            r.dynamic = p;
    }
    if (known) {
        out->is_privileged = is_privileged(&r);
        find_libomptarget(&r, out->libomptarget);
    }
    if (r.fd >= 0)
        close(r.fd);
    return known;
}
