/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A CUDA source through NVRTC to the PTX of an image.
 */
#include <stdlib.h>
#include <string.h>

#include "targets/arch.h"
#include "targets/cuda_files.h"
#include "backend/cuda/cuda_image.h"
#include "backend/cuda/nvrtc.h"
#include "backend/nvptx/ptx_text.h"
#include "table/rows.h"

/* --------------------------------------------------------------- compiling */

/* The source as NVRTC reads it: declarations of the runtime's functions, and
 * then the source at the lines of its own file. */
static ompjit_status compile(ompjit__compiler *compiler,
                             const ompjit__cuda *cuda,
                             const char *arch, ompjit__buf *ptx,
                             ompjit_error *err)
{
    ompjit__buf text = {0};
    ompjit__table_header(&text);
    ompjit__buf_printf(&text, "#line 1 ");
    ompjit__cuda_add_name(&text, cuda->name);
    ompjit__buf_printf(&text, "\n%s", cuda->source);
    ompjit_status status =
        text.failed ? ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND)
                    : ompjit__nvrtc_compile(compiler, text.data, cuda->name,
                                            arch,
                                            (const char *const *)cuda->options,
                                            cuda->noptions, ptx, err);
    ompjit__buf_free(&text);
    return status;
}

/* The driver tells of a failed assertion that there was one. Ours tells the
 * place first, and then calls the driver's. */
#define DRIVERS_ASSERT "__assertfail"
#define OUR_ASSERT "ompjit_assertfail"

/* Are there functions of the OpenMP runtime, or the driver's assertion, among
 * the undefined names? Adds the names of ours that the code will call instead.
 * */
static void find_needed(ompjit__buf *names, bool *openmp, bool *asserts)
{
    *openmp = *asserts = false;
    for (char *p = names->data; p && *p;) {
        char *end = strchr(p, '\n');
        *end = 0;
        *openmp |= ompjit__table_device_function(p);
        *asserts |= !strcmp(p, DRIVERS_ASSERT);
        *end = '\n';
        p = end + 1;
    }
    if (*openmp)
        ompjit__buf_printf(names, "%s\n", OMPJIT__CUDA_BEGIN);
    if (*asserts)
        ompjit__buf_printf(names, "%s\n", OUR_ASSERT);
}

/* Puts the runtime's functions that the text calls before it. A text that calls
 * none stays as it is. */
static ompjit_status link_runtime(const char *arch, ompjit__buf *ptx,
                                  ompjit_error *err)
{
    ompjit__buf names = {0}, library = {0}, program = {0}, whole = {0};
    ompjit_status status = OMPJIT_OK;
    bool openmp, asserts;
    ompjit__ptx_externs(ptx->data, &names);
    find_needed(&names, &openmp, &asserts);
    if (openmp || asserts) {
        ompjit__ptx_rename(ptx->data, DRIVERS_ASSERT, OUR_ASSERT, &program);
        status = names.failed || program.failed
                     ? ompjit__no_memory(err, OMPJIT_STAGE_LINK)
                     : ompjit__cuda_runtime(arch, names.data, &library, err);
        if (!status)
            status = ompjit__ptx_join(library.data, program.data, &whole, err);
        if (!status) {
            ompjit__buf_free(ptx);
            *ptx = whole;
        }
    }
    ompjit__buf_free(&names);
    ompjit__buf_free(&library);
    ompjit__buf_free(&program);
    return status;
}

/* Compiles for one architecture, and adds that to the source's list. Under its
 * lock: others who need the same wait. */
static ompjit_status make(ompjit__compiler *compiler, ompjit__cuda *cuda,
                          const char *arch, struct ompjit__cuda_made **out,
                          ompjit_error *err)
{
    struct ompjit__cuda_made *made = calloc(1, sizeof *made);
    if (!made || !(made->arch = ompjit__strdup(arch))) {
        free(made);
        return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    }
    ompjit_status status = compile(compiler, cuda, arch, &made->ptx, err);
    if (!status)
        status = link_runtime(arch, &made->ptx, err);
    if (!status && made->ptx.failed)
        status = ompjit__no_memory(err, OMPJIT_STAGE_LINK);
    if (status) {
        ompjit__buf_free(&made->ptx);
        free(made->arch);
        free(made);
        return status;
    }
    made->next = cuda->made;
    cuda->made = *out = made;
    return OMPJIT_OK;
}

/* The PTX for `arch`, which lives as long as the unit's source. Threads that
 * want the same wait for the one that compiles. */
static ompjit_status get(ompjit__compiler *compiler, ompjit__cuda *cuda,
                         const char *arch, const char **ptx,
                         ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    pthread_mutex_lock(&cuda->lock);
    struct ompjit__cuda_made *made = cuda->made;
    while (made && strcmp(made->arch, arch))
        made = made->next;
    if (!made)
        status = make(compiler, cuda, arch, &made, err);
    pthread_mutex_unlock(&cuda->lock);
    if (!status)
        *ptx = made->ptx.data;
    return status;
}

/* ------------------------------------------------------ for the front end */

/* For the newest architecture that NVRTC knows: its PTX tells most. */
static ompjit_status get_newest(ompjit__compiler *compiler, ompjit__cuda *cuda,
                                const char **ptx, ompjit_error *err)
{
    unsigned version;
    const char *arch = "sm_75";
    ompjit_status status = ompjit__nvrtc_version(&version, err);
    if (status)
        return status;
    for (size_t i = 0; ompjit__arch_at(i); i++) {
        const ompjit__arch *row = ompjit__arch_at(i);
        if (row->ptx_given && row->cuda <= version)
            arch = row->name;
    }
    return get(compiler, cuda, arch, ptx, err);
}

ompjit_status ompjit__cuda_check(ompjit__compiler *compiler, ompjit__cuda *cuda,
                                 ompjit_error *err)
{
    const char *ptx;
    return get_newest(compiler, cuda, &ptx, err);
}

/* Nothing tells which kernel reaches the runtime: if one does, all begin by
 * preparing it. */
ompjit_status ompjit__cuda_kernels_of(ompjit__compiler *compiler,
                                      ompjit__cuda *cuda,
                                      const char *clang, ompjit__unit *out,
                                      ompjit_error *err)
{
    const char *ptx;
    ompjit_status status = get_newest(compiler, cuda, &ptx, err);
    if (status)
        return status;
    ompjit__unit unit = {.name = ompjit__strdup(cuda->name)};
    cuda->why = ompjit__strdup(clang);
    status = unit.name && cuda->why
                 ? ompjit__ptx_describe(ptx, &unit, err)
                 : ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    bool openmp = strstr(ptx, OMPJIT__CUDA_BEGIN) != NULL;
    for (unsigned i = 0; i < unit.nkernels; i++)
        unit.kernels[i].openmp = openmp;
    if (status)
        ompjit__unit_free(&unit);
    else
        *out = unit;
    return status;
}

/* ----------------------------------------------------------- for the build */

/* NVRTC's time counts as the front end's, writing the values in as that of
 * specializing. */
ompjit_status ompjit__cuda_ptx(ompjit__compiler *compiler,
                               const ompjit__unit *unit,
                               const char *arch, const ompjit__spec *spec,
                               ompjit__buf *ptx, ompjit_error *err)
{
    const char *generic;
    uint64_t start = ompjit__now();
    ompjit_status status = get(compiler, unit->cuda, arch, &generic, err);
    ompjit__report_stage(compiler, OMPJIT_STAGE_FRONTEND, start);
    if (status)
        return status;
    start = ompjit__now();
    ompjit__ptx_specialize(generic, unit, spec, ptx);
    ompjit__report_stage(compiler, OMPJIT_STAGE_SPECIALIZE, start);
    return ptx->failed ? ompjit__no_memory(err, OMPJIT_STAGE_SPECIALIZE)
                       : OMPJIT_OK;
}
