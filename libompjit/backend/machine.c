/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A context's target machines: what builds need again and again, and takes half
 * a millisecond to make, mostly to look at the processor and to set up what
 * each of its features means. A build has one to itself; between builds they
 * lie in a list. One may hold the runtime, read for the next build, too.
 */
#include <llvm-c/Core.h>
#include <stdlib.h>

#include "backend/backend.h"
#include "backend/host/host.h"
#include "backend/nvptx/nvptx.h"
#include "llvm/runtime_bitcode.h"

/* A new machine, without a context or a stock: the builds that need those make
 * them. */
static ompjit_status make(const ompjit__machine *like, ompjit__machine **out,
                          ompjit_error *err)
{
    ompjit__machine *m = calloc(1, sizeof *m);
    if (!m)
        return ompjit__no_memory(err, OMPJIT_STAGE_CODEGEN);
    m->arch = like->arch;
    m->ptx = like->ptx;
    m->opt_level = like->opt_level;
    m->emulated_tls = like->emulated_tls;
    ompjit_status status =
        m->emulated_tls ? ompjit__host_machine(m->opt_level, true, &m->tm, err)
        : m->arch->triple
            ? ompjit__object_machine(m->arch, m->opt_level, &m->tm, err)
            : ompjit__nvptx_machine(m->arch->name, m->ptx, m->opt_level,
                                    &m->tm, err);
    if (status)
        free(m);
    else
        *out = m;
    return status;
}

/* Two limits on PTX are one where the architecture's version is below both. */
static bool same(const ompjit__machine *a, const ompjit__machine *b)
{
    return a->arch == b->arch && a->opt_level == b->opt_level &&
           a->emulated_tls == b->emulated_tls &&
           ompjit__ptx_version(a->arch, a->ptx) ==
               ompjit__ptx_version(b->arch, b->ptx);
}

ompjit_status ompjit__machine_take(ompjit__compiler *compiler,
                                   const ompjit__machine *like,
                                   ompjit__machine **out, ompjit_error *err)
{
    pthread_mutex_lock(&compiler->machines_lock);
    ompjit__machine **at = &compiler->machines;
    while (*at && !same(*at, like))
        at = &(*at)->next;
    ompjit__machine *m = *at;
    if (m)
        *at = m->next;
    pthread_mutex_unlock(&compiler->machines_lock);
    if (!m)
        return make(like, out, err);
    *out = m;
    return OMPJIT_OK;
}

void ompjit__machine_give(ompjit__compiler *compiler, ompjit__machine *m)
{
    pthread_mutex_lock(&compiler->machines_lock);
    m->next = compiler->machines;
    compiler->machines = m;
    pthread_mutex_unlock(&compiler->machines_lock);
}

void ompjit__machine_clear(ompjit__machine *m)
{
    if (m->old_m)
        LLVMDisposeModule(m->old_m);
    if (m->old_runtime)
        LLVMDisposeModule(m->old_runtime);
    if (m->old)
        LLVMContextDispose(m->old);
    ompjit__generator_free(m->old_generator);
    m->old_m = m->old_runtime = NULL;
    m->old_generator = NULL;
    m->old = NULL;
}

/* ------------------------------------------------------------- ahead */

static ompjit_status load_runtime(ompjit__machine *m, ompjit_error *err)
{
    ompjit__buf messages = {0};
    char *triple = LLVMGetTargetMachineTriple(m->tm);
    LLVMContextRef context = ompjit__llvm_context(&messages);
    ompjit_status status = ompjit__runtime_read(
        context, triple, m->plain, &messages, &m->runtime, err);
    LLVMContextSetDiagnosticHandler(context, NULL, NULL);
    LLVMDisposeMessage(triple);
    ompjit__buf_free(&messages);
    if (status)
        LLVMContextDispose(context);
    else
        m->context = context;
    m->runtime_plain = m->plain;
    return status;
}

/* In a guard: `arg` is the machine. */
static ompjit_status load(void *arg, ompjit_error *err)
{
    ompjit__machine *m = arg;
    if (!m->generator) {
        m->generator = ompjit__generator_new(
            m->tm, m->arch->triple ? LLVMObjectFile : LLVMAssemblyFile);
        ompjit__generator_prepare(m->generator);
    }
    return m->context ? OMPJIT_OK : load_runtime(m, err);
}

/* Frees what no build has taken. */
static void unload(ompjit__machine *m)
{
    ompjit__generator_free(m->generator);
    if (!m->context)
        return;
    LLVMDisposeModule(m->runtime);
    LLVMContextDispose(m->context);
}

void ompjit__machine_prepare(ompjit__compiler *compiler)
{
    pthread_mutex_lock(&compiler->machines_lock);
    ompjit__machine **at = &compiler->machines;
    while (*at && (*at)->emulated_tls)
        at = &(*at)->next;
    ompjit__machine *m = *at;
    if (m)
        *at = m->next;
    pthread_mutex_unlock(&compiler->machines_lock);
    if (!m)
        return;
    ompjit__machine_clear(m);
    ompjit__guard(load, m, OMPJIT_STAGE_LINK, NULL);
    ompjit__machine_give(compiler, m);
}

void ompjit__machine_prepare_host(ompjit__compiler *compiler,
                                  unsigned opt_level)
{
    ompjit__machine like = {.opt_level = opt_level}, *m;
    if (ompjit__arch_find("host", &like.arch, NULL) ||
        ompjit__machine_take(compiler, &like, &m, NULL))
        return;
    ompjit__machine_clear(m);
    ompjit__guard(load, m, OMPJIT_STAGE_LINK, NULL);
    if (m->context)
        ompjit__learn_features(m->tm, LLVMGetFirstFunction(m->runtime));
    ompjit__machine_give(compiler, m);
}

void ompjit__machines_free(ompjit__machine *first)
{
    while (first) {
        ompjit__machine *next = first->next;
        ompjit__machine_clear(first);
        unload(first);
        ompjit__stock_free(first->stock);
        LLVMDisposeTargetMachine(first->tm);
        free(first);
        first = next;
    }
}
