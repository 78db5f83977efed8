/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Bitcode as text.
 */
#include <llvm-c/Core.h>
#include <string.h>

#include "llvm/llvm.h"

struct print {
    const ompjit__buf *bc;
    const char *name;
    ompjit__buf *text;
    ompjit__buf messages;
};

static ompjit_status print(void *arg, ompjit_error *err)
{
    struct print *p = arg;
    LLVMContextRef context = ompjit__llvm_context(&p->messages);
    LLVMModuleRef m;
    ompjit_status status = ompjit__parse_ir(context, p->bc->data, p->bc->size,
                                            p->name, &p->messages, &m, err);
    if (!status) {
        char *text = LLVMPrintModuleToString(m);
        ompjit__buf_add(p->text, text, strlen(text));
        LLVMDisposeMessage(text);
        LLVMDisposeModule(m);
    }
    LLVMContextDispose(context);
    return status;
}

ompjit_status ompjit__print_ir(const ompjit__buf *bc, const char *name,
                               ompjit__buf *text, ompjit_error *err)
{
    struct print p = {.bc = bc, .name = name, .text = text};
    ompjit_status status = ompjit__guard(print, &p, OMPJIT_STAGE_READ, err);
    ompjit__buf_free(&p.messages);
    return status;
}
