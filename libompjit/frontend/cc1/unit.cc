/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The files that need clang's headers as one translation unit: reading the headers
 * takes longer than compiling the files.
 */
#include "frontend/cc1/ahead.cc"
#include "frontend/cc1/cc1.cc"
#include "frontend/cc1/emit.cc"
