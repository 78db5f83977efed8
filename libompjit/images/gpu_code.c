/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Lists of kernels and variables, and which of the variables are environments
 * of the kernels.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "images/gpu_reader.h"

static const char environment[] = "_kernel_environment";
static const char exec_mode[] = "_exec_mode";
/* The work that a reader may do, in bytes: what any code gets, and what it gets
 * for each byte of its own. Names and sections that overlap can ask for any
 * amount. */
enum { WORK_FREE = 1 << 16, WORK_EACH = 4 };

/* -------------------------------------------------------------- what fails */

ompjit_status ompjit__gpu_bad(ompjit__gpu_reader *r, uint64_t at,
                              const char *format, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    return ompjit__fail(r->err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_READ,
                        "%s of %zu bytes, byte %llu: %s", r->what, r->bytes.n,
                        (unsigned long long)at, text);
}

/* INVALID once names and sections ask for more than the file can need. */
ompjit_status ompjit__gpu_charge(ompjit__gpu_reader *r, uint64_t at,
                                 uint64_t work)
{
    if (work > r->work)
        return ompjit__gpu_bad(r, at, "names or sections overlap: they are "
                               "more than the file has bytes");
    r->work -= work;
    return OMPJIT_OK;
}

/* ------------------------------------------------------------------- lists */

static ompjit_status no_memory(ompjit__gpu_reader *r)
{
    return ompjit__no_memory(r->err, OMPJIT_STAGE_READ);
}

/* Room for one more; the room is a power of two. */
static bool grow(void *list, unsigned n, size_t each)
{
    void *old, *new;
    memcpy(&old, list, sizeof old);
    if (n & (n - 1))
        return true;
    new = realloc(old, (n ? 2 * (size_t)n : 1) * each);
    if (new)
        memcpy(list, &new, sizeof new);
    return new != NULL;
}

/* NUL-terminated, malloc'd; NULL: no memory. */
static char *copy_name(ompjit__bytes name)
{
    char *copy = malloc(name.n + 1);
    if (copy) {
        memcpy(copy, name.p, name.n);
        copy[name.n] = 0;
    }
    return copy;
}

/* *out is valid until the next kernel is added. */
ompjit_status ompjit__gpu_add_kernel(ompjit__gpu_reader *r, ompjit__bytes name,
                                     ompjit__gpu_kernel **out)
{
    char *copy = copy_name(name);
    if (!copy || !grow(&r->kernels, r->nkernels, sizeof *r->kernels)) {
        free(copy);
        return no_memory(r);
    }
    *out = &r->kernels[r->nkernels++];
    **out = (ompjit__gpu_kernel){.symbol = copy, .exec_mode = -1};
    return OMPJIT_OK;
}

ompjit_status ompjit__gpu_add_found(ompjit__gpu_reader *r, ompjit__bytes name,
                                    ompjit__gpu_found **out)
{
    char *copy = copy_name(name);
    if (!copy || !grow(&r->found, r->nfound, sizeof *r->found)) {
        free(copy);
        return no_memory(r);
    }
    *out = &r->found[r->nfound++];
    **out = (ompjit__gpu_found){.symbol = copy};
    return OMPJIT_OK;
}

/* ------------------------------------------------------------ environments */

/* Longer than the suffix alone? */
static bool ends(ompjit__bytes name, const char *with)
{
    size_t n = strlen(with);
    return name.n > n && !memcmp(name.p + name.n - n, with, n);
}

bool ompjit__gpu_is_environment(ompjit__bytes name)
{
    return ends(name, environment) || ends(name, exec_mode);
}

static int by_symbol(const void *a, const void *b)
{
    const ompjit__gpu_found *x = a, *y = b;
    return strcmp(x->symbol, y->symbol);
}

/* A name in two parts. */
struct wanted {
    const char *symbol, *suffix;
};

/* For bsearch: compares a symbol and a suffix with a whole name, without
 * joining them. */
static int wanted_first(const void *a, const void *b)
{
    const struct wanted *w = a;
    const ompjit__gpu_found *f = b;
    size_t n = strlen(w->symbol);
    int order = strncmp(w->symbol, f->symbol, n);
    return order ? order : strcmp(w->suffix, f->symbol + n);
}

static const ompjit__gpu_found *find(const ompjit__gpu_found *sorted,
                                     unsigned n, const char *symbol,
                                     const char *suffix)
{
    struct wanted wanted = {symbol, suffix};
    return bsearch(&wanted, sorted, n, sizeof *sorted, wanted_first);
}

/* `whole` is the kernel's environment, `mode` clang 16's byte alone; either may
 * be NULL. */
static void set_environment(ompjit__gpu_kernel *k,
                            const ompjit__gpu_found *whole,
                            const ompjit__gpu_found *mode)
{
    const ompjit__gpu_found *from = whole ? whole : mode;
    if (!from || !from->size)
        return;
    k->environment_size = from->size < sizeof k->environment
                              ? (unsigned)from->size
                              : (unsigned)sizeof k->environment;
    memcpy(k->environment, from->initial, k->environment_size);
    size_t at = offsetof(ompjit__configuration_environment, exec_mode);
    if (!whole)
        k->exec_mode = k->environment[0];
    else if (at < k->environment_size)
        k->exec_mode = k->environment[at];
}

/* The variables stay in the order of the code, which users see; a sorted copy
 * of the environments is searched. */
static ompjit_status environments(ompjit__gpu_reader *r)
{
    unsigned n = 0;
    ompjit__gpu_found *sorted =
        calloc((size_t)r->nfound + 1, sizeof *sorted);
    if (!sorted)
        return no_memory(r);
    for (unsigned i = 0; i < r->nfound; i++) {
        const char *s = r->found[i].symbol;
        if (ompjit__gpu_is_environment(
                (ompjit__bytes){(const unsigned char *)s, strlen(s)}))
            sorted[n++] = r->found[i];
    }
    qsort(sorted, n, sizeof *sorted, by_symbol);
    for (unsigned i = 0; i < r->nkernels; i++) {
        const char *s = r->kernels[i].symbol;
        set_environment(&r->kernels[i], find(sorted, n, s, environment),
                        find(sorted, n, s, exec_mode));
    }
    free(sorted);
    return OMPJIT_OK;
}

/* --------------------------------------------------------------- interface */

/* The variables' symbols move. */
static ompjit_status publish(ompjit__gpu_reader *r, ompjit__gpu_code *out)
{
    ompjit__gpu_variable *variables =
        calloc((size_t)r->nfound + 1, sizeof *variables);
    if (!variables)
        return no_memory(r);
    for (unsigned i = 0; i < r->nfound; i++) {
        variables[i].symbol = r->found[i].symbol;
        variables[i].size = r->found[i].size;
        r->found[i].symbol = NULL;
    }
    *out = (ompjit__gpu_code){r->kernels, r->nkernels, variables, r->nfound};
    r->kernels = NULL;
    r->nkernels = 0;
    return OMPJIT_OK;
}

static void free_kernels(ompjit__gpu_kernel *kernels, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        free(kernels[i].symbol);
        free(kernels[i].params);
    }
    free(kernels);
}

/* The kernels' memory moves to *out on success; else it is freed here, as are
 * the symbols of variables that were not moved. */
ompjit_status ompjit__gpu_code_read(const ompjit__piece *piece,
                                    ompjit__gpu_code *out, ompjit_error *err)
{
    bool cubin = piece->kind == OMPJIT__PIECE_CUBIN;
    ompjit__gpu_reader r = {
        .bytes = {piece->data, piece->size},
        .what = cubin ? "cubin" : "PTX",
        .work = (uint64_t)piece->size * WORK_EACH + WORK_FREE,
        .err = err};
    if (!cubin && piece->kind != OMPJIT__PIECE_PTX)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_READ,
                            "a piece is neither a cubin nor PTX");
    ompjit_status status = cubin ? ompjit__gpu_read_cubin(&r)
                                 : ompjit__gpu_read_ptx(&r);
    if (!status)
        status = environments(&r);
    if (!status)
        status = publish(&r, out);
    free_kernels(r.kernels, r.nkernels);
    for (unsigned i = 0; i < r.nfound; i++)
        free(r.found[i].symbol);
    free(r.found);
    return status;
}

void ompjit__gpu_code_free(ompjit__gpu_code *code)
{
    free_kernels(code->kernels, code->nkernels);
    for (unsigned i = 0; i < code->nvariables; i++)
        free(code->variables[i].symbol);
    free(code->variables);
    *code = (ompjit__gpu_code){0};
}
