/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * PTX to a cubin and what its kernels use, by the assembler that the context
 * asks for or the first that is there: nvJitLink in this process, ptxas in its
 * own, or nobody: then the image is the PTX and the driver compiles it at load.
 * Kernels that spill for more teams on a multiprocessor are assembled again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/nvptx/assemble.h"
#include "backend/nvptx/nvptx.h"
#include "targets/cuda_files.h"

/* The words of assemblers for an architecture or a PTX version that came after
 * them. Another assembler may well be newer. */
static const char *const too_old[] = {
    "Unsupported .version",
    "is not defined for option 'gpu-name'",
    "NVJITLINK_ERROR_UNRECOGNIZED_ARCH",
};

ompjit_status ompjit__assembly_failed(const ompjit__assembly *a,
                                      const char *assembler,
                                      ompjit_error *err)
{
    const char *log = a->log.data ? a->log.data : "(it said nothing)";
    ompjit_status status = OMPJIT_ERR_ASSEMBLE;
    for (size_t i = 0; i < OMPJIT__COUNT(too_old); i++)
        if (strstr(log, too_old[i]))
            status = OMPJIT_ERR_UNAVAILABLE;
    return ompjit__fail_reported(
        a->compiler, err, status, OMPJIT_STAGE_ASSEMBLE, "%s for %s%s:\n%s",
        assembler, a->arch->name,
        status == OMPJIT_ERR_UNAVAILABLE ? " is too old" : "", log);
}

/* ------------------------------------------------------------- the driver */

/* Without a driver nobody could ever compile the PTX. */
static ompjit_status driver(ompjit__assembly *a, ompjit_error *err)
{
    char **paths = ompjit__cuda_paths(OMPJIT__CUDA_DRIVER);
    if (!paths)
        return ompjit__no_memory(err, OMPJIT_STAGE_ASSEMBLE);
    ompjit_status status =
        ompjit__load_library("the CUDA driver", (const char *const *)paths,
                             NULL, 0, NULL, err);
    ompjit__cuda_paths_free(paths);
    return status;
}

/* By OMPJIT_ASSEMBLER_..., in the order in which they are tried. */
static const struct assembler {
    const char *name;
    ompjit_status (*run)(ompjit__assembly *a, ompjit_error *err);
    enum ompjit__image_kind makes;
} assemblers[] = {
    [OMPJIT_ASSEMBLER_NVJITLINK] = {"nvJitLink", ompjit__nvjitlink,
                                    OMPJIT__IMAGE_CUBIN},
    [OMPJIT_ASSEMBLER_PTXAS] = {"ptxas", ompjit__ptxas, OMPJIT__IMAGE_CUBIN},
    [OMPJIT_ASSEMBLER_DRIVER] = {"driver", driver, OMPJIT__IMAGE_PTX},
};

/* ------------------------------------------------------------ the log read */

ompjit__usage *ompjit__usage_find(ompjit__usage *usage, unsigned n,
                                  const char *name, size_t length)
{
    for (unsigned i = 0; i < n; i++)
        if (strlen(usage[i].symbol) == length &&
            !memcmp(usage[i].symbol, name, length))
            return &usage[i];
    return NULL;
}

/* The one thing that cubins do not tell: how many bytes are spilled. Both
 * assemblers write
 *     ptxas info    : Function properties for NAME
 *     ...   A bytes stack frame, B bytes spill stores, C bytes spill loads */
static void read_spills(const char *log, ompjit__usage *usage, unsigned n)
{
    static const char words[] = "Function properties for ";
    while (log && (log = strstr(log, words))) {
        log += sizeof words - 1;
        size_t length = strcspn(log, "\n");
        ompjit__usage *u = ompjit__usage_find(usage, n, log, length);
        const char *frame = log + length;
        const char *end = *frame ? strchr(frame + 1, '\n') : NULL;
        const char *stores = strstr(frame, "stack frame, ");
        unsigned bytes[2];
        if (u && end && stores && stores < end &&
            sscanf(stores, "stack frame, %u bytes spill stores, %u bytes",
                   &bytes[0], &bytes[1]) == 2) {
            u->res.spill_stores = bytes[0];
            u->res.spill_loads = bytes[1];
        }
    }
}

/* -------------------------------------------------------------- the choice */

/* On failure nothing is left of what the assembler had written. */
static ompjit_status run_one(const struct assembler *by, ompjit__assembly *a,
                             ompjit_error *err)
{
    ompjit_status status = by->run(a, err);
    if (!status && (a->cubin.failed || a->log.failed))
        status = ompjit__no_memory(err, OMPJIT_STAGE_ASSEMBLE);
    if (status) {
        ompjit__buf_free(&a->cubin);
        ompjit__buf_free(&a->log);
    }
    return status;
}

/* The first that is there; the error of all where none is. */
static ompjit_status run_first(const struct assembler **by,
                               ompjit__assembly *a, ompjit_error *err)
{
    ompjit__buf causes = {0};
    ompjit_status status = OMPJIT_ERR_UNAVAILABLE;
    for (size_t i = 0; i < OMPJIT__COUNT(assemblers); i++) {
        if (!assemblers[i].run)
            continue;
        ompjit_error why = {.text = ""};
        *by = &assemblers[i];
        status = run_one(*by, a, &why);
        if (status && status != OMPJIT_ERR_UNAVAILABLE && err)
            *err = why;
        if (status != OMPJIT_ERR_UNAVAILABLE)
            break;
        ompjit__buf_printf(&causes, "\n%s", why.text);
    }
    if (status == OMPJIT_ERR_UNAVAILABLE)
        ompjit__fail_reported(a->compiler, err, status, OMPJIT_STAGE_ASSEMBLE,
                            "no assembler makes a cubin for %s:%s",
                            a->arch->name, causes.data ? causes.data : "");
    ompjit__buf_free(&causes);
    return status;
}

/* `by` is set to the assembler that did the work, also for the second run of
 * make_room. */
static ompjit_status choose(ompjit_assembler wanted,
                            const struct assembler **by, ompjit__assembly *a,
                            ompjit_error *err)
{
    if (wanted == OMPJIT_ASSEMBLER_AUTO)
        return run_first(by, a, err);
    if ((unsigned)wanted >= OMPJIT__COUNT(assemblers))
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_ASSEMBLE,
                            "no assembler number %d", (int)wanted);
    *by = &assemblers[wanted];
    return run_one(*by, a, err);
}

/* The text, without the NUL that may count as its last byte. */
static ompjit__buf copy_text(const ompjit__buf *text)
{
    ompjit__buf copy = {0};
    ompjit__buf_add(&copy, text->data, strnlen(text->data, text->size));
    return copy;
}

/* The cubin becomes the image's bytes; PTX for the driver stays what it is, and
 * what its kernels use nobody knows before the driver has compiled it. The
 * pipeline has filled the rest of the image. */
static ompjit_status fill(ompjit__image *image, enum ompjit__image_kind kind,
                          ompjit__assembly *a, ompjit_error *err)
{
    image->kind = kind;
    snprintf(image->arch, sizeof image->arch, "%s", a->arch->name);
    ompjit_status status = OMPJIT_OK;
    if (kind == OMPJIT__IMAGE_CUBIN) {
        image->bytes = a->cubin;
        image->ptx = copy_text(a->ptx);
        a->cubin = (ompjit__buf){0};
        status = ompjit__cubin_usage(image->bytes.data, image->bytes.size,
                                     &image->usage, &image->nusage, err);
    } else {
        image->bytes = copy_text(a->ptx);
    }
    if (!status && (image->bytes.failed || image->ptx.failed))
        status = ompjit__no_memory(err, OMPJIT_STAGE_ASSEMBLE);
    if (status)
        ompjit__image_free(image);
    else
        read_spills(a->log.data, image->usage, image->nusage);
    return status;
}

/* --------------------------------------------------------- roomier kernels */

/* The cubin, its text and what its kernels use; the rest stays. */
static void swap(ompjit__image *a, ompjit__image *b)
{
    ompjit__image old = *a;
    a->bytes = b->bytes;
    a->ptx = b->ptx;
    a->usage = b->usage;
    a->nusage = b->nusage;
    b->bytes = old.bytes;
    b->ptx = old.ptx;
    b->usage = old.usage;
    b->nusage = old.nusage;
}

/* Strikes those from `teams` that still spill; true: there was none. */
static bool helped(const ompjit__image *image, const ompjit__image *roomy,
                   uint32_t *teams)
{
    bool all = true;
    for (unsigned i = 0; i < image->nusage; i++) {
        const char *symbol = image->usage[i].symbol;
        const ompjit__usage *u = ompjit__usage_find(
            roomy->usage, roomy->nusage, symbol, strlen(symbol));
        if (teams[i] && (!u || u->res.spill_stores)) {
            teams[i] = 0;
            all = false;
        }
    }
    return all;
}

/* Again with room for some; false: some still spill, and the image stays. */
static bool again(const struct assembler *by, const ompjit__arch *arch,
                  ompjit__image *image, uint32_t *teams)
{
    ompjit__buf text = {0};
    ompjit__assembly a = {.arch = arch, .ptx = &text};
    ompjit__image roomy = {0};
    bool good = true;
    if (ompjit__roomier(image->ptx.data, image->usage, teams, image->nusage,
                        &text) &&
        !run_one(by, &a, NULL) && !fill(&roomy, by->makes, &a, NULL)) {
        good = helped(image, &roomy, teams);
        if (good)
            swap(image, &roomy);
        ompjit__image_free(&roomy);
    }
    ompjit__buf_free(&a.cubin);
    ompjit__buf_free(&a.log);
    ompjit__buf_free(&text);
    return good;
}

/* There is a good cubin already, so that no failure is an error. If some
 * kernels spill however much room there is, tries once more without them. */
static void make_room(const struct assembler *by, const ompjit__arch *arch,
                      ompjit__image *image)
{
    uint32_t *teams = calloc(image->nusage + 1u, sizeof *teams);
    for (unsigned i = 0; teams && i < image->nusage; i++)
        teams[i] = ompjit__roomier_teams(arch->name, &image->usage[i].res);
    if (teams && !again(by, arch, image, teams))
        again(by, arch, image, teams);
    free(teams);
}

void ompjit__assembler_begin(ompjit_assembler wanted, const char *arch,
                             bool rehearse)
{
    const ompjit__arch *row = NULL;
    if (wanted != OMPJIT_ASSEMBLER_AUTO &&
        wanted != OMPJIT_ASSEMBLER_NVJITLINK)
        return;
    if (!ompjit__arch_find(arch, &row, NULL) && row->ptx_given)
        ompjit__nvjitlink_begin(rehearse ? row : NULL);
}

void ompjit__assembler_end(void)
{
    ompjit__nvjitlink_end();
}

ompjit_status ompjit__assemble(ompjit__compiler *compiler, const char *arch,
                               const ompjit__buf *ptx, ompjit__image *image,
                               ompjit_error *err)
{
    ompjit__assembly a = {.compiler = compiler, .ptx = ptx};
    ompjit_status status = ompjit__arch_find(arch, &a.arch, err);
    if (status)
        return status;
    if (!a.arch->ptx_given)
        return ompjit__fail(err, OMPJIT_ERR_TARGET, OMPJIT_STAGE_ASSEMBLE,
                            "architecture '%s' has no cubin", arch);
    if (!ptx->size)
        return ompjit__fail(err, OMPJIT_ERR_ASSEMBLE, OMPJIT_STAGE_ASSEMBLE,
                            "the PTX for %s is empty", arch);
    const struct assembler *by = NULL;
    status = choose(compiler->assembler, &by, &a, err);
    if (!status)
        status = fill(image, by->makes, &a, err);
    if (!status && image->kind == OMPJIT__IMAGE_CUBIN)
        make_room(by, a.arch, image);
    ompjit__buf_free(&a.cubin);
    ompjit__buf_free(&a.log);
    return status;
}
