/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Functions with complex results in HLFIR for a GPU. flang 22 has no way to
 * return a complex number there, and refuses each function that does, and `**`
 * of complex numbers, which calls one. Such results become tuples, which it
 * returns as two numbers in a structure; so does clang with a complex number.
 * `**` becomes a call of the device runtime (runtime-bc/libc/complex_math.c).
 *
 * HLFIR has one operation a line; its place in the source (`loc`) is last.
 */
#include <string.h>

#include "frontend/flang/flang.h"
#include "frontend/flang/part.h"

static const char complex_type[] = "complex<f";
enum { KIND = sizeof complex_type - 2, KIND_SIZE = 3 }; /* f32 or f64 */

/* From `from` to the first of `stops`, or to the end of the line. */
static struct part word_at(struct part line, const char *from,
                           const char *stops)
{
    const char *end = line.p + line.n, *p = from;
    while (p < end && !strchr(stops, *p))
        p++;
    return up_to(from, p);
}

static struct part rest_of(struct part line, const char *from)
{
    return up_to(from, line.p + line.n);
}

/* ------------------------------------------------------- results as tuples */

/* %ompjitN. with names[0] and names[1]: the parts of a number. */
static void add_parts(struct part z, struct part kind, const char *names,
                      unsigned n, struct part loc, ompjit__buf *out)
{
    for (int i = 0; i < 2; i++)
        ompjit__buf_printf(
            out, "%%ompjit%u.%c = complex.%s %.*s : complex<%.*s>%.*s\n", n,
            names[i], i ? "im" : "re", PRINT(z), PRINT(kind), PRINT(loc));
}

/* Puts a call's result, tuple %ompjitN.t, into the complex number it was. */
static void add_created(struct part result, struct part kind, struct part loc,
                        unsigned n, ompjit__buf *out)
{
    static const char parts[2] = {'x', 'y'};
    for (int i = 0; i < 2; i++)
        ompjit__buf_printf(out,
                           "%%ompjit%u.%c = fir.extract_value %%ompjit%u.t, "
                           "[%d : index] : (tuple<%.*s, %.*s>) -> %.*s%.*s\n",
                           n, parts[i], n, i, PRINT(kind), PRINT(kind),
                           PRINT(kind), PRINT(loc));
    ompjit__buf_printf(out,
                       "%.*s = complex.create %%ompjit%u.x, %%ompjit%u.y : "
                       "complex<%.*s>%.*s\n",
                       PRINT(result), n, n, PRINT(kind), PRINT(loc));
}

/* The first type of a result that is complex; NULL: none is. */
static const char *complex_result(struct part line)
{
    return find(line, "-> complex<f");
}

/* %0 = fir.call @f(%1) : (i32) -> complex<f32> */
static bool add_call(struct part line, unsigned n, ompjit__buf *out)
{
    const char *call = find(line, " = fir.call ");
    const char *type = complex_result(line);
    if (!call)
        call = find(line, " = fir.dispatch ");
    if (!call || !type)
        return false;
    const struct part kind = {type + sizeof "-> " - 1 + KIND, KIND_SIZE};
    const struct part behind = rest_of(line, kind.p + KIND_SIZE + 1);
    const char *loc = find(behind, " loc(");
    ompjit__buf_printf(out, "%%ompjit%u.t%.*s-> tuple<%.*s, %.*s>%.*s\n", n,
                       PRINT(up_to(call, type)), PRINT(kind), PRINT(kind),
                       PRINT(behind));
    add_created(up_to(line.p, call), kind,
                loc ? rest_of(line, loc) : (struct part){"", 0}, n, out);
    return true;
}

/* return %0 : complex<f32> */
static bool add_return(struct part line, unsigned n, ompjit__buf *out)
{
    const char *value = find(line, "return %");
    const char *type = find(line, " : complex<f");
    if (!value || !type || (value > line.p && value[-1] != ' '))
        return false;
    value += sizeof "return " - 1;
    const struct part kind = {type + sizeof " : " - 1 + KIND, KIND_SIZE};
    const struct part loc = rest_of(line, kind.p + KIND_SIZE + 1);
    const struct part z = up_to(value, type);
    add_parts(z, kind, "xy", n, loc, out);
    ompjit__buf_printf(out,
                       "%%ompjit%u.u = fir.undefined tuple<%.*s, %.*s>%.*s\n",
                       n, PRINT(kind), PRINT(kind), PRINT(loc));
    for (int i = 0; i < 2; i++)
        ompjit__buf_printf(
            out,
            "%%ompjit%u.%c = fir.insert_value %%ompjit%u.%c, %%ompjit%u.%c, "
            "[%d : index] : (tuple<%.*s, %.*s>, %.*s) -> tuple<%.*s, "
            "%.*s>%.*s\n",
            n, "vw"[i], n, "uv"[i], n, "xy"[i], i, PRINT(kind), PRINT(kind),
            PRINT(kind), PRINT(kind), PRINT(kind), PRINT(loc));
    ompjit__buf_printf(out, "return %%ompjit%u.w : tuple<%.*s, %.*s>%.*s\n", n,
                       PRINT(kind), PRINT(kind), PRINT(loc));
    return true;
}

/* The types of functions that other lines have: func.func, fir.address_of, and
 * those within parentheses. */
static void add_other(struct part line, ompjit__buf *out)
{
    const bool whole =
        find(line, "func.func ") || find(line, " fir.address_of(");
    for (const char *type; (type = complex_result(line));) {
        const struct part kind = {type + sizeof "-> " - 1 + KIND, KIND_SIZE};
        const struct part rest = rest_of(line, kind.p + KIND_SIZE + 1);
        if (whole || (rest.n && *rest.p == ')'))
            ompjit__buf_printf(out, "%.*s-> tuple<%.*s, %.*s>",
                               PRINT(up_to(line.p, type)), PRINT(kind),
                               PRINT(kind));
        else
            ompjit__buf_add(out, line.p, (size_t)(rest.p - line.p));
        line = rest;
    }
    ompjit__buf_add(out, line.p, line.n);
    ompjit__buf_add(out, "\n", 1);
}

/* ----------------------------------------------------------- the power `**` */

/* The device runtime's functions, by `kind` and whether the exponent is an
 * integer. */
static const char *const power[2][2] = {
    {"ompjit_fortran_power4", "ompjit_fortran_integer_power4"},
    {"ompjit_fortran_power8", "ompjit_fortran_integer_power8"},
};

static bool is_double(struct part kind)
{
    return !memcmp(kind.p, "f64", KIND_SIZE);
}

static void add_declarations(ompjit__buf *out)
{
    for (int i = 0; i < 2; i++) {
        const char *k = i ? "f64" : "f32";
        ompjit__buf_printf(out,
                           "func.func private @%s(%s, %s, %s, %s) -> tuple<%s, "
                           "%s> attributes {omp.declare_target = "
                           "#omp.declaretarget<device_type = (any), "
                           "capture_clause = (to)>}\n"
                           "func.func private @%s(%s, %s, i64) -> tuple<%s, %s>"
                           " attributes {omp.declare_target = "
                           "#omp.declaretarget<device_type = (any), "
                           "capture_clause = (to)>}\n",
                           power[i][0], k, k, k, k, k, k, power[i][1], k, k, k,
                           k);
    }
}

/* %0 = complex.pow %1, %2 fastmath<contract> : complex<f32>
 * %0 = complex.powi %1, %2 fastmath<contract> : complex<f32>, i32 */
static bool add_power(struct part line, unsigned n, ompjit__buf *out)
{
    static const char pow[] = " = complex.pow";
    const char *op = find(line, pow);
    const char *type = op ? find(rest_of(line, op), " : complex<f") : NULL;
    if (!type)
        return false;
    const char *at = op + sizeof pow - 1;
    const bool integer = *at == 'i';
    const struct part z = word_at(line, at + integer + 1, ",");
    const struct part y = word_at(line, z.p + z.n + 2, " ");
    const struct part k = {type + sizeof " : " - 1 + KIND, KIND_SIZE};
    struct part loc = rest_of(line, k.p + KIND_SIZE + 1), of_integer = {0};
    if (integer) {
        of_integer = word_at(line, loc.p + sizeof ", " - 1, " ");
        loc = rest_of(line, of_integer.p + of_integer.n);
    }
    add_parts(z, k, "ab", n, loc, out);
    if (integer)
        ompjit__buf_printf(out,
                           "%%ompjit%u.c = fir.convert %.*s : (%.*s) -> "
                           "i64%.*s\n",
                           n, PRINT(y), PRINT(of_integer), PRINT(loc));
    else
        add_parts(y, k, "cd", n, loc, out);
    ompjit__buf_printf(out, "%%ompjit%u.t = fir.call @%s(%%ompjit%u.a, "
                            "%%ompjit%u.b, %%ompjit%u.c",
                       n, power[is_double(k)][integer], n, n, n);
    if (!integer)
        ompjit__buf_printf(out, ", %%ompjit%u.d", n);
    ompjit__buf_printf(out, ") : (%.*s, %.*s, ", PRINT(k), PRINT(k));
    if (integer)
        ompjit__buf_printf(out, "i64");
    else
        ompjit__buf_printf(out, "%.*s, %.*s", PRINT(k), PRINT(k));
    ompjit__buf_printf(out, ") -> tuple<%.*s, %.*s>%.*s\n", PRINT(k), PRINT(k),
                       PRINT(loc));
    add_created(up_to(line.p, op), k, loc, n, out);
    return true;
}

/* --------------------------------------------------------------- the module */

void ompjit__hlfir_complex(const ompjit__buf *hlfir, ompjit__buf *out)
{
    static const char module[] = "module attributes {";
    const char *p = hlfir->data, *end = p + hlfir->size;
    for (unsigned n = 0; p && p < end; n++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        const struct part line = up_to(p, stop ? stop : end);
        if (!add_power(line, n, out) && !add_call(line, n, out) &&
            !add_return(line, n, out))
            add_other(line, out);
        if (find(line, module) == line.p)
            add_declarations(out);
        p = line.p + line.n + 1;
    }
}
