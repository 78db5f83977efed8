/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * An LLJIT (with JITLink) for host objects that the plain linker does not take,
 * and for the text of an error where something is missing. No code is generated
 * here: it gets finished objects.
 */
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>

#include "llvm/llvm.h"
#include "backend/host/orc.h"

/* One LLJIT with one library, to which all objects of a module belong. */
struct ompjit__orc {
    char *name;
    const char *advice;   /* of jit.h */
    ompjit__orc_find *find;
    void *find_data;
    LLVMOrcLLJITRef lljit;
    LLVMOrcExecutionSessionRef session;
    LLVMOrcJITDylibRef library;
    const char *asked;    /* the name that a lookup is for        */
    bool refused;         /* the library does not have it         */
    ompjit__buf reports;  /* what ORC would print, a line each    */
};

/* ---------------------------------------------------------------- errors */

/* Consumes ORC's error. */
static ompjit_status failure(ompjit__orc *orc, LLVMErrorRef error,
                             ompjit_error *err)
{
    char *text = LLVMGetErrorMessage(error);
    ompjit_status status = ompjit__fail(err, OMPJIT_ERR_LINK, OMPJIT_STAGE_LOAD,
                                        "%s: %s", orc->name, text);
    LLVMDisposeErrorMessage(text);
    return status;
}

/* ORC tells the cause of a failed link here, and its consequence ("failed to
 * materialize") to who asked. */
static void collect(void *data, LLVMErrorRef error)
{
    ompjit__orc *orc = data;
    char *text = LLVMGetErrorMessage(error);
    ompjit__buf_printf(&orc->reports, "%s%s", orc->reports.size ? "\n" : "",
                       text);
    LLVMDisposeErrorMessage(text);
}

/* ORC's list "a, b" as a person reads it. */
static void add_names(ompjit__buf *out, const char *names, const char *end)
{
    static const char separator[] = ", ";
    while (names < end) {
        const char *next = strstr(names, separator);
        size_t n = (size_t)((next && next < end ? next : end) - names);
        char *name = malloc(n + 1);
        if (!name) {
            out->failed = true;
            return;
        }
        memcpy(name, names, n);
        name[n] = 0;
        char *readable = ompjit__demangle(name);
        ompjit__buf_printf(out, "%s%s", out->size ? separator : "",
                           readable ? readable : name);
        free(readable);
        free(name);
        names += n + sizeof separator - 1;
    }
}

/* The advice to those who load one program. */
static const char of_programs[] =
    "They can come from a further source (ompjit_module_from_sources; "
    "ompjit run a.c b.c --), a library (-l), or the application, where it is "
    "linked with -rdynamic; C++ functions are found by a source that is C++ "
    "by its name (name=\"x.cpp\").";

/* GCC's library has them, and neither compiler's driver links it by itself. */
static const char of_atomics[] =
    "\nlibatomic has __atomic_ functions: -latomic.";

/* The names are those between `names` and `end` in ORC's text. */
static ompjit_status undefined_symbols(const ompjit__orc *orc,
                                       const char *names, const char *end,
                                       ompjit_error *err)
{
    ompjit__buf readable = {0};
    add_names(&readable, names, end);
    ompjit_status status =
        readable.failed
            ? ompjit__no_memory(err, OMPJIT_STAGE_LINK)
            : ompjit__fail(err, OMPJIT_ERR_LINK, OMPJIT_STAGE_LINK,
                           "%s: undefined symbols: %s\n%s%s", orc->name,
                           readable.data,
                           orc->advice ? orc->advice : of_programs,
                           strstr(readable.data, "__atomic_") ? of_atomics
                                                              : "");
    ompjit__buf_free(&readable);
    return status;
}

/* The failure of a lookup, by what ORC has reported meanwhile. Consumes the
 * error. */
static ompjit_status link_failure(ompjit__orc *orc, LLVMErrorRef error,
                                  ompjit_error *err)
{
    static const char undefined[] = "Symbols not found: [ ";
    const char *report = orc->reports.size ? orc->reports.data : "";
    const char *names = strstr(report, undefined);
    const char *end = names ? strstr(names, " ]") : NULL;
    if (!*report)
        return failure(orc, error, err);
    LLVMConsumeError(error);
    if (!end)
        return ompjit__fail(err, OMPJIT_ERR_LINK, OMPJIT_STAGE_LINK,
                            "%s: %s", orc->name, report);
    names += sizeof undefined - 1;
    return undefined_symbols(orc, names, end, err);
}

/* --------------------------------------------------------------- symbols */

/* Adds symbols with addresses to the library. ORC takes the names over, and on
 * success the unit that they make. */
static LLVMErrorRef define(LLVMOrcJITDylibRef library,
                           LLVMOrcCSymbolMapPair *pairs, size_t n)
{
    LLVMOrcMaterializationUnitRef unit = LLVMOrcAbsoluteSymbols(pairs, n);
    LLVMErrorRef error = LLVMOrcJITDylibDefine(library, unit);
    if (error)
        LLVMOrcDisposeMaterializationUnit(unit);
    return error;
}

/* Called by ORC for names that the library lacks. Those that stay unknown
 * are left to ORC, which makes one error of all of them. */
static LLVMErrorRef generate(LLVMOrcDefinitionGeneratorRef self, void *data,
                             LLVMOrcLookupStateRef *state,
                             LLVMOrcLookupKind kind, LLVMOrcJITDylibRef library,
                             LLVMOrcJITDylibLookupFlags flags,
                             LLVMOrcCLookupSet wanted, size_t n)
{
    ompjit__orc *orc = data;
    LLVMOrcCSymbolMapPair *found = calloc(n ? n : 1, sizeof *found);
    size_t nfound = 0;
    for (size_t i = 0; found && i < n; i++) {
        const char *name = LLVMOrcSymbolStringPoolEntryStr(wanted[i].Name);
        if (orc->asked && !strcmp(name, orc->asked)) {
            orc->refused = true;
            continue;
        }
        void *address = orc->find(orc->find_data, name);
        if (!address)
            continue;
        LLVMOrcRetainSymbolStringPoolEntry(wanted[i].Name);
        found[nfound].Name = wanted[i].Name;
        found[nfound].Sym.Address = (uintptr_t)address;
        found[nfound++].Sym.Flags.GenericFlags =
            LLVMJITSymbolGenericFlagsExported;
    }
    LLVMErrorRef error = nfound ? define(library, found, nfound) : NULL;
    free(found);
    return error;
}

ompjit_status ompjit__orc_define(ompjit__orc *orc, const ompjit__absolute *defs,
                                 size_t n, ompjit_error *err)
{
    if (!n)
        return OMPJIT_OK;
    LLVMOrcCSymbolMapPair *pairs = calloc(n, sizeof *pairs);
    if (!pairs)
        return ompjit__no_memory(err, OMPJIT_STAGE_LINK);
    for (size_t i = 0; i < n; i++) {
        pairs[i].Name = LLVMOrcExecutionSessionIntern(orc->session,
                                                      defs[i].name);
        pairs[i].Sym.Address = (uintptr_t)defs[i].address;
        pairs[i].Sym.Flags.GenericFlags = LLVMJITSymbolGenericFlagsExported;
    }
    LLVMErrorRef error = define(orc->library, pairs, n);
    free(pairs);
    return error ? failure(orc, error, err) : OMPJIT_OK;
}

/* ----------------------------------------------------------- create, free */

/* ORC wants a target even where it only links; detecting this CPU, its
 * default, takes longer than everything else. */
static LLVMOrcJITTargetMachineBuilderRef target(ompjit_error *err)
{
    char *triple = LLVMGetDefaultTargetTriple(), *text = NULL;
    LLVMOrcJITTargetMachineBuilderRef builder = NULL;
    LLVMTargetRef t;
    if (LLVMGetTargetFromTriple(triple, &t, &text)) {
        ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_LOAD,
                     "LLVM has no target for %s: %s", triple, text);
        LLVMDisposeMessage(text);
    } else {
        builder = LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(
            LLVMCreateTargetMachine(t, triple, "", "",
                                    LLVMCodeGenLevelDefault, LLVMRelocPIC,
                                    LLVMCodeModelDefault));
    }
    LLVMDisposeMessage(triple);
    return builder;
}

/* Makes the LLJIT. ompjit__orc_free frees what there is by then. */
static ompjit_status start(ompjit__orc *orc, ompjit_error *err)
{
    LLVMOrcJITTargetMachineBuilderRef machine = target(err);
    if (!machine)
        return OMPJIT_ERR_UNAVAILABLE;
    LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
    LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(builder, machine);
    LLVMErrorRef error = LLVMOrcCreateLLJIT(&orc->lljit, builder);
    if (error)
        return failure(orc, error, err);
    orc->session = LLVMOrcLLJITGetExecutionSession(orc->lljit);
    orc->library = LLVMOrcLLJITGetMainJITDylib(orc->lljit);
    LLVMOrcExecutionSessionSetErrorReporter(orc->session, collect, orc);
    LLVMOrcJITDylibAddGenerator(
        orc->library,
        LLVMOrcCreateCustomCAPIDefinitionGenerator(generate, orc, NULL));
    return OMPJIT_OK;
}

ompjit_status ompjit__orc_new(const char *name, const char *advice,
                              ompjit__orc_find *find, void *data,
                              ompjit__orc **out, ompjit_error *err)
{
    ompjit__llvm_init();
    ompjit__orc *orc = calloc(1, sizeof *orc);
    if (!orc)
        return ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    orc->advice = advice;
    orc->find = find;
    orc->find_data = data;
    orc->name = ompjit__strdup(name);
    ompjit_status status = orc->name
                               ? start(orc, err)
                               : ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    if (status)
        ompjit__orc_free(orc);
    else
        *out = orc;
    return status;
}

void ompjit__orc_free(ompjit__orc *orc)
{
    if (!orc)
        return;
    if (orc->lljit)
        LLVMConsumeError(LLVMOrcDisposeLLJIT(orc->lljit));
    ompjit__buf_free(&orc->reports);
    free(orc->name);
    free(orc);
}

/* ------------------------------------------------------------------ objects */

ompjit_status ompjit__orc_add(ompjit__orc *orc, const void *object, size_t size,
                              ompjit_error *err)
{
    LLVMMemoryBufferRef copy = LLVMCreateMemoryBufferWithMemoryRangeCopy(
        object, size, orc->name);
    LLVMErrorRef error =
        LLVMOrcLLJITAddObjectFile(orc->lljit, orc->library, copy);
    return error ? failure(orc, error, err) : OMPJIT_OK;
}

/* `asked` tells generate() which of the names it is asked for is the lookup's
 * own: if that one is missing, the error is another. */
ompjit_status ompjit__orc_lookup(ompjit__orc *orc, const char *name,
                                 void **address, ompjit_error *err)
{
    LLVMOrcExecutorAddress found = 0;
    ompjit_status status = OMPJIT_OK;
    orc->asked = name;
    orc->refused = false;
    LLVMErrorRef error = LLVMOrcLLJITLookup(orc->lljit, &found, name);
    if (error && orc->refused) {
        LLVMConsumeError(error);
        status = ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_LOAD,
                              "%s has no symbol %s", orc->name, name);
    } else if (error) {
        status = link_failure(orc, error, err);
    }
    orc->asked = NULL;
    if (!status)
        *address = (void *)(uintptr_t)found;
    return status;
}
