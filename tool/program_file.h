/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Executable files: where one is found, and what its loading depends on.
 */
#ifndef OMPJIT_TOOL_PROGRAM_FILE_H
#define OMPJIT_TOOL_PROGRAM_FILE_H

#include <stdbool.h>

struct program_file {
    bool is_static;        /* no dynamic linker loads it              */
    bool is_privileged;    /* it gets rights that its caller has not  */
    char libomptarget[64]; /* the name by which it is linked with it; "" */
};

/* *path is malloc'd: `name` itself where it has a slash, else the first such
 * program of PATH. Returns 0, or the errno that says why there is none: ENOENT,
 * or EACCES where all that are there may not be run. */
int program_file_find(const char *name, char **path);

/* False for what is no ELF file for this machine's word size and order, such as
 * a script, and for one that cannot be read. */
bool program_file_read(const char *path, struct program_file *out);

#endif
