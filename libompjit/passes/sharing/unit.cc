/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * This room's passes in C++ as one translation unit: reading LLVM's
 * headers takes longer than compiling one of the files.
 */
#include "passes/sharing/recursive_locals.cc"
#include "passes/sharing/shared_layout.cc"
