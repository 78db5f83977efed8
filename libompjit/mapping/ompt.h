/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * OMPT's events of mapped data (context/ompt.h), where the process has a tool:
 * one for each variable, with its own addresses, whatever it shares copies and
 * memory with. Nothing is told of data that has no copy on the device.
 */
#ifndef OMPJIT_MAPPING_OMPT_H
#define OMPJIT_MAPPING_OMPT_H

#include "context/ompt.h"
#include "mapping/construct.h"

/* Tells the counterparts that the construct's begin has made. Under the table's
 * lock. */
void ompjit__ompt_entered(const ompjit__construct *c);
/* One that its end removes, before it does. */
void ompjit__ompt_removes(const ompjit__construct *c, const ompjit__mapped *e);
/* A copy between a variable and its counterpart. */
ompjit__ompt_op ompjit__ompt_copy(const ompjit__construct *c, bool to_device,
                                  const void *host, const void *device,
                                  size_t size);

#endif
