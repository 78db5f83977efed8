/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Corrects the names of what flang 22 maps, which messages have. A name is
 * ";variable;file;line;column;;", and flang puts the file first. Its files are
 * absolute paths, and no variable begins with a slash.
 */
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>

#include "base/base.h"
#include "passes/hosthalf/hosthalf.h"

/* ";FILE;VARIABLE;..." with these two exchanged: a text of the same length.
 * malloc'd; NULL: it is right, or no such name. */
static char *exchange(const char *text)
{
    const char *file = text + 1, *variable = strchr(file, ';');
    const char *end = variable ? strchr(variable + 1, ';') : NULL;
    if (*text != ';' || *file != '/' || !end || variable[1] == '/')
        return NULL;
    return ompjit__format(";%.*s;%.*s%s", (int)(end - variable - 1),
                          variable + 1, (int)(variable - file), file, end);
}

static void repair_name(LLVMValueRef global)
{
    LLVMValueRef old = LLVMIsAGlobalVariable(global)
                           ? LLVMGetInitializer(global)
                           : NULL;
    size_t size;
    if (!old || !LLVMIsAConstantDataSequential(old) ||
        !LLVMIsConstantString(old))
        return;
    const char *text = LLVMGetAsString(old, &size);
    if (size < 2 || text[size - 1])
        return;
    char *name = exchange(text);
    if (name && strlen(name) + 1 == size)
        LLVMSetInitializer(
            global, LLVMConstStringInContext2(
                        LLVMGetTypeContext(LLVMTypeOf(old)), name, size, true));
    free(name);
}

void ompjit__repair_names(LLVMModuleRef m)
{
    static const char prefix[] = ".offload_mapnames";
    for (LLVMValueRef g = LLVMGetFirstGlobal(m); g; g = LLVMGetNextGlobal(g)) {
        size_t n;
        LLVMValueRef names = LLVMGetInitializer(g);
        if (!names || !LLVMIsAConstantArray(names) ||
            strncmp(LLVMGetValueName2(g, &n), prefix, sizeof prefix - 1))
            continue;
        for (int i = 0; i < LLVMGetNumOperands(names); i++)
            repair_name(LLVMGetOperand(names, (unsigned)i));
    }
}
