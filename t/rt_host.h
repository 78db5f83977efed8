/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A small engine for the host build of the device runtime: rt_host.c.
 */
#ifndef OMPJIT_T_RT_HOST_H
#define OMPJIT_T_RT_HOST_H

#include <inttypes.h>

/* Runs a kernel of up to five pointer arguments, team after team. NULL, or why
 * it ended. */
const char *rt_host_run(void *kernel, unsigned teams, unsigned threads,
                        void **params);

#endif
