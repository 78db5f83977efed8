/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A device half by way of HLFIR. flang 22 refuses REAL(10) for a GPU, where its
 * own module ieee_arithmetic names it, and so each source that uses the module,
 * or has such a variable on the host. HLFIR is the same for both targets but
 * for two attributes of its module that count. So flang reads the source for
 * the host's CPU, and makes the GPU's code of the HLFIR. Functions with complex
 * results, which it refuses too, have become others there (complex_results.c).
 * So does each source with COMMON or EQUIVALENCE, for common_blocks.c.
 *
 * And the loops of a source, for a clause that flang gets wrong on a device: a
 * macro may have made it, which the text of the source does not show.
 */
#include <string.h>

#include "frontend/flang/flang.h"

static bool has(const ompjit__buf *text, const char *words)
{
    return text->size && memmem(text->data, text->size, words, strlen(words));
}

bool ompjit__flang_needs_hlfir(const ompjit__buf *diag)
{
    return has(diag, "is not an enabled type for this target") ||
           has(diag, "handle complex return types");
}

/* A word in place of another one, behind a third where that is not NULL. */
struct exchange {
    const char *behind, *old, *new;
};

static void add_exchanged(const ompjit__args *words, const struct exchange *e,
                          size_t n, ompjit__args *out)
{
    for (size_t i = 0; i < words->n; i++) {
        const char *word = words->v[i];
        for (size_t k = 0; k < n; k++) {
            bool here = e[k].behind ? i && !strcmp(words->v[i - 1], e[k].behind)
                                    : !strcmp(word, e[k].old);
            word = here ? e[k].new : word;
        }
        ompjit__args_add(out, word);
    }
    out->failed |= words->failed;
}

/* -mmlir and its value keep lines, which kernels have in their names. */
void ompjit__hlfir_command(const ompjit__args *half, const char *triple,
                           ompjit__args *out)
{
    const struct exchange all[] = {{"-triple", NULL, triple},
                                   {NULL, "-emit-llvm-bc", "-emit-hlfir"}};
    const ompjit__args start = {.v = half->v, .n = 2}; /* flang -fc1 */
    const ompjit__args rest = {.v = half->v + 2,
                               .n = half->n - 2,
                               .failed = half->failed};
    add_exchanged(&start, NULL, 0, out);
    ompjit__args_add(out, "-mmlir");
    ompjit__args_add(out, "--mlir-print-debuginfo");
    add_exchanged(&rest, all, OMPJIT__COUNT(all), out);
}

void ompjit__hlfir_code_command(const ompjit__args *half, ompjit__args *out)
{
    const struct exchange language = {"-x", NULL, "mlir"};
    add_exchanged(half, &language, 1, out);
}

bool ompjit__hlfir_turns_loops(const char *flag)
{
    static const char loops[] = "-fdo-concurrent-to-openmp=";
    return !strncmp(flag, loops, sizeof loops - 1);
}

void ompjit__hlfir_loops_command(const ompjit__args *host, ompjit__args *out)
{
    for (size_t i = 0; i < host->n; i++)
        if (!ompjit__hlfir_turns_loops(host->v[i]))
            ompjit__args_add(out, strcmp(host->v[i], "-emit-llvm-bc")
                                      ? host->v[i]
                                      : "-emit-hlfir");
    out->failed |= host->failed;
}

bool ompjit__hlfir_reduces(const ompjit__buf *hlfir)
{
    static const char loop[] = "fir.do_concurrent.loop ";
    static const char clause[] = " reduce(@";
    const char *p = hlfir->data, *end = p + hlfir->size;
    while (p && p < end &&
           (p = memmem(p, (size_t)(end - p), loop, sizeof loop - 1))) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)((stop ? stop : end) - p);
        if (memmem(p, n, clause, sizeof clause - 1))
            return true;
        p += n;
    }
    return false;
}

/* The line of the module's attributes; NULL: none. */
static const char *module_line(const ompjit__buf *text)
{
    static const char start[] = "module attributes {";
    const char *p = text->data, *end = p + text->size;
    while (p && p < end && ((size_t)(end - p) < sizeof start ||
                            memcmp(p, start, sizeof start - 1))) {
        p = memchr(p, '\n', (size_t)(end - p));
        p = p ? p + 1 : NULL;
    }
    return p && p < end ? p : NULL;
}

/* Copies text up to `name`, which is within [*at, end), and the new value in
 * place of what comes until one of `stops`. False: there is none. */
static bool replace(const char **at, const char *end, const char *name,
                    const char *value, const char *stops, ompjit__buf *out)
{
    const char *p = memmem(*at, (size_t)(end - *at), name, strlen(name));
    if (!p)
        return false;
    p += strlen(name);
    ompjit__buf_add(out, *at, (size_t)(p - *at));
    ompjit__buf_add(out, value, strlen(value));
    while (p < end && !strchr(stops, *p))
        p++;
    *at = p;
    return true;
}

/* Attributes are in the order of the alphabet. */
static bool retarget(const ompjit__buf *hlfir, ompjit__buf *out)
{
    const char *at = hlfir->data, *end = at + hlfir->size;
    const char *line = module_line(hlfir);
    const char *stop = line ? memchr(line, '\n', (size_t)(end - line)) : NULL;
    if (!stop)
        return false;
    ompjit__buf_add(out, at, (size_t)(line - at));
    if (!replace(&line, stop, "llvm.target_triple = ",
                 "\"nvptx64-nvidia-cuda\"", ",}", out) ||
        !replace(&line, stop, "omp.is_gpu = ", "true", ",}", out))
        return false;
    ompjit__buf_add(out, line, (size_t)(end - line));
    return true;
}

bool ompjit__hlfir_for_gpu(const ompjit__buf *hlfir, ompjit__buf *out)
{
    ompjit__buf boxes = {0}, locals = {0}, tuples = {0};
    ompjit__hlfir_boxes(hlfir, &boxes);
    ompjit__hlfir_storage(&boxes, &locals);
    ompjit__hlfir_complex(&locals, &tuples);
    bool good = retarget(&tuples, out);
    out->failed |= locals.failed || tuples.failed;
    ompjit__buf_free(&boxes);
    ompjit__buf_free(&locals);
    ompjit__buf_free(&tuples);
    return good;
}
