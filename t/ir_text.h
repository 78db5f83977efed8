/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * IR text as a module in a context of its own, and the machine that makes code
 * of it.
 */
#ifndef OMPJIT_T_IR_TEXT_H
#define OMPJIT_T_IR_TEXT_H

#include <llvm-c/Core.h>
#include <string.h>

#include "llvm/llvm.h"

struct ir_text {
    ompjit__buf messages;
    LLVMContextRef context;
    LLVMModuleRef m;
    LLVMTargetMachineRef tm; /* set by the test; or NULL */
};

static inline ompjit_status ir_text_open(struct ir_text *t, const char *ir,
                                         ompjit_error *err)
{
    *t = (struct ir_text){.context = NULL};
    t->context = ompjit__llvm_context(&t->messages);
    return ompjit__parse_ir(t->context, ir, strlen(ir), "test.ll",
                            &t->messages, &t->m, err);
}

/* How often its text has the words. */
static inline unsigned ir_text_count(const struct ir_text *t,
                                     const char *words)
{
    char *text = LLVMPrintModuleToString(t->m);
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, words)); at++)
        n++;
    LLVMDisposeMessage(text);
    return n;
}

static inline void ir_text_close(struct ir_text *t)
{
    if (t->tm)
        LLVMDisposeTargetMachine(t->tm);
    if (t->m)
        LLVMDisposeModule(t->m);
    LLVMContextDispose(t->context);
    ompjit__buf_free(&t->messages);
}
#endif
