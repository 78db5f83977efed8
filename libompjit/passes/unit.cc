/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * This room's passes in C++ as one translation unit: reading LLVM's
 * headers takes longer than compiling one of the files.
 */
#include "passes/alias_scopes.cc"
#include "passes/clone.cc"
#include "passes/extract_kernel.cc"
#include "passes/far_declarations.cc"
#include "passes/import.cc"
