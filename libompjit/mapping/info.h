/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The lines of LIBOMPTARGET_INFO about mappings; context/info.h has the flags.
 * The caller holds the table's lock for all but the last.
 */
#ifndef OMPJIT_MAPPING_INFO_H
#define OMPJIT_MAPPING_INFO_H

#include "context/info.h"
#include "mapping/construct.h"

/* Tells what a construct's begin has mapped, found and copied to the device. */
void ompjit__info_entered(const ompjit__construct *c);
/* Tells what its end has counted down, copies (with `copies`) and removes. */
void ompjit__info_left(const ompjit__construct *c, bool copies);
/* Tells one copy of a target update. */
void ompjit__info_updated(const ompjit__construct *c, const ompjit__item *it,
                          const ompjit__mapped *entry);
/* Tells the whole table, after the construct at `where`. Takes the lock. */
void ompjit__info_table(ompjit_device *dev, const char *where);

#endif
