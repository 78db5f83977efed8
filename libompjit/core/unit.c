/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Destroys units, and finds their globals.
 */
#include <stdlib.h>
#include <string.h>

#include "core/cuda_source.h"
#include "core/prebuilt.h"
#include "core/template.h"
#include "core/core.h"

static void kernel_free(ompjit__kernel_desc *k)
{
    for (unsigned i = 0; i < k->nparams; i++)
        free(k->params[i].name);
    free(k->params);
    free(k->symbol);
    free(k->name);
}

bool ompjit__unit_has_global(const ompjit__unit *unit, const char *symbol)
{
    unsigned i = 0;
    while (i < unit->nglobals && strcmp(unit->globals[i].symbol, symbol))
        i++;
    return i < unit->nglobals;
}

void ompjit__unit_free(ompjit__unit *unit)
{
    for (unsigned i = 0; i < unit->nkernels; i++)
        kernel_free(&unit->kernels[i]);
    for (unsigned i = 0; i < unit->nglobals; i++)
        free(unit->globals[i].symbol);
    ompjit__templates_free(unit->templates);
    ompjit__cuda_free(unit->cuda);
    ompjit__prebuilt_free(unit);
    free(unit->kernels);
    free(unit->globals);
    free(unit->name);
    ompjit__opts_free(&unit->opts);
    ompjit__buf_free(&unit->device_bc);
    ompjit__buf_free(&unit->host_bc);
    ompjit__buf_free(&unit->signatures);
    ompjit__buf_free(&unit->passing);
    *unit = (ompjit__unit){0};
}
