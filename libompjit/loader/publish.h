/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Tells tools of code that was linked into this process: gdb, by its JIT
 * interface, of objects with line tables, and perf, by /tmp/perf-PID.map, of
 * functions where OMPJIT_PERF=1.
 */
#ifndef OMPJIT_PUBLISH_H
#define OMPJIT_PUBLISH_H

#include "base/base.h"

typedef struct ompjit__published ompjit__published;

/* Does perf want to know? OMPJIT_PERF=1, asked each time, so that a program may
 * set it late. Any thread. */
bool ompjit__publish_wanted(void);

/* `addresses` has where each section of the ELF object lies, 0 for one that is
 * not loaded. `debugger`: gdb is told, too, where there are line tables; a copy
 * of the object is kept for it. NULL: there is nothing to take back, or no
 * memory for it. `object` was linked, so its headers are sound; it is not
 * referred to later. Any thread. */
ompjit__published *ompjit__publish(const void *object, size_t size,
                                   const uint64_t *addresses, bool debugger);
/* Takes back what gdb was told, and frees it. Before the code is unmapped: gdb
 * may stop in between and read it. perf's file keeps its lines. Accepts NULL.
 */
void ompjit__unpublish(ompjit__published *published);

#endif
