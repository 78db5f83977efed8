/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * This room's passes in C++ as one translation unit: reading LLVM's
 * headers takes longer than compiling one of the files.
 */
#include "passes/loops/loop_property.cc"
#include "passes/loops/scan_windows.cc"
#include "passes/loops/strength_reduction.cc"
