/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit doctor: what its files share.
 *
 *   FILEs            doctor.c   reads files and members of archives
 *     entries        entries.c  of ELF files for the host
 *     images         images.c   in these files, and files of their own
 *       kernels
 *   checks           match.c    each entry has its kernel, and back
 *
 * Of the library's internals they use the readers of ELF files, of device
 * images and of their machine code, and the layouts of entries.
 */
#ifndef OMPJIT_TOOL_DOCTOR_H
#define OMPJIT_TOOL_DOCTOR_H

#include "abi/offload.h"
#include "formats/elf_file.h"
#include "images/gpu_code.h"
#include "tool/tool.h"

/* What an entry is for. */
enum entry_role {
    ENTRY_KERNEL,
    ENTRY_VARIABLE,
    ENTRY_FUNCTION, /* called through pointers */
    ENTRY_REQUIREMENT,
    ENTRY_OTHER, /* of CUDA, HIP or SYCL */
    ENTRY_ROLES
};

struct doctor_entry {
    const char *file; /* the host_file's                                  */
    char *name;
    char *key;        /* its host address: a symbol of an object, or a
                         file and a place in it; equal for equal ones     */
    enum entry_role role;
    bool old; /* of 32 bytes */
};

struct doctor_image {
    char *place; /* "program, section .llvm.offloading" */
    uint8_t kind; /* enum ompjit__piece_kind            */
    char arch[32];
    bool cuda;   /* CUDA's own registration may name its kernels */
    unsigned nkernels, certain; /* kernels, and of these the certain ones */
    unsigned matched;           /* those that have an entry               */
};

struct doctor_kernel {
    char *symbol;
    unsigned image;
    int nargs; /* that a launch passes; -1: not known              */
    ompjit__gpu_param *params; /* of machine code and PTX, or NULL */
    unsigned nparams;
    bool certain; /* no other function looks like it */
};

/* The two layouts, in the order of doctor_layouts. */
enum { NEW, OLD, LAYOUTS };
struct doctor_layout {
    const char *section, *start;
    size_t size; /* of an entry, in bytes */
};
extern const struct doctor_layout doctor_layouts[LAYOUTS];

struct doctor {
    const struct options *options;
    ompjit_context *ctx; /* once bitcode needs one */
    struct doctor_entry *entries;
    size_t nentries;
    struct doctor_image *images;
    size_t nimages;
    struct doctor_kernel *kernels;
    size_t nkernels;
    /* The first file that is such a one; NULL: none. */
    const char *host, *linked; /* ELF for the CPU; executable or library */
    const char *launches, *registers;
    const char *has[LAYOUTS];   /* a section of entries, empty or not */
    const char *filled[LAYOUTS];
    const char *refers[LAYOUTS]; /* to __start_ of the section        */
    unsigned unread; /* images for no device of the library           */
    unsigned faults;
    bool failed; /* no memory */
};

/* ----------------------------------------------------------------- doctor.c */

/* Tells of something that is wrong. Of very many the last ones are only
 * counted. */
void doctor_fault(struct doctor *d, const char *format, ...)
    OMPJIT__PRINTF(2, 3);
/* Is there room for another message? */
bool doctor_tells(const struct doctor *d);
/* Something that is right, and worth knowing; not with --quiet. */
void doctor_note(struct doctor *d, const char *format, ...)
    OMPJIT__PRINTF(2, 3);
/* A copy without control characters, malloc'd; NULL and d->failed: no
 * memory. */
char *doctor_text(struct doctor *d, const char *s, size_t n);
/* Room for one more at the end of the list that the pointer `list` points to,
 * zeros; NULL and d->failed: no memory. */
void *doctor_grow(struct doctor *d, void *list, size_t *n, size_t size);
#define DOCTOR_ADD(d, list, n) \
    doctor_grow(d, &(d)->list, &(d)->n, sizeof *(d)->list)

/* -------------------------------------- entries.c, images.c */

/* A file for the CPU: its entries, what it refers to, and images within. */
void doctor_host(struct doctor *d, const char *name, ompjit__elf_file *f);
/* Images in sections and, in linked files, in data. */
void doctor_embedded(struct doctor *d, const char *name,
                     const ompjit__elf_file *f);
/* An image of any format; `cuda` as above. */
void doctor_image(struct doctor *d, const char *place, bool cuda,
                  ompjit__bytes image);
/* Does a shared library or object have kernels as functions? */
bool doctor_is_host_image(ompjit__bytes file);

/* ------------------------------------------------------------------ match.c */

/* Compares entries with kernels, which are sorted by their symbols then. */
void doctor_match(struct doctor *d);
/* "PTX". */
const char *doctor_kind(unsigned kind);
/* Are both images parts of one program for one target? */
bool doctor_is_same_target(const struct doctor_image *a,
                           const struct doctor_image *b);
/* Is it the first of the images for its target? */
bool doctor_is_first(const struct doctor *d, size_t image);

/* -------------------------------------------------------------------- elf.c */

/* A symbol of any table, and its name. */
struct elf_symbol {
    Elf64_Sym sym;
    const char *name;
};
/* The i-th symbol of a section that is a table of symbols; false past the last
 * one, and where the section is none. */
bool elf_symbol_at(const ompjit__elf_file *f, unsigned section, uint64_t i,
                   struct elf_symbol *out);

#endif
