/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What LIBOMPTARGET_INFO has told of constructs.
 */
#ifndef OMPJIT_OMPTARGET_INFO_H
#define OMPJIT_OMPTARGET_INFO_H

#include "mapping/info.h"
#include "omptarget/entry_points.h"

/* "Entering OpenMP kernel at FILE:LINE:COLUMN with N arguments:" and each of
 * them; `what` begins the first line. Any thread. */
void ompjit__info_construct(ompjit_device *dev, const ompjit__ident *where,
                            const char *what, const ompjit__maps *maps);

#endif
