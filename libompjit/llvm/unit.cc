/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * This room's C++ as one translation unit: reading LLVM's headers takes longer
 * than compiling one of the files.
 */
#include "llvm/cut_block.cc"
#include "llvm/module_flags.cc"
#include "llvm/no_memory.cc"
#include "llvm/options.cc"
#include "llvm/remarks.cc"
#include "llvm/unreachable.cc"
