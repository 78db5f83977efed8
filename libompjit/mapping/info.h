/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What LIBOMPTARGET_INFO has told of mappings: context/info.h has the flags. All
 * under the table's lock but the last.
 */
#ifndef OMPJIT_MAPPING_INFO_H
#define OMPJIT_MAPPING_INFO_H

#include "context/info.h"
#include "mapping/construct.h"

/* What a construct's begin has mapped, found and copied to the device. */
void ompjit__info_entered(const ompjit__construct *c);
/* What its end has counted down, copies and removes. */
void ompjit__info_left(const ompjit__construct *c, bool copies);
/* One copy of target update. */
void ompjit__info_updated(const ompjit__construct *c, const ompjit__item *it,
                          const ompjit__mapped *entry);
/* The whole table, behind the construct at `where`. Takes the lock. */
void ompjit__info_table(ompjit_device *dev, const char *where);

#endif
