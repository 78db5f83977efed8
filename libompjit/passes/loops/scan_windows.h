/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Scans window by window. C and C++ read this.
 */
#ifndef OMPJIT_SCAN_WINDOWS_H
#define OMPJIT_SCAN_WINDOWS_H

#include <llvm-c/Types.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Are the loops around a scan's passes as clang writes them? `log2` is the call
 * with which the block before the passes computes how many there are; `inner` is
 * the loop over elements, `exit` what is behind the passes. scan_windows.cc */
bool ompjit__scan_has_windows(LLVMValueRef log2, LLVMBasicBlockRef inner,
                              LLVMBasicBlockRef exit);
/* Makes a loop over windows of them. The buffer has room for a window and two
 * elements more. */
void ompjit__scan_by_windows(LLVMValueRef log2, LLVMBasicBlockRef inner,
                             LLVMBasicBlockRef exit);

#ifdef __cplusplus
}
#endif

#endif
