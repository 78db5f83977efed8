/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Locks of the device runtime (critical, omp_set_lock) that a failed launch has
 * left locked. A lock holds the mark of the launch that has taken it, which is
 * given out when the launch takes its first; who waits for a lock whose launch
 * has failed takes it over.
 */
#ifndef OMPJIT_HOST_LOCK_H
#define OMPJIT_HOST_LOCK_H

#include "device/engine/stop.h"

/* The launch's mark; never 0. */
uint32_t ompjit__lock_mark(ompjit__host_watch *w);
/* The launch has failed, and is about to end. */
void ompjit__lock_lose(ompjit__host_watch *w);

#endif
