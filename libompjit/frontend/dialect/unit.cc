/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * This room's C++ as one translation unit: reading LLVM's headers takes longer
 * than compiling one of the files.
 */
#include "frontend/dialect/debug_wrapper.cc"
#include "frontend/dialect/first_values.cc"
#include "frontend/dialect/libraries.cc"
#include "frontend/dialect/own_regions.cc"
#include "frontend/dialect/unified.cc"
#include "frontend/dialect/unlisted.cc"
#include "frontend/dialect/unnamed_types.cc"
