/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Host objects become code of this process, each image for itself, so that
 * images see neither each other's symbols nor each other's errors, and freeing
 * one gives its memory back. A single plain object is linked by elf.c; for
 * everything else, and for its words where something is missing, there is an
 * LLJIT (with JITLink), made when it is needed. Code is generated here too, but
 * never by ORC: what reaches it are finished objects.
 */
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>

#include "backend/backend.h"
#include "loader/elf.h"
#include "loader/publish.h"

struct ompjit__jit {
    char *name;
    ompjit__buf pending;    /* the only object, until the first lookup   */
    ompjit__elf *plain;     /* and then, where elf.c could link it       */
    ompjit__absolute *defs; /* names are copies                          */
    size_t ndefs;
    const ompjit__absolute *shared; /* more, of a table that stays       */
    size_t nshared;
    LLVMOrcLLJITRef lljit;  /* NULL until needed                         */
    LLVMOrcExecutionSessionRef session;
    LLVMOrcJITDylibRef library;
    ompjit__jit_find *find;
    void *find_data;
    bool debug;             /* debuggers are told                        */
    ompjit__buf untold;     /* ORC's object, until tools know of it      */
    ompjit__published *published;

    pthread_mutex_t lock; /* one lookup at a time: plain, asked, refused */
    const char *asked;    /* the name that a lookup is for        */
    bool refused;         /* the library does not have it         */
    ompjit__buf reports;  /* what ORC would print, a line each    */
};

/* ---------------------------------------------------------------- errors */

static ompjit_status failure(ompjit__jit *jit, LLVMErrorRef error,
                             ompjit_error *err)
{
    char *text = LLVMGetErrorMessage(error);
    ompjit_status status = ompjit__fail(err, OMPJIT_ERR_LINK, OMPJIT_STAGE_LOAD,
                                        "%s: %s", jit->name, text);
    LLVMDisposeErrorMessage(text);
    return status;
}

/* ORC tells the cause of a failed link here, and its consequence ("failed to
 * materialize") to who asked. */
static void collect(void *data, LLVMErrorRef error)
{
    ompjit__jit *jit = data;
    char *text = LLVMGetErrorMessage(error);
    ompjit__buf_printf(&jit->reports, "%s%s", jit->reports.size ? "\n" : "",
                       text);
    LLVMDisposeErrorMessage(text);
}

extern char *__cxa_demangle(const char *mangled, char *out, size_t *length,
                            int *status);

/* ORC's list "a, b" as a person reads it. Only a name that begins with _Z is a
 * mangled one: "i" alone would be a type's. */
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
        char *readable = strncmp(name, "_Z", 2)
                             ? NULL
                             : __cxa_demangle(name, NULL, NULL, &(int){0});
        ompjit__buf_printf(out, "%s%s", out->size ? separator : "",
                           readable ? readable : name);
        free(readable);
        free(name);
        names += n + sizeof separator - 1;
    }
}

static ompjit_status undefined_symbols(const ompjit__jit *jit,
                                       const char *names, const char *end,
                                       ompjit_error *err)
{
    ompjit__buf readable = {0};
    add_names(&readable, names, end);
    ompjit_status status =
        readable.failed
            ? ompjit__no_memory(err, OMPJIT_STAGE_LINK)
            : ompjit__fail(err, OMPJIT_ERR_LINK, OMPJIT_STAGE_LINK,
                           "%s: undefined symbols: %s\n"
                           "They can come from a further source (--source), a "
                           "library (-l), or the application, where it is "
                           "linked with -rdynamic; C++ functions are found by "
                           "a source that is C++ by its name "
                           "(name=\"x.cpp\").",
                           jit->name, readable.data);
    ompjit__buf_free(&readable);
    return status;
}

static ompjit_status link_failure(ompjit__jit *jit, LLVMErrorRef error,
                                  ompjit_error *err)
{
    static const char undefined[] = "Symbols not found: [ ";
    const char *report = jit->reports.size ? jit->reports.data : "";
    const char *names = strstr(report, undefined);
    const char *end = names ? strstr(names, " ]") : NULL;
    if (!*report)
        return failure(jit, error, err);
    LLVMConsumeError(error);
    if (!end)
        return ompjit__fail(err, OMPJIT_ERR_LINK, OMPJIT_STAGE_LINK,
                            "%s: %s", jit->name, report);
    names += sizeof undefined - 1;
    return undefined_symbols(jit, names, end, err);
}

/* --------------------------------------------------------------- symbols */

static LLVMErrorRef define(LLVMOrcJITDylibRef library,
                           LLVMOrcCSymbolMapPair *pairs, size_t n)
{
    LLVMOrcMaterializationUnitRef unit = LLVMOrcAbsoluteSymbols(pairs, n);
    LLVMErrorRef error = LLVMOrcJITDylibDefine(library, unit);
    if (error)
        LLVMOrcDisposeMaterializationUnit(unit);
    return error;
}

static void *find_definition(const ompjit__jit *jit, const char *name)
{
    for (size_t i = 0; i < jit->ndefs; i++)
        if (!strcmp(jit->defs[i].name, name))
            return jit->defs[i].address;
    for (size_t i = 0; i < jit->nshared; i++)
        if (!strcmp(jit->shared[i].name, name))
            return jit->shared[i].address;
    return NULL;
}

static void *find_outside(ompjit__jit *jit, const char *name)
{
    void *address = ompjit__elf_symbol(jit->plain, name);
    if (!address && jit->find)
        address = jit->find(jit->find_data, name);
    return address ? address : dlsym(RTLD_DEFAULT, name);
}

static void *find_any(void *data, const char *name)
{
    void *address = find_definition(data, name);
    return address ? address : find_outside(data, name);
}

/* Called by ORC for names that the library lacks. Those that stay unknown
 * are left to ORC, which makes one error of all of them. */
static LLVMErrorRef generate(LLVMOrcDefinitionGeneratorRef self, void *data,
                             LLVMOrcLookupStateRef *state,
                             LLVMOrcLookupKind kind, LLVMOrcJITDylibRef library,
                             LLVMOrcJITDylibLookupFlags flags,
                             LLVMOrcCLookupSet wanted, size_t n)
{
    ompjit__jit *jit = data;
    LLVMOrcCSymbolMapPair *found = calloc(n ? n : 1, sizeof *found);
    size_t nfound = 0;
    for (size_t i = 0; found && i < n; i++) {
        const char *name = LLVMOrcSymbolStringPoolEntryStr(wanted[i].Name);
        if (jit->asked && !strcmp(name, jit->asked)) {
            jit->refused = true;
            continue;
        }
        void *address = find_outside(jit, name);
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

/* Tells ORC. */
static ompjit_status define_all(ompjit__jit *jit, const ompjit__absolute *defs,
                                size_t n, ompjit_error *err)
{
    if (!n)
        return OMPJIT_OK;
    LLVMOrcCSymbolMapPair *pairs = calloc(n, sizeof *pairs);
    if (!pairs)
        return ompjit__no_memory(err, OMPJIT_STAGE_LINK);
    for (size_t i = 0; i < n; i++) {
        pairs[i].Name = LLVMOrcExecutionSessionIntern(jit->session,
                                                      defs[i].name);
        pairs[i].Sym.Address = (uintptr_t)defs[i].address;
        pairs[i].Sym.Flags.GenericFlags = LLVMJITSymbolGenericFlagsExported;
    }
    LLVMErrorRef error = define(jit->library, pairs, n);
    free(pairs);
    return error ? failure(jit, error, err) : OMPJIT_OK;
}

ompjit_status ompjit__jit_define(ompjit__jit *jit, const ompjit__absolute *defs,
                                 size_t n, ompjit_error *err)
{
    if (jit->lljit)
        return define_all(jit, defs, n, err);
    ompjit__absolute *more =
        realloc(jit->defs, (jit->ndefs + n + 1) * sizeof *more);
    if (!more)
        return ompjit__no_memory(err, OMPJIT_STAGE_LINK);
    jit->defs = more;
    for (size_t i = 0; i < n; i++) {
        char *name = ompjit__strdup(defs[i].name);
        if (!name)
            return ompjit__no_memory(err, OMPJIT_STAGE_LINK);
        more[jit->ndefs++] = (ompjit__absolute){name, defs[i].address};
    }
    return OMPJIT_OK;
}

void ompjit__jit_share(ompjit__jit *jit, const ompjit__absolute *defs, size_t n)
{
    jit->shared = defs;
    jit->nshared = n;
}

void ompjit__jit_search(ompjit__jit *jit, ompjit__jit_find *find, void *data)
{
    jit->find = find;
    jit->find_data = data;
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

static ompjit_status need_orc(ompjit__jit *jit, ompjit_error *err)
{
    if (jit->lljit)
        return OMPJIT_OK;
    ompjit__llvm_init();
    LLVMOrcJITTargetMachineBuilderRef machine = target(err);
    if (!machine)
        return OMPJIT_ERR_UNAVAILABLE;
    LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
    LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(builder, machine);
    LLVMErrorRef error = LLVMOrcCreateLLJIT(&jit->lljit, builder);
    if (error)
        return failure(jit, error, err);
    jit->session = LLVMOrcLLJITGetExecutionSession(jit->lljit);
    jit->library = LLVMOrcLLJITGetMainJITDylib(jit->lljit);
    LLVMOrcExecutionSessionSetErrorReporter(jit->session, collect, jit);
    LLVMOrcJITDylibAddGenerator(
        jit->library,
        LLVMOrcCreateCustomCAPIDefinitionGenerator(generate, jit, NULL));
    ompjit_status status = define_all(jit, jit->shared, jit->nshared, err);
    return status ? status : define_all(jit, jit->defs, jit->ndefs, err);
}

ompjit_status ompjit__jit_new(const char *name, ompjit__jit **out,
                              ompjit_error *err)
{
    ompjit__jit *jit = calloc(1, sizeof *jit);
    if (!jit)
        return ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    pthread_mutex_init(&jit->lock, NULL);
    jit->name = ompjit__strdup(name);
    if (!jit->name) {
        ompjit__jit_free(jit);
        return ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    }
    *out = jit;
    return OMPJIT_OK;
}

void ompjit__jit_free(ompjit__jit *jit)
{
    if (!jit)
        return;
    if (jit->lljit)
        LLVMConsumeError(LLVMOrcDisposeLLJIT(jit->lljit));
    ompjit__unpublish(jit->published);
    ompjit__buf_free(&jit->untold);
    ompjit__elf_free(jit->plain);
    ompjit__buf_free(&jit->pending);
    for (size_t i = 0; i < jit->ndefs; i++)
        free((char *)jit->defs[i].name);
    free(jit->defs);
    ompjit__buf_free(&jit->reports);
    pthread_mutex_destroy(&jit->lock);
    free(jit->name);
    free(jit);
}

/* ------------------------------------------------------------------ tools */

void ompjit__jit_debug(ompjit__jit *jit)
{
    jit->debug = true;
}

static bool has_audience(const ompjit__jit *jit)
{
    return jit->debug || ompjit__publish_wanted();
}

static const Elf64_Shdr *sections_of(const ompjit__buf *object, unsigned *n)
{
    const Elf64_Ehdr *head = (const void *)object->data;
    *n = head->e_shnum;
    return (const void *)(object->data + head->e_shoff);
}

/* ORC tells where symbols lie, and with them their sections. */
static uint64_t address_in_orc(ompjit__jit *jit, const char *name)
{
    LLVMOrcExecutorAddress found = 0;
    LLVMErrorRef error = LLVMOrcLLJITLookup(jit->lljit, &found, name);
    LLVMConsumeError(error);
    return error ? 0 : found;
}

static void find_in_orc(ompjit__jit *jit, const ompjit__buf *object,
                        uint64_t *addresses)
{
    unsigned n;
    const Elf64_Shdr *s = sections_of(object, &n);
    for (unsigned i = 0; i < n; i++) {
        if (s[i].sh_type != SHT_SYMTAB || s[i].sh_link >= n)
            continue;
        const Elf64_Sym *symbol = (const void *)(object->data + s[i].sh_offset);
        const char *names = object->data + s[s[i].sh_link].sh_offset;
        for (size_t k = s[i].sh_size / sizeof *symbol; k; k--, symbol++) {
            unsigned at = symbol->st_shndx;
            if (ELF64_ST_BIND(symbol->st_info) == STB_LOCAL || !at || at >= n ||
                addresses[at])
                continue;
            uint64_t p = address_in_orc(jit, names + symbol->st_name);
            addresses[at] = p ? p - symbol->st_value : 0;
        }
    }
}

/* The object was linked: as jit->plain, or by ORC. */
static void publish(ompjit__jit *jit, const ompjit__buf *object)
{
    unsigned n;
    sections_of(object, &n);
    uint64_t *addresses = calloc(n + 1, sizeof *addresses);
    if (!addresses)
        return;
    for (unsigned i = 0; jit->plain && i < n; i++)
        addresses[i] = ompjit__elf_section(jit->plain, i);
    if (!jit->plain)
        find_in_orc(jit, object, addresses);
    jit->published = ompjit__publish(object->data, object->size, addresses,
                                     jit->debug);
    free(addresses);
}

static ompjit_status add_to_orc(ompjit__jit *jit, const void *object,
                                     size_t size, ompjit_error *err)
{
    LLVMMemoryBufferRef copy = LLVMCreateMemoryBufferWithMemoryRangeCopy(
        object, size, jit->name);
    LLVMErrorRef error =
        LLVMOrcLLJITAddObjectFile(jit->lljit, jit->library, copy);
    return error ? failure(jit, error, err) : OMPJIT_OK;
}

/* ORC takes over what waits for it. */
static ompjit_status flush(ompjit__jit *jit, ompjit_error *err)
{
    ompjit_status status = need_orc(jit, err);
    if (!status && jit->pending.size)
        status = add_to_orc(jit, jit->pending.data, jit->pending.size, err);
    if (!status && has_audience(jit) && !jit->untold.size) {
        jit->untold = jit->pending;
        jit->pending = (ompjit__buf){0};
    }
    ompjit__buf_free(&jit->pending);
    return status;
}

ompjit_status ompjit__jit_add_object(ompjit__jit *jit, const void *object,
                                     size_t size, ompjit_error *err)
{
    if (!jit->lljit && !jit->plain && !jit->pending.size) {
        ompjit__buf_add(&jit->pending, object, size);
        return jit->pending.failed ? ompjit__no_memory(err, OMPJIT_STAGE_LINK)
                                   : OMPJIT_OK;
    }
    ompjit_status status = flush(jit, err);
    return status ? status : add_to_orc(jit, object, size, err);
}

/* Under the lock. */
static ompjit_status link_pending(ompjit__jit *jit, ompjit_error *err)
{
    if (!jit->pending.size)
        return OMPJIT_OK;
    jit->plain = ompjit__elf_link(jit->pending.data, jit->pending.size,
                                  find_any, jit);
    if (!jit->plain)
        return flush(jit, err);
    if (has_audience(jit))
        publish(jit, &jit->pending);
    ompjit__buf_free(&jit->pending);
    return OMPJIT_OK;
}

bool ompjit__jit_extent(const ompjit__jit *jit, uintptr_t address,
                        uintptr_t *begin, uintptr_t *end)
{
    uintptr_t from, to;
    if (!jit->plain)
        return false;
    ompjit__elf_extent(jit->plain, &from, &to);
    if (address < from || address >= to)
        return false;
    *begin = from;
    *end = to;
    return true;
}

static ompjit_status no_symbol(const ompjit__jit *jit, const char *name,
                               ompjit_error *err)
{
    return ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_LOAD,
                        "%s has no symbol %s", jit->name, name);
}

/* Under the lock. */
static ompjit_status lookup_orc(ompjit__jit *jit, const char *name,
                                void **address, ompjit_error *err)
{
    LLVMOrcExecutorAddress found = 0;
    ompjit_status status = OMPJIT_OK;
    jit->asked = name;
    jit->refused = false;
    LLVMErrorRef error = LLVMOrcLLJITLookup(jit->lljit, &found, name);
    if (error && jit->refused) {
        LLVMConsumeError(error);
        status = no_symbol(jit, name, err);
    } else if (error) {
        status = link_failure(jit, error, err);
    }
    jit->asked = NULL;
    if (!status)
        *address = (void *)(uintptr_t)found;
    if (!status && jit->untold.size) {
        publish(jit, &jit->untold);
        ompjit__buf_free(&jit->untold);
    }
    return status;
}

ompjit_status ompjit__jit_lookup(ompjit__jit *jit, const char *name,
                                 void **address, ompjit_error *err)
{
    pthread_mutex_lock(&jit->lock);
    ompjit_status status = link_pending(jit, err);
    void *found = ompjit__elf_symbol(jit->plain, name);
    if (!found && !jit->lljit)
        found = find_definition(jit, name);
    if (found)
        *address = found;
    else if (!status)
        status = jit->lljit ? lookup_orc(jit, name, address, err)
                            : no_symbol(jit, name, err);
    pthread_mutex_unlock(&jit->lock);
    return status;
}

/* -------------------------------------------------------- code generation */

/* opt_level is 0 to 3 as in -O0 to -O3. */
static ompjit_status machine_of(const char *triple, const char *cpu,
                                const char *features, unsigned opt_level,
                                LLVMTargetMachineRef *out, ompjit_error *err)
{
    static const LLVMCodeGenOptLevel levels[] = {
        LLVMCodeGenLevelNone, LLVMCodeGenLevelLess, LLVMCodeGenLevelDefault,
        LLVMCodeGenLevelAggressive};
    char *text = NULL;
    LLVMTargetRef t;
    if (LLVMGetTargetFromTriple(triple, &t, &text)) {
        ompjit_status status = ompjit__fail(
            err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_CODEGEN,
            "this libompjit has no back end for %s: %s", triple, text);
        LLVMDisposeMessage(text);
        return status;
    }
    *out = LLVMCreateTargetMachine(
        t, triple, cpu, features, levels[opt_level > 3 ? 3 : opt_level],
        LLVMRelocPIC, LLVMCodeModelDefault);
    return OMPJIT_OK;
}

/* On AMD's processors gathers are slower than loads one by one, and scatters
 * than stores, which LLVM's costs do not tell: products of 8 by 8 matrices took
 * half as long again for the one, and for the other twice as long. */
static char *tuned(const char *cpu, const char *features)
{
    bool slow = !strncmp(cpu, "znver", 5);
    return ompjit__format("%s%s", features,
                          slow ? ",+prefer-no-gather,+prefer-no-scatter" : "");
}

ompjit_status ompjit__host_machine(unsigned opt_level, bool emulated_tls,
                                   LLVMTargetMachineRef *out,
                                   ompjit_error *err)
{
    ompjit__llvm_init();
    char *triple = LLVMGetDefaultTargetTriple();
    char *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
    char *all = tuned(cpu, features);
    ompjit_status status =
        all ? machine_of(triple, cpu, all, opt_level, out, err)
            : ompjit__no_memory(err, OMPJIT_STAGE_CODEGEN);
    if (!status && emulated_tls)
        ompjit__emulate_tls(*out);
    free(all);
    LLVMDisposeMessage(features);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(triple);
    return status;
}

ompjit_status ompjit__object_machine(const ompjit__arch *arch,
                                     unsigned opt_level,
                                     LLVMTargetMachineRef *out,
                                     ompjit_error *err)
{
    if (!*arch->triple)
        return ompjit__host_machine(opt_level, false, out, err);
    ompjit__llvm_init();
    return machine_of(arch->triple, arch->cpu, "", opt_level, out, err);
}

void ompjit__host_cpu(char *name, size_t size)
{
    char *cpu = LLVMGetHostCPUName();
    snprintf(name, size, "%s", cpu);
    LLVMDisposeMessage(cpu);
}
