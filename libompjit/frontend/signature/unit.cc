/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The files of this room as one translation unit: reading LLVM's
 * headers takes longer than compiling one of the files.
 */
#include "frontend/signature/body.cc"
#include "frontend/signature/expression.cc"
#include "frontend/signature/pieces.cc"
#include "frontend/signature/reach.cc"
#include "frontend/signature/sections.cc"
#include "frontend/signature/signature.cc"
#include "frontend/signature/types.cc"
