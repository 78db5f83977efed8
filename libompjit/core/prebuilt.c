/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The choice among what a unit has of machine code and PTX.
 */
#include <stdlib.h>
#include <string.h>

#include "core/prebuilt.h"

/* 90 of "sm_90a"; 0: no GPU's. */
static unsigned number_of(const char *arch)
{
    return strncmp(arch, "sm_", 3) ? 0 : (unsigned)strtoul(arch + 3, NULL, 10);
}

/* "a" of "sm_90a": for that very architecture; "f": for its family. */
static char feature_of(const char *arch)
{
    size_t n = strlen(arch);
    return n && (arch[n - 1] == 'a' || arch[n - 1] == 'f') ? arch[n - 1] : 0;
}

/* How well it runs on `arch`: 0 not at all. A cubin runs on later GPUs of its
 * generation (CUDA C++ Programming Guide, "Binary Compatibility"), PTX on all
 * later ones, and what has architecture-specific features only on its own, or,
 * of a family, in that. */
static unsigned fitness(const struct ompjit__prebuilt *p, const char *arch)
{
    enum { CUBINS = 10000 };
    unsigned of = number_of(p->arch), on = number_of(arch);
    if (!on || !of)
        return !on && p->kind == OMPJIT__IMAGE_LIBRARY &&
               !strcmp(p->arch, arch);
    bool same_generation = of / 10 == on / 10;
    char feature = feature_of(p->arch);
    if (of > on || (feature == 'a' && of != on) ||
        ((feature || p->kind == OMPJIT__IMAGE_CUBIN) && !same_generation))
        return 0;
    return of + (p->kind == OMPJIT__IMAGE_CUBIN ? CUBINS : 0);
}

static const char *const kinds[] = {[OMPJIT__IMAGE_CUBIN] = "a cubin",
                                    [OMPJIT__IMAGE_PTX] = "PTX",
                                    [OMPJIT__IMAGE_OBJECT] = "an object",
                                    [OMPJIT__IMAGE_LIBRARY] =
                                        "a shared library"};

/* "a cubin for sm_80, PTX for sm_90" */
static void list(const ompjit__unit *unit, ompjit__buf *text)
{
    for (unsigned i = 0; i < unit->nprebuilt; i++)
        ompjit__buf_printf(text, "%s%s for %s", i ? ", " : "",
                           kinds[unit->prebuilt[i].kind],
                           unit->prebuilt[i].arch);
}

static ompjit_status fail(const ompjit__unit *unit, const char *what,
                          const char *of, ompjit_error *err)
{
    ompjit__buf text = {0};
    list(unit, &text);
    ompjit_status status = ompjit__fail(
        err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_LOAD,
        "%s was compiled ahead of time and has no %s%s; it has %s", unit->name,
        what, of, text.data ? text.data : "nothing");
    ompjit__buf_free(&text);
    return status;
}

ompjit_status ompjit__prebuilt_no_ir(const ompjit__unit *unit,
                                     ompjit_error *err)
{
    return fail(unit, "IR", "", err);
}

static const struct ompjit__prebuilt *choose(const ompjit__unit *unit,
                                             const char *arch)
{
    const struct ompjit__prebuilt *best = NULL;
    unsigned most = 0;
    for (unsigned i = 0; i < unit->nprebuilt; i++) {
        unsigned fit = fitness(&unit->prebuilt[i], arch);
        if (fit > most) {
            most = fit;
            best = &unit->prebuilt[i];
        }
    }
    return best;
}

ompjit_status ompjit__prebuilt_check(const ompjit__unit *unit,
                                     const char *arch, ompjit_error *err)
{
    return choose(unit, arch) ? OMPJIT_OK : fail(unit, "code for ", arch, err);
}

void ompjit__prebuilt_explain(const ompjit__unit *unit, const char *arch,
                              ompjit__buf *text)
{
    const struct ompjit__prebuilt *best = choose(unit, arch);
    for (unsigned i = 0; i < unit->nprebuilt; i++) {
        const struct ompjit__prebuilt *p = &unit->prebuilt[i];
        const char *why = !fitness(p, arch)     ? "it does not run there"
                          : p == best           ? "the best one there"
                          : p->kind != best->kind
                              ? "a cubin needs no compile"
                              : "it is for an older GPU";
        ompjit__buf_printf(text, "%s%s for %s is %s on %s: %s",
                           text->size ? "\n" : "", kinds[p->kind], p->arch,
                           p == best ? "taken" : "left out", arch, why);
    }
}

ompjit_status ompjit__prebuilt_image(const ompjit__unit *unit,
                                     const char *arch, ompjit__image *out,
                                     ompjit_error *err)
{
    const struct ompjit__prebuilt *best = choose(unit, arch);
    if (!best)
        return fail(unit, "code for ", arch, err);
    ompjit__image image = {.kind = best->kind,
                           .environment = best->environment};
    memcpy(image.arch, best->arch, sizeof image.arch);
    ompjit__buf_add(&image.bytes, best->bytes.data, best->bytes.size);
    for (unsigned i = 0; i < unit->nkernels; i++)
        ompjit__buf_add(&image.modes, &unit->kernels[i].mode, 1);
    if (image.bytes.failed || image.modes.failed) {
        ompjit__image_free(&image);
        return ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    }
    *out = image;
    return OMPJIT_OK;
}

void ompjit__prebuilt_free(ompjit__unit *unit)
{
    for (unsigned i = 0; i < unit->nprebuilt; i++)
        ompjit__buf_free(&unit->prebuilt[i].bytes);
    free(unit->prebuilt);
}
