/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The list of target regions that a device half takes from its host half.
 * host_info.cc
 */
#ifndef OMPJIT_CC1_HOST_INFO_H
#define OMPJIT_CC1_HOST_INFO_H

namespace ompjit_cc1 {

/* The next code generator of this process reads the list not when it is made, but
 * in take_host_info. */
void defer_host_info();

/* Reads the list that was put off, if there is one. */
void take_host_info();

} // namespace ompjit_cc1

#endif
