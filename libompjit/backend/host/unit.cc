/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * This room's C++ as one translation unit: reading LLVM's headers takes longer
 * than compiling one of the files.
 */
#include "backend/host/options.cc"
#include "backend/host/line_tables.cc"
