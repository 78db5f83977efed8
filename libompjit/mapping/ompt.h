/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * OMPT's events of mapped data (context/ompt.h), where the process has a tool.
 * Each variable has events with its own addresses, also if it shares copies or
 * memory with others. Data that has no copy on the device has none.
 */
#ifndef OMPJIT_MAPPING_OMPT_H
#define OMPJIT_MAPPING_OMPT_H

#include "context/ompt.h"
#include "mapping/construct.h"

/* Tells the counterparts that the construct's begin has made. Under the table's
 * lock. */
void ompjit__ompt_entered(const ompjit__construct *c);
/* Tells that its end will remove the entry. Under the table's lock. */
void ompjit__ompt_removes(const ompjit__construct *c, const ompjit__mapped *e);
/* The event of a copy between a variable and its counterpart, for
 * ompjit__ompt_op_begin and _end. */
ompjit__ompt_op ompjit__ompt_copy(const ompjit__construct *c, bool to_device,
                                  const void *host, const void *device,
                                  size_t size);

#endif
