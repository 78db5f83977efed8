/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * From pieces of machine code and PTX to a unit: what is in it, and what the
 * code says of its kernels.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "images/gpu_code.h"
#include "images/prebuilt_unit.h"

/* Code for NVIDIA's GPUs, of which the reader of kernels knows both forms. */
static bool is_for_gpus(const ompjit__piece *p)
{
    return p->kind == OMPJIT__PIECE_PTX || p->kind == OMPJIT__PIECE_CUBIN;
}

/* ----------------------------------------------------------------- pieces */

/* PTX is text for the driver, which wants a NUL behind it: a buffer has one. */
static ompjit_status add_piece(ompjit__unit *unit, const ompjit__piece *p,
                               ompjit_error *err)
{
    struct ompjit__prebuilt *to = &unit->prebuilt[unit->nprebuilt];
    bool gpu = is_for_gpus(p);
    if (gpu ? !p->arch[0] : p->kind != OMPJIT__PIECE_HOST_LIBRARY) {
        to->environment = false; /* the place is the next piece's */
        return OMPJIT_OK;
    }
    to->kind = !gpu                          ? OMPJIT__IMAGE_LIBRARY
               : p->kind == OMPJIT__PIECE_PTX ? OMPJIT__IMAGE_PTX
                                              : OMPJIT__IMAGE_CUBIN;
    snprintf(to->arch, sizeof to->arch, "%s", gpu ? p->arch : "host");
    ompjit__buf_add(&to->bytes, p->data, p->size);
    unit->nprebuilt++;
    return to->bytes.failed ? ompjit__no_memory(err, OMPJIT_STAGE_READ)
                            : OMPJIT_OK;
}

/* ---------------------------------------------------------------- kernels */

/* SPMD_NO_LOOP is SPMD. */
static uint8_t mode_of(int exec_mode)
{
    return exec_mode < 0 ? OMPJIT_MODE_BARE : (uint8_t)(exec_mode & 3);
}

/* The worst is assumed of machine code: that the kernel observes its threads,
 * writes through all pointers, and through pointers that it has loaded. */
static ompjit_status name_kernel(ompjit__kernel_desc *k, const char *symbol,
                                 ompjit_error *err)
{
    k->symbol = ompjit__strdup(symbol);
    k->name = k->symbol ? ompjit__kernel_name(symbol, &k->line) : NULL;
    k->observes_threads = true;
    k->written = UINT64_MAX;
    k->writes_loaded = true;
    return k->name ? OMPJIT_OK : ompjit__no_memory(err, OMPJIT_STAGE_READ);
}

/* The environment's bounds and reduction, as far as the code has them. */
static void read_environment(const ompjit__gpu_kernel *from,
                             ompjit__kernel_desc *k)
{
    ompjit__configuration_environment c = {0};
    if (from->environment_size < sizeof c)
        return;
    memcpy(&c, from->environment, sizeof c);
    k->min_threads = c.min_threads;
    k->max_threads = c.max_threads;
    k->min_teams = c.min_teams;
    k->max_teams = c.max_teams;
    k->reduction_size = c.reduction_data_size;
    k->reduction_length = c.reduction_buffer_length;
    k->thread_limit = c.max_threads > 0 ? (uint32_t)c.max_threads : 0;
}

/* The first parameter of a kernel with an environment is the launch's. clang's
 * kernels without one (ompx_bare) have it, too; of all others nobody says what
 * the first one is, and a launch with one argument less passes it. */
static ompjit_status describe(const ompjit__gpu_kernel *from,
                              ompjit__kernel_desc *k, ompjit_error *err)
{
    static const char clangs[] = "__omp_offloading_";
    ompjit_status status = name_kernel(k, from->symbol, err);
    if (status)
        return status;
    k->mode = mode_of(from->exec_mode);
    k->launch_env = from->nparams && (from->environment_size ||
                                      !strncmp(from->symbol, clangs,
                                               sizeof clangs - 1));
    k->cuda = from->exec_mode < 0 && !k->launch_env;
    read_environment(from, k);
    if (from->max_threads && from->threads_required)
        k->min_threads = k->max_threads = (int32_t)from->max_threads;
    k->params = calloc(from->nparams + 1u, sizeof *k->params);
    if (!k->params)
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    for (unsigned i = k->launch_env; i < from->nparams; i++) {
        ompjit__param *p = &k->params[k->nparams];
        uint32_t size = from->params[i].size;
        if (size > sizeof(uint64_t))
            return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_READ,
                                "kernel %s: parameter %u is a structure of %u "
                                "bytes passed by value; pointers and numbers "
                                "of up to 8 bytes can be", from->symbol, i,
                                size);
        p->kind = OMPJIT__PARAM_WORD;
        p->bytes = (uint8_t)size;
        p->source_order = (uint16_t)k->nparams;
        p->name = ompjit__strdup("");
        if (!p->name)
            return ompjit__no_memory(err, OMPJIT_STAGE_READ);
        k->nparams++;
    }
    return OMPJIT_OK;
}

/* Of LLVM's device runtime, which is linked into the code. */
static bool reads_environment(const ompjit__gpu_code *code)
{
    for (unsigned i = 0; i < code->nvariables; i++)
        if (!strcmp(code->variables[i].symbol, OMPJIT__DEVICE_ENVIRONMENT))
            return true;
    return false;
}

/* The unit's kernels in the order of the code. On failure the unit has some;
 * the caller frees it. */
static ompjit_status describe_all(const ompjit__gpu_code *code,
                                  ompjit__unit *unit, ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    unit->kernels = calloc(code->nkernels + 1u, sizeof *unit->kernels);
    if (!unit->kernels)
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    while (!status && unit->nkernels < code->nkernels) {
        unsigned i = unit->nkernels++;
        status = describe(&code->kernels[i], &unit->kernels[i], err);
    }
    return status;
}

/* Every piece for a GPU is read, so that damage is found here; the first one
 * describes the kernels. */
static ompjit_status read_code(const ompjit__piece *p, ompjit__unit *unit,
                               ompjit_error *err)
{
    ompjit__gpu_code code = {0};
    ompjit_status status = ompjit__gpu_code_read(p, &code, err);
    if (!status && !unit->kernels)
        status = describe_all(&code, unit, err);
    if (!status)
        unit->prebuilt[unit->nprebuilt].environment = reads_environment(&code);
    ompjit__gpu_code_free(&code);
    return status;
}

/* Kernels of host code are functions whose parameters nobody tells. */
static ompjit_status take_names(const ompjit__kernel_names *names,
                                ompjit__unit *unit, ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    unit->kernels = calloc(names->n + 1u, sizeof *unit->kernels);
    if (!unit->kernels)
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    while (!status && unit->nkernels < names->n) {
        ompjit__kernel_desc *k = &unit->kernels[unit->nkernels];
        status = name_kernel(k, names->list[unit->nkernels++], err);
        k->any_params = true;
    }
    return status;
}

/* Copies the pieces that are of use, and finds out the kernels. */
static ompjit_status fill(const ompjit__pieces *pieces,
                          const ompjit__kernel_names *names,
                          ompjit__unit *unit, ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    unit->prebuilt = calloc(pieces->n + 1u, sizeof *unit->prebuilt);
    if (!unit->prebuilt || !unit->name)
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    for (unsigned i = 0; !status && i < pieces->n; i++) {
        const ompjit__piece *p = &pieces->list[i];
        if (is_for_gpus(p))
            status = read_code(p, unit, err);
        if (!status)
            status = add_piece(unit, p, err);
    }
    if (!status && !unit->nprebuilt)
        status = ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_READ,
                              "%s: no image is for a device of this library: "
                              "IR for nvptx64, a cubin, PTX or a shared host "
                              "library", unit->name);
    if (!status && !unit->kernels)
        status = take_names(names, unit, err);
    return status;
}

ompjit_status ompjit__prebuilt_unit(const ompjit__pieces *pieces,
                                    const ompjit__kernel_names *names,
                                    const char *name, ompjit__unit *out,
                                    ompjit_error *err)
{
    ompjit__unit unit = {.name = ompjit__strdup(name)};
    ompjit_status status = fill(pieces, names, &unit, err);
    if (!status && !ompjit__unit_seal(&unit))
        status = ompjit__no_memory(err, OMPJIT_STAGE_READ);
    if (status)
        ompjit__unit_free(&unit);
    else
        *out = unit;
    return status;
}
