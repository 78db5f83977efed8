/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Tells the resources of a kernel's code on an architecture, as it is and as a
 * launch would have it, and how many teams of it fit on a multiprocessor.
 *
 * Nothing is launched or loaded: no device is needed, and the architecture need
 * not be this machine's. Code for GPUs comes from the cache where it is there.
 */
#include <elf.h>
#include <string.h>

#include "base/structs.h"
#include "targets/arch.h"
#include "targets/instruction_count.h"
#include "targets/occupancy.h"
#include "door/door.h"
#include "launch/launch.h"

/* -------------------------------------------------------- what is in cubins */

/* The resources in an image for a GPU. False where it does not tell. *res is
 * set as a whole. Bytes of code become instructions, all of which have one
 * size. */
static bool is_told(const ompjit__image *image, const ompjit_kernel *kernel,
                    ompjit_resources *res)
{
    enum { SASS_BYTES = 16 }; /* of an instruction, since sm_70 */
    for (unsigned i = 0; i < image->nusage; i++)
        if (!strcmp(image->usage[i].symbol, ompjit__desc_of(kernel)->symbol)) {
            *res = image->usage[i].res;
            res->instructions = res->code / SASS_BYTES;
            return true;
        }
    return false;
}

/* ptxas and nvJitLink write a section of facts for each kernel; an image
 * without one for this kernel gives no zeros that look like facts. */
static ompjit_status not_told(const ompjit_kernel *kernel, const char *arch,
                              ompjit_error *err)
{
    return ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_ASSEMBLE,
                        "the cubin for %s does not tell what kernel %s uses",
                        arch, ompjit__desc_of(kernel)->name);
}

/* The generic code's: no argument and no geometry is folded. */
ompjit_status ompjit_kernel_resources(ompjit_kernel *kernel, const char *arch,
                                      ompjit_resources *res, ompjit_error *err)
{
    ompjit_status status =
        ompjit__result_check(OMPJIT__STRUCT_resources, res, err);
    if (status)
        return status;
    if (!kernel || !arch)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_kernel_resources: kernel and architecture "
                            "are needed");
    ompjit__spec spec = {0};
    ompjit__image image = {0};
    ompjit_resources full;
    status = ompjit__build_cached(kernel->mod->ctx, &kernel->mod->unit, arch,
                                  OMPJIT_FORMAT_CUBIN, &spec, &image, err);
    if (status)
        return status;
    ompjit__note_modes(kernel->mod, OMPJIT__ALL_KERNELS, &image.modes);
    if (is_told(&image, kernel, &full))
        ompjit__result_fill(OMPJIT__STRUCT_resources, &full, res);
    else
        status = not_told(kernel, arch, err);
    ompjit__image_free(&image);
    return status;
}

/* Registers and the like of a cubin, and instructions of the PTX that it came
 * from. Without an assembler there is only PTX, and only that is counted.
 * Without a cubin the fields that it would tell stay 0. */
static ompjit_status cuda_code(ompjit_kernel *kernel, const char *arch,
                               const ompjit__spec *spec, ompjit_resources *res,
                               ompjit_error *err)
{
    ompjit__image image = {0};
    ompjit_status status =
        ompjit__build_cached(kernel->mod->ctx, &kernel->mod->unit, arch,
                             OMPJIT_FORMAT_CUBIN, spec, &image, err);
    if (status)
        return status;
    bool cubin = image.kind == OMPJIT__IMAGE_CUBIN;
    const ompjit__buf *ptx = cubin ? &image.ptx : &image.bytes;
    if (!is_told(&image, kernel, res) && cubin)
        status = not_told(kernel, arch, err);
    res->ptx = ptx->size ? ompjit__count_ptx(ptx->data) : 0;
    ompjit__image_free(&image);
    return status;
}

/* ----------------------------------------------------- as a launch has it */

/* The facts that the given arguments stand for, as a launch would fold them.
 * Those that are not given are not folded. An argument that is no literal but a
 * multiple of OMPJIT__ALIGNMENT adds that fact, as a launch does. `values` and
 * `arrays` are the caller's, and live as long as the request. */
static ompjit_status add_args(ompjit_kernel *kernel, ompjit__request *r,
                              ompjit__fact_arrays *arrays,
                              const ompjit_arg *args, unsigned nargs,
                              uint64_t *values, ompjit_error *err)
{
    const ompjit__kernel_desc *k = ompjit__desc_of(kernel);
    r->facts.literals.values = values;
    for (unsigned i = 0; i < nargs; i++) {
        unsigned at = i;
        uint64_t value;
        if (!args[i].name && i >= k->nparams)
            return ompjit__fail(err, OMPJIT_ERR_ARGUMENT, OMPJIT_STAGE_API,
                                "kernel %s takes %u arguments, got %u", k->name,
                                k->nparams, nargs);
        ompjit_status status =
            ompjit__kernel_value(kernel, &args[i], &at, &value, err);
        if (!status)
            status = ompjit__kernel_facts(kernel, &args[i], at, r, arrays, err);
        if (status)
            return status;
        uint64_t bit = at < 64 ? UINT64_C(1) << at & ~r->varies : 0;
        values[at] = value;
        if (bit & kernel->eligible)
            r->facts.literals.mask |= bit;
        else if (value % OMPJIT__ALIGNMENT == 0)
            r->facts.aligned |= bit;
    }
    return OMPJIT_OK;
}

/* The values that a launch as asked for folds. On the host one thread a team is
 * a fact of its own code (`threads.all` 1). Resident teams are a matter of a
 * GPU's registers, and need the threads. */
static ompjit__facts folded(const ompjit__request *r, bool host)
{
    ompjit__facts f = r->facts;
    unsigned fold = r->fold ? r->fold : OMPJIT_FOLD_ALL;
    ompjit__facts_restrict(&f, fold, ~UINT64_C(0));
    if (fold & OMPJIT_FOLD_THREADS)
        f.threads = ompjit__extent_of(r->threads);
    if (fold & OMPJIT_FOLD_TEAMS)
        f.teams = ompjit__extent_of(r->teams);
    if (host && r->threads[0] <= 1 && r->threads[1] <= 1 && r->threads[2] <= 1)
        f.threads.all = 1;
    if (host || !f.threads.all)
        f.resident_teams = 0;
    return f;
}

/* Bytes of machine code in an object of this process's own making. So its
 * headers are not checked. */
static uint32_t code_bytes(const ompjit__buf *object)
{
    const Elf64_Ehdr *head = (const void *)object->data;
    const Elf64_Shdr *s = (const void *)(object->data + head->e_shoff);
    uint64_t bytes = 0;
    for (unsigned i = 0; i < head->e_shnum; i++)
        if (s[i].sh_flags & SHF_EXECINSTR)
            bytes += s[i].sh_size;
    return (uint32_t)bytes;
}

/* Two builds: of the object for its size, of assembly for its instructions.
 * Both are for people, and go past the cache. On failure `res` may be filled in
 * part; the caller does not show it. */
static ompjit_status host_code(ompjit_kernel *kernel, const char *arch,
                               const ompjit__spec *spec, ompjit_resources *res,
                               ompjit_error *err)
{
    ompjit__image image = {0};
    ompjit_status status =
        ompjit__door_build(&kernel->mod->ctx->compiler, &kernel->mod->unit,
                           arch, OMPJIT_FORMAT_OBJECT, spec, &image, err);
    if (status)
        return status;
    res->code = code_bytes(&image.bytes);
    ompjit__image_free(&image);
    image = (ompjit__image){0};
    status = ompjit__door_build(&kernel->mod->ctx->compiler,
                                &kernel->mod->unit, arch,
                                OMPJIT__FORMAT_ASSEMBLY, spec, &image, err);
    if (status)
        return status;
    res->instructions = ompjit__count_assembly(
        image.bytes.data, &res->spill_stores, &res->spill_loads);
    ompjit__image_free(&image);
    return OMPJIT_OK;
}

/* An architecture with a triple is a CPU's. Only this kernel is compiled
 * (spec.kernel), as for a launch. Values of arguments that are not given are
 * not read: their bits in the facts are 0. */
ompjit_status ompjit_kernel_code(ompjit_kernel *kernel, const char *arch,
                                 const ompjit_launch *launch,
                                 const ompjit_arg *args, unsigned nargs,
                                 ompjit_resources *res, ompjit_error *err)
{
    ompjit_status status =
        ompjit__result_check(OMPJIT__STRUCT_resources, res, err);
    if (status)
        return status;
    if (!kernel || !arch || (nargs && !args))
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_kernel_code: a kernel, an architecture "
                            "and arguments are needed");
    const ompjit__arch *found;
    uint64_t values[ompjit__desc_of(kernel)->nparams + 1];
    ompjit__spec spec = {.kernel = ompjit__desc_of(kernel)->symbol};
    ompjit__request r;
    ompjit__fact_arrays arrays;
    ompjit_resources full = {0};
    status = ompjit__arch_find(arch, &found, err);
    if (!status)
        status = ompjit__kernel_folds(kernel, launch, &r, err);
    if (!status)
        status = add_args(kernel, &r, &arrays, args, nargs, values, err);
    if (status)
        return status;
    bool host = found->triple != NULL;
    spec.facts = folded(&r, host);
    status = host ? host_code(kernel, arch, &spec, &full, err)
                  : cuda_code(kernel, arch, &spec, &full, err);
    if (!status)
        ompjit__result_fill(OMPJIT__STRUCT_resources, &full, res);
    return status;
}

/* -------------------------------------------------------------- occupancy */

/* The architecture's limits are the library's own table; no device is asked. */
ompjit_status ompjit_arch_info_get(const char *arch, ompjit_arch_info *info,
                                   ompjit_error *err)
{
    ompjit_arch_info full;
    ompjit_status status =
        ompjit__result_check(OMPJIT__STRUCT_arch_info, info, err);
    if (status)
        return status;
    if (!arch)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_arch_info_get: `arch` is NULL");
    status = ompjit__arch_info(arch, &full, err);
    if (!status)
        ompjit__result_fill(OMPJIT__STRUCT_arch_info, &full, info);
    return status;
}

/* Computed from the architecture's limits; no device is asked. `use` may be a
 * struct of another version's size. */
ompjit_status ompjit_occupancy_get(const char *arch,
                                   const ompjit_resources *use,
                                   uint32_t threads, uint32_t dynamic_shared,
                                   ompjit_occupancy *out, ompjit_error *err)
{
    ompjit_resources room;
    ompjit_occupancy full;
    ompjit_status status =
        ompjit__result_check(OMPJIT__STRUCT_occupancy, out, err);
    if (status)
        return status;
    if (!arch || !use)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_occupancy_get: `%s` is NULL",
                            arch ? "use" : "arch");
    use = ompjit__options(OMPJIT__STRUCT_resources, use, &room, err);
    if (!use)
        return OMPJIT_ERR_INVALID;
    status = ompjit__occupancy(arch, use, threads, dynamic_shared, &full, err);
    if (!status)
        ompjit__result_fill(OMPJIT__STRUCT_occupancy, &full, out);
    return status;
}
