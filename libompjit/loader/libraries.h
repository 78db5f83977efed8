/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The libraries that compiled programs are linked with.
 */
#ifndef OMPJIT_LIBRARIES_H
#define OMPJIT_LIBRARIES_H

/* A name of the C++ library's, of libm's or of libgcc_s's. A library that the
 * process lacks is loaded, and stays where it has the name. NULL: none has it. */
void *ompjit__libraries_find(const char *name);

#endif
