/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Faults of IR, each with its place: the source line where the IR has line
 * information, else the function and the instruction itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>

#include "llvm/llvm.h"

/* An instruction's or a global's text, cut to one line of some length. */
static void add_text(ompjit__buf *b, LLVMValueRef value)
{
    enum { MOST = 240 };
    char *text = LLVMPrintValueToString(value);
    const char *start = text + strspn(text, " ");
    size_t n = strcspn(start, "\n");
    if (n > MOST)
        ompjit__buf_printf(b, "%.*s...", MOST, start);
    else
        ompjit__buf_printf(b, "%.*s", (int)n, start);
    LLVMDisposeMessage(text);
}

static const char *file_of(LLVMValueRef instruction, unsigned *size)
{
    const char *file = LLVMGetDebugLocLine(instruction)
                           ? LLVMGetDebugLocFilename(instruction, size)
                           : NULL;
    return file && *size ? file : NULL;
}

static void add_instruction(ompjit__buf *b, LLVMValueRef i)
{
    unsigned size = 0;
    size_t n;
    const char *file = file_of(i, &size);
    LLVMValueRef f = LLVMGetBasicBlockParent(LLVMGetInstructionParent(i));
    if (file)
        ompjit__buf_printf(b, "%.*s:%u:%u: ", (int)size, file,
                           LLVMGetDebugLocLine(i), LLVMGetDebugLocColumn(i));
    ompjit__buf_printf(b, "%s: ", LLVMGetValueName2(f, &n));
    if (!file) {
        add_text(b, i);
        ompjit__buf_printf(b, ": ");
    }
}

void ompjit__finding_at(ompjit__findings *f, ompjit_status status,
                        LLVMValueRef at, const char *format, ...)
{
    char text[1024];
    ompjit__buf place = {0};
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    add_instruction(&place, at);
    f->list.failed |= place.failed;
    ompjit__finding(f, status, "%s%s", place.data ? place.data : "", text);
    ompjit__buf_free(&place);
}
