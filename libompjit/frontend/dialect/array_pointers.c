/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Gives captured pointers to arrays of variable length, `double (*a)[n]`, their
 * values in regions where the main thread works alone. clang 18 to 22 make the
 * pointer shared memory there, and leave its value in the parameter's local:
 *
 *   store ptr %a, ptr %a.addr               ; nothing loads it
 *   ...
 *   %a3 = call ptr @__kmpc_alloc_shared(i64 8)
 *                                           ; here `store ptr %a, ptr %a3`
 *   %p = load ptr, ptr %a3
 *
 * Both have the variable's name, which digits may follow. In code without names
 * the memory is one that nothing stores to, and one pair alone can be told.
 *
 * Requires verified IR before any optimization. Other code is left as it is,
 * also that of a clang that is right.
 */
#include <ctype.h>
#include <string.h>

#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>

#include "frontend/describe/describe.h"
#include "frontend/dialect/dialect.h"

enum { WORD = 8, MOST = 64 };

/* A function's pairs: parameters without a reader, and memory for one word. */
struct pairs {
    LLVMValueRef params[MOST], words[MOST];
    unsigned n_params, n_words;
    LLVMValueRef frees; /* __kmpc_free_shared */
};

/* Is it a pointer whose value is stored in a local, and nowhere else used? */
static bool is_lost(LLVMValueRef param)
{
    LLVMUseRef use = LLVMGetFirstUse(param);
    LLVMValueRef store = use ? LLVMGetUser(use) : NULL;
    LLVMValueRef local;
    if (LLVMGetTypeKind(LLVMTypeOf(param)) != LLVMPointerTypeKind || !store ||
        LLVMGetNextUse(use) || !LLVMIsAStoreInst(store) ||
        LLVMGetOperand(store, 0) != param)
        return false;
    local = LLVMGetOperand(store, 1);
    return LLVMIsAAllocaInst(local) &&
           !LLVMGetNextUse(LLVMGetFirstUse(local));
}

static bool is_stored_to(LLVMValueRef word)
{
    for (LLVMUseRef u = LLVMGetFirstUse(word); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (LLVMIsAStoreInst(user) && LLVMGetOperand(user, 1) == word)
            return true;
    }
    return false;
}

/* Does the function read what nothing can have stored there? */
static bool reads_unset(LLVMValueRef word, LLVMValueRef frees)
{
    bool loads = false;
    for (LLVMUseRef u = LLVMGetFirstUse(word); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (LLVMIsALoadInst(user))
            loads = true;
        else if (!LLVMIsACallInst(user) ||
                 LLVMGetCalledValue(user) != frees)
            return false;
    }
    return loads;
}

/* May the memory be the parameter's? */
static bool match(LLVMValueRef word, LLVMValueRef param)
{
    size_t n, k;
    const char *name = LLVMGetValueName2(param, &n);
    const char *copy = LLVMGetValueName2(word, &k);
    if (!n || !k)
        return !n && !k && !is_stored_to(word);
    if (k < n || memcmp(name, copy, n))
        return false;
    while (n < k && isdigit((unsigned char)copy[n]))
        n++;
    return n == k;
}

/* The only parameter that matches; NULL: none, or several, which `several`
 * says. */
static LLVMValueRef *only_match(struct pairs *p, LLVMValueRef word,
                                bool *several)
{
    LLVMValueRef *found = NULL;
    *several = false;
    for (unsigned i = 0; i < p->n_params; i++) {
        if (!p->params[i] || !match(word, p->params[i]))
            continue;
        if (found) {
            *several = true;
            return NULL;
        }
        found = &p->params[i];
    }
    return found;
}

static void store_behind(LLVMValueRef word, LLVMValueRef param)
{
    LLVMBuilderRef builder =
        LLVMCreateBuilderInContext(LLVMGetValueContext(word));
    LLVMPositionBuilderBefore(builder, LLVMGetNextInstruction(word));
    LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(word));
    LLVMBuildStore(builder, param, word);
    LLVMDisposeBuilder(builder);
}

/* Pairs what can be paired. A pair makes others plain: `a12` may be of `a` or
 * of `a1`, whose own is `a13`. Returns false where several are left. */
static bool pair(struct pairs *p)
{
    bool again, several, left;
    do {
        again = left = false;
        for (unsigned i = 0; i < p->n_words; i++) {
            LLVMValueRef *param =
                p->words[i] ? only_match(p, p->words[i], &several) : NULL;
            if (param) {
                store_behind(p->words[i], *param);
                p->words[i] = *param = NULL;
                again = true;
            } else if (p->words[i] && several) {
                left = left || reads_unset(p->words[i], p->frees);
            }
        }
    } while (again);
    return !left;
}

static void find_words(struct pairs *p, LLVMValueRef f, LLVMValueRef alloc)
{
    LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f);
    for (; bb; bb = LLVMGetNextBasicBlock(bb)) {
        LLVMValueRef i = LLVMGetFirstInstruction(bb);
        for (; i && p->n_words < MOST; i = LLVMGetNextInstruction(i))
            if (ompjit__gets_word(i, alloc))
                p->words[p->n_words++] = i;
    }
}

ompjit_status ompjit__mend_array_pointers(LLVMModuleRef m, ompjit_error *err)
{
    LLVMValueRef alloc = LLVMGetNamedFunction(m, "__kmpc_alloc_shared");
    LLVMValueRef frees = LLVMGetNamedFunction(m, "__kmpc_free_shared");
    LLVMValueRef f = alloc ? LLVMGetFirstFunction(m) : NULL;
    for (; f; f = LLVMGetNextFunction(f)) {
        struct pairs p = {.frees = frees};
        LLVMValueRef param = LLVMIsDeclaration(f) ? NULL : LLVMGetFirstParam(f);
        for (; param && p.n_params < MOST; param = LLVMGetNextParam(param))
            if (is_lost(param))
                p.params[p.n_params++] = param;
        if (!p.n_params)
            continue;
        find_words(&p, f, alloc);
        if (!pair(&p))
            return ompjit__fail(
                err, OMPJIT_ERR_IR, OMPJIT_STAGE_READ,
                "clang leaves out the values of pointers to arrays of variable "
                "length in %s, and which is which cannot be told; give them "
                "names that differ by more than digits, and build with "
                "-fno-discard-value-names",
                LLVMGetValueName2(f, &(size_t){0}));
    }
    return OMPJIT_OK;
}
