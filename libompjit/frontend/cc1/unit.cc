/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * This room's C++ as one translation unit: reading clang's and LLVM's headers
 * takes longer than compiling the files.
 */
#include "frontend/cc1/ahead.cc"
#include "frontend/cc1/cc1.cc"
#include "frontend/cc1/emit.cc"
#include "frontend/cc1/host_info.cc"
#include "frontend/cc1/idents.cc"
